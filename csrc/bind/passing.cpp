#include "bind/passing.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "bind/expressions.h"
#include "bind/functions.h"
#include "bind/instructions.h"
#include "bind/objects.h"
// After Python.h.
#include <opcode.h>

namespace tensorlike::bind {
namespace {

#if PY_VERSION_HEX >= 0x030B0000
constexpr bool kCallsHaveTwoPlaces = true;  // below their arguments, for what is called
#else
constexpr bool kCallsHaveTwoPlaces = false;
#endif
constexpr bool kAttributesMayBeMethods = PY_VERSION_HEX >= 0x030C0000;  // a bit says so

// What a call of it is to what waits.
enum class Callee : uint8_t {
  kUnknown,
  kOp,      // an op, for which elements have to be there
  kReader,  // what may read elements as they come
};

Callee callee_of(PyObject* object) {
  if (object == nullptr) return Callee::kUnknown;
  if (Py_TYPE(object) == types.function) {
    return takes_elements_as_they_come(object) ? Callee::kReader : Callee::kOp;
  }
  static PyObject* const interned = checked(PyUnicode_InternFromString("backward"));
  const bool is_reader =
      is_named(object) || is_passing_on(object) || object == _PyType_Lookup(types.tensor, interned);
  return is_reader ? Callee::kReader : Callee::kUnknown;
}

bool is_worth_knowing(PyObject* object) {
  return object != nullptr && (PyModule_Check(object) || callee_of(object) != Callee::kUnknown);
}

std::set<Py_ssize_t> jump_targets(PyObject* bytes) {
  const Object dis = own(PyImport_ImportModule("dis"));
  const Object labels = own(PyObject_CallMethod(dis.get(), "findlabels", "O", bytes));
  std::set<Py_ssize_t> targets;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(labels.get()); ++i) {
    targets.insert(PyLong_AsSsize_t(PyList_GET_ITEM(labels.get(), i)) / 2);
  }
  return targets;
}

// Reads a piece of code once, from the first instruction to the last, as far as it runs straight
// on: at an instruction that it does not know it forgets what it has seen. All that hangs on it is
// when ops run, and which results are written before somebody asks for them.
class Reading {
 public:
  Reading(PyObject* code, PyObject* globals, PyObject* builtins)
      : names_(own(PyObject_GetAttrString(code, "co_names"))),
        bytes_(own(PyObject_GetAttrString(code, "co_code"))),
        targets_(jump_targets(bytes_.get())),
        globals_(globals),
        builtins_(builtins) {}

