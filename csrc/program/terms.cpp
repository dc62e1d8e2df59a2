#include "program/terms.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "dispatch/dispatcher.h"
#include "op/identities.h"
#include "op/infer.h"
#include "op/registry.h"
#include "program/graph.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr int64_t kMostUniform = 64;  // elements that are looked at
constexpr int kDigits = 40;           // binary, that numbers are told apart by
// Of a body that is written out: some write themselves out step by step, as many as a size says,
// and a size that is not known is a large number.
constexpr size_t kMostInBody = 20'000;

class TermValue final : public Value {
 public:
  TermValue(Terms& terms, int id) : Value(kOther, term_type()), terms(terms), id(id) {}
  double priority() const override { return 50; }
  bool spec(Spec& out) const override {
    out = terms[id].spec;
    return true;
  }
  Ref<Value> lift(Value& other) override {
    if (other.type == type) return Ref<Value>(&other);
    return terms.value(terms.constant(other, -1));
  }

  Terms& terms;
  const int id;
};

bool apply_term(const Op& op, Args args, Values& out) {
  std::vector<int> numbers;
  for (Value* arg : args) numbers.push_back(static_cast<TermValue*>(arg)->id);
  Terms& terms = static_cast<TermValue*>(args[0])->terms;
  for (int id : terms.apply(op, numbers)) out.push_back(terms.value(id));
  return true;
}

class TermRule final : public Rule {
 public:
  explicit TermRule(const Type& kind)
      : Rule("apply_term", "built in", {&op_base_type(), {{&kind}}, true}) {}
  bool call(const Op& op, Args args, Values& out) override { return apply_term(op, args, out); }
  bool is_native() const override { return true; }
};

// By how many digits numbers beside a dtype are told apart: some fewer than it has, since those of
// two writings were rounded.
int digits_of(DType dtype) {
  if (dtype == DType::kFloat64) return kDigits;
  if (dtype == DType::kFloat16) return 9;
  return dtype == DType::kBFloat16 ? 6 : 20;
}

// A number with as many digits as count.
std::string digits_of(double number, int digits) {
  char text[48];
  double kept = number;
  if (digits > 0 && number != 0 && std::isfinite(number)) {
    int exponent = 0;
    const double mantissa = std::frexp(number, &exponent);
    kept = std::ldexp(std::nearbyint(std::ldexp(mantissa, digits)), exponent - digits);
  }
  return {text, std::to_chars(text, text + sizeof(text), kept).ptr};
}

// The decimal number that somebody meant by a rounded one: of those with the fewest digits.
double decimal_of(double number, DType dtype) {
  constexpr int kMostDigits = 10;
  for (int digits = 1; digits < kMostDigits && std::isfinite(number); ++digits) {
    char text[48];
    const char* end =
        std::to_chars(text, text + sizeof(text), number, std::chars_format::scientific, digits - 1)
            .ptr;
    double out = number;
    std::from_chars(text, end, out);
    const Ref<RawTensor> rounded = cast(*RawTensor::scalar(DType::kFloat64, out), dtype);
    if (*cast(*rounded, DType::kFloat64)->as<double>() == number) return out;
  }
  return number;
}

std::optional<double> real_of(const Literal& literal) {
  return std::visit(
      [](auto value) -> std::optional<double> {
        if constexpr (std::is_same_v<decltype(value), std::complex<double>>) {
          return std::nullopt;
        } else {
          return static_cast<double>(value);
        }
      },
      literal);
}

bool is_named(const Op& op, std::string_view name) {
  return op.scalar != nullptr && op.scalar->spec.name == name;
}

}  // namespace

const Type& term_type() {
  static const Type* type = [] {
    const Type* made = new Type("Term", &tensor_base_type());
    dispatcher().add(std::make_shared<TermRule>(*made));
    return made;
  }();
  return *type;
}

int term_of(const Value& value) {
  return value.type == &term_type() ? static_cast<const TermValue&>(value).id : -1;
}

Ref<Value> Terms::value(int id) { return make_ref<TermValue>(*this, id); }

