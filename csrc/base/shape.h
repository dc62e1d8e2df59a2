// Shapes and strides (in elements), and the checked arithmetic on them.
#pragma once

#include <cstdint>
#include <string>

#include "base/device.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/small_vector.h"

namespace tensorlike {

using Dims = SmallVector<int64_t, 5>;

inline constexpr size_t kMaxDims = 64;
// In an inferred shape: a size that depends on the elements. Only kernels come to know it.
inline constexpr int64_t kUnknownSize = -1;

// The number of elements; an error when it does not fit the address space.
int64_t element_count(std::span<const int64_t> shape);

Dims contiguous_strides(std::span<const int64_t> shape);

// NumPy broadcasting; `op` names the caller in the error.
Dims broadcast_shapes(const std::string& op, std::span<const int64_t> a,
                      std::span<const int64_t> b);

// -ndim <= axis < ndim, made non-negative.
int64_t normalize_axis(const std::string& op, int64_t axis, int64_t ndim);

// "(2, 3)", as Python prints a tuple.
std::string to_string(std::span<const int64_t> shape);
inline std::string to_string(const Dims& shape) {
  return to_string(std::span<const int64_t>(shape));
}

// What is known of a value before it is computed.
struct Spec {
  DType dtype = DType::kFloat32;
  Dims shape;
  Device device = {};
};

using Specs = SmallVector<Spec, 1>;

std::string to_string(const Spec& spec);

}  // namespace tensorlike
