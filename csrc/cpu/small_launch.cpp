// The short way of small tensors: one loop, called on their memory.
#include "cpu/small_launch.h"

#include <algorithm>
#include <optional>
#include <span>

#include "cpu/loops.h"
#include "cpu/tiles.h"
#include "memory/layout.h"
#include "op/infer.h"
#include "tensor/creation.h"
#include "tensor/kernel_run.h"
#include "tensor/planned_launch.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

const RawTensor& raw(Value* value) { return *static_cast<RawTensor*>(value); }

// One element, seen through any shape.
bool is_repeated(const RawTensor& x) {
  return x.count == 1 || std::all_of(x.strides.begin(), x.strides.end(),
                                     [](int64_t stride) { return stride == 0; });
}

constexpr int64_t kSmall = 16384;  // elements: more are worth another thread
constexpr int64_t kSmallReduced = 4096;
constexpr int64_t kRepeated = 256;      // elements that a single one may be repeated to
constexpr size_t kCopied = 8192;        // bytes of an operand that is brought into order
constexpr size_t kAccumulators = 4096;  // bytes of them on the stack

// The reduced axes [first, last), where they are valid and follow each other.
std::optional<std::pair<int64_t, int64_t>> reduced_together(const Reduction& reduction,
                                                            const Attr& axes, int64_t ndim) {
  if (std::holds_alternative<Nothing>(axes)) return std::pair(int64_t{0}, ndim);
  std::span<const int64_t> named;
  if (const auto* axis = std::get_if<int64_t>(&axes)) named = {axis, 1};
  if (const auto* several = std::get_if<std::vector<int64_t>>(&axes)) {
    if (!reduction.spec.single_axis) named = *several;
  }
  if (named.empty()) return {};
  const auto place = [ndim](int64_t axis) { return axis < 0 ? axis + ndim : axis; };
  const int64_t first = place(named[0]);
  for (size_t i = 1; i < named.size(); ++i) {
    if (place(named[i]) != first + static_cast<int64_t>(i)) return {};
  }
  const int64_t last = first + static_cast<int64_t>(named.size());
  if (first < 0 || last > ndim) return {};
  return std::pair(first, last);
}

// The shortest way for a small tensor in order, reduced along neighbouring axes or all.
Ref<Value> reduce_small(const Op& op, const RawTensor& x) {
  const Reduction& reduction = *op.reduction;
  const bool is_there = x.device.is_cpu() && x.is_contiguous && x.data != nullptr && x.count > 0 &&
                        x.count <= kSmallReduced;
  if (!is_there || reduction.loops == nullptr) return nullptr;
  const ReductionKernel& kernel = reduction.loops->kernels[x.dtype];
  if (kernel.row == nullptr) return nullptr;
  if (summed_as(op) != nullptr) return nullptr;
  const int64_t ndim = static_cast<int64_t>(x.shape.size());
  const auto reduced = reduced_together(reduction, op.attrs[1], ndim);
  if (!reduced) return nullptr;
  const auto [first, last] = *reduced;
  const bool keeps = std::get<bool>(op.attrs[2]);
  int64_t outer = 1;
  int64_t n = 1;
  int64_t inner = 1;
  Dims shape;
  for (int64_t i = 0; i < ndim; ++i) {
    const int64_t dim = x.shape[static_cast<size_t>(i)];
    (i < first ? outer : i < last ? n : inner) *= dim;
    if (i < first || i >= last) {
      shape.push_back(dim);
    } else if (keeps) {
      shape.push_back(1);
    }
  }
  if (static_cast<size_t>(inner) * kernel.accumulator > kAccumulators) return nullptr;
  Ref<RawTensor> out = RawTensor::empty(reduction.result_dtype(x.dtype), std::move(shape));
  if (inner == 1 && kernel.each != nullptr) {
    kernel.each(out->data, x.data, n, outer, n);
    return out;
  }
  alignas(64) char acc[kAccumulators];
  const int64_t size = static_cast<int64_t>(size_of(x.dtype));
  const int64_t out_size = static_cast<int64_t>(size_of(out->dtype));
  for (int64_t o = 0; o < outer; ++o) {
    const char* data = x.data + o * n * inner * size;
    kernel.start(acc, inner);
    if (inner == 1) {
      kernel.row(acc, data, n);
    } else {
      kernel.rows(acc, data, inner, n, inner);
    }
    kernel.finish(out->data + o * inner * out_size, acc, inner, n);
  }
  return out;
}

// A view needs no memory and no loop. What strides cannot say goes the general way.
Ref<Value> view_small(const Op& op, RawTensor& x) {
  const OpClass& cls = op.cls;
  if (x.data == nullptr || x.pending || !x.device.is_cpu()) return nullptr;
  Values created;  // where the op has a size of a program
  Value* const args[] = {&x};
  if (applies_creation(op, args, created)) return std::move(created[0]);
  if (cls.device_attr >= 0 || cls.infer == nullptr || cls.kernel(x.device).foreign != nullptr) {
    return nullptr;
  }
  RawTensor* const inputs[] = {&x};
  const Array* const arrays[] = {&x};
  LaunchKey key;
  const bool is_plannable = may_plan(arrays, key);
  if (is_plannable) {
    if (Ref<Value> seen = view_planned(op, x, key)) return seen;
  }
  const Spec spec = x.spec();
  const Specs results = infer(op, {&spec, 1});
  if (results.size() != 1) return nullptr;
  const Values made = views_of(op, inputs, results);
  if (made.empty()) return nullptr;
  if (is_plannable) plan_launch(op, inputs, key, results, made, false);
  return made[0];
}

}  // namespace

