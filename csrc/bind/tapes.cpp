// Tapes for Python: where ops are recorded, and logs of what was.

#include "base/place.h"
#include "bind/objects.h"
#include "bind/rebinding.h"
#include "tape/gradient.h"
// After Python.h.
#include <frameobject.h>

namespace tensorlike::bind {
namespace {

struct TapeObject {
  PyObject_HEAD Tape* tape;
  unsigned long opener;  // the thread
};

Tape& tape_in(PyObject* self) { return *reinterpret_cast<TapeObject*>(self)->tape; }

PyObject* from_tape(Ref<Tape> tape) {
  PyObject* self = checked(types.tape->tp_alloc(types.tape, 0));
  reinterpret_cast<TapeObject*>(self)->tape = tape.detach();
  reinterpret_cast<TapeObject*>(self)->opener = PyThread_get_thread_ident();
  return self;
}

// One that is dropped open, by an exception that came before anybody could promise to close it,
// leaves no level behind.
void tape_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  const bool is_ours = reinterpret_cast<TapeObject*>(self)->opener == PyThread_get_thread_ident();
  if (tape_in(self).level > 0 && tape_in(self).is_open && is_ours) {
    PyObject* pending[3];  // the exception that is on its way
    PyErr_Fetch(&pending[0], &pending[1], &pending[2]);
    const int status = guarded_status([&] {
      close_tape(tape_in(self));
      end_level(tape_in(self));
    });
    if (status != 0) PyErr_WriteUnraisable(Py_None);
    PyErr_Restore(pending[0], pending[1], pending[2]);
  }
  tape_in(self).release();
  cls->tp_free(self);
  Py_DECREF(cls);
}

PyObject* tape_level(PyObject* self, void*) { return PyLong_FromLong(tape_in(self).level); }
PyObject* tape_recorded(PyObject* self, void*) {
  return PyLong_FromLongLong(tape_in(self).recorded);
}
PyObject* tape_is_open(PyObject* self, void*) { return PyBool_FromLong(tape_in(self).is_open); }

PyObject* tape_close(PyObject* self, PyObject*) {
  return guarded([&] {
    close_tape(tape_in(self));
    end_level(tape_in(self));
    return Py_NewRef(Py_None);
  });
}

// leaf(x) -> a tracer of x's value, on this tape
PyObject* tape_leaf(PyObject* self, PyObject* x) {
  return guarded([&] { return from_value(make_leaf(to_value(x), Ref<Tape>(&tape_in(self)))); });
}

}  // namespace

Ref<Tape> to_tape(PyObject* tape) { return Ref<Tape>(&tape_in(tape)); }

