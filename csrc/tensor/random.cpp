// Random draws: the elements are split over the pool; each knows its number, so the split changes
// nothing.
#include <limits>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/kernel_table.h"
#include "op/families.h"
#include "tensor/layout.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrain = 16384;

RandomStream stream_of(const Op& op) {
  return {static_cast<uint64_t>(op.get<int64_t>("key")),
          static_cast<uint32_t>(op.get<int64_t>("counter"))};
}

// A fresh tensor that `draw(part, n, first)` fills, n elements from the first on at a time.
template <class Draw>
Ref<RawTensor> drawn(DType dtype, const Dims& shape, Draw&& draw) {
  const Ref<RawTensor> out = RawTensor::empty(dtype, shape);
  char* data = out->data;
  const int64_t width = static_cast<int64_t>(size_of(dtype));
  const int64_t size = out->size();
  BlockingRegion blocking(size > kGrain);
  parallel_for(size, kGrain, [&](int64_t begin, int64_t end) {
    draw(static_cast<void*>(data + begin * width), end - begin, begin);
  });
  return out;
}

// The bits of a float's fraction, its leading one included: as many as numbers below 1 can have
// without being rounded to 1.
int precision_of(DType dtype) {
  if (dtype == DType::kFloat64) return 53;
  if (dtype == DType::kFloat32) return 24;
  return dtype == DType::kFloat16 ? 11 : 8;
}

double bound_of(const Op& op, const char* name) {
  const Attr& attr = op.attr(name);
  const auto* whole = std::get_if<int64_t>(&attr);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(attr);
}

Ref<RawTensor> draw_floats(const Op& op, const std::string& mode, const Spec& spec) {
  const RandomStream stream = stream_of(op);
  const DType dtype = mode == "truncated_normal" ? DType::kFloat64 : compute_of(spec.dtype);
  const RandomKernels& kernels = kernel_table().random[dtype];
  if (mode == "truncated_normal") {
    const double low = bound_of(op, "low");
    const double high = bound_of(op, "high");
    return drawn(dtype, spec.shape, [&](void* out, int64_t n, int64_t first) {
      kernels.truncated_normal(static_cast<double*>(out), n, stream, first, low, high);
    });
  }
  if (mode == "normal") {
    return drawn(dtype, spec.shape, [&](void* out, int64_t n, int64_t first) {
      kernels.normal(out, n, stream, first);
    });
  }
  const int bits = precision_of(spec.dtype);
  return drawn(dtype, spec.shape, [&](void* out, int64_t n, int64_t first) {
    kernels.uniform(out, n, stream, first, bits);
  });
}

Ref<RawTensor> draw_integers(const Op& op, const Spec& spec) {
  const RandomStream stream = stream_of(op);
  const int64_t low = std::get<int64_t>(op.attr("low"));
  const int64_t high = std::get<int64_t>(op.attr("high"));
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const RandomKernels& kernels = kernel_table().random[DType::kInt64];
  return drawn(DType::kInt64, spec.shape, [&](void* out, int64_t n, int64_t first) {
    kernels.integers(static_cast<int64_t*>(out), n, stream, first, low, range);
  });
}

Ref<RawTensor> draw_bits(const Op& op, const Spec& spec) {
  const RandomStream stream = stream_of(op);
  const DType dtype = size_of(spec.dtype) == 8 ? DType::kUInt64 : DType::kUInt32;
  const RandomKernels& kernels = kernel_table().random[dtype];
  return drawn(dtype, spec.shape,
               [&](void* out, int64_t n, int64_t first) { kernels.bits(out, n, stream, first); });
}

Values random(const Op& op, RawArgs, const Specs& outputs, uint32_t) {
  const Spec& spec = outputs[0];
  const std::string& mode = op.get<std::string>("mode");
  const Ref<RawTensor> out = mode == "integers" ? draw_integers(op, spec)
                             : mode == "bits"   ? draw_bits(op, spec)
                                                : draw_floats(op, mode, spec);
  return one(cast_if_needed(*out, spec.dtype));
}

// The first parameter that has no distribution, or whose numbers would not fit into integers.
void check_parameters(const Op& op, const RawTensor& given, bool is_rate) {
  const double most = is_rate ? 0x1p62 : std::numeric_limits<double>::infinity();
  const double* parameter = given.as<double>();
  for (int64_t i = 0; i < given.size(); ++i) {
    if (parameter[i] >= 0 && parameter[i] <= most) continue;
    fail(ErrorKind::kAttribute, said::op(op.name()), said::argument("parameter"),
         "must not be negative", is_rate ? ", NaN or above 2^62" : " or NaN",
         said::got(parameter[i], " at element ", i));
  }
}

Values random_from(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const RandomStream stream = stream_of(op);
  const std::string& mode = op.get<std::string>("mode");
  const Ref<RawTensor> given = contiguous(*cast_if_needed(*inputs[0], DType::kFloat64));
  check_parameters(op, *given, mode == "poisson");
  const double* parameter = given->as<double>();
  const RandomKernels& kernels = kernel_table().random[DType::kFloat64];
  const Ref<RawTensor> out =
      drawn(DType::kFloat64, outputs[0].shape, [&](void* part, int64_t n, int64_t first) {
        double* y = static_cast<double*>(part);
        if (mode == "poisson") {
          kernels.poisson(y, parameter + first, n, stream, first);
        } else {
          kernels.gamma(y, parameter + first, n, stream, first, mode == "log_gamma");
        }
      });
  return one(cast_if_needed(*out, outputs[0].dtype));
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"random", random},
    {"random_from", random_from},
};

}  // namespace

RuleTable<KernelRule> random_kernels() { return kKernels; }

}  // namespace tensorlike
