// Assignment to a Tensor and to its parts: an op makes the new value, in the memory of the old one
// where nobody else holds that, and the wrapper gets it.
#include "bind/keys.h"
#include "bind/objects.h"
#include "bind/programs.h"
#include "bind/rebinding.h"
#include "engine/engine.h"
#include "tensor/creation.h"
#include "tensor/kernel_run.h"
#include "tensor/small_assignment.h"

namespace tensorlike::bind {

void assign(PyObject* self, Ref<Value> result) {
  check_examples(self, *result);
  Value* previous = value_of(self);
  const auto keeps = [&](const Node& leaf) {
    const Spec& was = leaf.outputs()[0];
    Spec is;
    return result->spec(is) && was.dtype == is.dtype && was.shape == is.shape;
  };
  if (previous->tag == Value::kTracer) {
    auto* tracer = static_cast<Tracer*>(previous);
    const Ref<Node>& node = tracer->edge.node;
    const bool stays = node && node->is_leaf() && tracer->tape->level <= paused_level() &&
                       result->tag != Value::kTracer;
    if (stays && keeps(*node)) {
      rebind(self,
             make_ref<Tracer>(std::move(result), tracer->edge, tracer->tape, tracer->accumulator));
      return;
    }
  }
  if (paused_level() >= 0) {
    const Ref<Tracer> leaf = base_leaf(previous);
    if (leaf && keeps(*leaf->edge.node)) {
      bind_on_base(self, std::move(result), leaf);
      return;
    }
  }
  rebind(self, std::move(result));
}

Value* writable(PyObject* self) {
  Value* value = value_of(self);
  if (value->tag != Value::kTracer) return value;
  auto* tracer = static_cast<Tracer*>(value);
  return tracer->tape->level <= paused_level() ? tracer->primal.get() : value;
}

namespace {

// An operand beside a plain tensor, where it is an element-holding value itself; null otherwise.
Ref<Value> plain_operand(PyObject* object, Value& like) {
  if (!is_tensor_like(object)) return lift_operand(object, like);
  const bool is_plain = is_own_wrapper(Py_TYPE(object)) || Py_TYPE(object) == types.raw_tensor;
  return is_plain ? Ref<Value>(value_of(object)) : nullptr;
}

// A number as an element of the dtype; false where it is none, or makes the result of another one.
bool to_element(PyObject* object, DType dtype, char* element) {
  if (!PyFloat_CheckExact(object) && !PyLong_CheckExact(object) && !PyBool_Check(object)) {
    return false;
  }
  Literal literal;
  to_literal(object, literal);
  const Kind kind = kind_of(literal);
  if (is_wide_integer(object, literal) || literal_dtype(kind, dtype) != dtype) return false;
  check_literal(literal, dtype);
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *reinterpret_cast<T*>(element) = literal_as<T>(literal);
  });
  return true;
}

// Whether the value could be written into what the wrapper holds, which it alone has: what comes of
// a launch over that memory, in fewer steps.
bool write_part(PyObject* self, const Op& op, PyObject* value) {
  Value* const target = writable(self);
  const bool is_plain =
      target->tag == Value::kRaw && op.cls.plain.load(std::memory_order_relaxed) &&
      dispatcher().is_wrapper_plain() && apply_creation.load(std::memory_order_relaxed) == nullptr;
  if (!is_plain || !may_donate(self)) return false;
  auto& x = *static_cast<RawTensor*>(target);
  if (x.pending || !is_ours(x, 1)) return false;
  if (is_plain_tensor(value)) {
    if (value_of(value)->tag != Value::kRaw) return false;
    const auto& given = *static_cast<RawTensor*>(value_of(value));
    const bool is_itself = &given == &x;  // it would be read while it is written
    if (is_itself || given.pending || !assign_small(op, x, given)) return false;
  } else {
    alignas(16) char element[16];
    if (!to_element(value, x.dtype, element)) return false;
    if (!assign_small(op, x, Array(x.dtype, {}, element))) return false;
  }
  assign(self, Ref<Value>(target));
  return true;
}

// The new value, if the op could be launched at once; null where dispatch has to see it.
Ref<Value> launch_over(PyObject* self, const Op& op, std::span<PyObject* const> args) {
  Value* target = writable(self);
  if (target->tag != Value::kRaw || !op.cls.plain || !dispatcher().is_wrapper_plain()) {
    return nullptr;
  }
  Values held;
  SmallVector<Value*, 6> pointers;
  uint32_t donated = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == self && donated == 0 && may_donate(self)) {
      donated = 1U << i;
      held.push_back(Ref<Value>(target));
    } else {
      held.push_back(plain_operand(args[i], *target));
    }
    if (!held.back() || held.back()->tag != Value::kRaw) return nullptr;
    pointers.push_back(held.back().get());
  }
  // Held by the wrapper (or its tracer) and here.
  return launch(op, {pointers.data(), pointers.size()}, donated, 2)[0];
}

}  // namespace

void assign_result(PyObject* self, const Op& op, std::span<PyObject* const> args) {
  Ref<Value> result = launch_over(self, op, args);
  if (!result) {
    Object out = own(apply_single(op, args.data(), args.size()));
    result = to_value(out.get());
  }
  assign(self, std::move(result));
}

void assign_part(PyObject* self, const Op& op, PyObject* value) {
  if (write_part(self, op, value)) return;
  PyObject* args[] = {self, value};
  assign_result(self, op, args);
}

namespace {

// What the hook says is to be done: (function, {attribute: value}, arguments).
void replace_by_call(PyObject* self, PyObject* call) {
  const Function& function = *registry().find_function(PyUnicode_AsUTF8(PyTuple_GET_ITEM(call, 0)));
  std::vector<Attr> attrs;
  for (const AttrSpec& spec : function.spec.attrs) {
    PyObject* given = PyDict_GetItemString(PyTuple_GET_ITEM(call, 1), spec.name.c_str());
    attrs.push_back(given != nullptr ? to_attr(given, function.spec.name, spec) : spec.fallback);
  }
  const Ref<Op> op = function.make_op(std::move(attrs));
  PyObject* args = PyTuple_GET_ITEM(call, 2);
  std::vector<PyObject*> items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
    items.push_back(PyTuple_GET_ITEM(args, i));
  assign_result(self, *op, items);
}

}  // namespace

int set_item(PyObject* self, PyObject* key, PyObject* value) {
  return guarded_status([&] {
    if (value == nullptr) {
      PyErr_SetString(PyExc_TypeError, "elements of a tensor cannot be deleted");
      throw PythonError();
    }
    if (!is_wrapper(self)) {
      PyErr_Format(PyExc_TypeError,
                   "%s: tensor-likes are values and do not change; wrap it in a Tensor to assign",
                   Py_TYPE(self)->tp_name);
      throw PythonError();
    }
    KeyItems items;
    if (!parse_items(key, items)) {
      const DeviceScope scope(device_of(self));  // for what the key and the value become
      if (set_by_tensor(self, key, value)) return;
      PyObject* all[] = {self, key, value};
      Object call = own(PyObject_Vectorcall(hooks.setitem, all, 3, nullptr));
      replace_by_call(self, call.get());
      return;
    }
    assign_part(self, *index_op(true, items), value);
  });
}

}  // namespace tensorlike::bind
