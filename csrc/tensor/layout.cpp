// Kernels that move elements: views where strides can say it, copies where they cannot.
#include "tensor/layout.h"

#include <algorithm>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/tile.h"
#include "op/families.h"
#include "op/index.h"
#include "op/infer.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kLong = 65536;

// Calls f with the unsigned type that has this many bytes: moving does not look at elements.
template <class F>
void visit_word(size_t size, F&& f) {
  if (size == 4) {
    f(TypeTag<uint32_t>{});
  } else if (size == 8) {
    f(TypeTag<uint64_t>{});
  } else if (size == 1) {
    f(TypeTag<uint8_t>{});
  } else if (size == 2) {
    f(TypeTag<uint16_t>{});
  } else {
    f(TypeTag<Complex<double>>{});
  }
}

// Writes n contiguous elements to the strided positions from `begin` on.
void scatter_tile(char* out, std::span<const int64_t> shape, std::span<const int64_t> strides,
                  size_t size, int64_t begin, int64_t n, const char* in) {
  visit_word(size, [&](auto tag) {
    using Word = typename decltype(tag)::type;
    Word* to = reinterpret_cast<Word*>(out);
    const Word* from = reinterpret_cast<const Word*>(in);
    const size_t ndim = shape.size();
    if (ndim == 0) {
      *to = *from;
      return;
    }
    Dims index(ndim);
    int64_t rest = begin;
    for (size_t i = ndim; i-- > 0;) {
      index[i] = rest % shape[i];
      rest /= shape[i];
      to += index[i] * strides[i];
    }
    const int64_t inner = shape[ndim - 1];
    const int64_t step = strides[ndim - 1];
    int64_t position = index[ndim - 1];
    while (n > 0) {
      const int64_t run = std::min(n, inner - position);
      for (int64_t i = 0; i < run; ++i) to[i * step] = from[i];
      from += run;
      n -= run;
      if (n == 0) return;
      to -= position * step;
      position = 0;
      for (size_t i = ndim - 1; i-- > 0;) {
        to += strides[i];
        if (++index[i] < shape[i]) break;
        to -= shape[i] * strides[i];
        index[i] = 0;
      }
    }
  });
}

Values reshape(const Op&, RawArgs inputs, const Specs& outputs, uint32_t) {
  const Ref<RawTensor> x = contiguous(*inputs[0]);
  return one(x->view(outputs[0].shape, contiguous_strides(outputs[0].shape)));
}

Values transpose(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const RawTensor& x = *inputs[0];
  Dims strides;
  for (int64_t axis : op.get<std::vector<int64_t>>("axes")) {
    strides.push_back(x.strides[static_cast<size_t>(
        normalize_axis(op.name(), axis, static_cast<int64_t>(x.shape.size())))]);
  }
  return one(x.view(outputs[0].shape, strides));
}

Values broadcast(const Op&, RawArgs inputs, const Specs& outputs, uint32_t) {
  return one(broadcast_to(*inputs[0], outputs[0].shape));
}

Selection selection(const Op& op, const RawTensor& x) {
  return select(op.name(), x.shape, x.strides, op.get<std::vector<int64_t>>("items"));
}

Values subtensor(const Op& op, RawArgs inputs, const Specs&, uint32_t) {
  const Selection s = selection(op, *inputs[0]);
  return one(inputs[0]->view(s.shape, s.strides, s.offset));
}

Values set_subtensor(const Op& op, RawArgs inputs, const Specs&, uint32_t reusable) {
  Ref<RawTensor> out(inputs[0]);
  if ((reusable & 1U) == 0) out = copy(*inputs[0]);
  const Selection s = selection(op, *out);
  // The value may be a view of what is written over: then it is read first.
  const bool overlaps = inputs[1]->storage == out->storage;
  const Ref<RawTensor> value = inputs[1]->dtype != out->dtype || overlaps
                                   ? cast(*inputs[1], out->dtype)
                                   : Ref<RawTensor>(inputs[1]);
  write_strided(*out->view(s.shape, s.strides, s.offset), *value);
  return one(out);
}

Values cast_kernel(const Op&, RawArgs inputs, const Specs& outputs, uint32_t) {
  if (inputs[0]->dtype == outputs[0].dtype) return one(Ref<RawTensor>(inputs[0]));
  return one(cast(*inputs[0], outputs[0].dtype));
}

Values copy_kernel(const Op&, RawArgs inputs, const Specs&, uint32_t) {
  return one(copy(*inputs[0]));
}

Values concat(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  Ref<RawTensor> out = RawTensor::empty(outputs[0].dtype, outputs[0].shape);
  const size_t axis = static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(out->shape.size())));
  int64_t at = 0;
  for (RawTensor* input : inputs) {
    write_strided(*out->view(input->shape, out->strides, at * out->strides[axis]),
                  *cast_if_needed(*input, out->dtype));
    at += input->shape[axis];
  }
  return one(out);
}

