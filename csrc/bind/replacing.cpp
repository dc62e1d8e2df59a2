// Replacing what Tensors hold by what a scalar function makes of it, as an optimiser's step does:
// in their own memory where nobody else holds that.
#include <algorithm>
#include <optional>

#include "bind/objects.h"
#include "bind/rebinding.h"
#include "engine/engine.h"
#include "tape/gradient.h"
#include "tensor/set_launch.h"

namespace tensorlike::bind {
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

// The elements under the base tape's tracers; null: there are none.
RawTensor* raw_of(PyObject* object) {
  if (!is_wrapper(object)) return nullptr;
  Value* value = value_of(object);
  while (value->tag == Value::kTracer && static_cast<Tracer*>(value)->tape->level == 0) {
    value = static_cast<Tracer*>(value)->primal.get();
  }
  return value->tag == Value::kRaw ? static_cast<RawTensor*>(value) : nullptr;
}

// The value of an argument under the base tape's tracers, where it holds elements; else null.
Ref<Value> elements_under(PyObject* object, Value* like) {
  if (!PyFloat_CheckExact(object) && is_tensor_like(object)) return Ref<Value>(raw_of(object));
  return like == nullptr ? nullptr : lift_operand(object, *like);
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

// Binds the targets to the op's results: what a target's history on the base tape was stays, and
// nothing is recorded there.
void replace_set(Objects targets, const Op& op, Objects xs) {
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
}

// The scalar function of a name; ErrorKind::kAttribute unless it has so many results.
const Op& op_with_results(PyObject* name, size_t n) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) throw PythonError();
  const Op& op = registry().scalar_op(text);
  if (n == static_cast<size_t>(op.scalar->spec.outputs)) return op;
  fail(ErrorKind::kAttribute, said::op("replace"), "one target for each result is needed.");
}

void check_targets(Objects targets) {
  if (std::all_of(targets.begin(), targets.end(), is_wrapper)) return;
  fail(ErrorKind::kAttribute, said::op("replace"), "targets must be Tensors.");
}

Objects span_of(PyObject* tuple) {
  return {&PyTuple_GET_ITEM(tuple, 0), static_cast<size_t>(PyTuple_GET_SIZE(tuple))};
}

// Arguments of many sets: lists hold one for each, all else they have in common.
class Columns {
 public:
  explicit Columns(Objects given) {
    for (PyObject* column : given) {
      const bool is_list = PyList_Check(column) != 0;
      // A copy: what runs between two sets may change the list.
      columns_.push_back(is_list ? own(PyList_AsTuple(column)) : Object::share(column));
      differs_.push_back(is_list);
      if (!is_list) continue;
      const Py_ssize_t size = PyTuple_GET_SIZE(columns_.back().get());
      if (std::exchange(sets_, size) >= 0 && sets_ != size) is_even_ = false;
    }
  }
  // How many sets there are; nothing: lists differ in length, or there are none.
  std::optional<Py_ssize_t> sets() const {
    return is_even_ && sets_ >= 0 ? std::optional(sets_) : std::nullopt;
  }
  size_t size() const { return columns_.size(); }
  bool differs(size_t column) const { return differs_[column]; }
  PyObject* shared(size_t column) const { return columns_[column].get(); }
  PyObject* at(size_t column, Py_ssize_t set) const {
    PyObject* const held = columns_[column].get();
    return differs_[column] ? PyTuple_GET_ITEM(held, set) : held;
  }

 private:
  std::vector<Object> columns_;
  SmallVector<bool, 16> differs_;
  Py_ssize_t sets_ = -1;
  bool is_even_ = true;
};

// The short way through many sets: what they have in common is looked at once.
class QuickSets {
 public:
  // `over`: which column each target is; -1: none.
  QuickSets(const Op& op, const Columns& columns, std::span<const int> over)
      : op_(op), columns_(columns), over_(over) {
    const auto is_missing = [](int column) { return column < 0; };
    is_possible_ = std::none_of(over.begin(), over.end(), is_missing);
    for (size_t i = 0; i < columns.size(); ++i) {
      // Elements of a tensor could change between two sets.
      is_possible_ = is_possible_ && (columns.differs(i) || PyFloat_CheckExact(columns.shared(i)) ||
                                      PyLong_CheckExact(columns.shared(i)));
    }
  }

