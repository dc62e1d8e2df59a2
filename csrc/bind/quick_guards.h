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
  // (((mapping, name, was), ...), ((cell, was), ...), (guard, ...)); `missing` stands for nothing.
  QuickGuards(PyObject* said, PyObject* missing) : missing_(Object::share(missing)) {
    for (const Object& item : objects_in(item_of(said, 0))) {
      named_.push_back({Object::share(item_of(item.get(), 0)),
                        Object::share(item_of(item.get(), 1)),
                        Object::share(item_of(item.get(), 2))});
    }
    for (const Object& item : objects_in(item_of(said, 1))) {
      cells_.push_back(
          {Object::share(item_of(item.get(), 0)), Object::share(item_of(item.get(), 1))});
    }
    others_ = objects_in(item_of(said, 2));
  }

  bool hold() const {
    for (const Named& guard : named_) {
      if (!holds(guard)) return false;
    }
    for (const auto& [cell, was] : cells_) {
      if (PyCell_GET(cell.get()) != was.get()) return false;
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
      Py_VISIT(guard.mapping.get());
      Py_VISIT(guard.was.get());
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
    Object mapping, name, was;
  };

  bool holds(const Named& guard) const {
    PyObject* found = nullptr;
    Object owned;
    if (PyDict_CheckExact(guard.mapping.get()) != 0) {
      found = PyDict_GetItemWithError(guard.mapping.get(), guard.name.get());
    } else {
      owned = Object::steal(PyObject_GetItem(guard.mapping.get(), guard.name.get()));
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
  std::vector<std::pair<Object, Object>> cells_;
  std::vector<Object> others_;
};

}  // namespace tensorlike::bind
