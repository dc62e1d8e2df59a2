// Holder for Python: what its ops that hold programs mean, and the ops that stand around such
// programs where the core makes them, as it does when it reads a file.
#include "bind/programs.h"
#include "bind/recorded_places.h"
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
  PyObject* on_tape = nullptr;    // the rule that puts calls on a tape
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

// pull_by(op, stretch, results, wanted): the call's gradient is this part of its program
PyObject* holder_pull_by(PyObject* self, PyObject* args) {
  PyObject *op = nullptr, *stretch = nullptr, *results = nullptr, *wanted = nullptr;
  if (PyArg_ParseTuple(args, "OOOO!", &op, &stretch, &results, &PyTuple_Type, &wanted) == 0) {
    return nullptr;
  }
  return guarded([&] {
    Holder& holder = holder_in(self);
    auto made = std::make_unique<PulledCall>();
    made->op = to_op(op);
    made->stretch = Ref<Stretch>(&to_stretch(stretch));
    made->results = count_in(results);
    size_t pulled = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(wanted); ++i) {
      made->wanted.push_back(PyTuple_GET_ITEM(wanted, i) == Py_True);
      pulled += made->wanted.back() ? 1 : 0;
    }
    const Stretch& call = *holder.calls[0];
    const bool fits =
        holder.kind == Holder::Kind::kCall && made->wanted.size() == call.given.size() &&
        made->results <= call.results.size() && made->stretch->results.size() == pulled;
    if (!fits) {
      fail(ErrorKind::kArgument, said::op("Holder"),
           "must be a call, with a gradient for each input that is wanted");
    }
    holder.pulled = std::move(made);
    return Py_NewRef(Py_None);
  });
}

PyObject* holder_text(PyObject* self, PyObject*) {
  return guarded([&] { return from_text(holder_in(self).text()); });
}
PyObject* holder_draws(PyObject* self, void*) { return PyBool_FromLong(holder_in(self).draws()); }

PyMethodDef holder_methods[] = {
    {"run", holder_run, METH_VARARGS, "run(values, ops): with ops in the place of the programs."},
    {"pull_by", holder_pull_by, METH_VARARGS,
     "pull_by(op, stretch, results, wanted): a call whose gradient is a part of its program."},
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

// set_holders(op_around, listing, innermost, on_tape)
PyObject* set_holders(PyObject*, PyObject* args) {
  PyObject *around = nullptr, *listing = nullptr, *innermost = nullptr, *on_tape = nullptr;
  if (PyArg_ParseTuple(args, "OO!OO", &around, &PyType_Type, &listing, &innermost, &on_tape) == 0) {
    return nullptr;
  }
  hooks_of_holders = {Py_NewRef(around), reinterpret_cast<PyTypeObject*>(Py_NewRef(listing)),
                      Py_NewRef(innermost), Py_NewRef(on_tape)};
  Py_RETURN_NONE;
}

PyMethodDef holders_functions[] = {
    {"set_holders", set_holders, METH_VARARGS,
     "set_holders(op_around, listing, innermost, on_tape)"},
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

bool is_rule_of_calls(const Rule& rule) {
  return !rule.is_native() &&
         static_cast<const PythonRule&>(rule).function() == hooks_of_holders.on_tape;
}

void add_holders(PyObject* module) {
  holder_class = add_type(module, holder_spec, nullptr);
  embedded_op_around = make_op_around;
  embedded_holder_of = holder_of_foreign;
  embedded_elements_of = elements_of_foreign;
  check(PyModule_AddFunctions(module, holders_functions));
}

}  // namespace tensorlike::bind
