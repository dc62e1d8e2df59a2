// Inference of convolutions and pooling.
#include <algorithm>

#include "op/counts.h"
#include "op/families.h"
#include "op/infer.h"
#include "op/shapes.h"
#include "op/windows.h"

namespace tensorlike {
namespace {

using Inputs = std::span<const Spec>;

void check_real(const Op& op, Inputs inputs, const char* what) {
  const std::vector<ArgSpec>& args = op.cls.spec.args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (kind_of(inputs[i].dtype) <= Kind::kFloating) continue;
    fail(ErrorKind::kDType, said::op(op.name()), args[std::min(i, args.size() - 1)].name,
         " must be ", what, said::got(name_of(inputs[i].dtype)),
         said::fix("take one of its parts: real(x), imag(x), abs(x)"));
  }
}

// The promoted dtype of the inputs from the first one on: integers and booleans become float32.
DType window_dtype(const Op& op, Inputs inputs, size_t first = 0) {
  check_real(op, inputs, "real floating-point");
  DType dtype = inputs[first].dtype;
  for (const Spec& spec : inputs.subspan(first)) dtype = promote(dtype, spec.dtype);
  return kind_of(dtype) == Kind::kFloating ? dtype : DType::kFloat32;
}

// (images, channels, *size), for as many spatial dimensions as `like` has.
Dims image_shape(const Dims& like, int64_t channels, const int64_t (&size)[Window::kDims]) {
  Dims shape = like;
  shape[1] = channels;
  const size_t n = like.size() - 2;
  std::copy_n(size + Window::kDims - n, n, shape.begin() + 2);
  return shape;
}

void check_bias(const Op& op, Inputs inputs, int64_t channels) {
  if (inputs.size() == 2) return;
  const Dims& shape = inputs[2].shape;
  if (shape.size() == 1 && shape[0] == channels) return;
  fail(ErrorKind::kShape, said::op(op.name()), "bias.shape must be (", channels,
       ",), a number for each channel of the result", said::got("bias.shape=", to_string(shape)),
       said::fix("attributes are given by name: stride=2"));
}

Specs infer_convolution(const Op& op, Inputs inputs) {
  const Dims& x = inputs[0].shape;
  const Convolution c = convolution_of(op, x, inputs[1].shape);
  const int64_t channels = c.groups * c.out_channels;
  check_bias(op, inputs, channels);
  return one(window_dtype(op, inputs), image_shape(x, channels, c.window.out));
}

Specs infer_convolution_transpose(const Op& op, Inputs inputs) {
  const Dims& x = inputs[0].shape;
  const Convolution c = transposed_convolution_of(op, x, inputs[1].shape);
  const int64_t channels = c.groups * c.in_channels;
  check_bias(op, inputs, channels);
  return one(window_dtype(op, inputs), image_shape(x, channels, c.window.in));
}

Specs infer_convolution_weight(const Op& op, Inputs inputs) {
  const Dims& x = inputs[0].shape;
  const Convolution c = weight_convolution_of(op, x, inputs[1].shape);
  Dims shape = image_shape(x, c.in_channels, c.window.kernel);
  shape[0] = c.groups * c.out_channels;
  return one(window_dtype(op, inputs), shape);
}

constexpr int64_t kMostTerms = 131072;  // of a sum of products of bytes, in 32 bits

// Convolutions of integers: their dtypes, and the arguments from `first` on, of which there is one
// number for each channel of the result, or one; of x_scale one for each image.
Convolution integer_convolution_of(const Op& op, Inputs inputs) {
  const Convolution c = convolution_of(op, inputs[0].shape, inputs[1].shape);
  const std::vector<ArgSpec>& args = op.cls.spec.args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (args[i].category == Category::kInteger) check_category(op.name(), args[i], inputs[i].dtype);
    if (i < 2) continue;
    const bool is_of_images = args[i].name == "x_scale";
    const bool is_single = args[i].name == "x_zero_point" || args[i].name == "zero_point";
    const int64_t n = is_single ? 1 : is_of_images ? c.images : c.groups * c.out_channels;
    const Dims& shape = inputs[i].shape;
    if (shape.empty() || (shape.size() == 1 && (shape[0] == 1 || shape[0] == n))) continue;
    fail(ErrorKind::kShape, said::op(op.name()), args[i].name,
         is_single      ? ".shape must be (), one number"
         : is_of_images ? ".shape must be () or (images,), a number for each"
                        : ".shape must be () or (channels of the result,), a number for each",
         said::got(args[i].name, ".shape=", to_string(shape), " for x.shape=",
                   to_string(inputs[0].shape), ", weight.shape=", to_string(inputs[1].shape)));
  }
  return c;
}

