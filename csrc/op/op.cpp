#include "op/op.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "op/conditions.h"
#include "op/reduction_program.h"
#include "op/registry.h"
#include "op/shapes.h"
#include "op/tile_program.h"

namespace tensorlike {
namespace {

const char* describe(Category category) {
  switch (category) {
    case Category::kAll:
      return "of any dtype";
    case Category::kNumeric:
      return "numeric";
    case Category::kRealNumeric:
      return "real numeric";
    case Category::kRealOrBoolean:
      return "real or boolean";
    case Category::kFloating:
      return "floating-point";
    case Category::kRealFloating:
      return "real floating-point";
    case Category::kInteger:
      return "integer";
    case Category::kIntegerOrBoolean:
      return "integer or boolean";
    case Category::kBoolean:
      break;
  }
  return "boolean";
}

}  // namespace

void fail_category(const std::string& op, const ArgSpec& arg, DType got) {
  const bool is_floating =
      arg.category == Category::kFloating || arg.category == Category::kRealFloating;
  const char* fix = arg.category == Category::kBoolean
                        ? "a comparison gives a boolean, or cast it: x.astype(bool)"
                    : kind_of(got) == Kind::kComplex
                        ? "take one of its parts: real(x), imag(x), abs(x)"
                    : is_floating ? "cast it: x.astype(float32)"
                                  : "cast it: x.astype(int64)";
  fail(ErrorKind::kDType, said::op(op), said::argument(arg.name), "must be ",
       describe(arg.category), said::got(name_of(got)), said::fix(fix));
}

Scalar::Scalar(ScalarSpec s) : spec(std::move(s)), programs(new TileProgramCache) {}
Scalar::~Scalar() = default;

DType Scalar::compute_dtype(std::span<const DType> args) const {
  bool any = false;
  DType promoted = DType::kBool;
  bool takes_integers = false;
  bool needs_floating = false;
  bool needs_number = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const ArgSpec& arg = spec.args[i];
    const Kind kind = kind_of(args[i]);
    switch (arg.category) {
      case Category::kBoolean:
        if (kind != Kind::kBool) fail_category(spec.name, arg, args[i]);
        continue;
      case Category::kInteger:
        if (kind != Kind::kInteger) fail_category(spec.name, arg, args[i]);
        break;
      case Category::kIntegerOrBoolean:
        if (kind >= Kind::kFloating) fail_category(spec.name, arg, args[i]);
        break;
      case Category::kRealFloating:
      case Category::kRealNumeric:
      case Category::kRealOrBoolean:
        if (kind == Kind::kComplex) fail_category(spec.name, arg, args[i]);
        break;
      case Category::kFloating:
      case Category::kNumeric:
      case Category::kAll:
        break;
    }
    takes_integers = takes_integers || arg.category == Category::kInteger ||
                     arg.category == Category::kIntegerOrBoolean;
    needs_floating = needs_floating || arg.category == Category::kRealFloating ||
                     arg.category == Category::kFloating;
    needs_number = needs_number || arg.category == Category::kRealNumeric ||
                   arg.category == Category::kNumeric;
    promoted = any ? promote(promoted, args[i]) : args[i];
    any = true;
  }
  if (takes_integers && kind_of(promoted) > Kind::kInteger) {
    fail(ErrorKind::kDType, said::op(spec.name), "the integers must have a joint integer dtype",
         said::got("uint64 beside a signed one"), said::fix("cast it: x.astype(int64)"));
  }
  if (needs_floating && kind_of(promoted) < Kind::kFloating) return DType::kFloat32;
  if (needs_number && promoted == DType::kBool) return DType::kInt64;
  return promoted;
}

DType Scalar::result_dtype(DType compute) const {
  switch (spec.result) {
    case Result::kBool:
      return DType::kBool;
    case Result::kInt64:
      return DType::kInt64;
    case Result::kReal:
      return real_of(compute);
    case Result::kComplex:
      return complex_of(compute);
    default:
      return compute;
  }
}

void check_real(const Op& op, std::span<const Spec> inputs) {
  const std::vector<ArgSpec>& args = op.cls.spec.args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (kind_of(inputs[i].dtype) != Kind::kComplex) continue;
    ArgSpec arg = args[std::min(i, args.size() - 1)];
    // Only these attributes of the op make it refuse them.
    if (arg.category == Category::kNumeric) arg.category = Category::kRealNumeric;
    fail_category(op.name(), arg, inputs[i].dtype);
  }
}

void check_category(const std::string& op, const ArgSpec& arg, DType got) {
  const bool is_integer = arg.category == Category::kInteger;
  const bool fits =
      is_integer ? kind_of(got) == Kind::kInteger : reduces(arg.category, kind_of(got));
  if (!fits) fail_category(op, arg, got);
}

