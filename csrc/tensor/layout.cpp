// Kernels that move elements: views where strides can say it, copies where they cannot.
#include "tensor/layout.h"

#include <algorithm>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/move.h"
#include "op/families.h"
#include "op/index.h"
#include "op/infer.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kLong = 65536;

Values reshape(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  if (op.attr("copy") == Attr(false) && !inputs[0]->is_contiguous) {
    fail(ErrorKind::kShape, op.name(), ": elements that lie apart must be copied; got copy=False.");
  }
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

Values fill(const Op& op, RawArgs, const Specs& outputs, uint32_t) {
  Ref<RawTensor> out = RawTensor::empty(outputs[0].dtype, outputs[0].shape);
  const int64_t n = out->size();
  visit_dtype(out->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    check_literal(literal_of(op.attr("fill_value")), out->dtype);
    const T value = literal_as<T>(literal_of(op.attr("fill_value")));
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
    // Integers exactly, modulo 2^64 on the way; floats as start + i * step in double, so that
    // errors do not add up.
    using Signed = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
    using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
    const Literal first = literal_of(range.start);
    const bool is_wide = std::holds_alternative<uint64_t>(first);
    const Wide start = is_wide ? static_cast<Wide>(std::get<uint64_t>(first))
                               : static_cast<Wide>(literal_as<Signed>(first));
    const Wide step = static_cast<Wide>(literal_as<Signed>(literal_of(range.step)));
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
  const Ref<RawTensor> source = broadcast_to(value, target.shape);
  move_strided(target.data, target.strides, source->data, source->strides, target.shape,
               size_of(target.dtype));
}

bool may_give_views(const Op& op, RawArgs inputs) {
  const Kernel kernel = op.cls.kernel;
  if (kernel == transpose || kernel == broadcast || kernel == subtensor || kernel == split) {
    return true;
  }
  const bool passes_through = kernel == reshape || kernel == cast_kernel;
  return passes_through && !inputs[0]->is_contiguous;
}

Ref<RawTensor> cast_if_needed(const RawTensor& x, DType dtype) {
  return x.dtype == dtype ? Ref<RawTensor>(const_cast<RawTensor*>(&x)) : cast(x, dtype);
}

RuleTable<Kernel> layout_kernels() { return kKernels; }

}  // namespace tensorlike
