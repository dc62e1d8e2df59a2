// Convolutions whose products are of 8-bit integers: images become integers in steps of their own,
// sums become numbers again, with a bias and a scalar function, while they are in the cache. The
// products themselves are kernels/integer_windows.h.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/activation.h"
#include "cpu/arrays.h"
#include "kernels/convolution.h"
#include "kernels/integer_windows.h"
#include "op/families.h"
#include "op/windows.h"

namespace tensorlike {
namespace {

constexpr float kSmallestImage = 1e-30F;  // an image's largest element; as in the body of the op
constexpr int64_t kPart = 1 << 14;        // elements whose largest is looked for together

// What a quantised convolution computes, all in order.
template <class T>
struct ConvolutionLayer {
  const Convolution& c;
  const T* x;
  const T* scales;  // of each image
  const T* channel_scales;
  const T* bias;
  T* y;
  const Activation& activation;
};

class Numbers : public WindowSums {
 public:
  explicit Numbers(const ConvolutionLayer<float>& layer) : layer_(layer) {}

  void convert(void* to, const int32_t* sums, int64_t image, int64_t channel,
               int64_t n) const override {
    static const detail::IntegerTable& loops = detail::integer_table(isa());
    loops.scale_row(static_cast<float*>(to), sums,
                    layer_.scales[image] * layer_.channel_scales[channel], layer_.bias[channel], n);
  }
  void finish(int64_t image, int64_t channel, int64_t from, int64_t n) const override {
    const int64_t plane = image * layer_.c.groups * layer_.c.out_channels + channel;
    layer_.activation.apply(layer_.y + plane * layer_.c.window.out_size() + from, n);
  }

 private:
  const ConvolutionLayer<float>& layer_;
};

void run_bytes(const ConvolutionLayer<float>& layer, const Array& weight, Workspace& workspace) {
  const auto allocate = [&](size_t bytes) { return workspace.bytes(bytes); };
  const IntegerWindows windows(layer.c, weight.as<int8_t>(), 0, weight.forms, allocate);
  float* const inverses = workspace.take<float>(layer.c.images);
  for (int64_t i = 0; i < layer.c.images; ++i) inverses[i] = 1.0F / layer.scales[i];
  char* const images = allocate(windows.image_bytes());
  windows.lay_out(images, layer.x, inverses);
  windows.run(images, 128, nullptr, reinterpret_cast<char*>(layer.y), Numbers(layer));
}

// The same with weights of any integers, and in double precision: as the body says it.
template <class T>
void run_wide(const ConvolutionLayer<T>& layer, const Array& weight, Workspace& workspace) {
  const Convolution& c = layer.c;
  const Array wide = prepared(weight, DType::kFloat64, workspace);
  const int64_t size = c.groups * c.x_size();
  double* const x = workspace.take<double>(c.images * size);
  for (int64_t i = 0; i < c.images * size; ++i) {
    const T value = std::nearbyint(layer.x[i] * (1 / layer.scales[i / size]));
    const T limited = value > 127 ? 127 : value < -127 ? -127 : value;
    x[i] = limited == limited ? static_cast<double>(limited) : 0.0;
  }
  const int64_t channels = c.groups * c.out_channels;
  const int64_t windows = c.window.out_size();
  double* const sums = workspace.take<double>(c.images * channels * windows);
  convolve<double>(c, x, wide.as<double>(), nullptr, sums);
  for (int64_t i = 0; i < c.images * channels; ++i) {
    const T scale = layer.scales[i / channels] * layer.channel_scales[i % channels];
    T* const y = layer.y + i * windows;
    for (int64_t j = 0; j < windows; ++j) {
      y[j] = static_cast<T>(sums[i * windows + j]) * scale + layer.bias[i % channels];
    }
    layer.activation.apply(y, windows);
  }
}

// Such that the largest element of each image is 127.
template <class T>
T* own_scales(const Convolution& c, const T* x, Workspace& workspace) {
  static const detail::IntegerTable& loops = detail::integer_table(isa());
  const int64_t size = c.groups * c.x_size();
  const int64_t parts = std::max<int64_t>(1, (size + kPart - 1) / kPart);
  T* const found = workspace.take<T>(c.images * parts);
  parallel_for(c.images * parts, 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i % parts * kPart;
      const int64_t n = std::max<int64_t>(0, std::min(kPart, size - from));
      const T* const part = x + i / parts * size + from;
      if constexpr (std::is_same_v<T, float>) {
        found[i] = loops.largest(part, n);
      } else {
        found[i] = 0;
        for (int64_t j = 0; j < n; ++j) {
          const T one = std::abs(part[j]);
          if (found[i] < one || one != one) found[i] = one;
        }
      }
    }
  });
  T* const scales = workspace.take<T>(c.images);
  for (int64_t i = 0; i < c.images; ++i) {
    T most = static_cast<T>(kSmallestImage);
    for (int64_t j = 0; j < parts; ++j) {
      const T one = found[i * parts + j];
      if (most < one || one != one) most = one;
    }
    scales[i] = most / 127;
  }
  return scales;
}

