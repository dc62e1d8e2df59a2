// Kernels of convolutions: elements in C order, in the dtype of the result.
#include "kernels/convolution.h"

#include "base/blocking.h"
#include "op/families.h"
#include "op/windows.h"
#include "tensor/layout.h"

namespace tensorlike {
namespace {

constexpr double kLongWork = 1e6;  // multiply-adds

Ref<RawTensor> prepared(const RawTensor& x, DType dtype) {
  return contiguous(*cast_if_needed(x, dtype));
}

// Calls f(tag) with the type to compute in.
template <class F>
void visit_floating(DType dtype, F&& f) {
  if (dtype == DType::kFloat64) {
    f(TypeTag<double>{});
  } else {
    f(TypeTag<float>{});
  }
}

template <class Run>
Values convolution_with(RawArgs inputs, const Specs& outputs, const Convolution& c, Run&& run) {
  const DType dtype = compute_of(outputs[0].dtype);
  const Ref<RawTensor> first = prepared(*inputs[0], dtype);
  const Ref<RawTensor> second = prepared(*inputs[1], dtype);
  const Ref<RawTensor> bias = inputs.size() > 2 ? prepared(*inputs[2], dtype) : Ref<RawTensor>();
  Ref<RawTensor> out = RawTensor::empty(dtype, outputs[0].shape);
  visit_floating(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* shift = bias ? bias->as<T>() : nullptr;
    BlockingRegion blocking(c.work() > kLongWork);
    run(first->as<T>(), second->as<T>(), shift, out->as<T>());
  });
  return one(cast_if_needed(*out, outputs[0].dtype));
}

Values convolution(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const Convolution c = convolution_of(op, inputs[0]->shape, inputs[1]->shape);
  return convolution_with(inputs, outputs, c,
                          [&](const auto* x, const auto* weight, const auto* bias, auto* y) {
                            convolve(c, x, weight, bias, y);
                          });
}

Values convolution_transpose(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const Convolution c = transposed_convolution_of(op, inputs[0]->shape, inputs[1]->shape);
  return convolution_with(inputs, outputs, c,
                          [&](const auto* x, const auto* weight, const auto* bias, auto* y) {
                            convolve_data_gradient(c, x, weight, bias, y);
                          });
}

Values convolution_weight(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const Convolution c = weight_convolution_of(op, inputs[0]->shape, inputs[1]->shape);
  return convolution_with(inputs, outputs, c,
                          [&](const auto* x, const auto* gradient, const auto*, auto* weight) {
                            convolve_weight_gradient(c, x, gradient, weight);
                          });
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"convolution", convolution},
    {"convolution_transpose", convolution_transpose},
    {"convolution_weight", convolution_weight},
};

}  // namespace

RuleTable<KernelRule> convolution_kernels() { return kKernels; }

}  // namespace tensorlike