namespace {

std::string line_of_user() {
  PyFrameObject* frame = PyEval_GetFrame();  // borrowed
  Object current = Object::share(reinterpret_cast<PyObject*>(frame));
  while (current) {
    frame = reinterpret_cast<PyFrameObject*>(current.get());
    PyCodeObject* code = PyFrame_GetCode(frame);
    Object held = Object::steal(reinterpret_cast<PyObject*>(code));
    const std::string file = shown(code->co_filename);
    // Our own Python lies in the package; the user's does not.
    if (file.find("tensorlike/") == std::string::npos) {
      return text(file, ":", PyFrame_GetLineNumber(frame));
    }
    current = Object::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
  }
  return "";
}

PyObject* open(PyObject*, PyObject*) {
  return guarded([&] {
    Ref<Tape> tape = open_tape();
    begin_level(tape);
    return from_tape(std::move(tape));
  });
}
PyObject* base(PyObject*, PyObject*) {
  return guarded([&] { return from_tape(Ref<Tape>(&base_tape())); });
}

PyObject* paused(PyObject*, PyObject*) { return PyLong_FromLong(paused_level()); }
// identity(tracer): a number that no other tracer has while it lives. Its Python object is made
// anew whenever somebody looks at it.
PyObject* identity(PyObject*, PyObject* x) {
  return guarded([&]() -> PyObject* {
    if (Py_TYPE(x) != types.tracer) {
      fail(ErrorKind::kAttribute, said::op("identity"), "a Tracer is needed.");
    }
    return PyLong_FromVoidPtr(value_of(x));
  });
}
PyObject* pulling(PyObject*, PyObject*) { return PyBool_FromLong(is_pulling() ? 1 : 0); }

// What was recorded inside a block, for imperative/tape.py.
struct LogObject {
  PyObject_HEAD TapeLog* log;
};
TapeLog& log_in(PyObject* self) { return *reinterpret_cast<LogObject*>(self)->log; }

PyObject* log_new(PyTypeObject* cls, PyObject*, PyObject*) {
  return guarded([&] {
    PyObject* self = checked(cls->tp_alloc(cls, 0));
    reinterpret_cast<LogObject*>(self)->log = make_ref<TapeLog>().detach();
    return self;
  });
}
void log_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  log_in(self).release();
  cls->tp_free(self);
  Py_DECREF(cls);
}
int log_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return visit_held(self, log_in(self), visit, arg);
}
int log_forget(PyObject* self) {
  const std::vector<TapeLog::Entry> forgotten = std::move(log_in(self).entries);
  log_in(self).entries.clear();
  return 0;
}
PyObject* log_enter(PyObject* self, PyObject*) {
  return guarded([&] {
    log_in(self).listen();
    return Py_NewRef(self);
  });
}
PyObject* log_exit(PyObject* self, PyObject*) {
  return guarded([&] {
    if (!log_in(self).leave()) {
      fail(ErrorKind::kAutodiff, said::op("Tape"),
           "the block must be left in the thread that entered it; got another one");
    }
    return Py_NewRef(Py_None);
  });
}
PyObject* log_reset(PyObject* self, PyObject*) {
  log_forget(self);
  Py_RETURN_NONE;
}
Py_ssize_t log_length(PyObject* self) {
  return static_cast<Py_ssize_t>(log_in(self).entries.size());
}
PyObject* spec_pair(const Spec& spec) {
  return checked(Py_BuildValue("(NN)", from_dims(spec.shape), from_dtype(spec.dtype)));
}
// log[i] -> (op, node, level, ((node or 0, slot, (shape, dtype)), ...), ((shape, dtype), ...),
// place)
PyObject* log_item(PyObject* self, Py_ssize_t i) {
  return guarded([&] {
    if (i < 0 || i >= log_length(self)) {
      PyErr_SetString(PyExc_IndexError, "Tape: there are not so many entries");
      throw PythonError();
    }
    const TapeLog::Entry& entry = log_in(self).entries[static_cast<size_t>(i)];
    Object inputs = own(PyTuple_New(static_cast<Py_ssize_t>(entry.inputs.size())));
    for (size_t k = 0; k < entry.inputs.size(); ++k) {
      const TapeLog::Input& input = entry.inputs[k];
      PyTuple_SET_ITEM(inputs.get(), static_cast<Py_ssize_t>(k),
                       checked(Py_BuildValue("(KiN)", static_cast<unsigned long long>(input.node),
                                             input.slot, spec_pair(input.spec))));
    }
    Object outputs = own(PyTuple_New(static_cast<Py_ssize_t>(entry.outputs.size())));
    for (size_t k = 0; k < entry.outputs.size(); ++k) {
      PyTuple_SET_ITEM(outputs.get(), static_cast<Py_ssize_t>(k), spec_pair(entry.outputs[k]));
    }
    return checked(Py_BuildValue("(NKiNNs)", from_op(*entry.op),
                                 static_cast<unsigned long long>(entry.node), entry.level,
                                 inputs.release(), outputs.release(), entry.place.c_str()));
  });
}
PyMethodDef log_methods[] = {
    {"__enter__", as_method(log_enter), METH_NOARGS, "This thread's ops are described."},
    {"__exit__", as_method(log_exit), METH_VARARGS, "Ends that; what was recorded stays."},
    {"reset", as_method(log_reset), METH_NOARGS, "Forgets what was recorded."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot log_slots[] = {
    {Py_tp_new, as_slot(log_new)},
    {Py_tp_dealloc, as_slot(log_dealloc)},
    {Py_tp_traverse, as_slot(log_traverse)},
    {Py_tp_clear, as_slot(log_forget)},
    {Py_tp_methods, log_methods},
    {Py_sq_length, as_slot(log_length)},
    {Py_sq_item, as_slot(log_item)},
    {0, nullptr},
};
PyType_Spec log_spec = {"tensorlike._C.TapeLog", sizeof(LogObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, log_slots};

PyMethodDef tape_methods[] = {
    {"close", as_method(tape_close), METH_NOARGS, "Ends the tape; its tracers are of no use now."},
    {"leaf", as_method(tape_leaf), METH_O, "A tracer of x on this tape, to differentiate by."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef tape_getset[] = {
    {"level", tape_level, nullptr, "How deep the tape is nested.", nullptr},
    {"recorded", tape_recorded, nullptr, "How many nodes were recorded so far.", nullptr},
    {"is_open", tape_is_open, nullptr, "Whether it still records.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot tape_slots[] = {
    {Py_tp_dealloc, as_slot(tape_dealloc)},
    {Py_tp_methods, tape_methods},
    {Py_tp_getset, tape_getset},
    {0, nullptr},
};
PyType_Spec tape_spec = {"tensorlike._C.Tape", sizeof(TapeObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, tape_slots};

PyMethodDef tapes_functions[] = {
    {"open_tape", as_method(open), METH_NOARGS, "A tape inside the innermost one."},
    {"base_tape", as_method(base), METH_NOARGS, "The tape of requires_grad."},
    {"paused_level", as_method(paused), METH_NOARGS, "Tapes up to this level do not record."},
    {"identity", as_method(identity), METH_O, "A number that stands for a Tracer as it lives."},
    {"is_pulling", as_method(pulling), METH_NOARGS, "Whether a backward pass is going on."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_tapes(PyObject* module) {
  types.tape = add_type(module, tape_spec, nullptr);
  add_type(module, log_spec, nullptr);
  user_line = line_of_user;
  check(PyModule_AddFunctions(module, tapes_functions));
}

}  // namespace tensorlike::bind
