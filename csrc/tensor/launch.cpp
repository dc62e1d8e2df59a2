// Launching: an op on RawTensors. Elementwise ops and reductions are driven by their declarations;
// every other op has a kernel, or a body that is applied instead.
#include <algorithm>

#include "op/infer.h"
#include "op/registry.h"
#include "op/tile_program.h"
#include "tensor/body.h"
#include "tensor/kernel_run.h"
#include "tensor/layout.h"
#include "tensor/raw_tensor.h"
#include "tensor/reductions.h"

namespace tensorlike {
namespace {

const RawTensor& raw(Value* value) { return *static_cast<RawTensor*>(value); }

// An input whose memory an output may take: same bytes per element, contiguous, full-sized, ours,
// and held by nobody else.
bool is_ours(const RawTensor& x, int64_t holds) {
  return x.use_count() == holds && x.storage->use_count() == 1 && x.storage->is_owned() &&
         x.is_contiguous;
}

bool can_reuse(const RawTensor& x, DType dtype, const Dims& shape, int64_t holds) {
  return is_ours(x, holds) && size_of(x.dtype) == size_of(dtype) && x.shape == shape;
}

Values launch_elemwise(const Op& op, Args args, uint32_t donated, int64_t holds) {
  const Scalar& scalar = *op.scalar;
  check_arity(op, args.size());
  const size_t count = args.size();
  SmallVector<DType, 4> dtypes(count);
  Dims shape = raw(args[0]).shape;
  bool same_shape = true;
  for (size_t i = 0; i < count; ++i) {
    const RawTensor& x = raw(args[i]);
    dtypes[i] = x.dtype;
    if (i > 0 && !(x.shape == shape)) {
      same_shape = false;
      shape = broadcast_shapes(scalar.spec.name, shape, x.shape);
    }
  }
  if (!same_shape) element_count(shape);
  const PreparedProgram& prepared = prepare(scalar, dtypes);
  SmallVector<TileOperand, 4> operands(count);
  for (size_t i = 0; i < count; ++i) {
    operands[i] = tile_operand(raw(args[i]), shape);
  }
  Values results;
  SmallVector<TileOutput, 2> outputs;
  uint32_t available = donated;
  for (DType dtype : prepared.results) {
    Ref<RawTensor> out;
    for (size_t i = 0; available != 0 && i < count; ++i) {
      if ((available >> i & 1U) == 0 || !can_reuse(raw(args[i]), dtype, shape, holds)) continue;
      const int output = static_cast<int>(results.size());
      if (!may_write_over(prepared.program, static_cast<int>(i), output)) continue;
      const RawTensor& x = raw(args[i]);
      out = make_ref<RawTensor>(dtype, shape, x.strides, x.storage, x.data);
      available &= ~(1U << i);
      break;
    }
    if (!out) out = RawTensor::empty(dtype, shape);
    outputs.push_back({out->data, size_of(dtype)});
    results.push_back(std::move(out));
  }
  run_tiles(prepared.program, shape, operands, outputs);
  return results;
}

// One element, seen through any shape.
bool is_repeated(const RawTensor& x) {
  return x.count == 1 || std::all_of(x.strides.begin(), x.strides.end(),
                                     [](int64_t stride) { return stride == 0; });
}

constexpr int64_t kSmall = 4096;
constexpr int64_t kRepeated = 256;      // elements that a single one may be repeated to
constexpr size_t kAccumulators = 4096;  // bytes of them on the stack

// The shortest way for a small tensor in order, reduced along one axis or all.
Ref<Value> reduce_small(const Op& op, const RawTensor& x) {
  const Reduction& reduction = *op.reduction;
  const ReductionKernel& kernel = reduction.kernels[x.dtype];
  if (!x.is_contiguous || x.count > kSmall || x.count == 0 || kernel.row == nullptr) return nullptr;
  if (summed_as(op) != nullptr) return nullptr;
  const int64_t ndim = static_cast<int64_t>(x.shape.size());
  int64_t first = 0;
  int64_t last = ndim;  // the reduced axes are [first, last)
  if (const auto* axis = std::get_if<int64_t>(&op.attrs[1])) {
    if (*axis < -ndim || *axis >= ndim) return nullptr;
    first = *axis < 0 ? *axis + ndim : *axis;
    last = first + 1;
  } else if (!std::holds_alternative<Nothing>(op.attrs[1])) {
    return nullptr;
  }
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

Values launch_reduce(const Op& op, Args args) {
  RawTensor* x = static_cast<RawTensor*>(args[0]);
  Values results;
  if (Ref<Value> out = reduce_small(op, *x)) {
    results.push_back(std::move(out));
    return results;
  }
  const Spec spec = x->spec();
  const Specs specs = infer_reduce(op, {&spec, args.size()});
  Ref<RawTensor> out = RawTensor::empty(specs[0].dtype, specs[0].shape);
  const Array* in = x;
  const Array* made = out.get();
  Workspace workspace;
  reduce_memory(op, {&in, 1}, {&made, 1}, workspace);
  results.push_back(std::move(out));
  return results;
}

}  // namespace

TileOperand tile_operand(const Array& x, const Dims& shape) {
  TileOperand operand{x.data, size_of(x.dtype), x.strides};
  if (x.shape == shape) return operand;
  const size_t lead = shape.size() - x.shape.size();
  operand.strides = Dims(shape.size());
  for (size_t d = 0; d < x.shape.size(); ++d) {
    operand.strides[lead + d] = x.shape[d] == 1 ? 0 : x.strides[d];
  }
  return operand;
}

// Memory knows no ops: who asked for it is told here.
[[noreturn]] static void fail_for(const Op& op, const Error& error) {
  constexpr std::string_view kOwner = "memory: ";
  const std::string_view what = error.what();
  if (error.kind() != ErrorKind::kMemory || !what.starts_with(kOwner)) throw;
  fail(ErrorKind::kMemory, op.name(), ": ", what.substr(kOwner.size()));
}

static Ref<Storage> allocate_for(const Op& op, size_t bytes) try {
  return Storage::allocate(bytes);
} catch (const Error& error) {
  fail_for(op, error);
}

bool leaves_alone(const Op& op, Args args) {
  if (op.scalar == nullptr || !op.scalar->spec.unchanged || args.size() != 1) return false;
  const DType dtype = raw(args[0]).dtype;
  return dtype != DType::kBool && reduces(*op.scalar->spec.unchanged, kind_of(dtype));
}

Ref<Value> launch_small(const Op& op, Args args) {
  if (leaves_alone(op, args)) return Ref<Value>(args[0]);
  const Scalar* scalar = op.scalar;
  const size_t n = args.size();
  if (scalar == nullptr || n == 0 || n > 3 || n != scalar->spec.args.size()) return nullptr;
  if (!small_launches_are_direct) return nullptr;
  const RawTensor* whole = &raw(args[0]);
  const DType dtype = whole->dtype;
  const TileKernel kernel = scalar->whole[dtype];
  if (kernel == nullptr) return nullptr;
  for (size_t i = 1; i < n; ++i) {
    const RawTensor& x = raw(args[i]);
    const bool is_same = x.shape == whole->shape;
    if (is_same ? !whole->is_contiguous
                : x.shape.size() > whole->shape.size() || x.count > whole->count) {
      whole = &x;
    }
  }
  if (!whole->is_contiguous) return nullptr;
  const int64_t count = whole->count;
  if (count > kSmall) return nullptr;
  alignas(64) char repeated[2][kRepeated * 16];
  size_t used = 0;
  const void* in[3];
  for (size_t i = 0; i < n; ++i) {
    const RawTensor& x = raw(args[i]);
    if (x.dtype != dtype || x.data == nullptr) return nullptr;
    if (x.is_contiguous && (&x == whole || x.shape == whole->shape)) {
      in[i] = x.data;
    } else if (is_repeated(x) && (x.count == 1 || x.shape == whole->shape) &&
               x.shape.size() <= whole->shape.size() && count <= kRepeated && used < 2) {
      const size_t size = size_of(dtype);
      for (int64_t k = 0; k < count; ++k) {
        std::memcpy(repeated[used] + static_cast<size_t>(k) * size, x.data, size);
      }
      in[i] = repeated[used++];
    } else {
      return nullptr;
    }
  }
  const DType result = scalar->whole_result[dtype];
  Ref<Storage> storage = allocate_for(op, static_cast<size_t>(count) * size_of(result));
  auto out = make_ref<RawTensor>(result, whole->shape, whole->strides, count, std::move(storage));
  void* data = out->data;
  kernel(&data, in, count);
  return out;
}

static Values launch_kernel(const Op& op, Args args, uint32_t donated, int64_t holds) {
  SmallVector<RawTensor*, 4> inputs(args.size());
  SmallVector<const Array*, 4> arrays(args.size());
  Specs specs(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    inputs[i] = static_cast<RawTensor*>(args[i]);
    arrays[i] = inputs[i];
    specs[i] = inputs[i]->spec();
  }
  check_arity(op, args.size());
  const RawArgs given(inputs.data(), inputs.size());
  Specs results = op.cls.infer(op, specs);
  if (op.cls.kernel.make != nullptr) {
    uint32_t reusable = 0;
    for (size_t i = 0; donated >> i != 0; ++i) {
      if ((donated >> i & 1U) != 0 && is_ours(*inputs[i], holds)) reusable |= 1U << i;
    }
    return op.cls.kernel.make(op, given, results, reusable);
  }
  if (op.cls.view != nullptr) {
    Placed placed = place_results(op, given, results, 0, 0);
    if (placed.are_views) return std::move(placed.results);
  }
  Workspace workspace;
  KernelRun run(op, {arrays.data(), arrays.size()}, results, workspace);
  if (op.cls.kernel.sizes != nullptr) run.find_sizes(results);
  Placed placed = place_results(op, given, results, donated, holds);
  SmallVector<const Array*, 2> outputs;
  for (const Ref<Value>& result : placed.results) {
    outputs.push_back(static_cast<RawTensor*>(result.get()));
  }
  run.run({outputs.data(), outputs.size()});
  return std::move(placed.results);
}

Values execute(const Op& op, Args args, uint32_t donated, int64_t holds) try {
  if (op.scalar != nullptr) {
    if (donated == 0) {
      if (Ref<Value> out = launch_small(op, args)) {
        Values results;
        results.push_back(std::move(out));
        return results;
      }
    }
    return launch_elemwise(op, args, donated, holds);
  }
  if (op.reduction != nullptr) {
    check_arity(op, args.size());
    return launch_reduce(op, args);
  }
  if (!op.cls.kernel) return run_body(*op.cls.define, op, args);
  return launch_kernel(op, args, donated, holds);
} catch (const Error& error) {
  fail_for(op, error);
}

}  // namespace tensorlike
