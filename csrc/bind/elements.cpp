#include "bind/elements.h"

namespace tensorlike::bind {
namespace {

// What a tensor-like written in Python names as the one whose elements are its own.
Ref<Value> named_elements(const Value& value) {
  PyObject* const object = object_of(value);
  if (object == nullptr || !is_tensor_like(object)) return nullptr;
  const Object found = find_attribute(object, "elements");
  return found ? to_value(found.get()) : nullptr;
}

PyObject* read_hook = nullptr;  // under the GIL; null: nobody asked

PyObject* set_read_hook(PyObject*, PyObject* function) {
  PyObject* const before = read_hook;
  read_hook = function == Py_None ? nullptr : Py_NewRef(function);
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

PyMethodDef elements_functions[] = {
    {"set_read_hook", as_method(set_read_hook), METH_O,
     "Calls a function with each wrapper whose value Python is about to see; None: none."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_elements(PyObject* module) {
  check(PyModule_AddFunctions(module, elements_functions));
  add_numpy_arrays(module);
}

void note_read(PyObject* wrapper) {
  if (read_hook == nullptr || !is_wrapper(wrapper) || value_of(wrapper) == nullptr) return;
  const Object function = Object::share(read_hook);
  own(PyObject_CallOneArg(function.get(), wrapper));
}

PyObject* item_of(const RawTensor& tensor) {
  if (tensor.size() != 1) {
    fail(ErrorKind::kShape, said::op("item"), "the tensor must have one element",
         said::got("shape ", to_string(tensor.shape)));
  }
  return number_of(*moved(tensor, Device()));
}

PyObject* item_in(PyObject* tensor_like) {
  note_read(tensor_like);
  const bool is_own = is_own_wrapper(Py_TYPE(tensor_like));
  const RawTensor* const raw = is_own ? raw_under(value_of(tensor_like)) : nullptr;
  const bool is_at_hand =
      raw != nullptr && !raw->pending && raw->count == 1 && raw->device.is_cpu();
  return is_at_hand ? number_of(*raw) : item_of(*elements_of(to_value(tensor_like)));
}

Ref<RawTensor> elements_of(Ref<Value> value) {
  const std::string_view name = value ? value->type->name() : "tensor-like";
  while (value && value->tag != Value::kRaw) {
    Ref<Value> inner;
    if (value->tag == Value::kTracer) inner = static_cast<Tracer*>(value.get())->primal;
    if (value->tag == Value::kOther) inner = named_elements(*value);
    value = inner;
  }
  if (!value) {
    fail(ErrorKind::kDispatch, "a value is needed; a ", name, " has no elements",
         said::fix("control flow that depends on elements is recorded by jit.to_static, or by "
                   "functional.cond and functional.while_loop"),
         said::missing("elements"));
  }
  static_cast<RawTensor*>(value.get())->ready("read");
  return Ref<RawTensor>(static_cast<RawTensor*>(value.get()));
}

Device device_of(PyObject* tensor_like) {
  if (Value* value = value_of(tensor_like)) {
    Spec spec;
    return value->spec(spec) ? spec.device : Device();
  }
  const Object inner = Object::steal(PyObject_CallOneArg(hooks.inner, tensor_like));
  if (!inner) PyErr_Clear();  // whatever it is, it does not say
  return inner && is_tensor_like(inner.get()) ? device_of(inner.get()) : Device();
}

}  // namespace tensorlike::bind
