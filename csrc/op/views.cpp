// Ops whose results are views of their first input, where strides can say it.
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
    const bool is_empty = element_count(spec.shape) == 0;
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

}  // namespace

ViewRule find_view(std::string_view name) {
  for (const auto& [key, rule] : kViews) {
    if (key == name) return rule;
  }
  return nullptr;
}

}  // namespace tensorlike
