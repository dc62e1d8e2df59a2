// The backward pass for Python: what it starts from, what it is asked for, hooks and watchers.
#include <unordered_map>

#include "bind/context.h"
#include "bind/rebinding.h"
#include "tape/gradient.h"

namespace tensorlike::bind {
namespace {

// Raises if an op that is not differentiable cut the innermost tape, or its leaves.
void refuse_cut(const char* who) {
  const Cut& cut = last_cut();
  if (!cut.op || cut.level < innermost_level() - 1) return;
  fail(
      ErrorKind::kAutodiff, said::op(who), "the value carries no gradient; ", cut.op->name(),
      cut.place.empty() ? "" : " (" + cut.place + ")",
      " is not differentiable and cut the tape; differentiate a value that does not go through it.",
      said::missing("derivative"));
}

[[noreturn]] void fail_no_gradient(const char* who) {
  refuse_cut(who);
  fail(ErrorKind::kAutodiff, said::op(who),
       "the value carries no gradient; nothing that it was computed from has requires_grad set, or "
       "it was computed under no_grad().");
}

// A shape as Python sees it: sizes that are not known are no numbers there.
std::string shown_shape(const Ref<Value>& value) {
  const Object object = own(from_value(value));
  const Object shape = own(PyObject_GetAttrString(object.get(), "shape"));
  return shown(own(PyObject_Str(shape.get())).get());
}

// The cotangent of an output as a value of its shape; ones where Python gives None.
Ref<Value> seed_of(PyObject* given, const Tracer& tracer, const Spec& spec) {
  const bool is_complex = kind_of(spec.dtype) == Kind::kComplex;
  if (given == Py_None) {
    if (is_complex) {
      fail(ErrorKind::kAutodiff, said::op("backward"),
           "an output must be real where no cotangent is given", said::got(name_of(spec.dtype)),
           said::fix("take real(y) or abs(y), or pass a cotangent"));
    }
    if (element_count(spec.shape) != 1) {
      fail(ErrorKind::kAutodiff, said::op("backward"),
           "a cotangent is needed for an output of shape ", shown_shape(tracer.primal),
           "; pass one, or reduce the output to one element.");
    }
    return fit(lift_literal(1.0, *tracer.primal), spec);
  }
  Ref<Value> value = is_tensor_like(given) ? to_value(given) : lift_operand(given, *tracer.primal);
  const Spec got = spec_of("backward", *value);
  if (!(broadcast_shapes("backward", got.shape, spec.shape) == spec.shape)) {
    fail(ErrorKind::kShape, said::op("backward"), "a cotangent must have its output's shape ",
         shown_shape(tracer.primal), said::got(shown_shape(value)));
  }
  if (kind_of(got.dtype) == Kind::kComplex && !is_complex) {
    fail(ErrorKind::kDType, said::op("backward"), "the cotangent of a real output must be real",
         said::got(name_of(got.dtype)), said::fix("take its real part: real(dy)"));
  }
  return fit(value, spec);
}

// What is under wrappers and carriers.
Ref<Value> carried_by(PyObject* object) {
  Ref<Value> value = to_value(object);
  if (object_of(*value) == nullptr) return value;
  return to_value(own(PyObject_CallOneArg(hooks.carried, object)).get());
}

// Gradients by what is on this tape are asked for: how they depend on what a transform further in
// goes by is not recorded there, and would be lost in silence.
void check_one_tape(const Ref<Value>& root, const Tape& tape) {
  const bool is_there =
      root->tag == Value::kTracer && static_cast<Tracer&>(*root).tape.get() == &tape;
  if (is_there || !tracer_under(root.get(), tape)) return;
  fail(ErrorKind::kAutodiff, said::op("backward"),
       "the value must depend on leaves alone, or on what a transform goes by alone",
       said::got("one of both, of which `grad` would lose the latter"),
       said::fix("use tl.grad, or make leaves of what depends on the transform"));
}

// The outputs that a pass starts from.
struct Roots {
  SmallVector<Edge, 1> edges;
  Values seeds;
  Tape* tape = nullptr;

