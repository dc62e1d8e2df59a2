// Basic indexing: how the items between brackets are written in an attribute, and what they select.
#pragma once

#include <limits>
#include <string>

#include "base/shape.h"

namespace tensorlike {

// Each item is four integers: kind, start, stop, step.
enum class ItemKind : int64_t { kInteger, kSlice, kNewAxis, kEllipsis };
inline constexpr int64_t kNoBound = std::numeric_limits<int64_t>::min();  // a slice's None

// A view: the selected shape, the stride of each dimension in the source's strides, the offset.
struct Selection {
  Dims shape;
  Dims strides;
  int64_t offset = 0;
};

Selection select(const std::string& op, std::span<const int64_t> shape,
                 std::span<const int64_t> strides, std::span<const int64_t> items);

// How many axes stand before those that a Gather or Scatter indexes, where these stand side by
// side; else 0.
size_t leading_axes(const std::string& op, std::span<const int64_t> axes, size_t ndim);

}  // namespace tensorlike
