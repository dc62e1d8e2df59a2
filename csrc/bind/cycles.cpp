// What Python's cycle collector sees of the core. A wrapper leads to tracers, nodes, saved values
// and hooks, a log to ops, and those hold Python objects: hooks' functions, ops and tensor-likes
// written in Python. Through one of them a wrapper may come to hold itself.
//
// The collector works in two steps. First it takes from the reference count of every object that it
// looks at the references that such objects have to one another; what is left comes from outside.
// Then it follows references from the objects that have any left, and what it does not reach is
// garbage. So in the first step each reference must be shown once, and only if all who could follow
// it are looked at; in the second it may be shown often.
//
// The core's objects are counted in the same way. In the first step each of them begins with its
// own count, from which every reference that is met is taken: those of wrappers as the collector
// comes to them, those of the core's objects once they have none left themselves. What they hold of
// Python's is shown when they come to zero, which is once. An object that anybody else holds (a
// backward pass, a wrapper that the collector does not look at) stays above zero, and all
// that it leads to is kept: more may be kept than must be, never less. The core has no cycles of
// its own (see Accumulator), so that counting down finds all.
#include <algorithm>
#include <typeinfo>
#include <unordered_set>
#include <vector>

#include "bind/programs.h"

namespace tensorlike::bind {
namespace {

enum class PartKind { kValue, kNode, kOp, kHook, kAccumulator, kLog, kProgram };

// One of the core's objects that may lead to Python's.
struct Part {
  const RefCounted* object;
  PartKind kind;
};

Part part_of(const Value* value) {
  const bool leads =
      value != nullptr && (value->tag == Value::kTracer || object_of(*value) != nullptr);
  return {leads ? value : nullptr, PartKind::kValue};
}

Part part_of(const Op* op) {
  return {op != nullptr && typeid(*op) == typeid(ForeignOp) ? op : nullptr, PartKind::kOp};
}

// Visits the parts that a part refers to; returns the Python object that it holds itself, or null.
template <class Show>
PyObject* open(const Part& part, Show&& show) {
  switch (part.kind) {
    case PartKind::kValue: {
      const auto& value = static_cast<const Value&>(*part.object);
      if (PyObject* const object = object_of(value)) return object;
      const auto& tracer = static_cast<const Tracer&>(value);
      show(part_of(tracer.primal.get()));
      show(Part{tracer.edge.node.get(), PartKind::kNode});
      show(Part{tracer.accumulator.get(), PartKind::kAccumulator});
      return nullptr;
    }
    case PartKind::kNode: {
      const auto& node = static_cast<const Node&>(*part.object);
      show(part_of(node.op.get()));
      for (const Node::Input& input : node.inputs) {
        show(Part{input.node.get(), PartKind::kNode});
        show(part_of(input.saved.get()));
      }
      for (const Ref<Value>& output : node.saved_outputs) show(part_of(output.get()));
      if (!node.notes) return nullptr;
      for (const Ref<GradientHook>& hook : node.notes->hooks)
        show(Part{hook.get(), PartKind::kHook});
      return nullptr;
    }
    case PartKind::kOp:
      return static_cast<const ForeignOp&>(*part.object).object();
    case PartKind::kHook:
      return static_cast<const ForeignHook&>(*part.object).function();
    case PartKind::kAccumulator:
      show(part_of(static_cast<const Accumulator&>(*part.object).gradient.get()));
      return nullptr;
    case PartKind::kLog:
      for (const TapeLog::Entry& entry : static_cast<const TapeLog&>(*part.object).entries) {
        show(part_of(entry.op.get()));
      }
      return nullptr;
    case PartKind::kProgram: {
      const auto& program = static_cast<const Program&>(*part.object);
      for (const Program::Step& step : program.steps()) show(part_of(step.op.get()));
      for (const auto& variable : program.variables()) show(part_of(variable.value.get()));
      return nullptr;
    }
  }
  return nullptr;
}

// What is known during a full collection. Younger ones show nothing: they look at few of the
// wrappers, and would walk long graphs again and again.
bool is_full_collection = false;
// The wrappers that the first step has come to. It comes to each once: to one of them again in the
// first step of another round, over what seemed to be garbage, when finalisers have run.
auto& counted = *new std::unordered_set<PyObject*>;
// A number for each part: a hash table in one block of memory, since a graph may have millions.
class PartTable {
 public:
  size_t size() const { return used_; }
  // The number of a part; at first, how many references it has.
  int64_t& meet(const RefCounted* object) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(object)];
    if (slot.object == nullptr) {
      slot = {object, object->use_count()};
      ++used_;
    }
    return slot.number;
  }
  // Null: it was not met.
  int64_t* find(const RefCounted* object) {
    if (used_ == 0) return nullptr;
    Slot& slot = slots_[place_of(object)];
    return slot.object == nullptr ? nullptr : &slot.number;
  }
  void clear() {
    slots_ = {};
    used_ = 0;
  }