  // `wanted`: the tapes of what gradients are asked for.
  Roots(PyObject* roots, PyObject* cotangents, std::span<const Ref<Tape>> wanted,
        bool skips_constants) {
    const Py_ssize_t n = PyTuple_GET_SIZE(roots);
    if (PyTuple_GET_SIZE(cotangents) != n) {
      fail(ErrorKind::kAutodiff, said::op("backward"), "one cotangent per output is needed",
           said::got(PyTuple_GET_SIZE(cotangents), " for ", n));
    }
    edges.reserve(static_cast<size_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      const Ref<Value> root = carried_by(PyTuple_GET_ITEM(roots, i));
      for (const Ref<Tape>& other : wanted) check_one_tape(root, *other);
      if (root->tag != Value::kTracer || !static_cast<Tracer*>(root.get())->edge.node) {
        if (skips_constants && n > 1) continue;
        fail_no_gradient("backward");
      }
      auto* tracer = static_cast<Tracer*>(root.get());
      if (tape != nullptr && tracer->tape.get() != tape) {
        fail(ErrorKind::kAutodiff, said::op("backward"), "the roots must be on one tape.");
      }
      tape = tracer->tape.get();
      edges.push_back(tracer->edge);
      const Spec& spec = tracer->edge.node->outputs()[static_cast<size_t>(tracer->edge.slot)];
      seeds.push_back(seed_of(PyTuple_GET_ITEM(cotangents, i), *tracer, spec));
    }
  }
};

// What gradients are asked for, leaves or not, in Python's order.
struct Wanted {
  SmallVector<Edge, 1> edges;
  SmallVector<Ref<Tape>, 1> tapes;  // of the edges; one for several of them
  std::vector<Py_ssize_t> places;

  explicit Wanted(PyObject* tensors) {
    if (tensors == Py_None) {  // all leaves
      tapes.push_back(Ref<Tape>(&base_tape()));
      return;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      const Ref<Value> value = carried_by(PyTuple_GET_ITEM(tensors, i));
      if (value->tag != Value::kTracer || !static_cast<Tracer*>(value.get())->edge.node) continue;
      auto* tracer = static_cast<Tracer*>(value.get());
      edges.push_back(tracer->edge);
      if (tapes.empty() || tapes.back().get() != tracer->tape.get()) tapes.push_back(tracer->tape);
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
  Accumulator* found = edge.node->accumulator;
  if (found == nullptr) return;
  Ref<Accumulator>(found)->add(gradient);
  note_gradient(edge.node);
}

// backward(roots, cotangents, retain_graph, create_graph, wanted, callback): with `wanted` None,
// gradients accumulate in the leaves; otherwise a list is returned, a gradient (or None) for each;
// a callable is called with (index, gradient) as soon as one is complete.
PyObject* run_backward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 6 || PyTuple_Check(args[0]) == 0 || PyTuple_Check(args[1]) == 0) {
    PyErr_SetString(PyExc_TypeError,
                    "backward: takes two tuples, two flags, what is wanted, and a "
                    "callback");
    return nullptr;
  }
  const int retain = PyObject_IsTrue(args[2]);
  const int create = PyObject_IsTrue(args[3]);
  if (retain < 0 || create < 0) return nullptr;
  PyObject* tensors = args[4];
  PyObject* callback = args[5];
  return guarded([&]() -> PyObject* {
    const Wanted wanted(tensors);
    Roots from(args[0], args[1], wanted.tapes, tensors != Py_None);
    last_cut() = {};  // these roots have a gradient: a cut that was remembered is not theirs
    BackwardOptions options{retain != 0 || create != 0, create != 0};
    if (tensors == Py_None) {
      backward(*from.tape, from.edges, std::move(from.seeds), options, accumulate);
      return Py_NewRef(Py_None);
    }
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

// add_hook(x, function)
PyObject* add_hook(PyObject*, PyObject* args) {
  PyObject* x = nullptr;
  PyObject* function = nullptr;
  if (PyArg_ParseTuple(args, "O!O", types.wrapper, &x, &function) == 0) return nullptr;
  return guarded([&] {
    const Ref<Value> value = to_value(x);
    if (value->tag != Value::kTracer || !static_cast<Tracer*>(value.get())->edge.node) {
      fail(ErrorKind::kAutodiff, said::op("register_hook"), "gradients must flow to the tensor",
           said::got("one without requires_grad"));
    }
    const Edge& edge = static_cast<Tracer*>(value.get())->edge;
    edge.node->make_notes().hooks.push_back(make_ref<ForeignHook>(edge.slot, function));
    Py_RETURN_NONE;
  });
}

// Who looks at every gradient. This belongs to blocks, which threads may enter and leave in any
// order: the one of the block that was entered last and has not ended looks. Outside of all there
// is one that never ends.
struct Watch {
  int64_t name;
  Object function;  // null: nobody
};
auto& watches = *new std::vector<Watch>{{0, {}}};
int64_t last_watch = 0;

void watch(const Node& node, const Values& gradients) {
  const Object function = watches.back().function;
  for (size_t i = 0; function && i < gradients.size(); ++i) {
    if (!gradients[i]) continue;
    Object op = own(from_op(*node.op));
    Object gradient = own(from_value(gradients[i]));
    const char* place = node.notes ? node.notes->place.c_str() : "";
    own(PyObject_CallFunction(function.get(), "OsnO", op.get(), place, static_cast<Py_ssize_t>(i),
                              gradient.get()));
  }
}

void follow_watches() { watch_gradients = watches.back().function ? watch : nullptr; }

Object watcher_of(PyObject* function) {
  return function == Py_None ? Object() : Object::share(function);
}

// refuse_cut(): for a transform whose outputs depend on no leaf; fails where an op cut the tape.
PyObject* refuse_cut_of_tape(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    refuse_cut("backward");
    Py_RETURN_NONE;
  });
}

// forget_cut(): a backward pass is over; ops in its rules that cut a tape explain no later failure.
PyObject* forget_cut(PyObject*, PyObject*) {
  last_cut() = {};
  Py_RETURN_NONE;
}

// watch_gradients(function or None): for the rest of the block.
PyObject* set_watcher(PyObject*, PyObject* function) {
  const Object previous = std::exchange(watches.back().function, watcher_of(function));
  follow_watches();
  Py_RETURN_NONE;
}

// GradientWatch(function or None). A block may be entered again inside itself.
class GradientWatch {
 public:
  explicit GradientWatch(PyObject* args) {
    PyObject* function = nullptr;
    if (PyArg_ParseTuple(args, "O", &function) == 0) throw PythonError();
    function_ = watcher_of(function);
  }
  GradientWatch(GradientWatch&&) = default;
  ~GradientWatch() {
    while (!names_.empty()) exit();
  }
  void enter() {
    names_.reserve(names_.size() + 1);
    watches.push_back({last_watch + 1, function_});
    names_.push_back(++last_watch);
    follow_watches();
  }
  void exit() {
    if (names_.empty()) return;
    std::erase_if(watches, [&](const Watch& one) { return one.name == names_.back(); });
    names_.pop_back();
    follow_watches();
  }