int Terms::intern(Term term) {
  const int digits = is_literal_                        ? 0
                     : term.kind == Term::Kind::kNumber ? kDigits
                                                        : digits_of(term.spec.dtype);
  std::string key = std::to_string(static_cast<int>(term.kind)) + to_string(term.spec);
  if (term.kind == Term::Kind::kLeaf) key += '#' + std::to_string(term.leaf);
  if (term.op) key += '!' + to_string(*term.op) + ':' + std::to_string(term.output);
  key += '=' + digits_of(term.number, digits);
  for (const Term::Part& part : term.parts) {
    key += ' ' + std::to_string(part.term);
    const std::string scale = digits_of(part.scale, digits);
    if (scale != "1") key += '*' + scale;
  }
  const auto [at, is_new] = known_.try_emplace(std::move(key), static_cast<int>(terms_.size()));
  if (is_new) terms_.push_back(std::move(term));
  return at->second;
}

int Terms::leaf(int number, const Spec& spec) {
  return intern({.kind = Term::Kind::kLeaf, .leaf = number, .spec = spec});
}

int Terms::number(double value, const Spec& spec) {
  return intern({.kind = Term::Kind::kNumber, .number = value, .spec = spec});
}

int Terms::constant(Value& value, int number_of_leaf) {
  const Spec spec = spec_of("optimize", value);
  if (value.tag != Value::kRaw) return leaf(number_of_leaf, spec);
  const auto& raw = static_cast<const RawTensor&>(value);
  const bool is_small = raw.size() > 0 && raw.size() <= kMostUniform && raw.device == Device();
  if (is_small && kind_of(raw.dtype) != Kind::kComplex && size_of(raw.dtype) <= 8) {
    const Ref<RawTensor> elements = contiguous(raw.ready("optimize"));
    const size_t size = size_of(raw.dtype);
    bool is_uniform = true;
    for (int64_t i = 1; is_uniform && i < raw.size(); ++i) {
      is_uniform =
          std::memcmp(elements->data, elements->data + static_cast<size_t>(i) * size, size) == 0;
    }
    if (is_uniform) {
      const double only = *cast(*elements, DType::kFloat64)->as<double>();
      const bool is_rounded = is_floating(spec) && raw.dtype != DType::kFloat64;
      return number(is_rounded ? decimal_of(only, raw.dtype) : only, spec);
    }
  }
  // Kept alive by whoever gave it, as long as these terms are.
  static constexpr int kFirstArray = 1 << 29;
  if (number_of_leaf >= 0) return leaf(number_of_leaf, spec);
  return leaf(kFirstArray + static_cast<int>(terms_.size()), spec);
}

std::string Terms::text(int id) const {
  const Term& term = (*this)[id];
  if (term.kind == Term::Kind::kLeaf) return "v" + std::to_string(term.leaf);
  const std::string own = digits_of(term.number, 0);
  if (term.kind == Term::Kind::kNumber) return own;
  const bool is_call = term.kind == Term::Kind::kCall;
  std::string out = is_call ? term.op->name() : term.kind == Term::Kind::kSum ? "sum" : "product";
  out += "(" + (is_call ? "" : own + "; ");
  for (size_t i = 0; i < term.parts.size(); ++i) {
    out += i > 0 ? ", " : "";
    if (term.parts[i].scale != 1) out += digits_of(term.parts[i].scale, 0) + ":";
    out += text(term.parts[i].term);
  }
  return out + ")";
}

size_t Terms::weight(int id, bool is_tree) const {
  constexpr size_t kMost = 10'000;
  std::vector<bool> met(terms_.size(), false);
  std::vector<int> open{id};
  size_t count = 0;
  while (!open.empty() && count < kMost) {
    const int next = open.back();
    open.pop_back();
    if (!is_tree && met[static_cast<size_t>(next)]) continue;
    met[static_cast<size_t>(next)] = true;
    ++count;
    for (const Term::Part& part : (*this)[next].parts) open.push_back(part.term);
  }
  return count;
}

