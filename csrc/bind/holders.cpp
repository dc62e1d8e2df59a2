// Holder for Python: what its ops that hold programs mean, and the ops that stand around such
// programs where the core makes them, as it does when it reads a file.
#include "bind/programs.h"
#include "bind/rules.h"
#include "program/holder.h"

namespace tensorlike::bind {
namespace {

struct HolderObject {
  PyObject_HEAD Holder* holder;
};
Holder& holder_in(PyObject* self) { return *reinterpret_cast<HolderObject*>(self)->holder; }

PyTypeObject* holder_class = nullptr;

// What is written in Python: set once by the imperative room.
struct {
  PyObject* op_around = nullptr;  // (kind, ((program, given, results), ...), params) -> an op
  PyTypeObject* listing = nullptr;
  PyObject* innermost = nullptr;  // (x) -> the value under transforms and carriers, or None
} hooks_of_holders;

// Holder(kind, stretches, params)
PyObject* holder_new(PyTypeObject* cls, PyObject* args, PyObject*) {
  const char* kind = nullptr;
  PyObject *stretches = nullptr, *params = nullptr;
  if (PyArg_ParseTuple(args, "sO!O!", &kind, &PyTuple_Type, &stretches, &PyTuple_Type, &params) ==
      0) {
    return nullptr;
  }
  return guarded([&] {
    std::vector<Ref<Stretch>> calls;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(stretches); ++i) {
      calls.emplace_back(&to_stretch(PyTuple_GET_ITEM(stretches, i)));
    }
    std::vector<Attr> attrs;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(params); ++i) {
      PyObject* item = PyTuple_GET_ITEM(params, i);
      const char* type = PyBool_Check(item) != 0 ? "bool" : "int";
      attrs.push_back(to_attr(item, kind, {"params", attr_type(type), false, Attr()}));
    }
    Ref<Holder> made =
        make_ref<Holder>(Holder::kind_of_name(kind), std::move(calls), std::move(attrs));
    PyObject* self = checked(cls->tp_alloc(cls, 0));
    reinterpret_cast<HolderObject*>(self)->holder = made.detach();
    return self;
  });
}

void holder_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  holder_in(self).release();
  cls->tp_free(self);
  Py_DECREF(cls);
}

// run(values, ops) -> the results, with the ops in the place of the programs
PyObject* holder_run(PyObject* self, PyObject* args) {
  PyObject *values = nullptr, *ops = nullptr;
  if (PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &values, &PyTuple_Type, &ops) == 0) {
    return nullptr;
  }
  return guarded([&] {
    const Ref<Holder> held(&holder_in(self));
    Values given;
    SmallVector<Value*, 4> pointers;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i) {
      given.push_back(as_argument(PyTuple_GET_ITEM(values, i)));
      pointers.push_back(given.back().get());
    }
    std::vector<Ref<Op>> around;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ops); ++i) {
      around.push_back(to_op(PyTuple_GET_ITEM(ops, i)));
    }
    if (around.size() != held->calls.size()) {
      fail(ErrorKind::kArgument, said::op("Holder"), "must have an op for each program");
    }
    return values_to_tuple(held->run({pointers.data(), pointers.size()}, around));
  });
}

PyObject* holder_text(PyObject* self, PyObject*) {
  return guarded([&] { return from_text(holder_in(self).text()); });
}
PyObject* holder_draws(PyObject* self, void*) { return PyBool_FromLong(holder_in(self).draws()); }

PyMethodDef holder_methods[] = {
    {"run", holder_run, METH_VARARGS, "run(values, ops): with ops in the place of the programs."},
    {"text", as_method(holder_text), METH_NOARGS, "Its kind, and the programs' first ops."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef holder_getset[] = {
    {"draws", holder_draws, nullptr, "Whether a run draws random numbers anew.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot holder_slots[] = {
    {Py_tp_new, as_slot(holder_new)},
    {Py_tp_dealloc, as_slot(holder_dealloc)},
    {Py_tp_methods, holder_methods},
    {Py_tp_getset, holder_getset},
    {0, nullptr},
};
PyType_Spec holder_spec = {"tensorlike._C.Holder", sizeof(HolderObject), 0, Py_TPFLAGS_DEFAULT,
                           holder_slots};

// set_holders(op_around, listing, innermost)
PyObject* set_holders(PyObject*, PyObject* args) {
  PyObject *around = nullptr, *listing = nullptr, *innermost = nullptr;
  if (PyArg_ParseTuple(args, "OO!O", &around, &PyType_Type, &listing, &innermost) == 0) {
    return nullptr;
  }
  hooks_of_holders = {Py_NewRef(around), reinterpret_cast<PyTypeObject*>(Py_NewRef(listing)),
                      Py_NewRef(innermost)};
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"set_holders", set_holders, METH_VARARGS, "set_holders(op_around, listing, innermost)"},
    {nullptr, nullptr, 0, nullptr},
};

Ref<const Op> make_op_around(const Ref<Holder>& holder) {
  Gil gil;
  if (hooks_of_holders.op_around == nullptr) {
    fail(ErrorKind::kDispatch, said::op("Holder"), "imperative.sub_programs must be imported");
  }
  Object calls = own(to_tuple_of(holder->calls, [](const Ref<Stretch>& call) {
    return Py_BuildValue("(NNN)", from_program(call->program, hooks_of_holders.listing),
                         from_variables(call->given), from_variables(call->results));
  }));
  Object params = own(to_tuple_of(holder->params, from_attr));
  const std::string kind(holder->form().name);
  Object made = own(PyObject_CallFunction(hooks_of_holders.op_around, "sOO", kind.c_str(),
                                          calls.get(), params.get()));
  return Ref<const Op>(to_op(made.get()).get());
}

const Holder* holder_of_foreign(const Op& op) {
  const auto* foreign = dynamic_cast<const ForeignOp*>(&op);
  return foreign != nullptr ? foreign->holder() : nullptr;
}

Ref<Value> elements_of_foreign(Value& value) {
  Gil gil;
  Object object = own(from_value(Ref<Value>(&value)));
  Object found = own(PyObject_CallOneArg(hooks_of_holders.innermost, object.get()));
  return found.get() == Py_None ? Ref<Value>() : to_value(found.get());
}

}  // namespace

const Holder* find_holder(PyObject* object) {
  return PyObject_TypeCheck(object, holder_class) != 0 ? &holder_in(object) : nullptr;
}

void add_holders(PyObject* module) {
  holder_class = add_type(module, holder_spec, nullptr);
  embedded_op_around = make_op_around;
  embedded_holder_of = holder_of_foreign;
  embedded_elements_of = elements_of_foreign;
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace tensorlike::bind
