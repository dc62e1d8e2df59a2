#include "bind/made_ops.h"

#include <algorithm>
#include <cmath>

#include "program/sizes.h"

namespace tensorlike::bind {
namespace {

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
      Py_TYPE(object) == types.dtype) {
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
  return PyBool_Check(object) || PyUnicode_CheckExact(object) || Py_TYPE(object) == types.dtype;
}

}  // namespace

bool MadeOps::are_plain(Given attrs, Shapes shapes) {
  return std::all_of(shapes.begin(), shapes.end(),
                     [](const Dims* one) { return tensorlike::are_plain(*one); }) &&
         std::all_of(attrs.begin(), attrs.end(), is_plain);
}

MadeOps::Made MadeOps::find(Given attrs, Shapes shapes) const {
  if (attrs.size() > kAttrs) return {};
  for (const Entry& entry : entries_) {
    bool same =
        entry.made.op && entry.count == attrs.size() && entry.shapes.size() == shapes.size();
    for (size_t i = 0; same && i < shapes.size(); ++i) same = entry.shapes[i] == *shapes[i];
    for (size_t i = 0; same && i < attrs.size(); ++i) {
      same = is_same(entry.attrs[i].get(), attrs[i]);
    }
    if (same) return entry.made;
  }
  return {};
}

void MadeOps::keep(Given attrs, const Made& made, Shapes shapes) {
  if (attrs.size() > kAttrs || !std::all_of(attrs.begin(), attrs.end(), is_constant)) return;
  Entry& entry = entries_[next_++ % kEntries];
  for (size_t i = 0; i < attrs.size(); ++i) entry.attrs[i] = Object::share(attrs[i]);
  entry.count = attrs.size();
  entry.shapes.clear();
  for (const Dims* shape : shapes) entry.shapes.push_back(*shape);
  entry.made = made;
}

}  // namespace tensorlike::bind
