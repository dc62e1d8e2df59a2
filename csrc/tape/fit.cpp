// Fitting a gradient to what it is the gradient of.
#include "tape/gradient.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

std::vector<int64_t> as_ints(const Dims& dims) { return {dims.begin(), dims.end()}; }

Ref<Value> reshape(Value& x, const Dims& shape) {
  return call("reshape", {&x}, {{"shape", as_ints(shape)}});
}

}  // namespace

Ref<Value> fit(Ref<Value> value, const Spec& spec) {
  if (value->tag == Value::kRaw) {
    const auto& raw = static_cast<const RawTensor&>(*value);
    if (raw.dtype == spec.dtype && raw.shape == spec.shape && raw.device == spec.device) {
      return value;
    }
    // The shortest way for the gradient of a sum.
    if (raw.dtype == spec.dtype && raw.shape.empty() && !raw.pending && raw.device == spec.device) {
      return broadcast_to(raw, spec.shape);
    }
  }
  Spec got = spec_of("gradient", *value);
  if (kind_of(got.dtype) == Kind::kComplex && kind_of(spec.dtype) != Kind::kComplex) {
    value = call("real", {value.get()});
    got.dtype = real_of(got.dtype);
  }
  if (got.shape.size() >= spec.shape.size()) {
    const size_t lead = got.shape.size() - spec.shape.size();
    std::vector<int64_t> axes;
    for (size_t i = 0; i < got.shape.size(); ++i) {
      if (i < lead || (spec.shape[i - lead] == 1 && got.shape[i] != 1)) {
        axes.push_back(static_cast<int64_t>(i));
      }
    }
    if (!axes.empty()) {
      value = call("sum", {value.get()}, {{"axis", axes}, {"keepdims", true}});
      if (lead > 0) value = reshape(*value, spec.shape);
    }
  }
  if (!(spec_of("gradient", *value).shape == spec.shape)) {
    value = call("broadcast_to", {value.get()}, {{"shape", as_ints(spec.shape)}});
  }
  if (got.dtype != spec.dtype) value = call("astype", {value.get()}, {{"dtype", spec.dtype}});
  if (!(got.device == spec.device)) {
    value = call("to_device", {value.get()}, {{"device", to_string(spec.device)}});
  }
  return value;
}

}  // namespace tensorlike
