// What a wrapper is bound to anew, and what becomes of that when a transform ends.
//
// A parameter stays a leaf of the base tape whatever it is bound to: its place on that tape lies
// under the tracers, tangents and examples of the transforms that are going on, which the new value
// keeps. A wrapper that was made before a transform began outlives it: when the transform ends,
// what it was bound to inside is lowered to the plain value. That wrappers are numbered in the
// order of their making tells which were made before.
#include "bind/rebinding.h"

#include <algorithm>

#include "tape/gradient.h"

namespace tensorlike::bind {
namespace {

// A transform that is going on in this thread.
struct OpenLevel {
  Ref<Tape> tape;
  uint64_t births;                // how many wrappers had been made when it began
  std::vector<Object> rebound;    // weak references to older ones that were bound anew inside
  std::vector<Ref<Node>> leaves;  // leaves whose gradients were accumulated inside
};

struct Rebinding {
  std::vector<OpenLevel> levels;
  // A thread may end without the GIL, in the middle of a transform: its references are given up.
  ~Rebinding() {
    for (OpenLevel& level : levels) {
      for (Object& reference : level.rebound) reference.release();
    }
  }
};

Rebinding& state() {
  static thread_local Rebinding instance;
  return instance;
}

// Levels of all threads, under the GIL: where there are none nothing is looked up.
int64_t rebindings_going_on = 0;

// A value as it is outside of the transform of this tape.
Ref<Value> lowered(const Ref<Value>& value, const Tape& tape) {
  if (value->tag == Value::kTracer) {
    auto& tracer = static_cast<Tracer&>(*value);
    if (tracer.tape->level == tape.level + 1) return lowered(tracer.primal, tape);  // a leaf of it
    return tracer.tape.get() == &tape ? tracer.primal : value;
  }
  PyObject* const object = object_of(*value);
  if (object == nullptr) return value;
  return to_value(own(PyObject_CallFunction(hooks.lowered, "Oi", object, tape.level)).get());
}

void lower_all(const OpenLevel& ended) {
  for (const Object& reference : ended.rebound) {
    Object wrapper = own(PyObject_CallNoArgs(reference.get()));
    if (wrapper.get() == Py_None) continue;
    const Ref<Value> value(value_of(wrapper.get()));
    Ref<Value> outside = lowered(value, *ended.tape);
    if (outside.get() != value.get()) rebind(wrapper.get(), std::move(outside));
  }
  for (const Ref<Node>& leaf : ended.leaves) {
    if (leaf->accumulator == nullptr || !leaf->accumulator->gradient) continue;
    const Ref<Accumulator> held(leaf->accumulator);
    held->gradient = lowered(held->gradient, *ended.tape);
    note_gradient(leaf);
  }
}

// The lowest of the levels that began after the wrapper was made; null: all are older.
OpenLevel* lowest_within(PyObject* wrapper) {
  OpenLevel* found = nullptr;
  std::vector<OpenLevel>& levels = state().levels;
  for (size_t i = levels.size(); i-- > 0 && levels[i].births >= born(wrapper);) found = &levels[i];
  return found;
}

}  // namespace

void begin_level(const Ref<Tape>& tape) {
  state().levels.push_back({tape, births(), {}, {}});
  ++rebindings_going_on;
}

void end_level(const Tape& tape) {
  std::vector<OpenLevel>& levels = state().levels;
  const bool is_here = std::any_of(levels.begin(), levels.end(), [&](const OpenLevel& level) {
    return level.tape.get() == &tape;
  });
  while (is_here && !levels.empty() && levels.back().tape->level >= tape.level) {
    const OpenLevel ended = std::move(levels.back());
    levels.pop_back();
    --rebindings_going_on;
    lower_all(ended);
  }
}

bool is_same_value(const Value& x, const Value& y) {
  return &x == &y || (object_of(x) != nullptr && object_of(x) == object_of(y));
}

void note_rebinding(PyObject* wrapper, const Value& value) {
  note_in_journals(wrapper);
  if (rebindings_going_on == 0) return;
  Rebinding& mine = state();
  if (value.tag == Value::kRaw || mine.levels.empty()) return;
  OpenLevel& innermost = mine.levels.back();
  if (innermost.births < born(wrapper)) return;
  Object reference = own(PyWeakref_NewRef(wrapper, nullptr));
  const auto is_it = [&](const Object& other) { return other.get() == reference.get(); };
  if (std::any_of(innermost.rebound.begin(), innermost.rebound.end(), is_it)) return;
  innermost.rebound.push_back(std::move(reference));
}

void rebind(PyObject* wrapper, Ref<Value> value) {
  note_rebinding(wrapper, *value);
  rebind_unnoted(wrapper, std::move(value));
}

void note_gradient(const Ref<Node>& leaf) {
  if (rebindings_going_on == 0 || state().levels.empty() || leaf->accumulator == nullptr) return;
  if (leaf->accumulator->gradient->tag == Value::kRaw) return;
  state().levels.back().leaves.push_back(leaf);
}

bool may_donate(PyObject* wrapper) {
  const Value* value = value_of(wrapper);
  // Who shares the tracer shares its elements.
  if (value->tag == Value::kTracer && value->use_count() != 1) return false;
  return !is_noted(wrapper);
}

void check_examples(PyObject* wrapper, const Value& value) {
  if (rebindings_going_on == 0 || value.tag == Value::kRaw) return;
  const OpenLevel* level = lowest_within(wrapper);
  if (level == nullptr) return;
  Object object = own(from_value(Ref<Value>(const_cast<Value*>(&value))));
  Object current = own(from_value(Ref<Value>(value_of(wrapper))));
  own(PyObject_CallFunction(hooks.refuse_examples, "OiO", object.get(), level->tape->level,
                            current.get()));
}

namespace {

// What a tracer, a tensor-like of a transform or a carrier is around; null for all others.
Ref<Value> inner_of(const Ref<Value>& value) {
  if (value->tag == Value::kTracer) return static_cast<Tracer&>(*value).primal;
  PyObject* const object = object_of(*value);
  if (object == nullptr) return nullptr;
  Object inner = own(PyObject_CallOneArg(hooks.inner, object));
  return inner.get() == Py_None ? Ref<Value>() : to_value(inner.get());
}

// The tape of the transform that a value belongs to, but the base tape; null: of none.
Ref<Tape> own_tape(Value& value) {
  if (value.tag == Value::kTracer) {
    const Ref<Tape>& tape = static_cast<Tracer&>(value).tape;
    return tape->level > 0 ? tape : nullptr;
  }
  PyObject* const object = object_of(value);
  if (object == nullptr) return nullptr;
  Object tape = own(PyObject_CallOneArg(hooks.own_tape, object));
  return tape.get() == Py_None ? Ref<Tape>() : to_tape(tape.get());
}

}  // namespace

Ref<Tracer> tracer_under(Value* value, const Tape& tape) {
  for (Ref<Value> held(value); held; held = inner_of(held)) {
    if (held->tag != Value::kTracer) continue;
    auto* tracer = static_cast<Tracer*>(held.get());
    if (tracer->tape.get() == &tape) return tracer->edge.node ? Ref<Tracer>(tracer) : nullptr;
  }
  return nullptr;
}

Ref<Tracer> base_tracer(Value* value) { return tracer_under(value, base_tape()); }

Ref<Tracer> leaf_of(Ref<Value> value) {
  Ref<Tape> tape(&base_tape());
  for (Ref<Value> held = value; held; held = inner_of(held)) {
    if (const Ref<Tape> found = own_tape(*held)) {
      tape = found->of_leaves();
      break;
    }
  }
  return make_leaf(std::move(value), std::move(tape));
}

Ref<Tracer> base_leaf(Value* value) {
  if (value == nullptr || value->tag == Value::kRaw) return nullptr;
  if (value->tag == Value::kTracer) {  // the usual case
    auto* tracer = static_cast<Tracer*>(value);
    const bool is_leaf =
        tracer->tape->level == 0 && tracer->edge.node && tracer->edge.node->is_leaf();
    if (is_leaf) return Ref<Tracer>(tracer);
  }
  Ref<Tracer> found = base_tracer(value);
  return found && found->edge.node->is_leaf() ? found : nullptr;
}

void bind_on_base(PyObject* wrapper, Ref<Value> value, const Ref<Tracer>& leaf) {
  if (value->tag == Value::kTracer && static_cast<Tracer&>(*value).tape->level == 0) {
    value = static_cast<Tracer&>(*value).primal;
  }
  if (value->tag == Value::kRaw || value->tag == Value::kShape) {
    if (leaf) value = make_ref<Tracer>(std::move(value), leaf->edge, leaf->tape, leaf->accumulator);
    rebind(wrapper, std::move(value));
    return;
  }
  Object given = own(from_value(value));
  Object place = leaf ? own(from_value(leaf)) : Object::share(Py_None);
  PyObject* args[] = {given.get(), place.get()};
  rebind(wrapper, to_value(own(PyObject_Vectorcall(hooks.on_base, args, 2, nullptr)).get()));
}

Ref<Value> settled(Ref<Value> value) {
  if (value->tag != Value::kRaw) return value;
  auto& raw = static_cast<RawTensor&>(*value);
  if (raw.pending || (raw.is_contiguous && raw.storage->is_owned())) return value;
  return copy(raw);
}

namespace {

// set_value(x, value): x means the value from now on, of the same shape and dtype.
PyObject* set_value(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] {
    if (n != 2 || !is_wrapper(args[0])) {
      fail(ErrorKind::kAttribute, said::op("set_value"), "a Tensor and a value are needed.");
    }
    Ref<Value> value = to_value(args[1]);
    check_examples(args[0], *value);
    bind_on_base(args[0], settled(std::move(value)), base_leaf(value_of(args[0])));
    return Py_NewRef(Py_None);
  });
}

