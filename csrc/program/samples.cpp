#include "program/samples.h"

#include <algorithm>
#include <cmath>

#include "op/registry.h"
#include "program/program.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr int64_t kSize = 4;
constexpr int64_t kScalarSize = 256;
constexpr int64_t kLargeDefault = 8;  // a default that says more than a usual number
constexpr size_t kMostSamples = 32;
constexpr size_t kMostSampleArgs = 6;

std::vector<Attr> samples_of(const AttrSpec& spec, size_t index) {
  const std::string_view type = spec.type->name;
  if (type == "bool") return {Attr(false), Attr(true)};
  if (!spec.choices.empty()) return {spec.choices.begin(), spec.choices.end()};
  if (type == "axis" || type == "one_axis") return {Attr(int64_t{1})};
  if (type == "axes") return {Attr(std::vector<int64_t>{index == 0 ? 1 : 0})};
  if (type == "permutation") return {Attr(std::vector<int64_t>{1, 0})};
  if (type == "shape" && index <= kSize) {  // of as many elements, each of another rank
    std::vector<int64_t> shape(index, 2);
    shape.push_back((kSize * kSize) >> index);
    return {Attr(shape)};
  }
  if (type == "float" || type == "scalar") {
    return {Attr(0.3719 + 0.0117 * static_cast<double>(index))};
  }
  if (type == "int") {
    const auto* fallback = std::get_if<int64_t>(&spec.fallback);
    const bool is_told = fallback != nullptr && std::llabs(*fallback) > kLargeDefault;
    return {Attr(is_told ? *fallback : int64_t{1})};
  }
  if (spec.required) return {};
  return {spec.fallback};
}

std::vector<Ref<Op>> sample_ops(const OpClass& cls) {
  std::vector<std::vector<Attr>> made{{}};
  for (size_t i = 0; i < cls.spec.attrs.size(); ++i) {
    std::vector<std::vector<Attr>> longer;
    for (const std::vector<Attr>& known : made) {
      for (const Attr& value : samples_of(cls.spec.attrs[i], i)) {
        if (longer.size() >= kMostSamples) break;
        longer.push_back(known);
        longer.back().push_back(value);
      }
    }
    made = std::move(longer);
  }
  std::vector<Ref<Op>> ops;
  for (std::vector<Attr>& attrs : made) {
    Ref<Op> op = make_ref<Op>(cls);
    op->attrs = std::move(attrs);
    ops.push_back(std::move(op));
  }
  return ops;
}

DType sample_dtype(Category category) {
  if (category == Category::kBoolean) return DType::kBool;
  const bool is_whole = category == Category::kInteger || category == Category::kIntegerOrBoolean;
  return is_whole ? DType::kInt64 : DType::kFloat64;
}

// Matrices where they go together, else vectors and numbers among them.
Specs fitting_specs(const Op& op, std::span<const ArgSpec> args) {
  static const Dims kShapes[] = {{kSize, kSize}, {kSize}, {}};
  size_t count = 1;
  for (size_t i = 0; i < args.size(); ++i) count *= std::size(kShapes);
  for (size_t number = 0; args.size() <= kMostSampleArgs && number < count; ++number) {
    Specs specs;
    size_t rest = number;
    for (const ArgSpec& arg : args) {
      specs.push_back({sample_dtype(arg.category), kShapes[rest % std::size(kShapes)], {}});
      rest /= std::size(kShapes);
    }
    try {
      infer_any(op, specs);
      return specs;
    } catch (const Error&) {
      continue;
    }
  }
  return {};
}

// Numbers of both signs that no formula is likely to be special at; `is_wide`: of all magnitudes.
double sample_number(size_t place, bool is_wide) {
  static constexpr double kWide[] = {0.0013, 0.11,  0.93,  2.7,   31,    173,
                                     1234,   4.7e4, 3.1e6, 8.3e9, 2.9e30};
  const double sign = (place >> 4) % 2 == 0 ? 1 : -1;
  if (is_wide) return sign * kWide[(place >> 5) % std::size(kWide)];
  return sign * (0.0137 + 0.2471 * static_cast<double>((place >> 5) % 16));
}

Ref<Value> number_value(double number) { return RawTensor::scalar(DType::kFloat64, number); }

Ref<Value> combined(std::string_view name, const Ref<Value>& a, const Ref<Value>& b) {
  Value* args[] = {a.get(), b.get()};
  return apply_one(registry().scalar_op(name), args);
}

Ref<Value> powered(const Ref<Value>& base, double exponent) {
  return exponent == 1 ? base : combined("pow", base, number_value(exponent));
}

}  // namespace

std::vector<Sample> samples_of(const OpClass& cls) {
  std::vector<Sample> found;
  std::span<const ArgSpec> args = cls.spec.args;
  if (!args.empty() && args.back().variadic) return found;
  for (Ref<Op>& op : sample_ops(cls)) {
    Specs specs = fitting_specs(*op, args);
    if (specs.size() == args.size()) found.push_back({std::move(op), std::move(specs)});
  }
  return found;
}

Sample sample_of(const Scalar& scalar) {
  Specs specs;
  for (const ArgSpec& arg : scalar.spec.args) {
    specs.push_back({sample_dtype(arg.category), {kScalarSize}, {}});
  }
  return {scalar.op, std::move(specs)};
}

Ref<RawTensor> sample_array(const Spec& spec, size_t index, bool is_wide) {
  const int64_t count = element_count(spec.shape);
  const Ref<RawTensor> made = RawTensor::empty(spec.dtype, spec.shape);
  for (int64_t i = 0; i < count; ++i) {
    // Bits that are well mixed, the same in every process.
    size_t place = (static_cast<size_t>(i) * 8 + index + 1) * 0x9E3779B97F4A7C15U;
    place ^= place >> 29;
    if (spec.dtype == DType::kBool) {
      made->as<bool>()[i] = (place >> 7) % 2 == 0;
    } else if (spec.dtype == DType::kInt64) {
      made->as<int64_t>()[i] = static_cast<int64_t>((place >> 7) % kSize);
    } else {
      made->as<double>()[i] = sample_number(place, is_wide);
    }
  }
  return made;
}

Ref<Value> Evaluation::value(int term) {
  const auto known = known_.find(term);
  if (known != known_.end()) return known->second;
  Ref<Value> made = compute(terms_[term]);
  known_[term] = made;
  return made;
}

Ref<Value> Evaluation::compute(const Term& term) {
  if (term.kind == Term::Kind::kLeaf) return leaves_.at(static_cast<size_t>(term.leaf));
  if (term.kind == Term::Kind::kNumber) {
    Ref<Value> number = number_value(term.number);
    return broadcast_to(static_cast<const RawTensor&>(*number), term.spec.shape);
  }
  if (term.kind == Term::Kind::kCall) {
    Values held;
    SmallVector<Value*, 4> args;
    for (const Term::Part& part : term.parts) {
      held.push_back(value(part.term));
      args.push_back(held.back().get());
    }
    return tensorlike::apply(*term.op,
                             {args.data(), args.size()})[static_cast<size_t>(term.output)];
  }
  const bool is_sum = term.kind == Term::Kind::kSum;
  Ref<Value> total = number_value(term.number);
  for (const Term::Part& part : term.parts) {
    const Ref<Value> own = is_sum ? combined("multiply", value(part.term), number_value(part.scale))
                                  : powered(value(part.term), part.scale);
    total = combined(is_sum ? "add" : "multiply", total, own);
  }
  return total;
}

}  // namespace tensorlike
