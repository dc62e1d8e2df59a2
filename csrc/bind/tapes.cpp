// Tapes and the backward pass for Python.

#include "base/place.h"
#include "bind/objects.h"
#include "tape/gradient.h"
// After Python.h.
#include <frameobject.h>

namespace tensorlike::bind {
namespace {

struct TapeObject {
  PyObject_HEAD Tape* tape;
};

Tape& tape_in(PyObject* self) { return *reinterpret_cast<TapeObject*>(self)->tape; }

PyObject* from_tape(Ref<Tape> tape) {
  PyObject* self = checked(types.tape->tp_alloc(types.tape, 0));
  reinterpret_cast<TapeObject*>(self)->tape = tape.detach();
  return self;
}

void tape_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
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
  close_tape(tape_in(self));
  Py_RETURN_NONE;
}

// leaf(x) -> a tracer of x's value, on this tape
PyObject* tape_leaf(PyObject* self, PyObject* x) {
  return guarded([&] { return from_value(make_leaf(to_value(x), Ref<Tape>(&tape_in(self)))); });
}

std::string line_of_user() {
  PyFrameObject* frame = PyEval_GetFrame();  // borrowed
  Object current = Object::share(reinterpret_cast<PyObject*>(frame));
  while (current) {
    frame = reinterpret_cast<PyFrameObject*>(current.get());
    PyCodeObject* code = PyFrame_GetCode(frame);
    Object held = Object::steal(reinterpret_cast<PyObject*>(code));
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    // Our own Python lies in the package; the user's does not.
    if (file != nullptr && std::string_view(file).find("tensorlike/") == std::string_view::npos) {
      return text(file, ":", PyFrame_GetLineNumber(frame));
    }
    current = Object::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
  }
  return "";
}

[[noreturn]] void fail_no_gradient(const char* who) {
  const Cut& cut = last_cut();
  if (cut.op && cut.level == innermost_level()) {
    fail(ErrorKind::kAutodiff, who, ": the value carries no gradient; ", cut.op->name(),
         cut.place.empty() ? "" : " (" + cut.place + ")",
         " is not differentiable and cut the tape; differentiate a value that does not go through "
         "it.");
  }
  fail(ErrorKind::kAutodiff, who,
       ": the value carries no gradient; nothing that it was computed "
       "from has requires_grad set, or it was computed under no_grad().");
}

// backward(tape or None, roots, cotangents, retain_graph, create_graph, leaves) ->
// leaves None: gradients accumulate in the leaves; otherwise a list, one gradient (or None) per
// leaf; a callable is called with (index, gradient) as soon as one is complete.
PyObject* run_backward(PyObject*, PyObject* args) {
  PyObject* roots = nullptr;
  PyObject* cotangents = nullptr;
  int retain = 0;
  int create = 0;
  PyObject* leaves = nullptr;
  PyObject* callback = nullptr;
  if (PyArg_ParseTuple(args, "O!O!ppOO", &PyTuple_Type, &roots, &PyTuple_Type, &cotangents, &retain,
                       &create, &leaves, &callback) == 0) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    std::vector<Edge> edges;
    Values seeds;
    Tape* tape = nullptr;
    const Py_ssize_t n = PyTuple_GET_SIZE(roots);
    if (PyTuple_GET_SIZE(cotangents) != n) {
      fail(ErrorKind::kAutodiff, "backward: one cotangent per output is needed; got ",
           PyTuple_GET_SIZE(cotangents), " for ", n, ".");
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
      const Ref<Value> root = to_value(PyTuple_GET_ITEM(roots, i));
      if (root->tag != Value::kTracer || !static_cast<Tracer*>(root.get())->edge.node) {
        if (leaves != Py_None && n > 1) continue;  // an output that nothing flows into
        fail_no_gradient("backward");
      }
      auto* tracer = static_cast<Tracer*>(root.get());
      if (tape != nullptr && tracer->tape.get() != tape) {
        fail(ErrorKind::kAutodiff, "backward: the roots must be on one tape.");
      }
      tape = tracer->tape.get();
      const Spec spec = spec_of("backward", *root);
      PyObject* seed = PyTuple_GET_ITEM(cotangents, i);
      Ref<Value> value;
      const bool is_complex = kind_of(spec.dtype) == Kind::kComplex;
      if (seed == Py_None) {
        if (is_complex) {
          fail(ErrorKind::kAutodiff,
               "backward: an output must be real where no cotangent is given; "
               "got ",
               name_of(spec.dtype), "; take real(y) or abs(y), or pass a cotangent.");
        }
        if (element_count(spec.shape) != 1) {
          fail(ErrorKind::kAutodiff, "backward: a cotangent is needed for an output of shape ",
               to_string(spec.shape), "; pass one, or reduce the output to one element.");
        }
        const Ref<Value> one = lift_literal(1.0, *tracer->primal);
        value = fit(one, spec);
      } else {
        value = is_tensor_like(seed) ? to_value(seed) : lift_operand(seed, *tracer->primal);
        const Spec got = spec_of("backward", *value);
        if (!(broadcast_shapes("backward", got.shape, spec.shape) == spec.shape)) {
          fail(ErrorKind::kShape, "backward: a cotangent must have its output's shape ",
               to_string(spec.shape), "; got ", to_string(got.shape), ".");
        }
        if (kind_of(got.dtype) == Kind::kComplex && !is_complex) {
          fail(ErrorKind::kDType, "backward: the cotangent of a real output must be real; got ",
               name_of(got.dtype), "; take its real part: real(dy).");
        }
        value = fit(value, spec);
      }
      edges.push_back(tracer->edge);
      seeds.push_back(value);
    }
    std::unordered_map<Node*, Py_ssize_t> wanted;
    Object results;
    if (leaves != Py_None) {
      const Py_ssize_t count = PyTuple_GET_SIZE(leaves);
      results = own(PyList_New(count));
      for (Py_ssize_t i = 0; i < count; ++i) {
        PyList_SET_ITEM(results.get(), i, Py_NewRef(Py_None));
        const Ref<Value> leaf = to_value(PyTuple_GET_ITEM(leaves, i));
        if (leaf->tag == Value::kTracer) {
          wanted[static_cast<Tracer*>(leaf.get())->edge.node.get()] = i;
        }
      }
    }
    const BackwardOptions options{retain != 0 || create != 0, create != 0};
    if (tape != nullptr) {
      backward(*tape, edges, std::move(seeds), options, [&](Node& node, const Ref<Value>& grad) {
        if (leaves == Py_None) {
          if (!node.grad) {
            node.grad = grad;
            return;
          }
          Value* both[] = {node.grad.get(), grad.get()};
          node.grad = apply(registry().scalar_op("add"), both)[0];
          return;
        }
        const auto found = wanted.find(&node);
        if (found == wanted.end()) return;
        Object value = own(from_value(grad));
        if (callback != Py_None) {
          own(PyObject_CallFunction(callback, "nO", found->second, value.get()));
        }
        check(PyList_SetItem(results.get(), found->second, value.release()));
      });
    }
    return results ? results.release() : Py_NewRef(Py_None);
  });
}

