// Elements in memory as kernels see them: what they are and where they lie, on which device. Owns
// nothing. The address is the device's: only its backend follows it.
#pragma once

#include <utility>

#include "base/device.h"
#include "base/dtype.h"
#include "base/kept_forms.h"
#include "base/shape.h"

namespace tensorlike {

// Whether elements with these strides follow each other in C order.
bool lies_in_order(const Dims& shape, const Dims& strides);

struct Array {
  Array() = default;
  Array(DType dtype, Dims shape, Dims strides, char* data)
      : dtype(dtype),
        shape(std::move(shape)),
        strides(std::move(strides)),
        count(element_count(this->shape)),
        is_contiguous(lies_in_order(this->shape, this->strides)),
        data(data) {}
  // In order, of a count that the caller knows.
  Array(DType dtype, const Dims& shape, const Dims& strides, int64_t count, char* data)
      : dtype(dtype),
        shape(shape),
        strides(strides),
        count(count),
        is_contiguous(true),
        data(data) {}
  Array(DType dtype, Dims shape, char* data)
      : Array(dtype, shape, contiguous_strides(shape), element_count(shape), data) {}

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  int64_t size() const { return count; }
  // Same elements, seen through another shape; the offset is in elements.
  Array view(Dims view_shape, Dims view_strides, int64_t offset = 0) const {
    Array seen(dtype, std::move(view_shape), std::move(view_strides),
               data + offset * static_cast<int64_t>(size_of(dtype)));
    seen.device = device;
    seen.forms = forms;
    return seen;
  }

  DType dtype = DType::kFloat32;
  Device device;
  Dims shape;
  Dims strides;  // in elements
  int64_t count = 1;
  bool is_contiguous = true;
  char* data = nullptr;
  KeptForms* forms = nullptr;  // of elements that never change; null: they may
};

using Arrays = std::span<const Array* const>;

// x as if it had this shape, to which its own broadcasts.
Array broadcast_to(const Array& x, std::span<const int64_t> shape);

}  // namespace tensorlike