// What stands for a piece of the function: see Choice.
std::optional<int> Terms::choose(const Op& op, std::span<const int> args, const Spec& spec) {
  const bool is_where = is_named(op, "where");
  const bool is_extreme = is_named(op, "maximum") || is_named(op, "minimum");
  const bool is_largest = op.reduction != nullptr && op.reduction->spec.name == "max";
  if (!is_where && !is_extreme && !is_largest && !is_named(op, "abs")) return std::nullopt;
  if (frames_.empty() || kind_of(spec.dtype) != Kind::kFloating) return std::nullopt;
  Frame& frame = frames_.back();
  const size_t place = frame.met++;
  const Choice choice = place < frame.choices->size() ? (*frame.choices)[place] : Choice::kKeep;
  if (choice == Choice::kKeep || choice == Choice::kMask) return std::nullopt;
  if (is_largest) return number(0, spec);
  if (is_named(op, "abs")) return choice == Choice::kFirst ? args[0] : scaled(args[0], -1, spec);
  const int taken = args[(is_where ? 1 : 0) + (choice == Choice::kSecond ? 1 : 0)];
  const Term& term = (*this)[taken];
  if (term.kind == Term::Kind::kNumber) return number(term.number, spec);
  if (!(term.spec.shape == spec.shape) || term.spec.dtype != spec.dtype) return std::nullopt;
  return taken;
}

// What a function is where it is one of numbers, or the choice of one side.
std::optional<int> Terms::folded(const Op& op, std::span<const int> args, const Spec& spec) {
  const auto is_number = [&](int arg) { return (*this)[arg].kind == Term::Kind::kNumber; };
  if (is_named(op, "where") && is_number(args[0])) {
    const int taken = args[(*this)[args[0]].number != 0 ? 1 : 2];
    const Term& term = (*this)[taken];
    if (term.kind == Term::Kind::kNumber) return number(term.number, spec);
    const bool is_whole = term.spec.shape == spec.shape && term.spec.dtype == spec.dtype;
    return is_whole ? std::optional(taken) : std::nullopt;
  }
  if (args.empty() || !std::all_of(args.begin(), args.end(), is_number)) return std::nullopt;
  if (kind_of(spec.dtype) == Kind::kComplex) return std::nullopt;
  Values numbers;
  SmallVector<Value*, 4> given;
  for (int arg : args) {
    const Term& term = (*this)[arg];
    const DType dtype = is_floating(term.spec) ? DType::kFloat64 : term.spec.dtype;
    numbers.push_back(cast(*RawTensor::scalar(DType::kFloat64, term.number), dtype));
    given.push_back(numbers.back().get());
  }
  const Ref<Value> made = apply_one(op, Args(given.data(), given.size()));
  const auto& raw = static_cast<const RawTensor&>(*made).ready("optimize");
  return number(*cast(raw, DType::kFloat64)->as<double>(), spec);
}

int Terms::call_scalar(const Op& op, std::vector<int> args, int output, const Spec& spec) {
  const Scalar& scalar = *op.scalar;
  if (!is_literal_) {
    if (auto moved = outside_of_reshape(op, args, output, spec)) return *moved;
    if (is_float(args, spec)) {
      if (auto found = arithmetic(scalar, args, spec)) return *found;
    }
    if (auto found = output == 0 ? folded(op, args, spec) : std::nullopt) return *found;
    const bool is_body = !frames_.empty() && !frames_.back().choices->empty();
    if (is_body && frames_.back().choices->back() == Choice::kMask && is_named(op, "where")) {
      if (auto found = masked(args, spec)) return *found;
    }
  }
  Term term{.kind = Term::Kind::kCall, .op = Ref<const Op>(&op), .output = output, .spec = spec};
  for (int arg : args) term.parts.push_back({bare(arg), 1});
  if (commutes(scalar, is_literal_)) {
    std::sort(term.parts.begin(), term.parts.end(),
              [](const Term::Part& a, const Term::Part& b) { return a.term < b.term; });
  }
  return intern(std::move(term));
}

int Terms::call(const Op& op, std::vector<int> args, int output, const Spec& spec) {
  if (op.scalar != nullptr) return call_scalar(op, std::move(args), output, spec);
  double factor = 1;
  if (!is_literal_ && is_floating(spec) && output == 0) {
    factor = take_factors(op, args);
    if (op.reduction != nullptr) return scaled(reduced(op, args[0], spec), factor, spec);
    if (args.size() == 1) {
      if (const auto found = moved(op, args[0], spec)) return scaled(*found, factor, spec);
    }
  }
  Term term{.kind = Term::Kind::kCall, .op = Ref<const Op>(&op), .output = output, .spec = spec};
  for (int arg : args) term.parts.push_back({arg, 1});
  return scaled(intern(std::move(term)), factor, spec);
}