Values stack(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  Ref<RawTensor> out = RawTensor::empty(outputs[0].dtype, outputs[0].shape);
  const size_t axis = static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(out->shape.size())));
  Dims strides = out->strides;
  strides.erase(axis);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t offset = static_cast<int64_t>(i) * out->strides[axis];
    write_strided(*out->view(inputs[i]->shape, strides, offset),
                  *cast_if_needed(*inputs[i], out->dtype));
  }
  return one(out);
}

Values split(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const RawTensor& x = *inputs[0];
  const size_t axis = static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(x.shape.size())));
  Values parts;
  int64_t at = 0;
  for (const Spec& spec : outputs) {
    const bool is_empty = element_count(spec.shape) == 0;
    parts.push_back(x.view(spec.shape, x.strides, is_empty ? 0 : at * x.strides[axis]));
    at += spec.shape[axis];
  }
  return parts;
}

// Gathering and scattering: for every position of the broadcast indices, the offset of a block.
struct Blocks {
  Dims shape, strides;  // what is left of x beside the indexed axes
  std::vector<int64_t> offsets;
};

Blocks indexed_blocks(const Op& op, const RawTensor& x, RawArgs indices) {
  Blocks blocks;
  Dims common;
  for (RawTensor* index : indices) {
    common = broadcast_shapes(op.name(), common, index->shape);
  }
  blocks.offsets.assign(static_cast<size_t>(element_count(common)), 0);
  std::vector<bool> taken(x.shape.size());
  const std::vector<int64_t>& axes = op.get<std::vector<int64_t>>("axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = static_cast<size_t>(
        normalize_axis(op.name(), axes[i], static_cast<int64_t>(x.shape.size())));
    taken[axis] = true;
    const Ref<RawTensor> index =
        contiguous(*broadcast_to(*cast_if_needed(*indices[i], DType::kInt64), common));
    const int64_t size = x.shape[axis];
    for (size_t b = 0; b < blocks.offsets.size(); ++b) {
      const int64_t value = index->as<int64_t>()[b];
      if (value < -size || value >= size) {
        fail(ErrorKind::kIndex, op.name(), ": indices must be in [", -size, ", ", size - 1,
             "] for axis ", axis, "; got ", value, " at position ", b, ".");
      }
      blocks.offsets[b] += (value < 0 ? value + size : value) * x.strides[axis];
    }
  }
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (taken[i]) continue;
    blocks.shape.push_back(x.shape[i]);
    blocks.strides.push_back(x.strides[i]);
  }
  TileOperand rest{x.data, size_of(x.dtype), blocks.strides};
  collapse(blocks.shape, {&rest, 1});
  blocks.strides = rest.strides;
  return blocks;
}

Values gather(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const RawTensor& x = *inputs[0];
  Ref<RawTensor> out = RawTensor::empty(outputs[0].dtype, outputs[0].shape);
  const Blocks blocks = indexed_blocks(op, x, inputs.subspan(1));
  const int64_t n = element_count(blocks.shape);
  if (n == 0) return one(out);
  const int64_t size = static_cast<int64_t>(size_of(x.dtype));
  BlockingRegion blocking(out->size() > kLong);
  parallel_for(static_cast<int64_t>(blocks.offsets.size()), std::max<int64_t>(1, kGrain / n),
               [&](int64_t begin, int64_t end) {
                 for (int64_t b = begin; b < end; ++b) {
                   const char* from = x.data + blocks.offsets[static_cast<size_t>(b)] * size;
                   gather_tile({from, size_of(x.dtype), blocks.strides}, blocks.shape, 0, n,
                               out->data + b * n * size);
                 }
               });
  return one(out);
}

Values scatter(const Op& op, RawArgs inputs, const Specs&, uint32_t reusable, bool adds) {
  Ref<RawTensor> out(inputs[0]);
  if ((reusable & 1U) == 0) out = copy(*inputs[0]);
  const Blocks blocks = indexed_blocks(op, *out, inputs.subspan(2));
  const int64_t n = element_count(blocks.shape);
  Dims index_shape;
  for (RawTensor* index : inputs.subspan(2)) {
    index_shape = broadcast_shapes(op.name(), index_shape, index->shape);
  }
  Dims shape = index_shape;
  std::vector<bool> taken(out->shape.size());
  for (int64_t axis : op.get<std::vector<int64_t>>("axes")) {
    taken[static_cast<size_t>(
        normalize_axis(op.name(), axis, static_cast<int64_t>(out->shape.size())))] = true;
  }
  for (size_t i = 0; i < out->shape.size(); ++i) {
    if (!taken[i]) shape.push_back(out->shape[i]);
  }
  const Ref<RawTensor> value =
      contiguous(*broadcast_to(*cast_if_needed(*inputs[1], out->dtype), shape));
  const int64_t size = static_cast<int64_t>(size_of(out->dtype));
  // In order, on one thread: later duplicates win, and sums do not depend on the thread count.
  for (size_t b = 0; b < blocks.offsets.size(); ++b) {
    char* to = out->data + blocks.offsets[b] * size;
    const char* from = value->data + static_cast<int64_t>(b) * n * size;
    if (!adds) {
      scatter_tile(to, blocks.shape, blocks.strides, size_of(out->dtype), 0, n, from);
      continue;
    }
    visit_dtype(out->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < n; ++i) {
        int64_t offset = 0;
        int64_t position = i;
        for (size_t d = blocks.shape.size(); d-- > 0;) {
          offset += position % blocks.shape[d] * blocks.strides[d];
          position /= blocks.shape[d];
        }
        T& element = reinterpret_cast<T*>(to)[offset];
        const T addend = reinterpret_cast<const T*>(from)[i];
        if constexpr (is_half<T>) {
          element = T(static_cast<float>(element) + static_cast<float>(addend));
        } else {
          element = static_cast<T>(element + addend);
        }
      }
    });
  }
  return one(out);
}