// The argument that has the result's shape, if there is one; one in order, if it can be.
static const RawTensor& largest(Args args) {
  const RawTensor* found = &raw(args[0]);
  for (Value* arg : args.subspan(1)) {
    const RawTensor& x = raw(arg);
    const bool is_same = x.shape == found->shape;
    if (is_same ? !found->is_contiguous
                : x.shape.size() > found->shape.size() || x.count > found->count) {
      found = &x;
    }
  }
  return *found;
}

static Ref<Storage> allocate_for(const Op& op, size_t bytes) try {
  return Storage::allocate(bytes);
} catch (const Error& error) {
  fail_for(op, error);
}

// The whole as one loop over operands that lie as the result does, or are one number each.
static Ref<Value> launch_as_they_lie(const Op& op, Args args) {
  const Scalar* scalar = op.scalar;
  const size_t n = args.size();
  const RawTensor* const whole = &largest(args);
  const DType dtype = whole->dtype;
  auto [kernel, result] = scalar->loops->whole[dtype];
  const bool is_in_order = whole->is_contiguous;
  const int64_t count = whole->count;
  if (count > kSmall || (!is_in_order && !has_no_gaps(*whole))) return nullptr;
  const auto lies_as_whole = [&](const RawTensor& x) {
    if (&x == whole) return true;
    if (!(x.shape == whole->shape)) return false;
    return is_in_order ? x.is_contiguous : lie_alike(x.shape, x.strides, whole->strides);
  };
  alignas(64) char repeated[2][kRepeated * 16];
  size_t used = 0;
  const void* in[3];
  for (size_t i = 0; i < n; ++i) {
    const RawTensor& x = raw(args[i]);
    if (x.dtype != dtype || !x.device.is_cpu() || x.data == nullptr) return nullptr;
    if (lies_as_whole(x)) {
      in[i] = x.data;
      continue;
    }
    const bool is_number = is_repeated(x) && (x.count == 1 || x.shape == whole->shape) &&
                           x.shape.size() <= whole->shape.size();
    const TileKernel beside =
        n == 2 && count > 0 ? scalar->loops->numbers[dtype].beside[i] : nullptr;
    if (is_number && beside != nullptr) {
      kernel = beside;
      in[i] = x.data;
    } else if (is_number && count <= kRepeated && used < 2) {
      const size_t size = size_of(dtype);
      for (int64_t k = 0; k < count; ++k) {
        std::memcpy(repeated[used] + static_cast<size_t>(k) * size, x.data, size);
      }
      in[i] = repeated[used++];
    } else {
      return nullptr;
    }
  }
  Ref<Storage> storage = allocate_for(op, static_cast<size_t>(count) * size_of(result));
  void* data = storage->data();
  Ref<RawTensor> out =
      is_in_order
          ? make_ref<RawTensor>(result, whole->shape, whole->strides, count, std::move(storage))
          : make_ref<RawTensor>(result, whole->shape, whole->strides, std::move(storage),
                                static_cast<char*>(data));
  kernel(&data, in, count);
  return out;
}

// The same of operands that lie in other ways: they are brought into order first.
static Ref<Value> launch_on_copies(const Op& op, Args args) {
  const RawTensor& whole = largest(args);
  const DType dtype = whole.dtype;
  const auto [kernel, result] = op.scalar->loops->whole[dtype];
  const size_t bytes = static_cast<size_t>(whole.count) * size_of(dtype);
  if (bytes == 0 || bytes > kCopied) return nullptr;
  SmallVector<const Array*, 3> operands;
  for (Value* arg : args) {
    const RawTensor& x = raw(arg);
    const bool is_here = x.dtype == dtype && x.device.is_cpu() && x.data != nullptr;
    if (!is_here || !broadcasts_to(x.shape, whole.shape)) return nullptr;
    operands.push_back(&x);
  }
  const Arrays seen{operands.data(), operands.size()};
  if (!lies_in_order(whole.shape, strides_beside(seen, whole.shape))) return nullptr;
  alignas(64) char copies[3][kCopied];
  const void* in[3];
  for (size_t i = 0; i < operands.size(); ++i) {
    const Array& x = *operands[i];
    in[i] = x.data;
    if (x.is_contiguous && x.shape == whole.shape) continue;
    gather_tile(tile_operand(x, whole.shape), whole.shape, 0, whole.count, copies[i]);
    in[i] = copies[i];
  }
  Ref<Storage> storage = allocate_for(op, static_cast<size_t>(whole.count) * size_of(result));
  void* data = storage->data();
  kernel(&data, in, whole.count);
  return make_ref<RawTensor>(result, whole.shape, contiguous_strides(whole.shape), whole.count,
                             std::move(storage));
}

Ref<Value> small_launch(const Op& op, Args args) {
  if (!small_launches_are_direct) return nullptr;
  const Scalar* scalar = op.scalar;
  const bool may_stay = scalar != nullptr && scalar->spec.unchanged;  // which saves most a call
  if (may_stay && leaves_alone(op, args)) return Ref<Value>(args[0]);
  const size_t n = args.size();
  if (op.reduction != nullptr && n == 1) return reduce_small(op, raw(args[0]));
  if (op.cls.view != nullptr && n == 1) return view_small(op, *static_cast<RawTensor*>(args[0]));
  if (scalar == nullptr || n == 0 || n > 3 || n != scalar->spec.args.size()) return nullptr;
  if (scalar->loops == nullptr) return nullptr;
  if (scalar->loops->whole[raw(args[0]).dtype].loop == nullptr) return nullptr;
  if (Ref<Value> made = launch_as_they_lie(op, args)) return made;
  return launch_on_copies(op, args);
}

}  // namespace tensorlike