std::vector<int> Terms::through_body(const Op& op, std::span<const int> args,
                                     const Choices& choices, bool keeps_inner, size_t* met) {
  return through(nullptr, op, args, {&choices}, keeps_inner, met);
}

std::vector<int> Terms::through(const CompiledBody* body, const Op& op, std::span<const int> args,
                                Frame frame, bool keeps_inner, size_t* met) {
  Values held, out;
  SmallVector<Value*, 8> pointers;
  for (int arg : args) {
    held.push_back(value(arg));
    pointers.push_back(held.back().get());
  }
  if (frames_.empty()) most_ = terms_.size() + kMostInBody;
  frames_.push_back(frame);
  struct Restore {
    Terms& terms;
    const bool before;
    ~Restore() {
      terms.frames_.pop_back();
      terms.keeps_inner_ = before;
    }
  } restore{*this, keeps_inner_};
  keeps_inner_ = keeps_inner;
  const Args given(pointers.data(), pointers.size());
  if (body != nullptr) {
    out = run_body({*body, op, given});
  } else {
    apply_body(op, given, out);
  }
  if (met != nullptr) *met = frames_.back().met;
  std::vector<int> found;
  for (const Ref<Value>& result : out) {
    const int id = term_of(*result);
    found.push_back(id >= 0 ? id : constant(*result, -1));
  }
  return found;
}

// What an op means in others, where somebody says so; none: it is what it is.
std::optional<std::vector<int>> Terms::meaning(const Op& op, std::span<const int> args,
                                               const Specs& specs) {
  static const Choices kept;
  const CompiledBody* definition = definition_of(op);
  const bool has_body = op.has_body() || (op.scalar != nullptr && op.scalar->expansion);
  if (definition == nullptr && (!has_body || !is_floating(specs[0]))) return std::nullopt;
  std::string key = (keeps_inner_ ? "kept " : "") + to_string(op);
  for (int arg : args) key += ' ' + std::to_string(arg);
  if (const auto known = bodies_.find(key); known != bodies_.end()) {
    if (known->second.empty()) return std::nullopt;
    return known->second;
  }
  const Choices* choices = &kept;
  if (definition == nullptr) {
    const BodyChoices& all = body_choices(op);
    const bool is_plain = !keeps_inner_ && !all.others.empty();
    if (!is_plain && !all.as_written) return std::nullopt;
    if (is_plain) choices = &all.others[0];
  }
  std::vector<int> found;
  try {
    found = through(definition, op, args, {choices}, keeps_inner_, nullptr);
  } catch (const Error&) {
    found.clear();  // it is too long, or has none for these sizes
  }
  bool is_same = found.size() == specs.size();
  for (size_t i = 0; is_same && i < found.size(); ++i) {
    const Spec& spec = (*this)[found[i]].spec;
    is_same = spec.shape == specs[i].shape && spec.dtype == specs[i].dtype;
  }
  if (!is_same) found.clear();
  bodies_[std::move(key)] = found;
  if (!is_same) return std::nullopt;
  return found;
}

std::vector<int> Terms::apply(const Op& op, std::span<const int> args) {
  Specs given;
  for (int arg : args) given.push_back((*this)[arg].spec);
  const Specs specs = infer_any(op, given);
  if (!frames_.empty() && terms_.size() + specs.size() > most_) {
    fail(ErrorKind::kArgument, said::op(op.name()), "a body that is compared must have at most ",
         kMostInBody, " terms");
  }
  if (const ConstOp* constant = as_constant(op)) {
    const auto& literal = constant->literal;
    if (literal && real_of(*literal)) return {number(*real_of(*literal), specs[0])};
  }
  if (!is_literal_) {
    const auto chosen = specs.size() == 1 ? choose(op, args, specs[0]) : std::nullopt;
    if (chosen) return {*chosen};
    if (auto found = meaning(op, args, specs)) return std::move(*found);
  }
  std::vector<int> found;
  for (size_t i = 0; i < specs.size(); ++i) {
    found.push_back(call(op, {args.begin(), args.end()}, static_cast<int>(i), specs[i]));
  }
  return found;
}

}  // namespace tensorlike