  // Replaces what a set's targets hold; false: it is for `replace_set`.
  bool run(Objects targets, Objects set) {
    const bool is_direct = is_possible_ && op_.cls.plain && dispatcher().is_wrapper_plain() &&
                           small_launches_are_direct;
    if (!is_direct || !std::all_of(targets.begin(), targets.end(), may_donate)) return false;
    SmallVector<RawTensor*, 16> raws;
    for (size_t i = 0; i < set.size(); ++i) {
      raws.push_back(columns_.differs(i) ? raw_of(set[i]) : nullptr);
      if (columns_.differs(i) && raws.back() == nullptr) return false;
    }
    Values out;
    RawTensor& like = *raws[static_cast<size_t>(over_[0])];
    if (!like.device.is_cpu()) return false;
    SetLaunch& launch = launch_for(like);
    if (!launch.run({raws.data(), raws.size()}, out)) return false;
    for (size_t i = 0; i < targets.size(); ++i) {
      bind_on_base(targets[i], std::move(out[i]), base_leaf(value_of(targets[i])));
    }
    return true;
  }

 private:
  // For sets of a dtype, beside which numbers become tensors.
  SetLaunch& launch_for(RawTensor& like) {
    for (const auto& known : launches_) {
      if (known->dtype() == like.dtype) return *known;
    }
    Values numbers;
    SmallVector<RawTensor*, 16> shared(columns_.size(), nullptr);
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_.differs(i)) continue;
      numbers.push_back(lift_operand(columns_.shared(i), like));
      shared[i] = static_cast<RawTensor*>(numbers.back().get());
    }
    const RawArgs given(shared.data(), shared.size());
    return *launches_.emplace_back(std::make_unique<SetLaunch>(op_, given, over_, like.dtype));
  }

  const Op& op_;
  const Columns& columns_;
  const std::span<const int> over_;
  bool is_possible_;
  std::vector<std::unique_ptr<SetLaunch>> launches_;  // one for each dtype
};

void replace_sets(Objects targets, const Op& op, Objects xs) {
  const Columns columns(xs);
  const Columns replaced(targets);
  if (!columns.sets() || replaced.sets() != columns.sets()) {
    fail(ErrorKind::kAttribute, said::op("replace"), "lists of one length are needed.");
  }
  SmallVector<int, 4> over;
  for (PyObject* target : targets) {
    const auto found = std::find(xs.begin(), xs.end(), target);
    over.push_back(found == xs.end() ? -1 : static_cast<int>(found - xs.begin()));
  }
  QuickSets quick(op, columns, {over.data(), over.size()});
  SmallVector<PyObject*, 4> bound(targets.size());
  SmallVector<PyObject*, 16> set(xs.size());
  for (Py_ssize_t s = 0; s < *columns.sets(); ++s) {
    for (size_t i = 0; i < xs.size(); ++i) set[i] = columns.at(i, s);
    for (size_t i = 0; i < targets.size(); ++i) bound[i] = replaced.at(i, s);
    const Objects to(bound.data(), bound.size());
    check_targets(to);
    const Objects given(set.data(), set.size());
    if (!quick.run(to, given)) replace_set(to, op, given);
  }
}

}  // namespace

// replace(targets, op name, *xs): applies a scalar function, one of whose results is for each of
// the targets, and binds these to them.
PyObject* replace(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n < 3 || PyTuple_Check(args[0]) == 0) {
      fail(ErrorKind::kAttribute, said::op("replace"), "targets, a name and tensors are needed.");
    }
    const Objects targets = span_of(args[0]);
    const Op& op = op_with_results(args[1], targets.size());
    const Objects xs{args + 2, static_cast<size_t>(n) - 2};
    const bool are_sets = std::all_of(targets.begin(), targets.end(),
                                      [](PyObject* target) { return PyList_Check(target) != 0; });
    if (are_sets) {
      replace_sets(targets, op, xs);
    } else {
      check_targets(targets);
      replace_set(targets, op, xs);
    }
    return Py_NewRef(Py_None);
  });
}

}  // namespace tensorlike::bind