  std::vector<Passing> read() {
    const auto* const code =
        reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes_.get()));
    const int size = static_cast<int>(PyBytes_GET_SIZE(bytes_.get()) / 2);
    int before = 0;  // bits of the argument that instructions before hold
    for (at_ = 0; at_ < size; ++at_) {
      const int what = code[2 * at_];
      const int argument = before << 8 | code[2 * at_ + 1];
      if (targets_.contains(at_)) pass_target();
      before = what == EXTENDED_ARG ? argument : 0;
      if (what != EXTENDED_ARG && !step(what, argument)) forget();
    }
    std::vector<Passing> found(static_cast<size_t>(size));
    for (int i = 0; i < size; ++i) found[static_cast<size_t>(i)].at = i;
    for (const Made& made : made_) found[static_cast<size_t>(made.passing.at)] = passing_of(made);
#ifdef CACHE
    for (size_t i = 1; i < found.size(); ++i) {
      if (code[2 * i] == CACHE) found[i] = found[i - 1];
    }
#endif
    return found;
  }

 private:
  // What stands on the stack: an object that is known, or a result, by its place in `made_`.
  struct Slot {
    PyObject* known = nullptr;  // borrowed
    int made = -1;
  };
  struct Made {
    Passing passing;
    std::optional<int> name = std::nullopt;
    bool escapes = false;  // others may read it, at any time
  };
  struct Load {
    int name, at;
  };

  void push(const Slot& slot) { stack_.push_back(slot); }
  void push() { stack_.emplace_back(); }
  void push_made() {
    push({nullptr, static_cast<int>(made_.size())});
    made_.emplace_back().passing.at = at_;
  }
  Slot pop() {
    if (stack_.empty()) return {};
    const Slot top = stack_.back();
    stack_.pop_back();
    return top;
  }
  Made* made_of(const Slot& slot) {
    return slot.made < 0 ? nullptr : &made_[static_cast<size_t>(slot.made)];
  }

  void use(const Slot& slot, bool by_op) {
    Made* const made = made_of(slot);
    if (made == nullptr) return;
    if (by_op) made->passing.to = Passing::To::kOp;
    HeldUntil& held = made->passing.held;
    held.last_read = at_;
    if (!made->name) held.unbound = at_ + 1;
  }
  // Takes operands or arguments off the stack.
  bool take(int count, bool by_op) {
    for (int i = 0; i < count; ++i) use(pop(), by_op);
    return true;
  }
  // Puts them into something that others may read.
  bool gather(int count) {
    for (int i = 0; i < count; ++i) escape(pop());
    push();
    return true;
  }
  void escape(const Slot& slot) {
    if (Made* const made = made_of(slot)) made->escapes = true;
  }

  // The code does not go straight on, or does what is not known.
  void forget() {
    forget_made();
    stack_.clear();
  }
  void forget_made() {
    for (Slot& slot : stack_) {
      escape(slot);
      slot.made = -1;
    }
    named_.clear();
  }
  // Others come in here, who may have read what has a name.
  void pass_target() {
    for (const auto& [name, made] : named_) made_[static_cast<size_t>(made)].escapes = true;
  }

  // A name that is bound again, straight on from where it was bound, is read by what is known
  // alone.
  Passing passing_of(const Made& made) const {
    Passing passing = made.passing;
    const bool may_be_loaded =
        passing.held.unbound == HeldUntil::kAlways &&
        std::any_of(unknown_loads_.begin(), unknown_loads_.end(), [&](const Load& load) {
          return load.name == made.name && (load.at > passing.at || !targets_.empty());
        });
    if (made.escapes || may_be_loaded) passing.held.last_read = HeldUntil::kAlways;
    return passing;
  }

  // False: it is not known.
  bool step(int what, int argument) {
    if (does_nothing(what)) return true;
    if (const int count = operands_of(what, argument); count > 0) {
      take(count, true);
      push_made();
      return true;
    }
    if (is_in_place(what, argument) || is_product(what, argument)) {
      take(2, is_in_place(what, argument));
      push();
      return true;
    }
    return loads(what, argument) || stores(what, argument) || calls(what, argument);
  }

  // Local variables are numbered from 0 on, names of a module or class from -1 down.
  void load(int name) {
    if (const auto found = named_.find(name); found != named_.end()) {
      push({nullptr, found->second});
      use(stack_.back(), false);
    } else {
      unknown_loads_.push_back({name, at_});
      push(name < 0 ? Slot{global(-1 - name)} : Slot{});
    }
  }
  void store(int name) {
    if (const auto found = named_.find(name); found != named_.end()) {
      made_[static_cast<size_t>(found->second)].passing.held.unbound = at_;
      named_.erase(found);
    }
    const Slot slot = pop();
    Made* const made = made_of(slot);
    if (made == nullptr) return;
    made->escapes = made->escapes || made->name || name < 0;
    made->name = name;
    named_[name] = slot.made;
  }

  PyObject* global(int index) const {
    PyObject* const name = PyTuple_GetItem(names_.get(), index);
    PyObject* found = name == nullptr ? nullptr : PyDict_GetItem(globals_, name);
    if (found == nullptr && name != nullptr) found = PyDict_GetItem(builtins_, name);
    return is_worth_knowing(found) ? found : nullptr;
  }
  // `is_called`: as a method, of which Tensor's own are known whatever it is that has them.
  bool attribute(int index, bool is_called) {
    PyObject* const name = PyTuple_GetItem(names_.get(), index);
    const Slot object = pop();
    use(object, false);
    if (name != nullptr && object.known != nullptr && PyModule_Check(object.known)) {
      PyObject* const found = PyDict_GetItem(PyModule_GetDict(object.known), name);
      push({is_worth_knowing(found) ? found : nullptr});
      if (is_called) push();
    } else if (is_called && name != nullptr) {
      PyObject* const method = _PyType_Lookup(types.tensor, name);
      push({is_worth_knowing(method) ? method : nullptr});
      push(object);
    } else {
      push();
    }
    return true;
  }

  bool loads(int what, int argument) {
    switch (what) {
      case LOAD_FAST:
#ifdef LOAD_FAST_CHECK
      case LOAD_FAST_CHECK:
#endif
        load(argument);
        return true;
#ifdef LOAD_FAST_LOAD_FAST
      case LOAD_FAST_LOAD_FAST:
        load(argument >> 4);
        load(argument & 15);
        return true;
#endif
      case LOAD_NAME:
        load(-1 - argument);
        return true;
      case LOAD_CONST:
      case LOAD_DEREF:
#ifdef PUSH_NULL
      case PUSH_NULL:
#endif
        push();
        return true;
      case LOAD_GLOBAL:
        if (kCallsHaveTwoPlaces && argument % 2 != 0) push();
        push({global(kCallsHaveTwoPlaces ? argument >> 1 : argument)});
        return true;
      case LOAD_ATTR:
        if (!kAttributesMayBeMethods) return attribute(argument, false);
        return attribute(argument >> 1, argument % 2 != 0);
#if PY_VERSION_HEX < 0x030C0000
      case LOAD_METHOD:
        return attribute(argument, true);
#endif
      default:
        return false;
    }
  }

  bool stores(int what, int argument) {
    switch (what) {
      case STORE_FAST:
        store(argument);
        return true;
#ifdef STORE_FAST_LOAD_FAST
      case STORE_FAST_LOAD_FAST:
        store(argument >> 4);
        load(argument & 15);
        return true;
      case STORE_FAST_STORE_FAST:
        store(argument >> 4);
        store(argument & 15);
        return true;
#endif
      case STORE_NAME:
        store(-1 - argument);
        return true;
      case POP_TOP:
        pop();
        return true;
      case BUILD_TUPLE:
      case BUILD_SLICE:
        return gather(argument);
      case BINARY_SUBSCR:
        return gather(2);
#ifdef BINARY_SLICE
      case BINARY_SLICE:
        return gather(3);
#endif
      case RETURN_VALUE:
        if (Made* const made = made_of(pop()); made != nullptr) {
          if (made->passing.to == Passing::To::kNobody) made->passing.to = Passing::To::kCaller;
        }
        return false;
      default:
        return false;
    }
  }

  // Calls with `count` arguments, under which `places` say what is called.
  bool call(int count, int places) {
    const int below = static_cast<int>(stack_.size()) - count - places;
    PyObject* known = nullptr;
    for (int i = 0; below >= 0 && i < places && known == nullptr; ++i) {
      known = stack_[static_cast<size_t>(below + i)].known;
    }
    const Callee callee = callee_of(known);
    if (callee == Callee::kUnknown) forget_made();
    take(count + places, callee == Callee::kReader);
    push_made();
    return true;
  }

  bool calls(int what, int argument) {
    switch (what) {
#ifdef CALL
      case CALL:
        return call(argument, 2);
#endif
#ifdef CALL_KW
      case CALL_KW:
        pop();  // the names
        return call(argument, 2);
#endif
#ifdef CALL_METHOD
      case CALL_METHOD:
        return call(argument, 2);
      case CALL_FUNCTION_KW:
        pop();
        return call(argument, 1);
      case CALL_FUNCTION:
        return call(argument, 1);
#endif
      case CALL_FUNCTION_EX:
        forget();
        push_made();
        return true;
      default:
        return false;
    }
  }

  const Object names_, bytes_;
  const std::set<Py_ssize_t> targets_;
  PyObject *const globals_, *const builtins_;
  int at_ = 0;
  std::vector<Slot> stack_;  // its upper part, as far as it is known
  std::map<int, int> named_;
  std::vector<Made> made_;
  std::vector<Load> unknown_loads_;
};

}  // namespace

std::vector<Passing> passings_in(PyCodeObject* code, PyObject* globals, PyObject* builtins) {
  return Reading(reinterpret_cast<PyObject*>(code), globals, builtins).read();
}

}  // namespace tensorlike::bind
