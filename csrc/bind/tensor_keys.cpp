// Keys that are one tensor: rows that integers pick, elements where a mask is true. They are the
// ops that `imperative/indexing.py` says, for all keys, found without Python; a test holds both
// against each other. An array or a list is such a key, too, once it is a tensor.
#include <algorithm>

#include "bind/elements.h"
#include "bind/keys.h"
#include "memory/layout.h"

namespace tensorlike::bind {
namespace {

const Op& rows_op(const char* name) {
  const std::vector<int64_t> first = {0};
  return *registry().find_function(name)->make_op({first}).detach();
}

const RawTensor* plain_raw(PyObject* object) {
  return is_plain_tensor(object) ? raw_under(value_of(object)) : nullptr;
}

// The key as a Tensor; null where it needs more than one op.
Object as_tensor_key(PyObject* key) {
  if (plain_raw(key) != nullptr) return Object::share(key);
  Ref<RawTensor> made;
  if (PyList_CheckExact(key)) {
    made = from_lists(key, Py_None);
    if (made && made->dtype != DType::kInt64) return {};  // masks in lists, and mistakes
  } else if (!is_tensor_like(key)) {
    made = from_small_array(key);
  }
  const bool is_ready = made && (made->dtype == DType::kInt64 || made->dtype == DType::kInt32 ||
                                 (made->dtype == DType::kBool && !made->shape.empty()));
  return is_ready ? own(wrap(std::move(made), types.tensor)) : Object();
}

// What a key says of a tensor of this shape.
enum class Picks { kRows, kElements, kOther };

Picks picks_of(const Dims& shape, const RawTensor& key) {
  if (kind_of(key.dtype) == Kind::kInteger && !shape.empty()) return Picks::kRows;
  const size_t ndim = key.shape.size();
  const bool is_mask = key.dtype == DType::kBool && ndim > 0 && ndim <= shape.size() &&
                       std::equal(key.shape.begin(), key.shape.end(), shape.begin());
  return is_mask ? Picks::kElements : Picks::kOther;
}

// The shape of the rows that an index picks.
Dims rows_shape(const Dims& shape, const Dims& index) {
  Dims rows = index;
  for (size_t i = 1; i < shape.size(); ++i) rows.push_back(shape[i]);
  return rows;
}

bool is_real_number(PyObject* object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object);
}

}  // namespace

PyObject* get_by_tensor(PyObject* self, PyObject* key) {
  static const Op& rows = rows_op("gather");
  static const Op& elements = *registry().find_function("masked_select")->shared_op;
  const RawTensor* const x = plain_raw(self);
  if (x == nullptr || !x->device.is_cpu()) return nullptr;
  const Object given = as_tensor_key(key);
  if (!given) return nullptr;
  const Picks picks = picks_of(x->shape, *plain_raw(given.get()));
  if (picks == Picks::kOther) return nullptr;
  PyObject* args[] = {self, given.get()};
  return apply_single(picks == Picks::kRows ? rows : elements, args, 2);
}

bool set_by_tensor(PyObject* self, PyObject* key, PyObject* value) {
  static const Op& rows = rows_op("scatter_set");
  static const Op& where = *registry().find_function("where")->shared_op;
  const RawTensor* const x = plain_raw(self);
  if (x == nullptr || !x->device.is_cpu()) return false;
  const RawTensor* const held = plain_raw(value);
  if (held == nullptr && !is_real_number(value)) return false;
  const Object given = as_tensor_key(key);
  if (!given) return false;
  const RawTensor& index = *plain_raw(given.get());
  const Picks picks = picks_of(x->shape, index);
  const bool is_one_op =
      picks == Picks::kRows
          ? held == nullptr || broadcasts_to(held->shape, rows_shape(x->shape, index.shape))
          : picks == Picks::kElements && held == nullptr && index.shape.size() == x->shape.size();
  if (!is_one_op) return false;
  Object put = Object::share(value);
  if (held == nullptr) {
    const Object dtype = own(from_dtype(x->dtype));
    put = own(wrap(as_raw(value, dtype.get()), types.tensor));
  }
  if (picks == Picks::kRows) {
    PyObject* args[] = {self, put.get(), given.get()};
    assign_result(self, rows, args);
  } else {
    PyObject* args[] = {given.get(), put.get(), self};
    assign_result(self, where, args);
  }
  return true;
}

}  // namespace tensorlike::bind