Values scatter_set(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t reusable) {
  return scatter(op, inputs, outputs, reusable, false);
}

Values scatter_add(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t reusable) {
  return scatter(op, inputs, outputs, reusable, true);
}

Values fill(const Op& op, RawArgs, const Specs& outputs, uint32_t) {
  Ref<RawTensor> out = RawTensor::empty(outputs[0].dtype, outputs[0].shape);
  const int64_t n = out->size();
  visit_dtype(out->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    check_literal(literal_of(op.attr("value")), out->dtype);
    const T value = literal_as<T>(literal_of(op.attr("value")));
    BlockingRegion blocking(n > kLong);
    parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
      std::fill(out->as<T>() + begin, out->as<T>() + end, value);
    });
  });
  return one(out);
}

Values arange(const Op& op, RawArgs, const Specs& outputs, uint32_t) {
  Ref<RawTensor> out = RawTensor::empty(outputs[0].dtype, outputs[0].shape);
  const ArangeRange range = arange_range(op);
  visit_dtype(out->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Integers exactly; floats as start + i * step in double, so that errors do not add up.
    using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
    const Wide start = literal_as<Wide>(literal_of(range.start));
    const Wide step = literal_as<Wide>(literal_of(range.step));
    for (int64_t i = 0; i < out->size(); ++i) {
      out->as<T>()[i] = static_cast<T>(start + static_cast<Wide>(i) * step);
    }
  });
  return one(out);
}

Values one_hot(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  Ref<RawTensor> out = RawTensor::empty(outputs[0].dtype, outputs[0].shape);
  const int64_t depth = op.get<int64_t>("depth");
  const Ref<RawTensor> labels = contiguous(*cast_if_needed(*inputs[0], DType::kInt64));
  std::fill_n(out->as<bool>(), out->size(), false);
  for (int64_t i = 0; i < labels->size(); ++i) {
    const int64_t label = labels->as<int64_t>()[i];
    if (label < 0 || label >= depth) {
      fail(ErrorKind::kIndex, op.name(), ": labels must be in [0, ", depth - 1, "]; got ", label,
           " at position ", i, ".");
    }
    out->as<bool>()[i * depth + label] = true;
  }
  return one(out);
}

constexpr std::pair<std::string_view, Kernel> kKernels[] = {
    {"reshape", reshape},
    {"transpose", transpose},
    {"broadcast", broadcast},
    {"subtensor", subtensor},
    {"set_subtensor", set_subtensor},
    {"gather", gather},
    {"scatter_set", scatter_set},
    {"scatter_add", scatter_add},
    {"concat", concat},
    {"stack", stack},
    {"split", split},
    {"cast", cast_kernel},
    {"copy", copy_kernel},
    {"fill", fill},
    {"arange", arange},
    {"one_hot", one_hot},
};

}  // namespace

void write_strided(const RawTensor& target, const RawTensor& value) {
  const size_t size = size_of(target.dtype);
  Ref<RawTensor> source = broadcast_to(value, target.shape);
  const int64_t n = target.size();
  if (n == 0) return;
  SmallVector<TileOperand, 2> operands = {
      {target.data, size, target.strides},
      {source->data, size, source->strides},
  };
  Dims shape = target.shape;
  collapse(shape, {operands.data(), operands.size()});
  BlockingRegion blocking(n > kLong);
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    alignas(64) char tile[1024 * 16];
    for (int64_t at = begin; at < end; at += 1024) {
      const int64_t count = std::min<int64_t>(1024, end - at);
      gather_tile(operands[1], shape, at, count, tile);
      scatter_tile(target.data, shape, operands[0].strides, size, at, count, tile);
    }
  });
}

Ref<RawTensor> cast_if_needed(const RawTensor& x, DType dtype) {
  return x.dtype == dtype ? Ref<RawTensor>(const_cast<RawTensor*>(&x)) : cast(x, dtype);
}

RuleTable<Kernel> layout_kernels() { return kKernels; }

}  // namespace tensorlike
