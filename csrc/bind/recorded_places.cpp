#include "bind/recorded_places.h"

#include <algorithm>

#include "bind/rebinding.h"
#include "tape/gradient.h"

namespace tensorlike::bind {
namespace {

// The elements under tracers; null: there are others.
Ref<Value> plain_value(Value* value) {
  while (value->tag == Value::kTracer) value = static_cast<Tracer*>(value)->primal.get();
  return value->tag == Value::kRaw ? Ref<Value>(value) : nullptr;
}

}  // namespace

PyObject* item_of(PyObject* tuple, Py_ssize_t index) {
  return PyTuple_Check(tuple) != 0 && index < PyTuple_GET_SIZE(tuple)
             ? PyTuple_GET_ITEM(tuple, index)
             : checked((PyErr_SetString(PyExc_TypeError, "QuickCall: a longer tuple"), nullptr));
}

size_t count_in(PyObject* number) {
  const size_t found = PyLong_AsSize_t(number);
  if (PyErr_Occurred() != nullptr) throw PythonError();
  return found;
}

RecordedPlace::RecordedPlace(PyObject* said) {
  const std::string word = shown(item_of(said, 0));
  PyObject* const subject = item_of(said, 1);
  if (word == "gradient") {
    *this = RecordedPlace(subject);
    is_gradient_ = true;
    return;
  }
  if (word == "argument") {
    kind_ = Kind::kArgument;
    index_ = count_in(subject);
    return;
  }
  holder_ = Object::share(subject);
  if (word != "number") {
    if (!is_wrapper(subject)) fail_attribute(subject, "tensor");
    return;
  }
  kind_ = Kind::kNumber;
  const Object keys = own(PySequence_Tuple(item_of(said, 2)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
    keys_.push_back(Object::share(PyTuple_GET_ITEM(keys.get(), i)));
  }
  dtype_ = to_dtype(item_of(said, 3));
}

Object RecordedPlace::number(const Object& key) const {
  const bool is_list = PyList_Check(holder_.get()) != 0;
  return own(is_list ? PyObject_GetItem(holder_.get(), key.get())
                     : PyObject_GetAttr(holder_.get(), key.get()));
}

Ref<Value> RecordedPlace::find(PyObject* const* arguments) const {
  if (kind_ == Kind::kNumber) {
    const Object now = number(keys_[0]);
    Literal literal;
    const bool is_number = PyFloat_CheckExact(now.get()) != 0 || PyLong_CheckExact(now.get()) != 0;
    if (!is_number || !to_literal(now.get(), literal) || is_wide_integer(now.get(), literal)) {
      return nullptr;
    }
    return RawTensor::scalar(dtype_, literal, default_device);
  }
  const Ref<Value> value = find_recorded(arguments);
  return value ? plain_value(value.get()) : nullptr;
}

Ref<Value> RecordedPlace::find_recorded(PyObject* const* arguments) const {
  if (kind_ == Kind::kNumber) return find(arguments);
  Value* const value = value_of(tensor(arguments));
  if (!is_gradient_) return Ref<Value>(value);
  const Ref<Tracer> leaf = base_leaf(value);
  if (!leaf || leaf->accumulator == nullptr) return nullptr;
  return leaf->accumulator->gradient;
}

bool RecordedPlace::has_gradient(PyObject* const* arguments) const {
  const Ref<Tracer> leaf = base_leaf(value_of(tensor(arguments)));
  return leaf && leaf->accumulator != nullptr && leaf->accumulator->gradient;
}

bool RecordedPlace::is_one() const {
  if (keys_.size() == 1) return true;
  const Object first = number(keys_[0]);
  return std::all_of(keys_.begin() + 1, keys_.end(), [&](const Object& key) {
    const int same = PyObject_RichCompareBool(number(key).get(), first.get(), Py_EQ);
    check(same);
    return same == 1;
  });
}

Ref<Value> RecordedPlace::prepared(PyObject* const* arguments, Ref<Value> value) const {
  if (kind_ == Kind::kNumber) return value;
  if (!is_gradient_) return settled(std::move(value));
  const Ref<Tracer> leaf = base_leaf(value_of(tensor(arguments)));
  if (!leaf || leaf->accumulator == nullptr) {
    fail(ErrorKind::kAutodiff, said::op("grad"),
         "only a tensor that requires_grad holds a gradient.");
  }
  return value;
}

void RecordedPlace::put(PyObject* const* arguments, Ref<Value> value) const {
  if (kind_ == Kind::kNumber) {
    const Object scalar = own(wrap(std::move(value), types.tensor));
    const Object item = own(PyObject_CallMethod(scalar.get(), "item", nullptr));
    const Object made = own(PyNumber_Long(item.get()));
    for (const Object& key : keys_) {
      check(PyObject_SetItem(holder_.get(), key.get(), made.get()));
    }
    return;
  }
  PyObject* const target = tensor(arguments);
  const Ref<Tracer> leaf = base_leaf(value_of(target));
  if (!is_gradient_) {
    bind_on_base(target, std::move(value), leaf);
    return;
  }
  const Ref<Node> node = leaf->edge.node;
  node->accumulator->gradient = std::move(value);
  if (node->accumulator->gradient) note_gradient(node);
}

int RecordedPlace::visit(visitproc visit, void* arg) const {
  Py_VISIT(holder_.get());
  for (const Object& key : keys_) Py_VISIT(key.get());
  return 0;
}

}  // namespace tensorlike::bind
