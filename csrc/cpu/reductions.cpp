#include "cpu/reductions.h"

#include <algorithm>
#include <cmath>

#include "cpu/arrays.h"
#include "cpu/loops.h"
#include "cpu/tiles.h"
#include "memory/layout.h"
#include "op/infer.h"
#include "op/registry.h"
#include "op/tile_program.h"

namespace tensorlike {
namespace {

DType loop_of(const Reduction& reduction, DType dtype) {
  const ByDType<ReductionKernel>& kernels = reduction.loops->kernels;
  if (kernels[dtype].accumulator != 0) return dtype;
  const bool is_floating = kernels[DType::kInt32].accumulator == 0;
  if (is_floating && kernels[DType::kBool].accumulator != 0) return DType::kBool;
  const bool converts = is_floating && kind_of(dtype) < Kind::kFloating;
  if (converts) return DType::kFloat32;
  // The square of a uint16 does not fit the int32 that it would be computed in.
  const bool is_sum = reduction.spec.result == Result::kSum;
  if (is_sum && dtype == DType::kUInt16) return DType::kInt64;
  const DType loop = compute_of(dtype);
  return kernels[loop].accumulator == 0 && loop == DType::kBool ? DType::kInt32 : loop;
}

const ReductionKernel& log_sum_exp_kernel(DType loop) { return kernel_table().log_sum_exp[loop]; }
const ReductionKernel& deviations_kernel(DType loop) {
  return kernel_table().square_deviations[loop];
}

// With fewer elements than the correction there is no variance: NaN, or infinity.
template <bool kTakesRoot>
void variance(const Op& op, const Array& squares, int64_t count) {
  const double left = static_cast<double>(count) - op.get<double>("correction");
  const double divisor = left > 0 ? left : 0.0;
  double* const values = squares.as<double>();
  const int64_t n = squares.count;
  for (int64_t i = 0; i < n; ++i) {
    const double value = values[i] / divisor;
    values[i] = kTakesRoot ? std::sqrt(value) : value;
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

// What is reduced, with its axes as they follow each other in memory: so it is read along memory,
// whatever the order of its axes.
struct InMemory {
  InMemory(const Reducible& given, const Dims& reduced, const Dims& order) : x(given) {
    const auto seen = [&](Dims& dims) {
      const Dims before = dims;
      for (size_t d = 0; d < order.size(); ++d) dims[d] = before[static_cast<size_t>(order[d])];
    };
    seen(x.shape);
    seen(x.strides);
    for (TileOperand& operand : x.operands) seen(operand.strides);
    for (size_t d = 0; d < order.size(); ++d) {
      if (std::find(reduced.begin(), reduced.end(), order[d]) != reduced.end()) {
        axes.push_back(static_cast<int64_t>(d));
      } else {
        kept.push_back(x.shape[d]);
        places.push_back(order[d]);
      }
    }
    by_axis = Dims(places.size());
    for (size_t k = 0; k < by_axis.size(); ++k) by_axis[k] = static_cast<int64_t>(k);
    std::sort(by_axis.begin(), by_axis.end(), [&](int64_t a, int64_t b) {
      return places[static_cast<size_t>(a)] < places[static_cast<size_t>(b)];
    });
  }

  // Results follow each other as those axes do.
  bool is_kept_in_order() const { return std::is_sorted(places.begin(), places.end()); }
  Dims kept_by_axis() const { return taken(kept); }
  Dims strides_by_axis(const Array& made) const { return taken(made.strides); }

  Reducible x;
  Dims axes;    // that are reduced
  Dims kept;    // sizes of the others
  Dims places;  // the axes that these were

 private:
  Dims taken(const Dims& dims) const {
    Dims found;
    for (int64_t k : by_axis) found.push_back(dims[static_cast<size_t>(k)]);
    return found;
  }
  Dims by_axis;  // their numbers, as axes follow each other
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
  Reducible made{x.shape, x.strides, size_of(loop), nullptr, {tile_operand(x, x.shape)}, {}};
  if (loop == x.dtype) return made;
  made.program = &loops_of(prepare_cast(x.dtype, loop).program);
  const Array* const only[] = {&x};
  made.strides = strides_beside(only, x.shape);
  return made;
}

Reducible reducible(const Feed& feed) {
  Reducible made{feed.shape, feed.strides, size_of(feed.dtype), &loops_of(*feed.program), {}, {}};
  if (made.strides.empty()) made.strides = contiguous_strides(feed.shape);
  for (const Array* x : feed.operands) made.operands.push_back(tile_operand(*x, feed.shape));
  for (const Array* out : feed.written) made.written.push_back({out->data, size_of(out->dtype)});
  made.is_written = feed.is_written;
  return made;
}

static void reduce(const Op& op, const Reducible& x, const Dims& axes, DType loop, const Array& out,
                   Workspace& workspace) {
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

void reduce(const Op& op, const Reducible& x, DType loop, const Array& out, Workspace& workspace) {
  const Dims axes = named_axes(op, static_cast<int64_t>(x.shape.size()));
  const Dims order = order_in_memory(x.shape, x.strides);
  if (order.empty()) return reduce(op, x, axes, loop, out, workspace);
  // A place among the elements of several axes is counted as axes follow each other.
  if (op.reduction != nullptr && op.reduction->spec.single_axis && axes.size() > 1) {
    Reducible in_order = x;
    if (x.program != nullptr) in_order.strides = contiguous_strides(x.shape);
    return reduce(op, in_order, axes, loop, out, workspace);
  }
  const InMemory seen(x, axes, order);
  if (seen.is_kept_in_order()) return reduce(op, seen.x, seen.axes, loop, out, workspace);
  const Array made = workspace.array(out.dtype, seen.kept);
  reduce(op, seen.x, seen.axes, loop, made, workspace);
  const Array given(out.dtype, seen.kept_by_axis(), out.data);
  assign(given, made.view(given.shape, seen.strides_by_axis(made)));
}

void reduce_memory(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const DType loop = reduction_loop(op, inputs[0]->dtype);
  reduce(op, reducible(*inputs[0], loop), loop, *outputs[0], workspace);
}

}  // namespace tensorlike
