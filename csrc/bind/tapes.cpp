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

// The cotangent of an output as a value of its shape; ones where Python gives None.
Ref<Value> seed_of(PyObject* given, const Tracer& tracer, const Spec& spec) {
  const bool is_complex = kind_of(spec.dtype) == Kind::kComplex;
  if (given == Py_None) {
    if (is_complex) {
      fail(ErrorKind::kAutodiff,
           "backward: an output must be real where no cotangent is given; got ",
           name_of(spec.dtype), "; take real(y) or abs(y), or pass a cotangent.");
    }
    if (element_count(spec.shape) != 1) {
      fail(ErrorKind::kAutodiff, "backward: a cotangent is needed for an output of shape ",
           to_string(spec.shape), "; pass one, or reduce the output to one element.");
    }
    return fit(lift_literal(1.0, *tracer.primal), spec);
  }
  Ref<Value> value = is_tensor_like(given) ? to_value(given) : lift_operand(given, *tracer.primal);
  const Spec got = spec_of("backward", *value);
  if (!(broadcast_shapes("backward", got.shape, spec.shape) == spec.shape)) {
    fail(ErrorKind::kShape, "backward: a cotangent must have its output's shape ",
         to_string(spec.shape), "; got ", to_string(got.shape), ".");
  }
  if (kind_of(got.dtype) == Kind::kComplex && !is_complex) {
    fail(ErrorKind::kDType, "backward: the cotangent of a real output must be real; got ",
         name_of(got.dtype), "; take its real part: real(dy).");
  }
  return fit(value, spec);
}

// The outputs that a pass starts from.
struct Roots {
  std::vector<Edge> edges;
  Values seeds;
  Tape* tape = nullptr;

  Roots(PyObject* roots, PyObject* cotangents, bool skips_constants) {
    const Py_ssize_t n = PyTuple_GET_SIZE(roots);
    if (PyTuple_GET_SIZE(cotangents) != n) {
      fail(ErrorKind::kAutodiff, "backward: one cotangent per output is needed; got ",
           PyTuple_GET_SIZE(cotangents), " for ", n, ".");
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
      const Ref<Value> root = to_value(PyTuple_GET_ITEM(roots, i));
      if (root->tag != Value::kTracer || !static_cast<Tracer*>(root.get())->edge.node) {
        if (skips_constants && n > 1) continue;
        fail_no_gradient("backward");
      }
      auto* tracer = static_cast<Tracer*>(root.get());
      if (tape != nullptr && tracer->tape.get() != tape) {
        fail(ErrorKind::kAutodiff, "backward: the roots must be on one tape.");
      }
      tape = tracer->tape.get();
      edges.push_back(tracer->edge);
      seeds.push_back(
          seed_of(PyTuple_GET_ITEM(cotangents, i), *tracer, spec_of("backward", *root)));
    }
  }
};

// What gradients are asked for, leaves or not, in Python's order.
struct Wanted {
  std::vector<Edge> edges;
  std::vector<Py_ssize_t> places;

  explicit Wanted(PyObject* tensors) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      const Ref<Value> value = to_value(PyTuple_GET_ITEM(tensors, i));
      if (value->tag != Value::kTracer || !static_cast<Tracer*>(value.get())->edge.node) continue;
      edges.push_back(static_cast<Tracer*>(value.get())->edge);
      places.push_back(i);
    }
    // The pass goes from nodes to their leaves: what it finds here, it finds soon.
    for (size_t i = 0; i < edges.size(); ++i) slots_[edges[i].node.get()].push_back(i);
  }
  template <class F>
  void each(const Edge& edge, F&& use) const {
    const auto found = slots_.find(edge.node.get());
    if (found == slots_.end()) return;
    for (size_t i : found->second) {
      if (edges[i].slot == edge.slot) use(places[i]);
    }
  }

 private:
  std::unordered_map<Node*, std::vector<size_t>> slots_;
};

