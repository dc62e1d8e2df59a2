// Places where a recorded function finds what it reads, and puts what it changes, where all of that
// is plain: what jit/places.py says for values of any kind.
#pragma once

#include <vector>

#include "bind/objects.h"

namespace tensorlike::bind {

class RecordedPlace {
 public:
  // Said as a tuple: ("argument", index), ("held", tensor), ("gradient", one of both), or
  // ("number", holder, keys, dtype): items of a list, or attributes, that are equal numbers.
  explicit RecordedPlace(PyObject* said);

  // The value by now, without history; null: there is none that is plain.
  Ref<Value> find(PyObject* const* arguments) const;
  // The same with its history; null: there is none.
  Ref<Value> find_recorded(PyObject* const* arguments) const;
  // The Tensor; of a gradient, that which has it.
  PyObject* tensor(PyObject* const* arguments) const {
    return kind_ == Kind::kArgument ? arguments[index_] : holder_.get();
  }
  // Whether a Tensor has a gradient, of any kind.
  bool has_gradient(PyObject* const* arguments) const;
  // Whether the numbers are still equal.
  bool is_one() const;
  bool is_number() const { return kind_ == Kind::kNumber; }
  // What `put` puts there: a value that the place alone is to hold. Null stays null.
  // ErrorKind::kAutodiff for the gradient of what holds none.
  Ref<Value> prepared(PyObject* const* arguments, Ref<Value> value) const;
  // Puts a prepared value there; null: there is none any more. Only for a number that can fail.
  void put(PyObject* const* arguments, Ref<Value> value) const;
  int visit(visitproc visit, void* arg) const;

 private:
  enum class Kind : uint8_t { kArgument, kHeld, kNumber };

  Object number(const Object& key) const;

  Kind kind_ = Kind::kHeld;
  bool is_gradient_ = false;
  size_t index_ = 0;
  Object holder_;
  std::vector<Object> keys_;
  DType dtype_ = DType::kFloat32;
};

// The item of a tuple, and the number in it.
PyObject* item_of(PyObject* tuple, Py_ssize_t index);
size_t count_in(PyObject* number);

}  // namespace tensorlike::bind
