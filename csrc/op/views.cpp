// How results lie in memory: those that are views of the first input, where strides can say it, and
// those that lie in another order than that of their axes.
#include "memory/layout.h"
#include "op/counts.h"
#include "op/families.h"
#include "op/index.h"
#include "op/infer.h"
#include "op/registry.h"

namespace tensorlike {
namespace {

bool view_reshape(const Op&, const Array& x, const Specs& outputs, Views& views) {
  if (!x.is_contiguous) return false;
  views.push_back({outputs[0].shape, contiguous_strides(outputs[0].shape)});
  return true;
}

bool view_transpose(const Op& op, const Array& x, const Specs& outputs, Views& views) {
  Dims strides;
  for (int64_t axis : op.get<std::vector<int64_t>>("axes")) {
    strides.push_back(x.strides[static_cast<size_t>(
        normalize_axis(op.name(), axis, static_cast<int64_t>(x.shape.size())))]);
  }
  views.push_back({outputs[0].shape, std::move(strides)});
  return true;
}

bool view_broadcast(const Op&, const Array& x, const Specs& outputs, Views& views) {
  const Dims& shape = outputs[0].shape;
  Dims strides(shape.size());
  const size_t lead = shape.size() - x.shape.size();
  for (size_t i = 0; i < x.shape.size(); ++i) {
    strides[lead + i] = x.shape[i] == 1 ? 0 : x.strides[i];
  }
  views.push_back({shape, std::move(strides)});
  return true;
}

bool view_subtensor(const Op& op, const Array& x, const Specs&, Views& views) {
  Selection s = select(op.name(), x.shape, x.strides, op.get<std::vector<int64_t>>("items"));
  views.push_back({std::move(s.shape), std::move(s.strides), s.offset});
  return true;
}

bool view_split(const Op& op, const Array& x, const Specs& outputs, Views& views) {
  const size_t axis = static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(x.shape.size())));
  int64_t at = 0;
  for (const Spec& spec : outputs) {
    const bool is_empty = inferred_count(spec.shape) == 0;
    views.push_back({spec.shape, x.strides, is_empty ? 0 : at * x.strides[axis]});
    at += spec.shape[axis];
  }
  return true;
}

// What has the dtype already passes through.
bool view_cast(const Op&, const Array& x, const Specs& outputs, Views& views) {
  if (x.dtype != outputs[0].dtype) return false;
  views.push_back({x.shape, x.strides});
  return true;
}

constexpr std::pair<std::string_view, ViewRule> kViews[] = {
    {"reshape", view_reshape},     {"transpose", view_transpose}, {"broadcast", view_broadcast},
    {"subtensor", view_subtensor}, {"split", view_split},         {"cast", view_cast},
};

// The index in the place of the axes that it indexes: what blocks of rows are copied to side by
// side, and what an exchange of axes, which mostly follows, brings in order.
Dims order_gather(const Op& op, Arrays inputs, const Spec& output) {
  const Array& x = *inputs[0];
  const std::vector<int64_t>& axes = op.get<std::vector<int64_t>>("axes");
  const size_t lead = leading_axes(op.name(), axes, x.shape.size());
  if (lead == 0) return {};
  const size_t ndim = output.shape.size();
  const size_t index_ndim = ndim + axes.size() - x.shape.size();
  const size_t end = index_ndim + lead;
  Dims order;
  for (size_t i = index_ndim; i < end; ++i) order.push_back(static_cast<int64_t>(i));
  for (size_t i = 0; i < index_ndim; ++i) order.push_back(static_cast<int64_t>(i));
  for (size_t i = end; i < ndim; ++i) order.push_back(static_cast<int64_t>(i));
  return order;
}

// Each dimension's coordinates side by side, as most callers want them.
Dims order_argwhere(const Op&, Arrays, const Spec&) { return {1, 0}; }

Dims order_cast(const Op&, Arrays inputs, const Spec& output) {
  return order_beside(inputs, output.shape);
}

constexpr std::pair<std::string_view, OrderRule> kOrders[] = {
    {"gather", order_gather},
    {"argwhere", order_argwhere},
    {"cast", order_cast},
};

}  // namespace

size_t leading_axes(const std::string& op, std::span<const int64_t> axes, size_t ndim) {
  const auto axis = [&](size_t i) {
    return normalize_axis(op, axes[i], static_cast<int64_t>(ndim));
  };
  for (size_t i = 1; i < axes.size(); ++i) {
    if (axis(i) != axis(i - 1) + 1) return 0;
  }
  return axes.empty() ? 0 : static_cast<size_t>(axis(0));
}

OrderRule find_order(std::string_view name) {
  for (const auto& [key, rule] : kOrders) {
    if (key == name) return rule;
  }
  return nullptr;
}

ViewRule find_view(std::string_view name) {
  for (const auto& [key, rule] : kViews) {
    if (key == name) return rule;
  }
  return nullptr;
}

}  // namespace tensorlike