Specs infer_conv_integer(const Op& op, Inputs inputs) {
  const Convolution c = integer_convolution_of(op, inputs);
  return one(DType::kInt32, image_shape(inputs[0].shape, c.groups * c.out_channels, c.window.out));
}

Specs infer_requantized_convolution(const Op& op, Inputs inputs) {
  const Convolution c = integer_convolution_of(op, inputs);
  real_floating(op, "factor", inputs[5].dtype);
  return one(op.get<bool>("is_signed") ? DType::kInt8 : DType::kUInt8,
             image_shape(inputs[0].shape, c.groups * c.out_channels, c.window.out));
}

Specs infer_quantized_convolution(const Op& op, Inputs inputs) {
  const Convolution c = integer_convolution_of(op, inputs);
  if (c.rows() > kMostTerms) {
    fail(ErrorKind::kShape, said::op(op.name()), "a window must have at most ", kMostTerms,
         " elements, whose products fit 32 bits", said::got(c.rows()));
  }
  DType dtype = real_floating(op, "x", inputs[0].dtype);
  for (size_t i = 2; i < inputs.size(); ++i) {
    const char* const name = op.cls.spec.args[i].name.c_str();
    dtype = promote(dtype, real_floating(op, name, inputs[i].dtype));
  }
  const DType found = applied_dtype(op, "activation", op.get<std::string>("activation"), dtype);
  return one(found, image_shape(inputs[0].shape, c.groups * c.out_channels, c.window.out));
}

Specs infer_avg_pool(const Op& op, Inputs inputs) {
  return one(window_dtype(op, inputs), pooling_of(op, inputs[0].shape).shape);
}
Specs infer_max_pool(const Op& op, Inputs inputs) {
  check_real(op, inputs, "real numeric");
  return one(inputs[0].dtype, pooling_of(op, inputs[0].shape).shape);
}

void check_shape(const Op& op, const char* name, const Dims& got, const Dims& wanted) {
  if (got == wanted) return;
  fail(ErrorKind::kShape, said::op(op.name()), name, ".shape must be ", to_string(wanted),
       said::got(to_string(got)));
}

Specs infer_pool_spread(const Op& op, Inputs inputs) {
  const Dims& x = inputs[0].shape;
  check_shape(op, "gradient", inputs[1].shape, pooling_of(op, x).shape);
  return one(window_dtype(op, inputs, 1), x);
}

Specs infer_pool_select(const Op& op, Inputs inputs) {
  const Dims& x = inputs[0].shape;
  const Pooling p = pooling_of(op, x);
  check_shape(op, "values", inputs[1].shape, x);
  return one(window_dtype(op, inputs, 1), p.shape);
}

Specs infer_avg_pool_spread(const Op& op, Inputs inputs) {
  const Dims shape{std::span<const int64_t>(op.get<std::vector<int64_t>>("shape"))};
  inferred_count(shape);
  check_shape(op, "gradient", inputs[0].shape, pooling_of(op, shape).shape);
  return one(window_dtype(op, inputs), shape);
}

constexpr std::pair<std::string_view, InferRule> kWindowRules[] = {
    {"convolution", infer_convolution},
    {"convolution_transpose", infer_convolution_transpose},
    {"convolution_weight", infer_convolution_weight},
    {"conv_integer", infer_conv_integer},
    {"requantized_convolution", infer_requantized_convolution},
    {"quantized_convolution", infer_quantized_convolution},
    {"dynamic_quantized_convolution", infer_quantized_convolution},
    {"max_pool", infer_max_pool},
    {"max_pool_spread", infer_pool_spread},
    {"max_pool_select", infer_pool_select},
    {"avg_pool", infer_avg_pool},
    {"avg_pool_spread", infer_avg_pool_spread},
};

}  // namespace

RuleTable<InferRule> window_rules() { return kWindowRules; }

}  // namespace tensorlike
