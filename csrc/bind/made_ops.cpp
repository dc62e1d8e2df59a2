#include "bind/made_ops.h"

#include <algorithm>
#include <cmath>

#include "program/sizes.h"

namespace tensorlike::bind {
namespace {

// Classes that are built in, such as Python's and NumPy's of numbers.
bool is_fixed_class(PyObject* object) {
  return PyType_CheckExact(object) &&
         PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object), Py_TPFLAGS_IMMUTABLETYPE) != 0;
}

bool is_constant_item(PyObject* item) {
  if (PySlice_Check(item) != 0) {
    const auto* slice = reinterpret_cast<PySliceObject*>(item);
    return is_constant_item(slice->start) && is_constant_item(slice->stop) &&
           is_constant_item(slice->step);
  }
  return item == Py_None || item == Py_Ellipsis || PyLong_CheckExact(item);
}

// Whether an object can never change: then being the same object is being equal for ever.
bool is_constant(PyObject* object) {
  if (object == nullptr || is_constant_item(object) || PyBool_Check(object) ||
      PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) ||
      Py_TYPE(object) == types.dtype || is_fixed_class(object)) {
    return true;
  }
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
    if (!is_constant_item(PyTuple_GET_ITEM(object, i))) return false;
  }
  return true;
}

// Slices are made anew for each call; their parts are not.
bool is_same_item(PyObject* held, PyObject* given) {
  if (held == given) return true;
  if (PySlice_Check(held) == 0 || PySlice_Check(given) == 0) return false;
  const auto* a = reinterpret_cast<PySliceObject*>(held);
  const auto* b = reinterpret_cast<PySliceObject*>(given);
  return a->start == b->start && a->stop == b->stop && a->step == b->step;
}

// Whether constants are equal because they are made of the same objects.
bool is_same(PyObject* held, PyObject* given) {
  if (held == given) return true;
  if (held == nullptr || given == nullptr) return false;
  if (!PyTuple_CheckExact(held)) return is_same_item(held, given);
  if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(held) != PyTuple_GET_SIZE(given)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(held); ++i) {
    if (!is_same_item(PyTuple_GET_ITEM(held, i), PyTuple_GET_ITEM(given, i))) return false;
  }
  return true;
}

// Whether it holds no number that may stand for an unknown size, and no size.
bool is_plain(PyObject* object) {
  if (object == nullptr || object == Py_None) return true;
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0 && number > -kPlainNumbers && number < kPlainNumbers;
  }
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      if (!is_plain(PyTuple_GET_ITEM(object, i))) return false;
    }
    return true;
  }
  if (PyFloat_CheckExact(object)) return std::fabs(PyFloat_AS_DOUBLE(object)) < kPlainNumbers;
  return PyBool_Check(object) || PyUnicode_CheckExact(object) || Py_TYPE(object) == types.dtype ||
         is_fixed_class(object);
}

}  // namespace

bool MadeOps::are_plain(Given attrs, Kinds tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const Kind& one) { return tensorlike::are_plain(*one.shape); }) &&
         std::all_of(attrs.begin(), attrs.end(), is_plain);
}

MadeOps::Made MadeOps::find(Given attrs, Kinds tensors) const {
  if (attrs.size() > kAttrs) return {};
  for (const Entry& entry : entries_) {
    bool same =
        entry.made.op && entry.count == attrs.size() && entry.tensors.size() == tensors.size();
    for (size_t i = 0; same && i < tensors.size(); ++i) {
      const KeptKind& kept = entry.tensors[i];
      same = kept.dtype == tensors[i].dtype && kept.shape == *tensors[i].shape;
    }
    for (size_t i = 0; same && i < attrs.size(); ++i) {
      same = is_same(entry.attrs[i].get(), attrs[i]);
    }
    if (same) return entry.made;
  }
  return {};
}

void MadeOps::keep(Given attrs, const Made& made, Kinds tensors) {
  if (attrs.size() > kAttrs || !std::all_of(attrs.begin(), attrs.end(), is_constant)) return;
  Entry& entry = entries_[next_++ % kEntries];
  for (size_t i = 0; i < attrs.size(); ++i) entry.attrs[i] = Object::share(attrs[i]);
  entry.count = attrs.size();
  entry.tensors.clear();
  for (const Kind& one : tensors) entry.tensors.push_back({*one.shape, one.dtype});
  entry.made = made;
}

}  // namespace tensorlike::bind
