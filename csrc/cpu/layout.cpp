// Kernels that move elements, and that make tensors out of nothing.
#include "memory/layout.h"

#include <algorithm>
#include <cstring>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "cpu/small_launch.h"
#include "kernels/kernel_table.h"
#include "op/families.h"
#include "op/index.h"
#include "op/infer.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr int64_t kMoveGrain = 16384;
constexpr int64_t kLongMove = 65536;

// What is no view: the elements lie apart.
void reshape(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  if (op.attr("copy") == Attr(false)) {
    fail(ErrorKind::kShape, said::op(op.name()), "elements that lie apart must be copied",
         said::got("copy=False"));
  }
  const Array& x = *inputs[0];
  assign(Array(x.dtype, x.shape, outputs[0]->data), x);
}

// Where the caller wants a copy of what could be a view.
void copy_views(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  const Array& x = *inputs[0];
  Specs specs;
  for (const Array* out : outputs) specs.push_back({out->dtype, out->shape});
  Views views;
  op.cls.view(op, x, specs, views);
  for (size_t i = 0; i < views.size(); ++i) {
    assign(*outputs[i], x.view(views[i].shape, views[i].strides, views[i].offset));
  }
}

void set_subtensor(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  const Array& out = *outputs[0];
  if (out.data != inputs[0]->data) assign(out, *inputs[0]);
  Selection s = select(op.name(), out.shape, out.strides, op.get<std::vector<int64_t>>("items"));
  assign(out.view(std::move(s.shape), std::move(s.strides), s.offset), *inputs[1]);
}

void convert(const Op&, Arrays inputs, Arrays outputs, Workspace&) {
  assign(*outputs[0], *inputs[0]);
}

size_t axis_of(const Op& op, const Array& out) {
  return static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(out.shape.size())));
}

void concat(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  constexpr int64_t kFew = 4096;  // elements that are not worth being cut into bands
  const Array& out = *outputs[0];
  if (out.count <= kFew) {
    const size_t axis = axis_of(op, out);
    int64_t at = 0;
    for (const Array* input : inputs) {
      assign(out.view(input->shape, out.strides, at * out.strides[axis]), *input);
      at += input->shape[axis];
    }
    return;
  }
  SmallVector<Array, 4> pieces;
  for (const Array* input : inputs) pieces.push_back(*input);
  assign_along(out, axis_of(op, out), {pieces.data(), pieces.size()});
}

void stack(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  const Array& out = *outputs[0];
  const size_t axis = axis_of(op, out);
  Dims strides = out.strides;
  strides.erase(axis);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t offset = static_cast<int64_t>(i) * out.strides[axis];
    assign(out.view(inputs[i]->shape, strides, offset), *inputs[i]);
  }
}

void fill(const Op& op, Arrays, Arrays outputs, Workspace&) {
  assign(*outputs[0], literal_of(op.attr("fill_value")));
}

// A whole number as an int64 or a uint64 has it; of another one the part before the point.
uint64_t whole(const Attr& attr) {
  const Literal number = literal_of(attr);
  if (const auto* wide = std::get_if<uint64_t>(&number)) return *wide;
  return static_cast<uint64_t>(literal_as<int64_t>(number));
}

void arange(const Op& op, Arrays, Arrays outputs, Workspace&) {
  const Array& out = *outputs[0];
  const ArangeRange range = arange_range(op);
  const bool is_whole = kind_of(out.dtype) <= Kind::kInteger;
  Ramp ramp{};
  if (is_whole) {
    ramp.whole_start = whole(range.start);
    ramp.whole_step = whole(range.step);
  } else {
    ramp.start = literal_as<double>(literal_of(range.start));
    ramp.step = literal_as<double>(literal_of(range.step));
  }
  const RampKernel kernel = kernel_table().ramps[out.dtype];
  const auto width = static_cast<int64_t>(size_of(out.dtype));
  parallel_for(out.count, kMoveGrain, [&](int64_t begin, int64_t end) {
    kernel(out.data + begin * width, end - begin, begin, ramp);
  });
}

void one_hot(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& out = *outputs[0];
  const int64_t depth = op.get<int64_t>("depth");
  const Array labels = prepared(*inputs[0], DType::kInt64, workspace);
  std::fill_n(out.as<bool>(), out.count, false);
  for (int64_t i = 0; i < labels.count; ++i) {
    const int64_t label = labels.as<int64_t>()[i];
    if (label < 0 || label >= depth) {
      fail(ErrorKind::kIndex, said::op(op.name()), said::argument("labels"), "must be in [0, ",
           depth - 1, "]", said::got(label, " at position ", i));
    }
    out.as<bool>()[i * depth + label] = true;
  }
}

constexpr std::pair<std::string_view, KernelRule> kLayoutKernels[] = {
    {"reshape", reshape},
    {"transpose", copy_views},
    {"broadcast", copy_views},
    {"subtensor", copy_views},
    {"split", copy_views},
    {"cast", convert},
    {"copy", convert},
    {"set_subtensor", set_subtensor},
    {"concat", concat},
    {"stack", stack},
    {"fill", fill},
    {"arange", arange},
    {"one_hot", one_hot},
};

}  // namespace

bool set_few(const Op& op, RawTensor& x, const Array& value) {
  constexpr int64_t kFew = 4096;
  if (!small_launches_are_direct || op.cls.kernel(Device()).run != set_subtensor) return false;
  const bool is_here = x.device.is_cpu() && value.device.is_cpu() && x.is_contiguous &&
                       x.data != nullptr && value.data != nullptr;
  if (!is_here || x.dtype != value.dtype) return false;
  static const std::string name = "SetSubtensor";
  Selection s = select(name, x.shape, x.strides, std::get<std::vector<int64_t>>(op.attrs[0]));
  if (s.shape.empty() && value.shape.empty()) {  // one element
    const size_t size = size_of(x.dtype);
    std::memcpy(x.data + s.offset * static_cast<int64_t>(size), value.data, size);
    return true;
  }
  if (!broadcasts_to(value.shape, s.shape)) return false;
  const Array& all = x;
  const Array part = all.view(std::move(s.shape), std::move(s.strides), s.offset);
  if (part.count > kFew) return false;
  assign(part, value);
  return true;
}

RuleTable<KernelRule> layout_kernels() { return kLayoutKernels; }

}  // namespace tensorlike