 private:
  Object function_;
  std::vector<int64_t> names_;
};

PyMethodDef backward_functions[] = {
    {"refuse_cut", as_method(refuse_cut_of_tape), METH_NOARGS,
     "Raises if an op that is not differentiable cut the tape."},
    {"forget_cut", as_method(forget_cut), METH_NOARGS, "Forgets which op cut the tape."},
    {"backward", as_method(run_backward), METH_FASTCALL, "The backward pass."},
    {"add_hook", as_method(add_hook), METH_VARARGS, "Runs a function on a tensor's gradient."},
    {"watch_gradients", as_method(set_watcher), METH_O, "Shows a function each gradient made."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

ForeignHook::ForeignHook(int slot, PyObject* function)
    : GradientHook(slot), function_(Py_NewRef(function)) {
  ++python_parts;
}

ForeignHook::~ForeignHook() {
  --python_parts;
  Py_DECREF(function_);
}

Ref<Value> ForeignHook::run(const Ref<Value>& gradient) {
  if (Py_EnterRecursiveCall(" in a hook of a gradient") != 0) throw PythonError();
  struct Leave {
    ~Leave() { Py_LeaveRecursiveCall(); }
  } const leave;
  Object given = own(wrap(gradient, types.tensor));
  Object made = own(PyObject_CallOneArg(function_, given.get()));
  if (made.get() == Py_None) return gradient;
  const Spec wanted = spec_of("hook", *gradient);
  const Ref<Value> value =
      is_tensor_like(made.get()) ? to_value(made.get()) : lift_operand(made.get(), *gradient);
  const Spec got = spec_of("hook", *value);
  if (!(got.shape == wanted.shape)) {
    fail(ErrorKind::kShape, said::op("hook"),
         "the gradient that replaces another must have its shape ", to_string(wanted.shape),
         said::got(to_string(got.shape)));
  }
  return fit(value, wanted);
}

void add_backward(PyObject* module) {
  check(PyModule_AddFunctions(module, backward_functions));
  Context<GradientWatch>::add(module, "tensorlike._C.GradientWatch",
                              "GradientWatch(function): shows it each gradient made in a block.");
}

}  // namespace tensorlike::bind