void accumulate(const Edge& edge, const Ref<Value>& gradient) {
  Ref<Value>& total = edge.node->grad;
  if (total) {
    Value* both[] = {total.get(), gradient.get()};
    total = apply(registry().scalar_op("add"), both)[0];
  } else {
    total = gradient;
  }
}

// backward(roots, cotangents, retain_graph, create_graph, wanted, callback): with `wanted` None,
// gradients accumulate in the leaves; otherwise a list is returned, a gradient (or None) for each;
// a callable is called with (index, gradient) as soon as one is complete.
PyObject* run_backward(PyObject*, PyObject* args) {
  PyObject* roots = nullptr;
  PyObject* cotangents = nullptr;
  int retain = 0;
  int create = 0;
  PyObject* tensors = nullptr;
  PyObject* callback = nullptr;
  if (PyArg_ParseTuple(args, "O!O!ppOO", &PyTuple_Type, &roots, &PyTuple_Type, &cotangents, &retain,
                       &create, &tensors, &callback) == 0) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    Roots from(roots, cotangents, tensors != Py_None);
    last_cut() = {};  // of this value it was none
    BackwardOptions options{retain != 0 || create != 0, create != 0};
    if (tensors == Py_None) {
      backward(*from.tape, from.edges, std::move(from.seeds), options, accumulate);
      return Py_NewRef(Py_None);
    }
    const Wanted wanted(tensors);
    Object results = own(PyList_New(PyTuple_GET_SIZE(tensors)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      PyList_SET_ITEM(results.get(), i, Py_NewRef(Py_None));
    }
    options.wanted = wanted.edges;
    if (from.tape == nullptr || wanted.edges.empty()) return results.release();
    backward(*from.tape, from.edges, std::move(from.seeds), options,
             [&](const Edge& edge, const Ref<Value>& gradient) {
               wanted.each(edge, [&](Py_ssize_t i) {
                 Object value = own(from_value(gradient));
                 if (callback != Py_None)
                   own(PyObject_CallFunction(callback, "nO", i, value.get()));
                 check(PyList_SetItem(results.get(), i, value.release()));
               });
             });
    return results.release();
  });
}

// A hook written in Python: a callable of the gradient as a Tensor, which returns None or another.
class ForeignHook final : public GradientHook {
 public:
  ForeignHook(int slot, PyObject* function)
      : GradientHook(slot), function_(Object::share(function)) {}
  PyObject* function() const { return function_.get(); }
  Ref<Value> run(const Ref<Value>& gradient) override {
    Object given = own(wrap(gradient, types.tensor));
    Object made = own(PyObject_CallOneArg(function_.get(), given.get()));
    if (made.get() == Py_None) return gradient;
    const Spec wanted = spec_of("hook", *gradient);
    const Ref<Value> value =
        is_tensor_like(made.get()) ? to_value(made.get()) : lift_operand(made.get(), *gradient);
    const Spec got = spec_of("hook", *value);
    if (!(got.shape == wanted.shape)) {
      fail(ErrorKind::kShape, "hook: the gradient that replaces another must have its shape ",
           to_string(wanted.shape), "; got ", to_string(got.shape), ".");
    }
    return fit(value, wanted);
  }

 private:
  Object function_;
};

// add_hook(x, function)
PyObject* add_hook(PyObject*, PyObject* args) {
  PyObject* x = nullptr;
  PyObject* function = nullptr;
  if (PyArg_ParseTuple(args, "O!O", types.wrapper, &x, &function) == 0) return nullptr;
  return guarded([&] {
    const Ref<Value> value = to_value(x);
    if (value->tag != Value::kTracer || !static_cast<Tracer*>(value.get())->edge.node) {
      fail(ErrorKind::kAutodiff,
           "register_hook: gradients must flow to the tensor; got one without requires_grad.");
    }
    const Edge& edge = static_cast<Tracer*>(value.get())->edge;
    edge.node->make_notes().hooks.push_back(make_ref<ForeignHook>(edge.slot, function));
    // Now it can be part of a cycle.
    if (PyObject_GC_IsTracked(x) == 0) PyObject_GC_Track(x);
    Py_RETURN_NONE;
  });
}