 private:
  struct Slot {
    const RefCounted* object = nullptr;
    int64_t number = 0;
  };

  // Where it is, or would be.
  size_t place_of(const RefCounted* object) const {
    const uint64_t mixed = reinterpret_cast<uintptr_t>(object) * 0x9E3779B97F4A7C15U;
    const size_t mask = slots_.size() - 1;
    size_t place = static_cast<size_t>(mixed >> 32) & mask;
    while (slots_[place].object != nullptr && slots_[place].object != object) {
      place = (place + 1) & mask;
    }
    return place;
  }
  void grow() {
    std::vector<Slot> before(std::max<size_t>(64, 2 * slots_.size()));
    std::swap(before, slots_);
    for (const Slot& slot : before) {
      if (slot.object != nullptr) slots_[place_of(slot.object)] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two, at most half of them used
  size_t used_ = 0;
};

// The references of each part that are not explained yet. Parts that were opened have none left;
// the second step marks them as it comes to them.
constexpr int64_t kFollowed = -1;
auto& unexplained = *new PartTable;
auto& left = *new std::vector<Part>;  // to be opened

void forget_counts() {
  counted.clear();
  unexplained.clear();
  left.clear();
}

int count(PyObject* self, const Part& held, visitproc visit, void* arg) {
  if (counted.contains(self)) forget_counts();
  counted.insert(self);
  const auto meet = [](const Part& part) {
    if (part.object == nullptr) return;
    int64_t& references = unexplained.meet(part.object);
    // The second step must not fail for want of memory: it needs no more than this.
    if (left.capacity() < unexplained.size()) left.reserve(2 * unexplained.size());
    if (--references == 0) left.push_back(part);
  };
  meet(held);
  while (!left.empty()) {
    const Part part = left.back();
    left.pop_back();
    if (PyObject* object = open(part, meet)) Py_VISIT(object);
  }
  return 0;
}

// Below a part that was not opened, nothing was counted that this would have to make up for.
int follow(const Part& held, visitproc visit, void* arg) {
  const auto meet = [](const Part& part) {
    int64_t* const references = part.object == nullptr ? nullptr : unexplained.find(part.object);
    if (references == nullptr || *references != 0) return;
    *references = kFollowed;
    left.push_back(part);
  };
  meet(held);
  while (!left.empty()) {
    const Part part = left.back();
    left.pop_back();
    if (PyObject* object = open(part, meet)) Py_VISIT(object);
  }
  return 0;
}

// collection(phase, info): one of gc.callbacks.
PyObject* watch_collection(PyObject*, PyObject* args) {
  PyObject* phase = nullptr;
  PyObject* info = nullptr;
  if (PyArg_ParseTuple(args, "UO!", &phase, &PyDict_Type, &info) == 0) return nullptr;
  PyObject* generation = PyDict_GetItemString(info, "generation");  // borrowed
  const bool begins = PyUnicode_CompareWithASCIIString(phase, "start") == 0;
  is_full_collection = begins && generation != nullptr && PyLong_AsLong(generation) >= 2;
  forget_counts();
  Py_RETURN_NONE;
}

PyMethodDef watcher = {"watch_collection", as_method(watch_collection), METH_VARARGS, nullptr};

}  // namespace

namespace {

int visit_part(PyObject* self, const Part& held, visitproc visit, void* arg) {
  if (!is_full_collection || python_parts == 0 || held.object == nullptr) return 0;
  // The collector hands its first step the object whose references are asked for. Should some other
  // Python do it differently, no reference is ever shown, and nothing is freed that is alive.
  if (arg != self) return follow(held, visit, arg);
  try {
    return count(self, held, visit, arg);
  } catch (const std::bad_alloc&) {
    left.clear();  // too little is shown, which keeps it
    return 0;
  }
}

}  // namespace

int visit_held(PyObject* self, visitproc visit, void* arg) {
  return visit_part(self, part_of(value_of(self)), visit, arg);
}

int visit_held(PyObject* self, const TapeLog& log, visitproc visit, void* arg) {
  return visit_part(self, {&log, PartKind::kLog}, visit, arg);
}

int visit_held(PyObject* self, const Program& program, visitproc visit, void* arg) {
  return visit_part(self, {&program, PartKind::kProgram}, visit, arg);
}

void add_cycles() {
  Object gc = own(PyImport_ImportModule("gc"));
  Object callbacks = own(PyObject_GetAttrString(gc.get(), "callbacks"));
  Object function = own(PyCFunction_New(&watcher, nullptr));
  check(PyList_Append(callbacks.get(), function.get()));
}

}  // namespace tensorlike::bind
