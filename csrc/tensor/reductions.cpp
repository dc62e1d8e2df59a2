#include "tensor/reductions.h"

#include <cmath>

#include "op/infer.h"
#include "op/registry.h"
#include "op/tile_program.h"
#include "tensor/layout.h"

namespace tensorlike {
namespace {

DType loop_of(const Reduction& reduction, DType dtype) {
  const bool is_floating = reduction.kernels[DType::kInt32].accumulator == 0;
  const bool converts = is_floating && kind_of(dtype) < Kind::kFloating;
  if (converts) return DType::kFloat32;
  // The square of a uint16 does not fit the int32 that it would be computed in.
  const bool is_sum = reduction.spec.result == Result::kSum;
  if (is_sum && dtype == DType::kUInt16) return DType::kInt64;
  const DType loop = compute_of(dtype);
  return reduction.kernels[loop].accumulator == 0 && loop == DType::kBool ? DType::kInt32 : loop;
}

const ReductionKernel& log_sum_exp_kernel(DType loop) { return kernel_table().log_sum_exp[loop]; }
const ReductionKernel& deviations_kernel(DType loop) {
  return kernel_table().square_deviations[loop];
}

// With fewer elements than the correction there is no variance: NaN, or infinity.
template <bool kTakesRoot>
Ref<RawTensor> variance(const Op& op, Ref<RawTensor> squares, int64_t count) {
  const double divisor = static_cast<double>(count) - op.get<double>("correction");
  for (int64_t i = 0; i < squares->count; ++i) {
    double& value = squares->as<double>()[i];
    value /= divisor > 0 ? divisor : 0.0;
    if (kTakesRoot) value = std::sqrt(value);
  }
  return squares;
}

constexpr ReduceRule kLogSumExp = {log_sum_exp_kernel, [](DType loop) { return loop; }, nullptr};
template <bool kTakesRoot>
constexpr ReduceRule kVariance = {deviations_kernel, [](DType) { return DType::kFloat64; },
                                  variance<kTakesRoot>};

constexpr std::pair<std::string_view, const ReduceRule*> kRules[] = {
    {"log_sum_exp", &kLogSumExp},
    {"variance", &kVariance<false>},
    {"standard_deviation", &kVariance<true>},
};

}  // namespace

const ReduceRule* find_reduce(std::string_view name) {
  for (const auto& [key, rule] : kRules) {
    if (key == name) return rule;
  }
  return nullptr;
}

DType reduction_loop(const Op& op, DType dtype) {
  if (op.reduction != nullptr) {
    const DType* wanted = summed_as(op);
    return loop_of(*op.reduction, wanted != nullptr ? *wanted : dtype);
  }
  return compute_of(real_floating(op, "x", dtype));
}

const ReductionKernel& reduction_kernel(const Op& op, DType loop) {
  return op.reduction != nullptr ? op.reduction->kernels[loop] : op.cls.reduce->kernel(loop);
}

Reducible reducible(const RawTensor& x, const TileOperand& elements, DType loop) {
  Reducible made{x.shape, size_of(loop), nullptr, {elements}, {}};
  if (loop != x.dtype) made.program = &prepare_cast(x.dtype, loop).program;
  return made;
}

Ref<RawTensor> reduce(const Op& op, const Reducible& x, DType loop, const Spec& result) {
  const Dims axes = named_axes(op, static_cast<int64_t>(x.shape.size()));
  const ReduceRule* rule = op.cls.reduce;
  const DType found =
      op.reduction != nullptr ? op.reduction->result_dtype(loop) : rule->found(loop);
  Ref<RawTensor> out = RawTensor::empty(found, result.shape);
  reduce(x, axes, reduction_kernel(op, loop), out->data, size_of(found));
  if (rule != nullptr && rule->finish != nullptr) {
    int64_t count = 1;
    for (int64_t axis : axes) count *= x.shape[static_cast<size_t>(axis)];
    out = rule->finish(op, std::move(out), count);
  }
  return cast_if_needed(*out, result.dtype);
}

Values reduce_memory(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const RawTensor& x = *inputs[0];
  const DType loop = reduction_loop(op, x.dtype);
  return one(reduce(op, reducible(x, tile_operand(x, x.shape), loop), loop, outputs[0]));
}

}  // namespace tensorlike
