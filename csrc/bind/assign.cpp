// Assignment to a Tensor and to its parts: an op makes the new value, in the memory of the old one
// where nobody else holds that, and the wrapper gets it.
#include <algorithm>

#include "bind/objects.h"
#include "bind/programs.h"
#include "bind/rebinding.h"
#include "engine/engine.h"
#include "op/index.h"
#include "tape/gradient.h"

namespace tensorlike::bind {

void assign(PyObject* self, Ref<Value> result) {
  check_examples(self, *result);
  Value* previous = value_of(self);
  const auto keeps = [&](const Node& leaf) {
    const Spec& was = leaf.outputs[0];
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

void assign_result(PyObject* self, const Op& op, std::span<PyObject* const> args) {
  Ref<Value> result = launch_over(self, op, args);
  if (!result) {
    Object out = own(apply_single(op, args.data(), args.size()));
    result = to_value(out.get());
  }
  assign(self, std::move(result));
}

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

Ref<Op> index_op(bool is_set, std::vector<int64_t> items) {
  static const Function* const taken = registry().find_function("subtensor");
  static const Function* const set = registry().find_function("set_subtensor");
  return (is_set ? set : taken)->make_op({std::move(items)});
}

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
    std::vector<int64_t> items;
    if (!parse_items(key, items)) {
      PyObject* args[] = {self, key, value};
      const DeviceScope scope(device_of(self));  // for what the key and the value become
      Object call = own(PyObject_Vectorcall(hooks.setitem, args, 3, nullptr));
      replace_by_call(self, call.get());
      return;
    }
    PyObject* args[] = {self, value};
    assign_result(self, *index_op(true, std::move(items)), args);
  });
}

bool parse_items(PyObject* key, std::vector<int64_t>& items) {
  const bool is_tuple = PyTuple_Check(key) != 0;
  const Py_ssize_t n = is_tuple ? PyTuple_GET_SIZE(key) : 1;
  bool has_ellipsis = false;
  auto bound = [](PyObject* object) {
    if (object == Py_None) return kNoBound;
    if (is_size(object)) return number_of_size(object);
    Object index = own(PyNumber_Index(object));
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    if (overflow != 0) return overflow > 0 ? kMost : -kMost;
    return value == kNoBound ? -kMost : static_cast<int64_t>(value);
  };
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = is_tuple ? PyTuple_GET_ITEM(key, i) : key;
    auto add = [&](ItemKind kind, int64_t start, int64_t stop, int64_t step) {
      items.insert(items.end(), {static_cast<int64_t>(kind), start, stop, step});
    };
    if (item == Py_None) {
      add(ItemKind::kNewAxis, 0, 0, 0);
    } else if (item == Py_Ellipsis) {
      if (has_ellipsis) {
        fail(ErrorKind::kIndex, said::op("index"), "an index can only have one ellipsis ('...').");
      }
      has_ellipsis = true;
      add(ItemKind::kEllipsis, 0, 0, 0);
    } else if (PySlice_Check(item)) {
      const auto* slice = reinterpret_cast<PySliceObject*>(item);
      const int64_t step = bound(slice->step);
      if (step == 0) fail(ErrorKind::kIndex, said::op("index"), "a slice's step must not be 0.");
      add(ItemKind::kSlice, bound(slice->start), bound(slice->stop), step);
    } else if (PyLong_CheckExact(item)) {
      add(ItemKind::kInteger, bound(item), 0, 0);
    } else if (PyIndex_Check(item) && !PyBool_Check(item) && !is_tensor_like(item) &&
               !PySequence_Check(item)) {
      add(ItemKind::kInteger, bound(item), 0, 0);
    } else {
      return false;
    }
  }
  return true;
}

namespace {

// While it lives, the base tape does not record.
class BasePause {
 public:
  BasePause() : previous_(paused_level()) { set_paused_level(std::max(previous_, 0)); }
  ~BasePause() { set_paused_level(previous_); }
  BasePause(const BasePause&) = delete;
  BasePause& operator=(const BasePause&) = delete;