Reduction::Reduction(ReductionSpec spec) : spec(std::move(spec)) {}
Reduction::~Reduction() = default;

bool reduces(Category category, Kind kind) {
  switch (category) {
    case Category::kAll:
    case Category::kNumeric:
    case Category::kFloating:
      return true;
    case Category::kRealNumeric:
    case Category::kRealOrBoolean:
    case Category::kRealFloating:
      return kind <= Kind::kFloating;
    case Category::kInteger:
    case Category::kIntegerOrBoolean:
      return kind <= Kind::kInteger;
    case Category::kBoolean:
      break;
  }
  return kind == Kind::kBool;
}

void Reduction::check_dtype(DType input) const {
  if (!reduces(spec.arg.category, kind_of(input))) fail_category(spec.name, spec.arg, input);
}

DType Reduction::result_dtype(DType input) const {
  const Kind kind = kind_of(input);
  switch (spec.result) {
    case Result::kBool:
      return DType::kBool;
    case Result::kInt64:
      return DType::kInt64;
    case Result::kSum:
      if (kind >= Kind::kFloating) return input;
      return is_unsigned(input) ? DType::kUInt64 : DType::kInt64;
    case Result::kReal:
    case Result::kComplex:
    case Result::kSame:
      break;
  }
  const bool is_floating =
      spec.arg.category == Category::kRealFloating || spec.arg.category == Category::kFloating;
  if (is_floating && kind < Kind::kFloating) return DType::kFloat32;
  return spec.result == Result::kReal ? real_of(input) : input;
}

int OpClass::attr_index(std::string_view name) const {
  for (size_t i = 0; i < spec.attrs.size(); ++i) {
    const std::string& own = spec.attrs[i].name;
    // Most others differ in their length or their first letter.
    if (own.size() == name.size() && own[0] == name[0] && own == name) return static_cast<int>(i);
  }
  return -1;
}

std::string Op::name() const {
  if (scalar != nullptr) return scalar->spec.name;
  if (reduction != nullptr) return reduction->spec.name;
  return cls.name();
}

bool same_attr(const Attr& a, const Attr& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  return (x != nullptr && y != nullptr && *x != *x && *y != *y) || a == b;
}

bool Op::equals(const Op& other) const {
  return &cls == &other.cls &&
         std::equal(attrs.begin(), attrs.end(), other.attrs.begin(), other.attrs.end(), same_attr);
}

const Attr& Op::attr(std::string_view name) const {
  return attrs[static_cast<size_t>(cls.attr_index(name))];
}

