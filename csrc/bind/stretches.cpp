// Stretch for Python: a program, or a part of it, as ops run it.
#include "bind/programs.h"
#include "bind/rules.h"
#include "program/stretch.h"

namespace tensorlike::bind {
namespace {

struct StretchObject {
  PyObject_HEAD Stretch* stretch;
};
Stretch& stretch_in(PyObject* self) { return *reinterpret_cast<StretchObject*>(self)->stretch; }

PyTypeObject* stretch_class = nullptr;

// Stretch(program, given, results)
PyObject* stretch_new(PyTypeObject* cls, PyObject* args, PyObject*) {
  PyObject *program = nullptr, *given = nullptr, *results = nullptr;
  if (PyArg_ParseTuple(args, "OOO", &program, &given, &results) == 0) return nullptr;
  return guarded([&] {
    const Ref<Program> held(&to_program(program));
    Ref<Stretch> made =
        make_ref<Stretch>(held, to_variables(*held, given), to_variables(*held, results));
    PyObject* self = checked(cls->tp_alloc(cls, 0));
    reinterpret_cast<StretchObject*>(self)->stretch = made.detach();
    return self;
  });
}

void stretch_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  stretch_in(self).release();
  cls->tp_free(self);
  Py_DECREF(cls);
}

// run(values) -> the values of the results; wrappers are not taken off.
PyObject* stretch_run(PyObject* self, PyObject* values) {
  return guarded([&] {
    const Ref<Stretch> held(&stretch_in(self));
    Object items = own(PySequence_Tuple(values));
    Values given;
    SmallVector<Value*, 4> pointers;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      given.push_back(as_argument(PyTuple_GET_ITEM(items.get(), i)));
      pointers.push_back(given.back().get());
    }
    return values_to_tuple(held->run({pointers.data(), pointers.size()}));
  });
}

// call(*tensors) -> the results as Tensors, one or a tuple, where all are Tensors of plain values;
// else NotImplemented.
PyObject* stretch_call(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    SmallVector<Value*, 4> values;
    bool is_plain = dispatcher().is_wrapper_plain();
    for (Py_ssize_t i = 0; i < n && is_plain; ++i) {
      is_plain = is_own_wrapper(Py_TYPE(args[i])) && value_of(args[i])->tag == Value::kRaw;
      if (is_plain) values.push_back(value_of(args[i]));
    }
    if (!is_plain) return Py_NewRef(Py_NotImplemented);
    const Ref<Stretch> held(&stretch_in(self));
    Values kept;  // while the steps run, a Tensor may be bound to something else
    for (Value* value : values) kept.push_back(Ref<Value>(value));
    const Values found = held->run({values.data(), values.size()});
    return found.size() == 1 ? wrap(found[0], types.tensor) : to_tuple(found, types.tensor);
  });
}

// infer(values) -> a ShapeTensor for each result
PyObject* stretch_infer(PyObject* self, PyObject* values) {
  return guarded([&] {
    const Ref<Stretch> held(&stretch_in(self));
    Object items = own(PySequence_Tuple(values));
    std::vector<Spec> specs;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      specs.push_back(spec_of("program", *to_value(PyTuple_GET_ITEM(items.get(), i))));
    }
    Values found;
    for (Spec& spec : held->infer(specs)) found.push_back(make_ref<ShapeTensor>(std::move(spec)));
    return values_to_tuple(found);
  });
}

PyObject* stretch_draws(PyObject* self, void*) { return PyBool_FromLong(stretch_in(self).draws()); }

PyObject* stretch_name(PyObject* self, PyObject*) {
  return guarded([&] { return from_text(stretch_in(self).name()); });
}
PyObject* stretch_text(PyObject* self, PyObject*) {
  return guarded([&] { return from_text(stretch_in(self).text()); });
}

PyMethodDef stretch_methods[] = {
    {"run", as_method(stretch_run), METH_O, "run(values): the values of the results."},
    {"call", as_method(stretch_call), METH_FASTCALL,
     "call(*tensors): the results as Tensors; NotImplemented unless all hold plain values."},
    {"infer", as_method(stretch_infer), METH_O, "infer(values): what results are, as shapes."},
    {"name", as_method(stretch_name), METH_NOARGS, "The names of its ops, of many the first."},
    {"text", as_method(stretch_text), METH_NOARGS, "The program, what is given, the results."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef stretch_getset[] = {
    {"draws", stretch_draws, nullptr, "Whether each run draws random numbers anew.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot stretch_slots[] = {
    {Py_tp_new, as_slot(stretch_new)},
    {Py_tp_dealloc, as_slot(stretch_dealloc)},
    {Py_tp_methods, stretch_methods},
    {Py_tp_getset, stretch_getset},
    {0, nullptr},
};
PyType_Spec stretch_spec = {"tensorlike._C.Stretch", sizeof(StretchObject), 0, Py_TPFLAGS_DEFAULT,
                            stretch_slots};

// is_random(op): whether it draws random numbers.
PyObject* is_random(PyObject*, PyObject* op) {
  return guarded([&] { return PyBool_FromLong(to_op(op)->cls.spec.effects == "random"); });
}

PyMethodDef stretches_functions[] = {
    {"is_random", is_random, METH_O, "is_random(op): whether it draws random numbers."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Stretch& to_stretch(PyObject* object) {
  if (PyObject_TypeCheck(object, stretch_class) == 0) {
    fail(ErrorKind::kAttribute, said::op("Holder"), "must hold stretches of programs",
         said::got(Py_TYPE(object)->tp_name));
  }
  return stretch_in(object);
}

PyObject* from_stretch(Ref<Stretch> stretch) {
  PyObject* self = checked(stretch_class->tp_alloc(stretch_class, 0));
  reinterpret_cast<StretchObject*>(self)->stretch = stretch.detach();
  return self;
}

void add_stretches(PyObject* module) {
  stretch_class = add_type(module, stretch_spec, nullptr);
  check(PyModule_AddFunctions(module, stretches_functions));
}

}  // namespace tensorlike::bind
