// Launching: an op on RawTensors. Elementwise ops and reductions are driven by their declarations;
// every other op has a kernel, or a body that is applied instead.
#include <algorithm>

#include "base/blocking.h"
#include "base/pool.h"
#include "op/infer.h"
#include "op/registry.h"
#include "op/tile_program.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

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
    const RawTensor& x = raw(args[i]);
    operands[i].data = x.data;
    operands[i].size = size_of(x.dtype);
    if (same_shape || x.shape.size() == shape.size()) {
      operands[i].strides = x.strides;
    } else {
      operands[i].strides.resize(shape.size());
      const size_t lead = shape.size() - x.shape.size();
      std::copy(x.strides.begin(), x.strides.end(), operands[i].strides.begin() + lead);
    }
    if (same_shape) continue;
    const size_t lead = shape.size() - x.shape.size();
    for (size_t d = 0; d < x.shape.size(); ++d) {
      if (x.shape[d] == 1) operands[i].strides[lead + d] = 0;
    }
  }
  Values results;
  SmallVector<TileOutput, 2> outputs;
  uint32_t available = donated;
  for (DType dtype : prepared.results) {
    Ref<RawTensor> out;
    for (size_t i = 0; available != 0 && i < count; ++i) {
      if ((available >> i & 1U) == 0 || !can_reuse(raw(args[i]), dtype, shape, holds)) continue;
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

// x with the reduced axes last, collapsed: kept dimensions, then reduced ones.
struct ReducePlan {
  Dims kept_shape, kept_strides;
  Dims shape, strides;  // of the reduced axes
};

ReducePlan plan_reduction(const RawTensor& x, const Dims& axes) {
  ReducePlan plan;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    const bool is_reduced =
        std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    (is_reduced ? plan.shape : plan.kept_shape).push_back(x.shape[i]);
    (is_reduced ? plan.strides : plan.kept_strides).push_back(x.strides[i]);
  }
  auto merge = [&](Dims& shape, Dims& strides) {
    TileOperand operand{x.data, size_of(x.dtype), strides};
    collapse(shape, {&operand, 1});
    strides = operand.strides;
  };
  merge(plan.kept_shape, plan.kept_strides);
  merge(plan.shape, plan.strides);
  return plan;
}

// Walks the linear positions of a strided shape.
int64_t offset_of(int64_t position, const Dims& shape, const Dims& strides) {
  int64_t offset = 0;
  for (size_t i = shape.size(); i-- > 0;) {
    offset += position % shape[i] * strides[i];
    position /= shape[i];
  }
  return offset;
}

constexpr int64_t kChunk = 65536;  // elements of one partial result: fixed, so that results do not
                                   // depend on the number of threads
constexpr int64_t kColumns = 1024;
constexpr int64_t kGrain = 16384;

class Reducer {
 public:
  Reducer(const RawTensor& x, RawTensor& out, const ReductionKernel& kernel, const ReducePlan& plan)
      : x_(x), out_(out), kernel_(kernel), plan_(plan), count_(element_count(plan.shape)) {}

  void run() {
    const int64_t kept = element_count(plan_.kept_shape);
    if (kept == 0) return;
    BlockingRegion blocking(kept * std::max<int64_t>(count_, 1) > 2 * kGrain);
    const bool inner_is_kept = !plan_.kept_shape.empty() && plan_.kept_strides.back() == 1 &&
                               (plan_.shape.empty() || plan_.strides.back() != 1) &&
                               plan_.kept_shape.back() > 1;
    if (inner_is_kept) {
      columns(kept);
    } else if (kept < 16 && count_ > 2 * kChunk) {
      for (int64_t i = 0; i < kept; ++i) one_in_chunks(i);
    } else {
      const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(count_, 1));
      parallel_for(kept, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          alignas(8) char acc[16];
          kernel_.start(acc, 1);
          fold(acc, kept_data(i), 0, count_);
          kernel_.finish(out_at(i), acc, 1, count_);
        }
      });
    }
  }

 private:
  const char* kept_data(int64_t i) const {
    return x_.data + offset_of(i, plan_.kept_shape, plan_.kept_strides) * size();
  }
  char* out_at(int64_t i) const {
    return out_.data + i * static_cast<int64_t>(size_of(out_.dtype));
  }
  int64_t size() const { return static_cast<int64_t>(size_of(x_.dtype)); }

  // Combines elements [begin, end) of the reduced space under `data` into one accumulator.
  void fold(char* acc, const char* data, int64_t begin, int64_t end) const {
    const Dims& shape = plan_.shape;
    if (begin == end) return;
    if (shape.size() == 1 && plan_.strides[0] == 1) {
      kernel_.row(acc, data + begin * size(), end - begin);
      return;
    }
    if (shape.empty()) {
      kernel_.row(acc, data, 1);
      return;
    }
    const TileOperand operand{data, size_of(x_.dtype), plan_.strides};
    alignas(64) char tile[1024 * 8];
    for (int64_t at = begin; at < end; at += 1024) {
      const int64_t n = std::min<int64_t>(1024, end - at);
      gather_tile(operand, shape, at, n, tile);
      kernel_.row(acc, tile, n);
    }
  }

  // A long reduction into few results: partial results side by side, joined in order.
  void one_in_chunks(int64_t i) const {
    const int64_t chunks = (count_ + kChunk - 1) / kChunk;
    const size_t width = kernel_.accumulator;
    Ref<Storage> partial = Storage::allocate(static_cast<size_t>(chunks) * width);
    kernel_.start(partial->data(), chunks);
    const char* data = kept_data(i);
    parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        fold(partial->data() + static_cast<size_t>(c) * width, data, c * kChunk,
             std::min(count_, (c + 1) * kChunk));
      }
    });
    for (int64_t c = 1; c < chunks; ++c) {
      kernel_.join(partial->data(), partial->data() + static_cast<size_t>(c) * width, 1);
    }
    kernel_.finish(out_at(i), partial->data(), 1, count_);
  }

  // The innermost dimension is kept and contiguous: whole rows are combined into accumulators.
  // Every fixed number of rows starts new accumulators, which are joined in order.
  void columns(int64_t kept) const {
    const int64_t inner = plan_.kept_shape.back();
    const int64_t outer = kept / inner;
    const int64_t tiles = (inner + kColumns - 1) / kColumns;
    const int64_t width = std::min(inner, kColumns);
    const int64_t rows = std::max<int64_t>(64, 16 * kChunk / width);
    const int64_t parts = std::max<int64_t>(1, (count_ + rows - 1) / rows);
    const size_t bytes = static_cast<size_t>(width) * kernel_.accumulator;
    Ref<Storage> partial = Storage::allocate(static_cast<size_t>(outer * tiles * parts) * bytes);
    const int64_t work = std::max<int64_t>(1, std::min(count_, rows) * width);
    parallel_for(outer * tiles * parts, std::max<int64_t>(1, kGrain / work),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t job = begin; job < end; ++job) {
                     column_part(job, inner, tiles, parts, rows,
                                 partial->data() + static_cast<size_t>(job) * bytes);
                   }
                 });
    for (int64_t tile = 0; tile < outer * tiles; ++tile) {
      char* first = partial->data() + static_cast<size_t>(tile * parts) * bytes;
      const int64_t at = tile % tiles * kColumns;
      const int64_t n = std::min(kColumns, inner - at);
      for (int64_t p = 1; p < parts; ++p) {
        kernel_.join(first, first + static_cast<size_t>(p) * bytes, n);
      }
      kernel_.finish(out_at(tile / tiles * inner + at), first, n, count_);
    }
  }

  void column_part(int64_t job, int64_t inner, int64_t tiles, int64_t parts, int64_t rows,
                   char* acc) const {
    const int64_t tile = job / parts;
    const int64_t at = tile % tiles * kColumns;
    const int64_t n = std::min(kColumns, inner - at);
    const char* data = kept_data(tile / tiles * inner + at);
    kernel_.start(acc, n);
    const int64_t begin = job % parts * rows;
    const int64_t end = std::min(count_, begin + rows);
    for (int64_t r = begin; r < end; ++r) {
      kernel_.rows(acc, data + offset_of(r, plan_.shape, plan_.strides) * size(), n);
    }
  }

  const RawTensor& x_;
  RawTensor& out_;
  const ReductionKernel& kernel_;
  const ReducePlan& plan_;
  const int64_t count_;
};

