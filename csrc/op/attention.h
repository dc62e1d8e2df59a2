// The sizes of an attention, as inference, kernel and gradient read them off its arguments.
#pragma once

#include "op/op.h"

namespace tensorlike {

struct AttentionSizes {
  Dims batch;  // of all leading dimensions, broadcast
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t width = 0;
  int64_t value_width = 0;
};

// Takes anything with a `shape`; the shapes have been checked by inference.
template <class X>
AttentionSizes attention_sizes(const Op& op, const X& query, const X& key, const X& value) {
  auto leading = [](const X& x) {
    return std::span<const int64_t>(x.shape.data(), x.shape.size() - 2);
  };
  AttentionSizes sizes;
  const std::string name = op.name();
  sizes.batch = broadcast_shapes(name, leading(query), leading(key));
  sizes.batch = broadcast_shapes(name, sizes.batch, leading(value));
  sizes.queries = query.shape[query.shape.size() - 2];
  sizes.keys = key.shape[key.shape.size() - 2];
  sizes.width = query.shape.back();
  sizes.value_width = value.shape.back();
  return sizes;
}

// The attribute `scale`; None is 1 / sqrt(width).
double attention_scale(const Op& op, int64_t width);

}  // namespace tensorlike