 private:
  int previous_;
};

using Objects = std::span<PyObject* const>;

// The value of an argument under the base tape's tracers, where it holds elements; else null.
Ref<Value> elements_under(PyObject* object, Value* like) {
  if (PyFloat_CheckExact(object) || !is_tensor_like(object)) {
    return like == nullptr ? nullptr : lift_operand(object, *like);
  }
  if (!is_own_wrapper(Py_TYPE(object)) && !is_wrapper(object)) return nullptr;
  Value* value = value_of(object);
  while (value->tag == Value::kTracer && static_cast<Tracer*>(value)->tape->level == 0) {
    value = static_cast<Tracer*>(value)->primal.get();
  }
  return value->tag == Value::kRaw ? Ref<Value>(value) : nullptr;
}

// The op's results, in the memory of the targets where nobody else holds it. False: dispatch has to
// see the call.
bool launch_over(Objects targets, const Op& op, Objects args, Values& out) {
  if (!op.cls.plain || !dispatcher().is_wrapper_plain()) return false;
  Values held;
  held.reserve(args.size());
  SmallVector<Value*, 13> pointers;
  uint32_t donated = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    held.push_back(elements_under(args[i], i == 0 ? nullptr : held[0].get()));
    if (!held.back()) return false;
    pointers.push_back(held.back().get());
    const bool is_target = std::find(targets.begin(), targets.end(), args[i]) != targets.end();
    if (is_target && may_donate(args[i])) donated |= 1U << i;
  }
  out = launch(op, {pointers.data(), pointers.size()}, donated, 2);
  return true;
}

bool has_spec_of(const Value& value, const Value& other) {
  if (other.tag == Value::kTracer) {
    return has_spec_of(value, *static_cast<const Tracer&>(other).primal);
  }
  if (value.tag == Value::kRaw && other.tag == Value::kRaw) {
    const auto& x = static_cast<const RawTensor&>(value);
    const auto& y = static_cast<const RawTensor&>(other);
    return x.dtype == y.dtype && x.shape == y.shape;
  }
  Spec x;
  Spec y;
  return value.spec(x) && other.spec(y) && x.dtype == y.dtype && x.shape == y.shape;
}

// The result as the target's next value: of its shape, cast to its dtype.
Ref<Value> fitted(const Op& op, PyObject* target, Ref<Value> result) {
  const Value* previous = value_of(target);
  if (previous->tag == Value::kTracer)
    previous = static_cast<const Tracer*>(previous)->primal.get();
  if (has_spec_of(*result, *previous)) return result;
  const Spec wanted = spec_of(op.name(), *previous);
  const Spec got = spec_of(op.name(), *result);
  if (!(got.shape == wanted.shape)) {
    fail(ErrorKind::kShape, said::op(op.name()), "the result must keep the shape ",
         to_string(wanted.shape), said::got(to_string(got.shape)),
         said::fix("the other arguments must broadcast to that"));
  }
  const BasePause pause;
  return fit(result, wanted);
}

}  // namespace

// replace(targets, op name, *xs): applies a scalar function, one of whose results is for each of
// the targets, and binds these to them: what a parameter's history on the base tape was stays, and
// nothing is recorded there.
PyObject* replace(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n < 3 || PyTuple_Check(args[0]) == 0) {
      fail(ErrorKind::kAttribute, said::op("replace"), "targets, a name and tensors are needed.");
    }
    const char* name = PyUnicode_AsUTF8(args[1]);
    if (name == nullptr) throw PythonError();
    const Op& op = registry().scalar_op(name);
    const Objects xs{args + 2, static_cast<size_t>(n) - 2};
    const Objects targets{&PyTuple_GET_ITEM(args[0], 0),
                          static_cast<size_t>(PyTuple_GET_SIZE(args[0]))};
    if (targets.size() != static_cast<size_t>(op.scalar->spec.outputs) ||
        !std::all_of(targets.begin(), targets.end(), is_wrapper)) {
      fail(ErrorKind::kAttribute, said::op("replace"), "one Tensor for each result is needed.");
    }
    Values out;
    if (!launch_over(targets, op, xs, out)) {
      const BasePause pause;
      Object results = own(apply_objects(nullptr, &op, xs.data(), xs.size()));
      for (size_t i = 0; i < targets.size(); ++i) {
        out.push_back(to_value(PyTuple_GET_ITEM(results.get(), static_cast<Py_ssize_t>(i))));
        check_examples(targets[i], *out[i]);
      }
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      if (!has_spec_of(*out[i], *value_of(targets[i]))) out[i] = fitted(op, targets[i], out[i]);
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      bind_on_base(targets[i], std::move(out[i]), base_leaf(value_of(targets[i])));
    }
    return Py_NewRef(Py_None);
  });
}

}  // namespace tensorlike::bind