PyObject* open(PyObject*, PyObject*) {
  return guarded([&] { return from_tape(open_tape()); });
}
PyObject* base(PyObject*, PyObject*) {
  return guarded([&] { return from_tape(Ref<Tape>(&base_tape())); });
}

// pause(level) -> the level that was paused before; pause(None) pauses all that are open.
PyObject* pause(PyObject*, PyObject* level) {
  const int previous = paused_level();
  if (level == Py_None) {
    set_paused_level(innermost_level());
  } else {
    const long value = PyLong_AsLong(level);
    if (value == -1 && PyErr_Occurred() != nullptr) return nullptr;
    set_paused_level(static_cast<int>(value));
  }
  return PyLong_FromLong(previous);
}

PyObject* paused(PyObject*, PyObject*) { return PyLong_FromLong(paused_level()); }

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

PyMethodDef module_methods[] = {
    {"backward", run_backward, METH_VARARGS, "The backward pass."},
    {"open_tape", as_method(open), METH_NOARGS, "A tape inside the innermost one."},
    {"base_tape", as_method(base), METH_NOARGS, "The tape of requires_grad."},
    {"pause", as_method(pause), METH_O, "Stops tapes up to a level from recording."},
    {"paused_level", as_method(paused), METH_NOARGS, "The level that pause was given last."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_tapes(PyObject* module) {
  types.tape = add_type(module, tape_spec, nullptr);
  user_line = line_of_user;
  check(PyModule_AddFunctions(module, module_methods));
}

}  // namespace tensorlike::bind
