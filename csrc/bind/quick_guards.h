// Guards of a recorded program on Python's state, as a quick call checks them: by identity, but for
// those that say by themselves whether they hold.
#pragma once

#include <utility>
#include <vector>

#include "bind/recorded_places.h"

namespace tensorlike::bind {

inline std::vector<Object> objects_in(PyObject* tuple) {
  const Object items = own(PySequence_Tuple(tuple));
  std::vector<Object> out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    out.push_back(Object::share(PyTuple_GET_ITEM(items.get(), i)));
  }
  return out;
}

class QuickGuards {
 public:
  // (((mapping, name, was), ...), ((cell, was), ...), ((object, attribute, was), ...), (guard,
  // ...)); `missing` stands for nothing.
  QuickGuards(PyObject* said, PyObject* missing) : missing_(Object::share(missing)) {
    named_ = named_in(item_of(said, 0));
    fields_ = named_in(item_of(said, 2));
    for (const Object& item : objects_in(item_of(said, 1))) {
      cells_.push_back(
          {Object::share(item_of(item.get(), 0)), Object::share(item_of(item.get(), 1))});
    }
    others_ = objects_in(item_of(said, 3));
  }

  bool hold() const {
    for (const Named& guard : named_) {
      if (!holds(guard)) return false;
    }
    for (const auto& [cell, was] : cells_) {
      if (PyCell_GET(cell.get()) != was.get()) return false;
    }
    for (const Named& field : fields_) {
      const Object found = Object::steal(PyObject_GetAttr(field.holder.get(), field.name.get()));
      if (found.get() == nullptr) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw PythonError();
        PyErr_Clear();
      }
      if (found.get() != field.was.get()) return false;
    }
    for (const Object& guard : others_) {
      const Object found = own(PyObject_CallMethod(guard.get(), "holds", nullptr));
      const int is_true = PyObject_IsTrue(found.get());
      check(is_true);
      if (is_true == 0) return false;
    }
    return true;
  }

  int visit(visitproc visit, void* arg) const {
    for (const Named& guard : named_) {
      Py_VISIT(guard.holder.get());
      Py_VISIT(guard.was.get());
    }
    for (const Named& field : fields_) {
      Py_VISIT(field.holder.get());
      Py_VISIT(field.was.get());
    }
    for (const auto& [cell, was] : cells_) {
      Py_VISIT(cell.get());
      Py_VISIT(was.get());
    }
    for (const Object& guard : others_) Py_VISIT(guard.get());
    return 0;
  }

 private:
  struct Named {
    Object holder, name, was;
  };

  static std::vector<Named> named_in(PyObject* said) {
    std::vector<Named> found;
    for (const Object& item : objects_in(said)) {
      found.push_back({Object::share(item_of(item.get(), 0)), Object::share(item_of(item.get(), 1)),
                       Object::share(item_of(item.get(), 2))});
    }
    return found;
  }

  bool holds(const Named& guard) const {
    PyObject* found = nullptr;
    Object owned;
    if (PyDict_CheckExact(guard.holder.get()) != 0) {
      found = PyDict_GetItemWithError(guard.holder.get(), guard.name.get());
    } else {
      owned = Object::steal(PyObject_GetItem(guard.holder.get(), guard.name.get()));
      found = owned.get();
    }
    if (found == nullptr && PyErr_Occurred() != nullptr) {
      if (PyErr_ExceptionMatches(PyExc_KeyError) == 0) throw PythonError();
      PyErr_Clear();
    }
    return (found == nullptr ? missing_.get() : found) == guard.was.get();
  }

  const Object missing_;
  std::vector<Named> named_;
  std::vector<Named> fields_;
  std::vector<std::pair<Object, Object>> cells_;
  std::vector<Object> others_;
};

}  // namespace tensorlike::bind
