// Inference of Fourier transforms.
#include <algorithm>

#include "op/counts.h"
#include "op/families.h"
#include "op/infer.h"

namespace tensorlike {
namespace {

using Inputs = std::span<const Spec>;

// The axes, non-negative.
Dims transformed_axes(const Op& op, const Dims& shape) {
  Dims axes;
  for (int64_t axis : op.get<std::vector<int64_t>>("axes")) {
    const int64_t at = normalize_axis(op.name(), axis, static_cast<int64_t>(shape.size()));
    if (std::find(axes.begin(), axes.end(), at) != axes.end()) {
      fail(ErrorKind::kShape, said::op(op.name()), said::argument("axes"), "must differ",
           said::got("axes=", to_string(op.attr("axes")), " for ", shape.size(), " dimensions"));
    }
    if (shape[static_cast<size_t>(at)] == 0) {
      fail(ErrorKind::kShape, said::op(op.name()), "the axes to transform must not be empty",
           said::got("axis ", axis, " of x.shape=", to_string(shape)),
           said::fix("give the size to pad it to"));
    }
    axes.push_back(at);
  }
  return axes;
}

Specs infer_fourier_transform(const Op& op, Inputs inputs) {
  const std::string& kind = op.get<std::string>("kind");
  const Spec& x = inputs[0];
  if (kind == "r2c" && kind_of(x.dtype) == Kind::kComplex) {
    fail(ErrorKind::kDType, said::op(op.name()), said::argument("x"), "must be real",
         said::got(name_of(x.dtype)), said::fix("transform complex numbers by fft or fftn"));
  }
  Dims shape = x.shape;
  const Dims axes = transformed_axes(op, shape);
  const DType dtype = complex_of(x.dtype);
  if (kind == "c2c") return Specs(1, Spec{dtype, shape});
  if (axes.empty()) {
    fail(ErrorKind::kShape, said::op(op.name()), "there must be an axis to transform for kind='",
         kind, "'", said::got("axes=()"));
  }
  int64_t& last = shape[static_cast<size_t>(axes.back())];
  if (kind == "r2c") {
    last = last / 2 + 1;
    return Specs(1, Spec{dtype, shape});
  }
  const int64_t n = op.get<int64_t>("n");
  if (n < 1 || n / 2 + 1 != last) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("n"),
         "must be positive, and the last of the axes have n // 2 + 1 elements",
         said::got("n=", n, " for ", last, " elements"));
  }
  last = n;
  inferred_count(shape);
  return Specs(1, Spec{real_of(dtype), shape});
}

constexpr std::pair<std::string_view, InferRule> kFftRules[] = {
    {"fourier_transform", infer_fourier_transform},
};

}  // namespace

RuleTable<InferRule> fft_rules() { return kFftRules; }

}  // namespace tensorlike