std::string to_string(const Attr& attr) {
  struct Printer {
    std::string operator()(Nothing) const { return "None"; }
    std::string operator()(bool value) const { return value ? "True" : "False"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(uint64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const {
      char digits[40];
      const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
      std::string out(digits, end);
      const bool is_whole = out.find_first_not_of("-0123456789") == std::string::npos;
      return is_whole ? out + ".0" : out;
    }
    std::string operator()(const std::string& value) const { return "'" + value + "'"; }
    std::string operator()(const std::vector<int64_t>& value) const {
      return tensorlike::to_string(std::span<const int64_t>(value));
    }
    std::string operator()(DType value) const { return std::string(name_of(value)); }
    std::string operator()(std::complex<double> value) const {
      const bool is_negative = std::signbit(value.imag());
      return "(" + (*this)(value.real()) + (is_negative ? "-" : "+") +
             (*this)(std::abs(value.imag())) + "j)";
    }
  };
  return std::visit(Printer{}, attr);
}

void check_literal(const Literal& literal, DType dtype) {
  const Kind kind = kind_of(literal);
  if (kind == Kind::kComplex && kind_of(dtype) < Kind::kComplex) {
    fail(ErrorKind::kDType, said::op("literal"), "must be real for ", name_of(dtype),
         said::got("a complex number"), said::fix("use complex64 or complex128"));
  }
  if (kind_of(dtype) != Kind::kInteger || kind == Kind::kBool) return;
  const int bits = static_cast<int>(size_of(dtype)) * 8 - (is_unsigned(dtype) ? 0 : 1);
  const double limit = std::ldexp(1.0, bits);
  const double least = is_unsigned(dtype) ? 0.0 : -limit;
  bool fits = true;
  if (const auto* integer = std::get_if<int64_t>(&literal)) {
    const double value = static_cast<double>(*integer);
    fits = bits >= 63 ? *integer >= 0 || !is_unsigned(dtype) : value >= least && value < limit;
  } else if (std::holds_alternative<uint64_t>(literal)) {
    fits = dtype == DType::kUInt64;
  } else {
    const double value = std::get<double>(literal);
    fits = std::trunc(value) >= least && value < limit;
  }
  if (fits) return;
  fail(ErrorKind::kOverflow, said::op("literal"), "must fit ", name_of(dtype),
       said::got(std::visit([](auto v) { return to_string(Attr(v)); }, literal)),
       said::fix("use a wider dtype"));
}

std::string to_string(const Op& op) {
  std::string out = op.cls.name() + "(";
  for (size_t i = 0; i < op.attrs.size(); ++i) {
    if (i > 0) out += ", ";
    out += op.cls.spec.attrs[i].name + "=" + to_string(op.attrs[i]);
  }
  return out + ")";
}

namespace {

// Whether an attribute holds one of its words.
void check_word(const OpClass& cls, const AttrSpec& spec, const Attr& value) {
  const auto* word = std::get_if<std::string>(&value);
  if (word == nullptr) return;
  const std::vector<std::string>& words = spec.choices;
  if (words.empty() || std::find(words.begin(), words.end(), *word) != words.end()) return;
  std::string known;
  for (const std::string& each : words) {
    known += text(known.empty() ? "'" : &each == &words.back() ? " or '" : ", '", each, "'");
  }
  const std::vector<std::string_view> candidates(words.begin(), words.end());
  fail(ErrorKind::kAttribute, said::op(cls.name()), said::argument(spec.name), "must be ", known,
       said::got("'", *word, "'", did_you_mean(*word, candidates)));
}

// The op whose attributes were set where `given` says so: the others take their defaults.
Ref<Op> completed(Ref<Op> op, uint64_t given) {
  const OpClass& cls = op->cls;
  const std::vector<AttrSpec>& specs = cls.spec.attrs;
  for (size_t i = 0; i < specs.size(); ++i) {
    const bool is_given = (given >> i & 1U) != 0;
    if (!is_given && specs[i].required) {
      fail(ErrorKind::kAttribute, said::op(cls.name()), "the parameter ", specs[i].name,
           " is required; give ", specs[i].name, "=....");
    }
    if (!is_given) op->attrs[i] = specs[i].fallback;
    const bool is_right = specs[i].type->take(op->attrs[i]);
    check_word(cls, specs[i], op->attrs[i]);
    if (!is_given || is_right) continue;
    if (specs[i].required || !(op->attrs[i] == specs[i].fallback)) {
      fail(ErrorKind::kAttribute, said::op(cls.name()), said::argument(specs[i].name),
           "must be of type ", specs[i].type->called, said::got(to_string(op->attrs[i])));
    }
  }
  const Registry& names = registry();
  if (cls.family != OpClass::Family::kOther) {
    std::string& mode = std::get<std::string>(op->attrs[0]);
    std::transform(mode.begin(), mode.end(), mode.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool is_scalar = cls.family == OpClass::Family::kElemwise;
    if (is_scalar) op->scalar = names.find_scalar(mode);
    if (!is_scalar) op->reduction = names.find_reduction(mode);
    if (op->scalar == nullptr && op->reduction == nullptr) {
      fail(ErrorKind::kAttribute, said::op(cls.name()), said::argument("mode"),
           "must be a declared ", is_scalar ? "scalar function" : "reduction",
           said::got("'", mode, "'", names.did_you_mean(mode, is_scalar, !is_scalar)));
    }
  }
  if (!cls.conditions.empty()) check_attributes(*op);
  return op;
}

}  // namespace

Ref<Op> make_op(const OpClass& cls, std::vector<std::pair<std::string, Attr>> attrs) {
  Ref<Op> op = make_ref<Op>(cls);
  op->attrs.resize(cls.spec.attrs.size());
  uint64_t given = 0;
  for (auto& [name, value] : attrs) {
    const int index = cls.attr_index(name);
    if (index < 0) {
      fail(ErrorKind::kAttribute, said::op(cls.name()), "extra kwargs: {'", name, "'}.");
    }
    op->attrs[static_cast<size_t>(index)] = std::move(value);
    given |= uint64_t{1} << index;
  }
  return completed(std::move(op), given);
}

Ref<Op> Function::make_op(std::vector<Attr> values) const {
  Ref<Op> op = make_ref<Op>(*op_class);
  op->attrs.resize(op_class->spec.attrs.size());
  uint64_t given = 0;
  size_t at = 0;
  const auto set = [&](Attr value) {
    const size_t place = places[at++];
    op->attrs[place] = std::move(value);
    given |= uint64_t{1} << place;
  };
  for (const auto& [name, value] : spec.fixed) set(value);
  for (Attr& value : values) set(std::move(value));
  return completed(std::move(op), given);
}

}  // namespace tensorlike
