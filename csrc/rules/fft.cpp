// The gradient of a Fourier transform is one: the adjoint has the same scale and the opposite sign
// in the exponent. Where half of a spectrum stands for all of it, its inner elements count twice.
#include "op/families.h"
#include "op/index.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

// Elements [at, at + 1) along the axis.
std::vector<int64_t> slice_at(int64_t at, size_t axis, size_t ndim) {
  std::vector<int64_t> items;
  for (size_t i = 0; i < ndim; ++i) {
    const int64_t start = i == axis ? at : kNoBound;
    const int64_t stop = i == axis ? at + 1 : kNoBound;
    items.insert(items.end(), {static_cast<int64_t>(ItemKind::kSlice), start, stop, kNoBound});
  }
  return items;
}

// The half of a spectrum of n elements with those multiplied that stand for two.
Ref<Value> scale_inner(Value& half, const Dims& shape, size_t axis, int64_t n, double factor) {
  Ref<Value> scaled = call("multiply", {&half, lift_literal(factor, half).get()});
  for (int64_t at : {int64_t{0}, n / 2}) {
    if (at > 0 && (n % 2 != 0)) continue;
    const std::vector<int64_t> items = slice_at(at, axis, shape.size());
    const Ref<Value> own = call("subtensor", {&half}, {{"items", items}});
    scaled = call("set_subtensor", {scaled.get(), own.get()}, {{"items", items}});
  }
  return scaled;
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
      dx = adjoint(*scale_inner(dy, y.shape, last, n, 0.5), "c2r", n);
    } else {
      const int64_t n = y.shape[last];
      dx = scale_inner(*adjoint(dy, "r2c", 0), x.shape, last, n, 2.0);
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
