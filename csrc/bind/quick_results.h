// What becomes of the results of a recorded program's run: some get into dicts, in which the
// function keeps them, and some are returned.
#pragma once

#include <optional>
#include <vector>

#include "bind/programs.h"
#include "bind/quick_arguments.h"
#include "bind/recorded_places.h"

namespace tensorlike::bind {

class QuickResults {
 public:
  // `stores`: what gets into dicts: (dict, key, which of `results`, _), or (dict, key, -1, what).
  // `results`: (class, which result of the run), (None, the same) without a wrapper, or (None,
  // place). `leaves`: which of `results` are returned; `assemble` makes of these what is returned;
  // None: there is one.
  QuickResults(PyObject* stores, PyObject* results, PyObject* leaves, PyObject* assemble)
      : assemble_(Object::share(assemble)) {
    for (const Object& item : objects_in(results)) add_result(item.get());
    for (const Object& item : objects_in(leaves)) returned_.push_back(count_in(item.get()));
    for (const Object& item : objects_in(stores)) {
      const long which = PyLong_AsLong(item_of(item.get(), 2));
      stores_.push_back({Object::share(item_of(item.get(), 0)),
                         Object::share(item_of(item.get(), 1)), static_cast<int>(which),
                         Object::share(item_of(item.get(), 3))});
    }
  }

  // Stores what is kept; what is returned.
  PyObject* returned(Tensors tensors, const Values& found) const {
    const bool is_one = assemble_.get() == Py_None;
    if (stores_.empty() && is_one) return leaf(results_[returned_[0]], tensors, found).release();
    SmallVector<Object, 8> made;
    for (const Result& result : results_) made.push_back(leaf(result, tensors, found));
    for (const Store& store : stores_) {
      const Object& x = store.which < 0 ? store.value : made[static_cast<size_t>(store.which)];
      check(PyDict_SetItem(store.dict.get(), store.key.get(), x.get()));
    }
    if (is_one) return Py_NewRef(made[returned_[0]].get());
    Object leaves = own(PyTuple_New(static_cast<Py_ssize_t>(returned_.size())));
    for (size_t i = 0; i < returned_.size(); ++i) {
      PyTuple_SET_ITEM(leaves.get(), static_cast<Py_ssize_t>(i),
                       Py_NewRef(made[returned_[i]].get()));
    }
    if (assemble_.get() == reinterpret_cast<PyObject*>(&PyTuple_Type)) return leaves.release();
    return checked(PyObject_CallOneArg(assemble_.get(), leaves.get()));
  }

  int visit(visitproc visit, void* arg) const {
    Py_VISIT(assemble_.get());
    for (const Store& store : stores_) {
      Py_VISIT(store.dict.get());
      Py_VISIT(store.key.get());
      Py_VISIT(store.value.get());
    }
    for (const Result& result : results_) {
      Py_VISIT(result.cls.get());
      if (!result.place) continue;
      if (const int stop = result.place->visit(visit, arg); stop != 0) return stop;
    }
    return 0;
  }

 private:
  struct Result {
    Object cls;  // None: no wrapper
    int which = -1;
    std::optional<RecordedPlace> place = {};
  };
  // What gets into a dict: a result, or always the same.
  struct Store {
    Object dict, key;
    int which;
    Object value;
  };

  void add_result(PyObject* said) {
    PyObject* const what = item_of(said, 1);
    Result& result = results_.emplace_back();
    result.cls = Object::share(item_of(said, 0));
    if (PyTuple_Check(what) != 0) {
      result.place.emplace(what);
    } else {
      result.which = static_cast<int>(count_in(what));
    }
  }

  static Object leaf(const Result& result, Tensors tensors, const Values& found) {
    if (result.place) return Object::share(result.place->tensor(tensors.data()));
    const Ref<Value>& value = found[static_cast<size_t>(result.which)];
    if (result.cls.get() == reinterpret_cast<PyObject*>(types.tensor)) {
      return own(wrap(value, types.tensor));
    }
    Object bare = own(from_value(value));
    return result.cls.get() == Py_None ? bare
                                       : own(PyObject_CallOneArg(result.cls.get(), bare.get()));
  }

  std::vector<Result> results_;
  std::vector<size_t> returned_;
  std::vector<Store> stores_;
  const Object assemble_;
};

}  // namespace tensorlike::bind