PyObject* watcher = nullptr;

void watch(const Node& node, const Values& gradients) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i]) continue;
    Object op = own(from_op(*node.op));
    Object gradient = own(from_value(gradients[i]));
    const char* place = node.notes ? node.notes->place.c_str() : "";
    own(PyObject_CallFunction(watcher, "OsnO", op.get(), place, static_cast<Py_ssize_t>(i),
                              gradient.get()));
  }
}

// watch_gradients(function or None) -> what it was before
PyObject* set_watcher(PyObject*, PyObject* function) {
  PyObject* previous = watcher != nullptr ? watcher : Py_NewRef(Py_None);
  watcher = function == Py_None ? nullptr : Py_NewRef(function);
  watch_gradients = watcher != nullptr ? watch : nullptr;
  return previous;
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
  log_in(self).release();
  cls->tp_free(self);
  Py_DECREF(cls);
}
PyObject* log_listen(PyObject* self, PyObject*) {
  log_in(self).listen();
  Py_RETURN_NONE;
}
PyObject* log_leave(PyObject* self, PyObject*) { return PyBool_FromLong(log_in(self).leave()); }
PyObject* log_clear(PyObject* self, PyObject*) {
  log_in(self).entries.clear();
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
    {"listen", as_method(log_listen), METH_NOARGS, "From now on this thread's ops are described."},
    {"leave", as_method(log_leave), METH_NOARGS, "Ends that; False if it was not listening here."},
    {"clear", as_method(log_clear), METH_NOARGS, "Forgets the entries."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot log_slots[] = {
    {Py_tp_new, as_slot(log_new)},   {Py_tp_dealloc, as_slot(log_dealloc)},
    {Py_tp_methods, log_methods},    {Py_sq_length, as_slot(log_length)},
    {Py_sq_item, as_slot(log_item)}, {0, nullptr},
};
PyType_Spec log_spec = {"tensorlike._C.TapeLog", sizeof(LogObject), 0, Py_TPFLAGS_DEFAULT,
                        log_slots};

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
    {"add_hook", as_method(add_hook), METH_VARARGS, "Runs a function on a tensor's gradient."},
    {"watch_gradients", as_method(set_watcher), METH_O, "Shows a function each gradient made."},
    {"open_tape", as_method(open), METH_NOARGS, "A tape inside the innermost one."},
    {"base_tape", as_method(base), METH_NOARGS, "The tape of requires_grad."},
    {"pause", as_method(pause), METH_O, "Stops tapes up to a level from recording."},
    {"paused_level", as_method(paused), METH_NOARGS, "The level that pause was given last."},
    {nullptr, nullptr, 0, nullptr},
};

// The hooks of a leaf that this wrapper alone keeps alive.
std::vector<Ref<GradientHook>>* sole_hooks(Value* value) {
  if (value == nullptr || value->tag != Value::kTracer || value->use_count() != 1) return nullptr;
  Node* node = static_cast<Tracer*>(value)->edge.node.get();
  const bool is_sole = node != nullptr && node->is_leaf() && node->use_count() == 1;
  return is_sole && node->notes ? &node->notes->hooks : nullptr;
}

}  // namespace

int visit_hooks(Value* value, visitproc visit, void* arg) {
  const auto* hooks = sole_hooks(value);
  if (hooks == nullptr) return 0;
  for (const Ref<GradientHook>& hook : *hooks) {
    if (hook->use_count() == 1) Py_VISIT(static_cast<const ForeignHook&>(*hook).function());
  }
  return 0;
}

void clear_hooks(Value* value) {
  if (auto* hooks = sole_hooks(value)) std::vector<Ref<GradientHook>>().swap(*hooks);
}

void add_tapes(PyObject* module) {
  types.tape = add_type(module, tape_spec, nullptr);
  add_type(module, log_spec, nullptr);
  user_line = line_of_user;
  check(PyModule_AddFunctions(module, module_methods));
}

}  // namespace tensorlike::bind