// argmax and argmin: the first position of the extreme; NaN is the most extreme, as in NumPy.
void arg_reduce(const RawTensor& x, RawTensor& out, const ReducePlan& plan, bool wants_largest) {
  const int64_t count = element_count(plan.shape);
  visit_dtype(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = x.as<T>();
    BlockingRegion blocking(out.size() * count > 2 * kGrain);
    parallel_for(out.size(), std::max<int64_t>(1, kGrain / count), [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const T* row = data + offset_of(i, plan.kept_shape, plan.kept_strides);
        int64_t best = 0;
        T extreme = row[0];
        for (int64_t j = 1; j < count && extreme == extreme; ++j) {
          const T value = row[offset_of(j, plan.shape, plan.strides)];
          if (value != value || (wants_largest ? value > extreme : value < extreme)) {
            best = j;
            extreme = value;
          }
        }
        out.as<int64_t>()[i] = best;
      }
    });
  });
}

constexpr int64_t kSmall = 4096;
constexpr int64_t kRepeated = 256;  // elements that a single one may be repeated to
constexpr int64_t kSmallRow = 256;  // accumulators that fit the stack

// The shortest way for a small tensor in order, reduced along one axis or all.
Ref<Value> reduce_small(const Op& op, const RawTensor& x) {
  const Reduction& reduction = *op.reduction;
  const ReductionKernel& kernel = reduction.kernels[x.dtype];
  if (!x.is_contiguous || x.count > kSmall || x.count == 0 || kernel.row == nullptr) return nullptr;
  const int64_t ndim = static_cast<int64_t>(x.shape.size());
  int64_t first = 0;
  int64_t last = ndim;  // the reduced axes are [first, last)
  if (const auto* axis = std::get_if<int64_t>(&op.attrs[1])) {
    if (*axis < -ndim || *axis >= ndim) return nullptr;
    first = *axis < 0 ? *axis + ndim : *axis;
    last = first + 1;
  } else if (!std::holds_alternative<std::monostate>(op.attrs[1])) {
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
  if (inner > kSmallRow) return nullptr;
  Ref<RawTensor> out = RawTensor::empty(reduction.result_dtype(x.dtype), std::move(shape));
  alignas(64) char acc[kSmallRow * 8];
  const int64_t size = static_cast<int64_t>(size_of(x.dtype));
  const int64_t out_size = static_cast<int64_t>(size_of(out->dtype));
  for (int64_t o = 0; o < outer; ++o) {
    const char* data = x.data + o * n * inner * size;
    kernel.start(acc, inner);
    if (inner == 1) {
      kernel.row(acc, data, n);
    } else {
      for (int64_t r = 0; r < n; ++r) kernel.rows(acc, data + r * inner * size, inner);
    }
    kernel.finish(out->data + o * inner * out_size, acc, inner, n);
  }
  return out;
}

Values launch_reduce(const Op& op, Args args) {
  const RawTensor* x = &raw(args[0]);
  if (Ref<Value> out = reduce_small(op, *x)) {
    Values results;
    results.push_back(std::move(out));
    return results;
  }
  const Spec spec = x->spec();
  const Specs specs = infer_reduce(op, {&spec, args.size()});
  const Reduction& reduction = *op.reduction;
  const Dims axes = reduced_axes(op, static_cast<int64_t>(x->shape.size()));
  Ref<RawTensor> out = RawTensor::empty(specs[0].dtype, specs[0].shape);
  Values results;
  results.push_back(out);
  if (reduction.kernels[DType::kFloat32].row == nullptr) {
    arg_reduce(*x, *out, plan_reduction(*x, axes), reduction.spec.name == "argmax");
    return results;
  }
  Ref<RawTensor> converted;
  if (reduction.kernels[x->dtype].row == nullptr) {
    converted = cast(*x, specs[0].dtype);
    x = converted.get();
  }
  const ReducePlan plan = plan_reduction(*x, axes);
  Reducer(*x, *out, reduction.kernels[x->dtype], plan).run();
  return results;
}

}  // namespace

