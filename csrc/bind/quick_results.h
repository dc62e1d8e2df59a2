// What becomes of the results of a recorded program's run: some get into dicts, in which the
// function keeps them, and some are returned.
#pragma once

#include <optional>
#include <vector>

#include "bind/programs.h"
#include "bind/quick_arguments.h"
#include "bind/quick_trees.h"
#include "bind/recorded_places.h"

namespace tensorlike::bind {

class QuickResults {
 public:
  // `stores`: who is changed, a container or (which name of the function's own, keys from there
  // on); under which keys, None: at the end; and the QuickTrees that it gets, whose leaves are
  // `results`. `results`: (class, which result of the run), (None, the same) without a wrapper, or
  // (None, place). `tree`: the QuickTree of `results` that is returned; None: `assemble` makes of
  // all of them what is returned, and stores the rest.
  QuickResults(PyObject* stores, PyObject* results, PyObject* tree, PyObject* assemble)
      : assemble_(Object::share(assemble)) {
    for (const Object& item : objects_in(results)) add_result(item.get());
    for (const Object& item : objects_in(stores)) add_store(item.get());
    if (tree != Py_None) tree_.emplace(tree);
  }

  // Stores what is kept, where the function's own names have these values; what is returned.
  PyObject* returned(Tensors tensors, const Values& found, std::span<const Object> kept) const {
    if (stores_.empty() && results_.size() == 1 && tree_ && tree_->is_leaf()) {
      return leaf(results_[0], tensors, found).release();
    }
    SmallVector<Object, 8> made;
    for (const Result& result : results_) made.push_back(leaf(result, tensors, found));
    const std::span<const Object> all(made.data(), made.size());
    if (!stores_.empty()) put(all, kept);
    if (tree_) return tree_->made(all).release();
    Object leaves = own(PyTuple_New(static_cast<Py_ssize_t>(made.size())));
    for (size_t i = 0; i < made.size(); ++i) {
      PyTuple_SET_ITEM(leaves.get(), static_cast<Py_ssize_t>(i), made[i].release());
    }
    return checked(PyObject_CallOneArg(assemble_.get(), leaves.get()));
  }

  int visit(visitproc visit, void* arg) const {
    Py_VISIT(assemble_.get());
    if (tree_) {
      if (const int stop = tree_->visit(visit, arg); stop != 0) return stop;
    }
    for (const Store& store : stores_) {
      Py_VISIT(store.holder.get());
      for (const QuickTree& item : store.items) {
        if (const int stop = item.visit(visit, arg); stop != 0) return stop;
      }
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
  struct Store {
    Object holder;             // null: on a path
    size_t kept = 0;           // from that name of the function's own
    std::vector<Object> path;  // by these keys
    std::vector<Object> keys;  // none: at the end of a list
    std::vector<QuickTree> items;

    Object found(std::span<const Object> names) const {
      if (holder) return holder;
      Object x = names[kept];
      for (const Object& key : path) x = own(PyObject_GetItem(x.get(), key.get()));
      return x;
    }
  };

  void add_store(PyObject* said) {
    Store& store = stores_.emplace_back();
    PyObject* const holder = item_of(said, 0);
    if (PyTuple_Check(holder) != 0) {
      store.kept = count_in(item_of(holder, 0));
      store.path = objects_in(item_of(holder, 1));
    } else {
      store.holder = Object::share(holder);
    }
    if (item_of(said, 1) != Py_None) store.keys = objects_in(item_of(said, 1));
    for (const Object& item : objects_in(item_of(said, 2))) store.items.emplace_back(item.get());
  }

  // Who is changed is found before anything changes.
  void put(std::span<const Object> made, std::span<const Object> kept) const {
    std::vector<Object> holders;
    for (const Store& store : stores_) holders.push_back(store.found(kept));
    for (size_t s = 0; s < stores_.size(); ++s) {
      const Store& store = stores_[s];
      PyObject* const holder = holders[s].get();
      for (size_t i = 0; i < store.items.size(); ++i) {
        const Object x = store.items[i].made(made);
        check(store.keys.empty() ? PyList_Append(holder, x.get())
                                 : PyObject_SetItem(holder, store.keys[i].get(), x.get()));
      }
    }
  }

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
  std::optional<QuickTree> tree_;
  std::vector<Store> stores_;
  const Object assemble_;
};

}  // namespace tensorlike::bind
