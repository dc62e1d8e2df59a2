#include "onnx/calls.h"

#include <algorithm>

#include "dispatch/dispatcher.h"
#include "onnx/composed.h"
#include "op/registry.h"
#include "tensor/body.h"

namespace tensorlike::onnx {
namespace {

// The op of a functional call, with attributes by name; what is not said has its default.
Ref<const Op> op_of(const std::string& name, const NamedItems& attrs) {
  const Function* function = registry().find_function(name);
  if (function == nullptr) {
    fail(ErrorKind::kAttribute, said::op("onnx"), "the core must have the function '", name, "'",
         said::got("one that is written in Python"));
  }
  const std::vector<AttrSpec>& specs = function->spec.attrs;
  std::vector<Attr> values;
  for (const AttrSpec& spec : specs) {
    const auto is_it = [&](const auto& given) { return given.first == spec.name; };
    const auto found = std::find_if(attrs.begin(), attrs.end(), is_it);
    values.push_back(found == attrs.end() ? spec.fallback : found->second.attr(spec.name));
  }
  for (const auto& [given, item] : attrs) {
    const auto is_it = [&n = given](const AttrSpec& spec) { return spec.name == n; };
    if (std::none_of(specs.begin(), specs.end(), is_it)) {
      fail(ErrorKind::kAttribute, said::op(name), "it has no attribute '", given, "'");
    }
  }
  return function->make_op(std::move(values));
}

// Numbers that a call leaves out, as the declaration has them.
void add_fallbacks(const std::string& name, Items& args) {
  const std::vector<ArgSpec>& specs = registry().find_function(name)->spec.args;
  for (size_t i = args.size(); i < specs.size(); ++i) {
    const Attr& fallback = specs[i].fallback;
    if (const auto* whole = std::get_if<int64_t>(&fallback)) {
      args.emplace_back(*whole);
    } else if (const auto* real = std::get_if<double>(&fallback)) {
      args.emplace_back(*real);
    } else {
      return;
    }
  }
}

// Whether a conversion is to the dtype that is there already.
bool is_own_dtype(const std::string& function, const Items& args, const NamedItems& attrs) {
  if (function != "astype" || args.size() != 1 || attrs.size() != 1) return false;
  const Attr wanted = attrs[0].second.attr("dtype");
  const auto* name = std::get_if<std::string>(&wanted);
  const auto* dtype = std::get_if<DType>(&wanted);
  const DType own = args[0].tensor("x").spec.dtype;
  return name != nullptr ? dtype_named(*name) == own : dtype != nullptr && *dtype == own;
}

}  // namespace

Tensor Calls::known(Ref<RawTensor> value) const {
  Spec spec = value->spec();
  return {-1, std::move(value), std::move(spec)};
}

Tensor Calls::of_variable(int number) const {
  return {number, {}, program_.variables()[static_cast<size_t>(number)].spec, &program_};
}

Tensor Calls::input(const Spec& spec) {
  std::vector<Program::Dimension> sizes;
  for (int64_t size : spec.shape) sizes.push_back({size, {}});
  return of_variable(
      program_.add_input(text("given", program_.inputs().size()), spec.dtype, sizes));
}

int Calls::variable(const Tensor& x) {
  if (x.known) return program_.capture(x.known, x.spec, "RawTensor");
  if (x.home == &program_) return x.variable;
  for (const Given& given : given_) {
    if (given.outside.home == x.home && given.outside.variable == x.variable) return given.variable;
  }
  given_.push_back({x, input(x.spec).variable});
  return given_.back().variable;
}

std::vector<Tensor> Calls::add(const Op& op, std::span<const Tensor> args) {
  std::vector<int> numbers;
  for (const Tensor& x : args) numbers.push_back(variable(x));
  std::vector<Tensor> results;
  for (int number : program_.append(op, numbers, place)) results.push_back(of_variable(number));
  return results;
}

Tensor Calls::lifted(const Item& item, const Spec* like) const {
  if (const auto* tensor = std::get_if<Tensor>(&item.value)) return *tensor;
  Literal literal = false;
  if (const auto* flag = std::get_if<bool>(&item.value)) {
    literal = *flag;
  } else if (const auto* whole = std::get_if<int64_t>(&item.value)) {
    literal = *whole;
  } else {
    literal = item.number("an argument");
  }
  return known(make_const(*const_op(literal), like));
}

// Whether results may be computed while the program is made. A few bytes of a file can ask for any
// amount of memory: what is not small waits for the run once there is much of it.
bool Calls::may_hold(const Op& op, std::span<const Tensor> args) {
  constexpr int64_t kSmall = 4096;
  constexpr int64_t kMost = int64_t{1} << 28;  // elements
  std::vector<Spec> specs;
  for (const Tensor& x : args) specs.push_back(x.spec);
  int64_t most = 0;
  for (const Spec& made : infer_any(op, specs)) {
    const bool is_counted =
        std::find(made.shape.begin(), made.shape.end(), kUnknownSize) == made.shape.end();
    most = std::max(most, is_counted ? element_count(made.shape) : kSmall);
  }
  if (most <= kSmall) return true;
  if (most > kMost - held_) return false;
  held_ += most;
  return true;
}

// What literals are made beside: the first tensor, or the first that is no condition.
static const Spec* model_of_literals(const Items& args) {
  const Spec* found = nullptr;
  for (const Item& item : args) {
    const auto* tensor = std::get_if<Tensor>(&item.value);
    if (tensor == nullptr) continue;
    if (found == nullptr || found->dtype == DType::kBool) found = &tensor->spec;
  }
  return found;
}

std::vector<Tensor> Calls::call(const std::string& function, const Items& given,
                                const NamedItems& attrs) {
  if (const Composed composed = find_composed(function)) {
    return {composed(*this, given.at(0).tensor("x"), attrs)};
  }
  if (is_own_dtype(function, given, attrs)) return {given[0].tensor("x")};
  const Ref<const Op> op = op_of(function, attrs);
  Items args = given;
  while (!args.empty() && !args.back().is_given()) args.pop_back();
  add_fallbacks(function, args);
  const Spec* like = model_of_literals(args);
  std::vector<Tensor> lifted_args;
  for (const Item& item : args) lifted_args.push_back(lifted(item, like));
  const bool all_known = std::all_of(lifted_args.begin(), lifted_args.end(),
                                     [](const Tensor& x) { return bool(x.known); });
  std::vector<Tensor> results;
  if (all_known && op->cls.spec.effects.empty() && may_hold(*op, lifted_args)) {
    SmallVector<Value*, 4> values;
    for (const Tensor& x : lifted_args) values.push_back(x.known.get());
    for (const Ref<Value>& made : apply(*op, {values.data(), values.size()})) {
      results.push_back(known(Ref<RawTensor>(static_cast<RawTensor*>(made.get()))));
    }
    return results;
  }
  return add(*op, lifted_args);
}

Tensor Calls::one(const std::string& function, const Items& args, const NamedItems& attrs) {
  return std::move(call(function, args, attrs)[0]);
}

void need_numbers(const Tensor& x, std::string_view op, std::string_view argument) {
  ErrorFields fields;
  fields.must = "must follow from the model and from shapes alone";
  fields.op = op;
  fields.argument = argument;
  fields.got = "what depends on the elements of an input";
  throw NumberNeeded(x, Error(ErrorKind::kArgument, std::move(fields)));
}

std::vector<int64_t> integers_of(const Tensor& x, std::string_view what) {
  if (!x.known) need_numbers(x, "onnx", what);
  const Kind kind = kind_of(x.spec.dtype);
  if ((kind != Kind::kInteger && kind != Kind::kBool) || x.spec.shape.size() > 1) {
    fail(ErrorKind::kArgument, said::op("onnx"), said::argument(what), "must be a list of integers",
         said::got(to_string(x.spec)));
  }
  const Ref<RawTensor> wide = contiguous(*cast(*x.known, DType::kInt64));
  wide->ready("onnx");
  const auto* begin = reinterpret_cast<const int64_t*>(wide->data);
  return {begin, begin + wide->count};
}

}  // namespace tensorlike::onnx