// retraced(tracer, primal): the tracer's place on its tape, around another value.
PyObject* retraced(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] {
    if (n != 2 || Py_TYPE(args[0]) != types.tracer) {
      fail(ErrorKind::kAttribute, said::op("retraced"), "a Tracer and a value are needed.");
    }
    auto* tracer = static_cast<Tracer*>(value_of(args[0]));
    return from_value(
        make_ref<Tracer>(to_value(args[1]), tracer->edge, tracer->tape, tracer->accumulator));
  });
}

// set_level_hooks(inner, on_base, lowered, refuse_examples, own_tape)
PyObject* set_level_hooks(PyObject*, PyObject* args) {
  if (PyArg_ParseTuple(args, "OOOOO", &hooks.inner, &hooks.on_base, &hooks.lowered,
                       &hooks.refuse_examples, &hooks.own_tape) == 0) {
    return nullptr;
  }
  for (PyObject* hook :
       {hooks.inner, hooks.on_base, hooks.lowered, hooks.refuse_examples, hooks.own_tape}) {
    Py_INCREF(hook);
  }
  Py_RETURN_NONE;
}

PyMethodDef rebinding_functions[] = {
    {"set_level_hooks", set_level_hooks, METH_VARARGS, "Says what is written in Python."},
    {"set_value", as_method(set_value), METH_FASTCALL, "Binds a Tensor to another value."},
    {"retraced", as_method(retraced), METH_FASTCALL, "A tracer's place around another value."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_rebinding(PyObject* module) { check(PyModule_AddFunctions(module, rebinding_functions)); }

}  // namespace tensorlike::bind