Ref<Value> launch_small(const Op& op, Args args) {
  const Scalar* scalar = op.scalar;
  const size_t n = args.size();
  if (scalar == nullptr || n == 0 || n > 3 || n != scalar->spec.args.size()) return nullptr;
  const RawTensor* whole = &raw(args[0]);
  const DType dtype = whole->dtype;
  const TileKernel kernel = scalar->whole[dtype];
  if (kernel == nullptr) return nullptr;
  for (size_t i = 1; i < n; ++i) {
    const RawTensor& x = raw(args[i]);
    if (x.shape.size() > whole->shape.size() || x.count > whole->count) whole = &x;
  }
  const int64_t count = whole->count;
  if (count > kSmall) return nullptr;
  alignas(64) char repeated[2][kRepeated * 8];
  size_t used = 0;
  const void* in[3];
  for (size_t i = 0; i < n; ++i) {
    const RawTensor& x = raw(args[i]);
    if (x.dtype != dtype) return nullptr;
    if (&x == whole || x.shape == whole->shape) {
      if (!x.is_contiguous) return nullptr;
      in[i] = x.data;
    } else if (x.count == 1 && x.shape.size() <= whole->shape.size() && count <= kRepeated &&
               used < 2) {
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
  Ref<Storage> storage = Storage::allocate(static_cast<size_t>(count) * size_of(result));
  auto out = make_ref<RawTensor>(result, whole->shape, whole->strides, count, std::move(storage));
  void* data = out->data;
  kernel(&data, in, count);
  return out;
}

Values launch(const Op& op, Args args, uint32_t donated, int64_t holds) {
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
  if (op.cls.kernel == nullptr) return run_body(*op.cls.define, op, args);
  SmallVector<RawTensor*, 4> inputs(args.size());
  Specs specs(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    inputs[i] = static_cast<RawTensor*>(args[i]);
    specs[i] = inputs[i]->spec();
  }
  check_arity(op, args.size());
  uint32_t reusable = 0;
  for (size_t i = 0; donated >> i != 0; ++i) {
    if ((donated >> i & 1U) != 0 && is_ours(*inputs[i], holds)) reusable |= 1U << i;
  }
  return op.cls.kernel(op, {inputs.data(), inputs.size()}, op.cls.infer(op, specs), reusable);
}

}  // namespace tensorlike
