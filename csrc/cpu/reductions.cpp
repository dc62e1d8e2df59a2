#include "cpu/reductions.h"

#include <cmath>

#include "cpu/arrays.h"
#include "cpu/loops.h"
#include "cpu/tiles.h"
#include "op/infer.h"
#include "op/registry.h"
#include "op/tile_program.h"

namespace tensorlike {
namespace {

DType loop_of(const Reduction& reduction, DType dtype) {
  if (reduction.loops->kernels[dtype].accumulator != 0) return dtype;
  const bool is_floating = reduction.loops->kernels[DType::kInt32].accumulator == 0;
  const bool converts = is_floating && kind_of(dtype) < Kind::kFloating;
  if (converts) return DType::kFloat32;
  // The square of a uint16 does not fit the int32 that it would be computed in.
  const bool is_sum = reduction.spec.result == Result::kSum;
  if (is_sum && dtype == DType::kUInt16) return DType::kInt64;
  const DType loop = compute_of(dtype);
  return reduction.loops->kernels[loop].accumulator == 0 && loop == DType::kBool ? DType::kInt32
                                                                                 : loop;
}

const ReductionKernel& log_sum_exp_kernel(DType loop) { return kernel_table().log_sum_exp[loop]; }
const ReductionKernel& deviations_kernel(DType loop) {
  return kernel_table().square_deviations[loop];
}

// With fewer elements than the correction there is no variance: NaN, or infinity.
template <bool kTakesRoot>
void variance(const Op& op, const Array& squares, int64_t count) {
  const double divisor = static_cast<double>(count) - op.get<double>("correction");
  for (int64_t i = 0; i < squares.count; ++i) {
    double& value = squares.as<double>()[i];
    value /= divisor > 0 ? divisor : 0.0;
    if (kTakesRoot) value = std::sqrt(value);
  }
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
  return op.reduction != nullptr ? op.reduction->loops->kernels[loop] : op.cls.reduce->kernel(loop);
}

Reducible reducible(const Array& x, DType loop) {
  Reducible made{x.shape, size_of(loop), nullptr, {tile_operand(x, x.shape)}, {}};
  if (loop != x.dtype) made.program = &loops_of(prepare_cast(x.dtype, loop).program);
  return made;
}

Reducible reducible(const Feed& feed) {
  Reducible made{feed.shape, size_of(feed.dtype), &loops_of(*feed.program), {}, {}};
  for (const Array* x : feed.operands) made.operands.push_back(tile_operand(*x, feed.shape));
  for (const Array* out : feed.written) made.written.push_back({out->data, size_of(out->dtype)});
  made.is_written = feed.is_written;
  return made;
}

void reduce(const Op& op, const Reducible& x, DType loop, const Array& out, Workspace& workspace) {
  const Dims axes = named_axes(op, static_cast<int64_t>(x.shape.size()));
  const ReduceRule* rule = op.cls.reduce;
  const DType dtype =
      op.reduction != nullptr ? op.reduction->result_dtype(loop) : rule->found(loop);
  const Array found = dtype == out.dtype ? out : workspace.array(dtype, out.shape);
  reduce(x, axes, reduction_kernel(op, loop), found.data, size_of(dtype));
  if (rule != nullptr && rule->finish != nullptr) {
    int64_t count = 1;
    for (int64_t axis : axes) count *= x.shape[static_cast<size_t>(axis)];
    rule->finish(op, found, count);
  }
  if (found.data != out.data) assign(out, found);
}

void reduce_memory(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const DType loop = reduction_loop(op, inputs[0]->dtype);
  reduce(op, reducible(*inputs[0], loop), loop, *outputs[0], workspace);
}

}  // namespace tensorlike
