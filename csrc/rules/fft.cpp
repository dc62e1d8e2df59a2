// The gradient of a Fourier transform is one: the adjoint has the same scale and the opposite sign
// in the exponent. Where half of a spectrum stands for all of it, its inner elements count twice.
#include "op/families.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

// The half of a spectrum of n elements with those multiplied that stand for two: all but the first,
// and the one in the middle where n is even. By values, since n may be a size that is not known.
Ref<Value> scale_inner(Value& half, const Spec& spec, size_t axis, int64_t n, double factor) {
  const Dims& shape = spec.shape;
  const Ref<Value> twice =
      call("arange", {}, {{"start", int64_t{0}}, {"stop", 2 * shape[axis]}, {"step", int64_t{2}}});
  const Ref<Value> rest = call("remainder", {twice.get(), lift_literal(n, *twice).get()});
  Ref<Value> is_one = call("equal", {rest.get(), lift_literal(int64_t{0}, *rest).get()});
  std::vector<int64_t> column(shape.size() - axis, 1);
  column[0] = -1;
  is_one = call("reshape", {is_one.get()}, {{"shape", column}});
  // A real number: ONNX has no choice between complex ones.
  const Ref<Value> one = call("astype", {is_one.get()}, {{"dtype", real_of(spec.dtype)}});
  const Ref<Value> less = call("multiply", {one.get(), lift_literal(1 - factor, *one).get()});
  const Ref<Value> times = call("add", {less.get(), lift_literal(factor, *less).get()});
  return call("multiply", {&half, times.get()});
}

void grad_fourier_transform(GradCall& c) {
  const std::string& kind = c.op.get<std::string>("kind");
  const std::vector<int64_t>& axes = c.op.get<std::vector<int64_t>>("axes");
  const Spec& x = c.node.input_spec(0);
  const Spec& y = c.node.outputs()[0];
  Value& dy = *c.cotangents[0];
  auto adjoint = [&](Value& value, const char* of, int64_t n) {
    return call("fourier_transform", {&value},
                {{"kind", std::string(of)},
                 {"axes", axes},
                 {"n", n},
                 {"inverse", !c.op.get<bool>("inverse")},
                 {"scale", c.op.attr("scale")}});
  };
  Ref<Value> dx;
  if (kind == "c2c") {
    dx = adjoint(dy, "c2c", 0);
  } else {
    const size_t last = static_cast<size_t>(
        normalize_axis(c.op.name(), axes.back(), static_cast<int64_t>(x.shape.size())));
    if (kind == "r2c") {
      const int64_t n = x.shape[last];
      dx = adjoint(*scale_inner(dy, y, last, n, 0.5), "c2r", n);
    } else {
      const int64_t n = y.shape[last];
      dx = scale_inner(*adjoint(dy, "r2c", 0), x, last, n, 2.0);
    }
  }
  const bool is_real = kind_of(x.dtype) != Kind::kComplex;
  c.result(0) = is_real && kind != "r2c" ? call("real", {dx.get()}) : dx;
}

constexpr std::pair<std::string_view, GradRule> kFftGradients[] = {
    {"fourier_transform", {grad_fourier_transform, 0, false}},
};

}  // namespace

RuleTable<GradRule> fft_gradients() { return kFftGradients; }

}  // namespace tensorlike
