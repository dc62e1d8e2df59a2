#include "memory/array.h"

namespace tensorlike {

bool lies_in_order(const Dims& shape, const Dims& strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

Array broadcast_to(const Array& x, std::span<const int64_t> shape) {
  Dims strides(shape.size());
  const size_t lead = shape.size() - x.shape.size();
  for (size_t i = 0; i < x.shape.size(); ++i) {
    strides[lead + i] = x.shape[i] == 1 ? 0 : x.strides[i];
  }
  return x.view(Dims(shape), std::move(strides));
}

}  // namespace tensorlike
