// What programs keep between runs, for Python: states, scopes, and running by names.
#include "bind/context.h"
#include "bind/programs.h"
#include "bind/rebinding.h"
#include "bind/rules.h"
#include "bind/streams.h"
#include "program/dot.h"
#include "program/draws.h"
#include "program/executor.h"
#include "program/recording.h"

namespace tensorlike::bind {
namespace {

PyTypeObject* scope_class = nullptr;

struct ScopeObject {
  PyObject_HEAD Scope* scope;
};
Scope& scope_in(PyObject* self) { return *reinterpret_cast<ScopeObject*>(self)->scope; }

// The object that stands for a scope: one, as long as somebody has it.
PyObject* from_scope(Ref<Scope> scope, PyTypeObject* cls) {
  if (scope->handle != nullptr) return Py_NewRef(static_cast<PyObject*>(scope->handle));
  PyObject* self = checked(cls->tp_alloc(cls, 0));
  scope->handle = self;
  reinterpret_cast<ScopeObject*>(self)->scope = scope.detach();
  return self;
}

PyObject* scope_new(PyTypeObject* cls, PyObject*, PyObject*) {
  return guarded([&] { return from_scope(make_ref<Scope>(), cls); });
}

void scope_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  scope_in(self).handle = nullptr;
  scope_in(self).release();
  cls->tp_free(self);
  Py_DECREF(cls);
}

// set(name, value)
PyObject* scope_set(PyObject* self, PyObject* args) {
  PyObject *name = nullptr, *value = nullptr;
  if (PyArg_ParseTuple(args, "UO", &name, &value) == 0) return nullptr;
  return guarded([&] {
    if (!is_tensor_like(value)) {
      fail(ErrorKind::kAttribute, said::op("Scope"), said::argument(shown(name)),
           "must be a tensor-like", said::got(Py_TYPE(value)->tp_name));
    }
    scope_in(self).set(shown(name), to_value(value));
    return Py_NewRef(Py_None);
  });
}

// find(name) -> the value, here or in a parent, or None
PyObject* scope_find(PyObject* self, PyObject* name) {
  return guarded([&] {
    const Ref<Value> found = scope_in(self).find(shown(name));
    return found ? from_value(found) : Py_NewRef(Py_None);
  });
}

PyObject* scope_erase(PyObject* self, PyObject* name) {
  return guarded([&] { return PyBool_FromLong(scope_in(self).erase(shown(name))); });
}

PyObject* scope_names(PyObject* self, PyObject*) {
  return guarded([&] {
    const FinalizersWait whole;
    Object out = own(PyList_New(0));
    for (const auto& [name, value] : scope_in(self).values()) {
      Object item = own(PyUnicode_FromString(name.c_str()));
      check(PyList_Append(out.get(), item.get()));
    }
    return out.release();
  });
}

PyObject* scope_new_scope(PyObject* self, PyObject*) {
  return guarded([&] { return from_scope(scope_in(self).new_scope(), Py_TYPE(self)); });
}

PyObject* scope_drop_kids(PyObject* self, PyObject*) {
  return guarded([&] {
    scope_in(self).drop_kids();
    return Py_NewRef(Py_None);
  });
}

PyObject* scope_kids(PyObject* self, PyObject*) {
  return guarded([&] {
    const FinalizersWait whole;
    Object out = own(PyList_New(0));
    for (const Ref<Scope>& kid : scope_in(self).kids()) {
      Object item = own(from_scope(kid, Py_TYPE(self)));
      check(PyList_Append(out.get(), item.get()));
    }
    return out.release();
  });
}

PyObject* scope_parent(PyObject* self, PyObject*) {
  return guarded([&] {
    Scope* parent = scope_in(self).parent();
    return parent == nullptr ? Py_NewRef(Py_None) : from_scope(Ref<Scope>(parent), Py_TYPE(self));
  });
}

PyMethodDef scope_methods[] = {
    {"set", scope_set, METH_VARARGS, "set(name, value): here, whatever the parents have."},
    {"find", as_method(scope_find), METH_O, "find(name): here, or in the nearest parent; or None."},
    {"erase", as_method(scope_erase), METH_O, "erase(name): whether it was here."},
    {"names", as_method(scope_names), METH_NOARGS, "What is here, without the parents'."},
    {"new_scope", as_method(scope_new_scope), METH_NOARGS, "A scope below this one."},
    {"drop_kids", as_method(scope_drop_kids), METH_NOARGS, "Lets the scopes below go."},
    {"kids", as_method(scope_kids), METH_NOARGS, "The scopes below."},
    {"parent", as_method(scope_parent), METH_NOARGS, "The scope above, or None."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot scope_slots[] = {
    {Py_tp_new, as_slot(scope_new)},
    {Py_tp_dealloc, as_slot(scope_dealloc)},
    {Py_tp_methods, scope_methods},
    {0, nullptr},
};
PyType_Spec scope_spec = {"tensorlike._C.Scope", sizeof(ScopeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, scope_slots};

// keep_state(program, number or value, name, startup) -> the number of the state
PyObject* keep_state(PyObject*, PyObject* args) {
  PyObject *program = nullptr, *start = nullptr, *name = nullptr, *startup = nullptr;
  if (PyArg_ParseTuple(args, "OOUO", &program, &start, &name, &startup) == 0) return nullptr;
  return guarded([&] {
    Program& main = to_program(program);
    Program& first = to_program(startup);
    if (PyLong_Check(start) != 0) {
      return PyLong_FromLong(main.keep(to_variable(main, start), shown(name), first));
    }
    const Ref<Value> value = to_value(start);
    return PyLong_FromLong(main.keep(value, spec_of("keep", *value), shown(name), first));
  });
}

// start_state(startup, number, value): the state is a copy of the value after a run.
PyObject* start_state(PyObject*, PyObject* args) {
  PyObject *program = nullptr, *state = nullptr, *value = nullptr;
  if (PyArg_ParseTuple(args, "OOO", &program, &state, &value) == 0) return nullptr;
  return guarded([&] {
    Program& startup = to_program(program);
    const Ref<Value> first = to_value(value);
    startup.start(to_variable(startup, state), first, spec_of("start", *first));
    return Py_NewRef(Py_None);
  });
}

// copy_draws(program, other): what the first draws anew, the other does, too.
PyObject* copy_draws(PyObject*, PyObject* args) {
  PyObject *program = nullptr, *other = nullptr;
  if (PyArg_ParseTuple(args, "OO", &program, &other) == 0) return nullptr;
  return guarded([&] {
    const DrawSet& draws = to_program(program).draws;
    to_program(other).draws.insert(draws.begin(), draws.end());
    return Py_NewRef(Py_None);
  });
}

// assign_state(program, state, number)
PyObject* assign_state(PyObject*, PyObject* args) {
  PyObject *object = nullptr, *state = nullptr, *number = nullptr;
  if (PyArg_ParseTuple(args, "OOO", &object, &state, &number) == 0) return nullptr;
  return guarded([&] {
    Program& program = to_program(object);
    program.assign(to_variable(program, state), to_variable(program, number));
    return Py_NewRef(Py_None);
  });
}

// assigned_states(program) -> {state: number}
PyObject* assigned_states(PyObject*, PyObject* program) {
  return guarded([&] {
    const FinalizersWait whole;
    Object out = own(PyDict_New());
    for (const auto& [state, value] : to_program(program).assigned()) {
      Object key = own(PyLong_FromLong(state));
      Object item = own(PyLong_FromLong(value));
      check(PyDict_SetItem(out.get(), key.get(), item.get()));
    }
    return out.release();
  });
}

// execute(program, {name: value}, results, scope, replaces) -> the values of the results
PyObject* execute_program(PyObject*, PyObject* args) {
  PyObject *program = nullptr, *feeds = nullptr, *results = nullptr, *scope = nullptr;
  int replaces = 0;
  if (PyArg_ParseTuple(args, "OO!OO!p", &program, &PyDict_Type, &feeds, &results, scope_class,
                       &scope, &replaces) == 0) {
    return nullptr;
  }
  return guarded([&] {
    const Ref<Program> held(&to_program(program));
    const Ref<Scope> values(&scope_in(scope));
    Feeds given;
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(feeds, &at, &name, &value) != 0;) {
      given.emplace_back(shown(name), to_value(value));
    }
    return values_to_tuple(
        execute(*held, given, to_variables(*held, results), *values, replaces != 0));
  });
}

// slots(op) -> the names of its arguments; of an op written in Python, none
PyObject* slots(PyObject*, PyObject* op) {
  return guarded([&] {
    const Ref<Op> held = to_op(op);
    return to_tuple_of(arguments_of(*held),
                       [](const ArgSpec& argument) { return from_text(argument.name); });
  });
}

// Recording(program): ops without arguments are added to the program in a block; None: they run.
class Recording {
 public:
  explicit Recording(PyObject* args) {
    PyObject* program = nullptr;
    if (PyArg_ParseTuple(args, "O", &program) == 0) throw PythonError();
    if (program == Py_None) return;
    program_ = Ref<Program>(&to_program(program));
    object_ = Object::share(program);
  }
  void enter() {
    if (block_) {
      fail(ErrorKind::kAttribute, said::op("Recording"), "it must not be entered inside itself.");
    }
    keep_finalizers_outside();
    block_ = std::make_unique<RecordedBlock>(program_.get());
  }
  void exit() { block_.reset(); }

 private:
  Ref<Program> program_;
  Object object_;                         // the program's face: its variables are made by it
  std::unique_ptr<RecordedBlock> block_;  // while it goes on
};

PyMethodDef scopes_functions[] = {
    {"copy_draws", copy_draws, METH_VARARGS, "copy_draws(program, other)"},
    {"keep_state", keep_state, METH_VARARGS, "keep_state(program, number, name, startup)"},
    {"start_state", start_state, METH_VARARGS, "start_state(startup, number, value)"},
    {"assign_state", assign_state, METH_VARARGS, "assign_state(program, state, number)"},
    {"assigned_states", assigned_states, METH_O, "assigned_states(program)"},
    {"slots", slots, METH_O, "slots(op): the names of its arguments."},
    {"execute", execute_program, METH_VARARGS, "execute(program, feeds, results, scope, replaces)"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_scopes(PyObject* module) {
  add_streams(module);
  scope_class = add_type(module, scope_spec, nullptr);
  Context<Recording>::add(module, "tensorlike._C.Recording",
                          "Recording(program): ops without arguments are added to it in a block.");
  check(PyModule_AddFunctions(module, scopes_functions));
}

}  // namespace tensorlike::bind