struct ConvolutionOperands {
  const Array& x;
  const Array& weight;
  const Array* scales;  // null: of the images themselves
  const Array& channel_scales;
  const Array& bias;
};

template <class T>
void run_layer(const Convolution& c, const ConvolutionOperands& operands,
               const Activation& activation, const Array& out, Workspace& workspace) {
  const DType dtype = out.dtype;
  const auto spread = [&](const Array& x, int64_t n) {
    return prepared(broadcast_to(x, Dims{n}), dtype, workspace).as<T>();
  };
  const Array x = prepared(operands.x, dtype, workspace);
  const int64_t channels = c.groups * c.out_channels;
  const T* const scales = operands.scales == nullptr ? own_scales(c, x.as<T>(), workspace)
                                                     : spread(*operands.scales, c.images);
  const ConvolutionLayer<T> layer{c,
                                  x.as<T>(),
                                  scales,
                                  spread(operands.channel_scales, channels),
                                  spread(operands.bias, channels),
                                  out.as<T>(),
                                  activation};
  BlockingRegion blocking(c.work() > 4e6);
  const Array weight = contiguous(operands.weight, workspace);
  if constexpr (std::is_same_v<T, float>) {
    if (weight.dtype == DType::kInt8) return run_bytes(layer, weight, workspace);
  }
  run_wide<T>(layer, weight, workspace);
}

void run_convolution(const Op& op, const ConvolutionOperands& operands, const Array& out,
                     Workspace& workspace) {
  const Convolution c = convolution_of(op, operands.x.shape, operands.weight.shape);
  if (out.count == 0) return;
  const Array* const reals[] = {&operands.x, &operands.channel_scales, &operands.bias,
                                operands.scales};
  with_real_activation(op, reals, out, workspace,
                       [&](auto tag, const Activation& activation, const Array& made) {
                         using T = typename decltype(tag)::type;
                         run_layer<T>(c, operands, activation, made, workspace);
                       });
}

void quantized_convolution(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  run_convolution(op, {*inputs[0], *inputs[1], inputs[2], *inputs[3], *inputs[4]}, *outputs[0],
                  workspace);
}

void dynamic_quantized_convolution(const Op& op, Arrays inputs, Arrays outputs,
                                   Workspace& workspace) {
  run_convolution(op, {*inputs[0], *inputs[1], nullptr, *inputs[2], *inputs[3]}, *outputs[0],
                  workspace);
}

constexpr std::pair<std::string_view, KernelRule> kQuantizedConvolutionKernels[] = {
    {"dynamic_quantized_convolution", dynamic_quantized_convolution},
    {"quantized_convolution", quantized_convolution},
};

}  // namespace

RuleTable<KernelRule> quantized_convolution_kernels() { return kQuantizedConvolutionKernels; }

}  // namespace tensorlike
