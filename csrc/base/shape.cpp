#include "base/shape.h"

namespace tensorlike {

int64_t element_count(std::span<const int64_t> shape) {
  if (shape.size() > kMaxDims) {
    fail(ErrorKind::kShape, said::argument("shape"), "a tensor has at most ", kMaxDims,
         " dimensions", said::got(shape.size()));
  }
  constexpr int64_t kLimit = int64_t{1} << 58;  // times 8 bytes stays below 2^62
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0) {
      fail(ErrorKind::kShape, said::argument("shape"), "dimensions must not be negative",
           said::got(to_string(shape)));
    }
    if (dim == 0) {
      empty = true;
    } else if (count > kLimit / dim) {
      fail(ErrorKind::kShape, said::argument("shape"),
           "the number of elements must fit the address space", said::got(to_string(shape)));
    } else {
      count *= dim;
    }
  }
  return empty ? 0 : count;
}

Dims contiguous_strides(std::span<const int64_t> shape) {
  Dims strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i] > 0 ? shape[i] : 1;
  }
  return strides;
}

Dims broadcast_shapes(const std::string& op, std::span<const int64_t> a,
                      std::span<const int64_t> b) {
  const bool a_longer = a.size() >= b.size();
  Dims result(a_longer ? a : b);
  std::span<const int64_t> shorter = a_longer ? b : a;
  const size_t lead = result.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& dim = result[lead + i];
    if (dim == shorter[i] || shorter[i] == 1) continue;
    if (dim != 1) {
      fail(ErrorKind::kShape, said::op(op), "shapes must broadcast",
           said::got(to_string(a), " and ", to_string(b)),
           said::fix("each dimension must be equal, or one of them 1"));
    }
    dim = shorter[i];
  }
  return result;
}

int64_t normalize_axis(const std::string& op, int64_t axis, int64_t ndim) {
  if (axis < -ndim || axis >= ndim) {
    if (ndim == 0) {
      fail(ErrorKind::kIndex, said::op(op), "a zero-dimensional tensor has no axis",
           said::got("axis=", axis));
    }
    fail(ErrorKind::kIndex, said::op(op), said::argument("axis"), "must be in [", -ndim, ", ",
         ndim - 1, "]",
         said::got("axis=", axis, " for ", ndim, " dimension", ndim == 1 ? "" : "s"));
  }
  return axis < 0 ? axis + ndim : axis;
}

std::string to_string(std::span<const int64_t> shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(shape[i]);
  }
  return out + (shape.size() == 1 ? ",)" : ")");
}

std::string to_string(const Spec& spec) {
  return std::string(name_of(spec.dtype)) + to_string(spec.shape);
}

}  // namespace tensorlike
