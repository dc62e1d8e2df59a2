// Kernels of convolutions: elements in C order, all of the dtype that is computed in.
#include "kernels/convolution.h"

#include <algorithm>

#include "base/blocking.h"
#include "op/families.h"
#include "op/windows.h"

namespace tensorlike {
namespace {

constexpr double kLongWork = 1e6;  // multiply-adds

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
void convolution_with(Arrays inputs, const Array& out, const Convolution& c, Run&& run) {
  visit_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* bias = inputs.size() > 2 ? inputs[2]->as<T>() : nullptr;
    BlockingRegion blocking(c.work() > kLongWork);
    run(inputs[0]->as<T>(), inputs[1]->as<T>(), bias, out.as<T>());
  });
}

// Kernels go along the last axis: where that has one element, the axis before takes its place.
Convolution along_lines(Convolution c) {
  Window& w = c.window;
  const auto is_single = [&](int dim) {
    return w.in[dim] == 1 && w.out[dim] == 1 && w.kernel[dim] == 1 && w.before[dim] == 0;
  };
  constexpr int kLast = Window::kDims - 1;
  for (int turn = 0; turn < kLast && is_single(kLast); ++turn) {
    for (auto* sizes : {w.in, w.out, w.kernel, w.stride, w.before, w.dilation}) {
      std::rotate(sizes, sizes + kLast, sizes + Window::kDims);
    }
  }
  return c;
}

void convolution(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  const Convolution c = along_lines(convolution_of(op, inputs[0]->shape, inputs[1]->shape));
  convolution_with(inputs, *outputs[0], c,
                   [&](const auto* x, const auto* weight, const auto* bias, auto* y) {
                     convolve(c, x, weight, bias, y, inputs[1]->forms);
                   });
}

void convolution_transpose(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  const Convolution c = transposed_convolution_of(op, inputs[0]->shape, inputs[1]->shape);
  convolution_with(inputs, *outputs[0], c,
                   [&](const auto* x, const auto* weight, const auto* bias, auto* y) {
                     convolve_data_gradient(c, x, weight, bias, y, inputs[1]->forms);
                   });
}

void convolution_weight(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  const Convolution c = weight_convolution_of(op, inputs[0]->shape, inputs[1]->shape);
  convolution_with(inputs, *outputs[0], c,
                   [&](const auto* x, const auto* gradient, const auto*, auto* weight) {
                     convolve_weight_gradient(c, x, gradient, weight);
                   });
}

constexpr std::pair<std::string_view, KernelRule> kConvolutionKernels[] = {
    {"convolution", convolution},
    {"convolution_transpose", convolution_transpose},
    {"convolution_weight", convolution_weight},
};

}  // namespace

RuleTable<KernelRule> convolution_kernels() { return kConvolutionKernels; }

}  // namespace tensorlike
