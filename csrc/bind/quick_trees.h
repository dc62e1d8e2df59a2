// What a recorded function keeps in a name: a Tensor, or lists, tuples and dicts of such.
#pragma once

#include <span>
#include <vector>

#include "bind/objects.h"

namespace tensorlike::bind {

class QuickTree {
 public:
  // Said as a tuple: ("leaf", which), ("same", value), ("list" or "tuple", trees), or ("dict",
  // keys, trees).
  explicit QuickTree(PyObject* said) {
    const std::string kind = shown(PyTuple_GetItem(said, 0));
    PyObject* const what = PyTuple_GetItem(said, 1);
    if (kind == "leaf") {
      leaf_ = PyLong_AsLong(what);
    } else if (kind == "same") {
      kind_ = Kind::kSame;
      same_ = Object::share(what);
    } else {
      kind_ = kind == "list" ? Kind::kList : kind == "tuple" ? Kind::kTuple : Kind::kDict;
      if (kind_ == Kind::kDict) keys_ = objects_in(what);
      PyObject* const trees = kind_ == Kind::kDict ? PyTuple_GetItem(said, 2) : what;
      for (const Object& tree : objects_in(trees)) parts_.emplace_back(tree.get());
    }
  }

  // Takes a value apart, leaf by leaf; false: it is arranged otherwise.
  bool take(PyObject* x, std::vector<Object>& leaves) const {
    const auto count = static_cast<Py_ssize_t>(parts_.size());
    switch (kind_) {
      case Kind::kLeaf:
        leaves.push_back(Object::share(x));
        return true;
      case Kind::kSame:
        return x == same_.get();
      case Kind::kList:
      case Kind::kTuple: {
        const bool is_list = kind_ == Kind::kList;
        if (Py_TYPE(x) != (is_list ? &PyList_Type : &PyTuple_Type) || Py_SIZE(x) != count) {
          return false;
        }
        for (Py_ssize_t i = 0; i < count; ++i) {
          PyObject* const item = is_list ? PyList_GET_ITEM(x, i) : PyTuple_GET_ITEM(x, i);
          if (!parts_[static_cast<size_t>(i)].take(item, leaves)) return false;
        }
        return true;
      }
      case Kind::kDict:
        return take_dict(x, leaves);
    }
    return false;
  }

  bool is_leaf() const { return kind_ == Kind::kLeaf; }
  // The value that has these leaves.
  Object made(std::span<const Object> leaves) const {
    const auto count = static_cast<Py_ssize_t>(parts_.size());
    if (kind_ == Kind::kLeaf) return leaves[static_cast<size_t>(leaf_)];
    if (kind_ == Kind::kSame) return same_;
    if (kind_ == Kind::kDict) {
      Object dict = own(PyDict_New());
      for (size_t i = 0; i < parts_.size(); ++i) {
        check(PyDict_SetItem(dict.get(), keys_[i].get(), parts_[i].made(leaves).get()));
      }
      return dict;
    }
    Object items = own(kind_ == Kind::kList ? PyList_New(count) : PyTuple_New(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* const item = parts_[static_cast<size_t>(i)].made(leaves).release();
      if (kind_ == Kind::kList) {
        PyList_SET_ITEM(items.get(), i, item);
      } else {
        PyTuple_SET_ITEM(items.get(), i, item);
      }
    }
    return items;
  }

  int visit(visitproc visit, void* arg) const {
    Py_VISIT(same_.get());
    for (const Object& key : keys_) Py_VISIT(key.get());
    for (const QuickTree& part : parts_) {
      if (const int stop = part.visit(visit, arg); stop != 0) return stop;
    }
    return 0;
  }

 private:
  enum class Kind : uint8_t { kLeaf, kSame, kList, kTuple, kDict };

  // Items in the same order, as arguments are compared.
  bool take_dict(PyObject* x, std::vector<Object>& leaves) const {
    if (Py_TYPE(x) != &PyDict_Type || PyDict_Size(x) != static_cast<Py_ssize_t>(parts_.size())) {
      return false;
    }
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *item = nullptr;
    for (size_t i = 0; PyDict_Next(x, &at, &key, &item) != 0; ++i) {
      const bool is_key = key == keys_[i].get() ||
                          (Py_TYPE(key) == Py_TYPE(keys_[i].get()) && PyUnicode_Check(key) != 0 &&
                           PyUnicode_Compare(key, keys_[i].get()) == 0);
      if (!is_key || !parts_[i].take(item, leaves)) return false;
    }
    return true;
  }

  Kind kind_ = Kind::kLeaf;
  long leaf_ = -1;
  Object same_;
  std::vector<Object> keys_;
  std::vector<QuickTree> parts_;
};

}  // namespace tensorlike::bind
