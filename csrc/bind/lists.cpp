// Nested lists of Python's own numbers, to elements and back, in one walk each. Nothing here runs
// anybody's code, so lists stay as they are meanwhile.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "bind/elements.h"

namespace tensorlike::bind {
namespace {

bool is_exact_list(PyObject* object) {
  return PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

// What lists hold; false where that is more than equally long lists of numbers of one of Python's
// own classes, or of floats and integers.
class Lists {
 public:
  bool describe(PyObject* data) {
    for (PyObject* first = data; is_exact_list(first); first = PySequence_Fast_ITEMS(first)[0]) {
      if (shape_.size() == kMaxDims) return false;
      shape_.push_back(PySequence_Fast_GET_SIZE(first));
      if (shape_.back() == 0) break;
    }
    return look(data, 0) && !(has_bools_ && (has_integers_ || has_floats_)) &&
           !(has_floats_ && has_large_);
  }

  const Dims& shape() const { return shape_; }
  DType dtype() const {
    return has_bools_                      ? DType::kBool
           : has_integers_ && !has_floats_ ? DType::kInt64
                                           : DType::kFloat32;
  }
  // Whether all of them are numbers of the dtype as they stand, rounded once at most.
  bool fit(DType wanted) const {
    if (wanted == dtype()) return wanted != DType::kFloat32 || !has_wide_;
    const bool is_simple = wanted == DType::kFloat32 || wanted == DType::kFloat64;
    if (has_floats_) return wanted == DType::kFloat64;
    if (has_integers_ && is_simple) return !has_large_;
    if (is_simple) return true;  // booleans
    if (kind_of(wanted) != Kind::kInteger) return false;
    return visit_dtype(wanted, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        return std::in_range<T>(least_) && std::in_range<T>(most_);
      } else {
        return false;
      }
    });
  }

  template <class T>
  static T* store(PyObject* data, T* to) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(data);
    PyObject** const items = PySequence_Fast_ITEMS(data);
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* const item = items[i];
      if (is_exact_list(item)) {
        to = store(item, to);
      } else if (PyFloat_CheckExact(item)) {
        *to++ = static_cast<T>(PyFloat_AS_DOUBLE(item));
      } else {
        *to++ = static_cast<T>(PyLong_AsLongLong(item));
      }
    }
    return to;
  }

 private:
  bool look(PyObject* list, size_t depth) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
    if (n != shape_[depth]) return false;
    PyObject** const items = PySequence_Fast_ITEMS(list);
    const bool is_last = depth + 1 == shape_.size();
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (is_last ? !count(items[i]) : !is_exact_list(items[i]) || !look(items[i], depth + 1)) {
        return false;
      }
    }
    return true;
  }

  bool count(PyObject* item) {
    if (PyFloat_CheckExact(item)) {
      has_floats_ = true;
      const double size = std::abs(PyFloat_AS_DOUBLE(item));
      has_wide_ = has_wide_ || (size > std::numeric_limits<float>::max() && std::isfinite(size));
      return true;
    }
    if (PyBool_Check(item)) return has_bools_ = true;
    if (!PyLong_CheckExact(item)) return false;
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(item, &overflow);
    constexpr long long kExact = 1LL << 53;  // as floats
    has_integers_ = true;
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
    has_large_ = has_large_ || value > kExact || value < -kExact;
    return overflow == 0;
  }

  Dims shape_;
  bool has_floats_ = false, has_integers_ = false, has_bools_ = false;
  bool has_large_ = false;          // integers that floats round
  bool has_wide_ = false;           // floats beyond float32
  long long least_ = 0, most_ = 0;  // of integers and 0
};

template <class T>
PyObject* number(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return PyBool_FromLong(value);
  } else if constexpr (is_complex<T>) {
    return PyComplex_FromDoubles(static_cast<double>(value.re), static_cast<double>(value.im));
  } else if constexpr (std::is_unsigned_v<T>) {
    return PyLong_FromUnsignedLongLong(value);
  } else if constexpr (std::is_integral_v<T>) {
    return PyLong_FromLongLong(value);
  } else {
    return PyFloat_FromDouble(static_cast<double>(value));
  }
}

template <class T>
PyObject* nested(const RawTensor& x, size_t dim, const T* from) {
  if (dim == x.shape.size()) return checked(number(*from));
  const int64_t size = x.shape[dim], stride = x.strides[dim];
  const bool is_last = dim + 1 == x.shape.size();
  Object list = own(PyList_New(static_cast<Py_ssize_t>(size)));
  for (int64_t i = 0; i < size; ++i) {
    const T* const at = from + i * stride;
    PyList_SET_ITEM(list.get(), i, is_last ? checked(number(*at)) : nested(x, dim + 1, at));
  }
  return list.release();
}

}  // namespace

Ref<RawTensor> from_lists(PyObject* data, PyObject* dtype) {
  if (!is_exact_list(data)) return nullptr;
  Lists lists;
  if (!lists.describe(data)) return dtype == Py_None ? from_scalars(data) : nullptr;
  const DType wanted = dtype == Py_None ? lists.dtype() : to_dtype(dtype);
  if (!lists.fit(wanted)) return nullptr;
  Ref<RawTensor> out = RawTensor::empty(wanted, lists.shape());
  visit_dtype(wanted, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) {
      auto* const bytes = reinterpret_cast<uint8_t*>(out->data);
      Lists::store(data, bytes);
    } else if constexpr (std::is_arithmetic_v<T>) {
      Lists::store(data, out->template as<T>());
    }
  });
  return out;
}

PyObject* number_of(const RawTensor& x) {
  return visit_dtype(x.dtype, [&](auto tag) -> PyObject* {
    return number(*x.as<typename decltype(tag)::type>());
  });
}

PyObject* to_lists(PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    note_read(tensor);
    const Ref<RawTensor> x = moved(*elements_of(to_value(tensor)), Device());
    return visit_dtype(
        x->dtype, [&](auto tag) { return nested(*x, 0, x->as<typename decltype(tag)::type>()); });
  });
}

}  // namespace tensorlike::bind
