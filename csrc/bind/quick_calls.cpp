// Calls of functions that are served by a recorded program, in one step from Python: what the
// program depends on is checked, it runs, and what it changes is put in place. Only where all is
// plain, or on one tape; every other call goes the long way, by the function's `_called`.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "bind/programs.h"
#include "bind/quick_arguments.h"
#include "bind/quick_guards.h"
#include "bind/quick_history.h"
#include "bind/quick_results.h"
#include "bind/rebinding.h"
#include "program/stretch.h"

namespace tensorlike::bind {
namespace {

class QuickCall {
 public:
  // `arguments`: what it must be given (QuickArguments); the last of them are not the call's, but
  // the leaves of what the names of the function's own have then, `kept`: (dict, key, QuickTree)
  // each. `state`: Tensors that were met, with whether derivatives were wanted; places, with
  // whether there was a gradient; Tensors that arguments must not be. `changes`: (place, which
  // result or None). `stores`, `results`, `tree`, `assemble`: what becomes of results
  // (QuickResults), whose history is `history` (QuickHistory).
  QuickCall(PyObject* op, PyObject* arguments, PyObject* kept, PyObject* guards, PyObject* missing,
            PyObject* state, PyObject* places, PyObject* changes, PyObject* stores,
            PyObject* results, PyObject* tree, PyObject* assemble, PyObject* history)
      : op_(to_op(op)),
        stretch_(stretch_of(*op_)),
        arguments_(*stretch_, arguments),
        guards_(guards, missing),
        history_(op_, history),
        apart_(objects_in(item_of(state, 2))),
        results_(stores, results, tree, assemble),
        is_paused_(paused_level() >= 0),
        device_(default_device) {
    for (const Object& item : objects_in(kept)) {
      kept_.push_back({Object::share(item_of(item.get(), 0)), Object::share(item_of(item.get(), 1)),
                       QuickTree(item_of(item.get(), 2))});
    }
    for (const Object& item : objects_in(item_of(state, 0))) {
      wanted_.emplace_back(Object::share(item_of(item.get(), 0)),
                           item_of(item.get(), 1) == Py_True);
    }
    for (const Object& item : objects_in(item_of(state, 1))) {
      leaves_.emplace_back(RecordedPlace(item_of(item.get(), 0)),
                           item_of(item.get(), 1) == Py_True);
    }
    for (const Object& place : objects_in(places)) places_.emplace_back(place.get());
    if (places_.size() != stretch_->given.size()) {
      fail(ErrorKind::kAttribute, said::op("QuickCall"), "must have a place for each input");
    }
    for (const Object& item : objects_in(changes)) {
      changes_.emplace_back(RecordedPlace(item_of(item.get(), 0)),
                            number_of(item_of(item.get(), 1)));
    }
  }

  // The result; Py_NotImplemented: the call is not of this kind; null: it failed, and Python's
  // error is set.
  PyObject* call(PyObject* args) {
    SmallVector<PyObject*, 8> tensors;
    Tensors given(reinterpret_cast<PyTupleObject*>(args)->ob_item,
                  static_cast<size_t>(PyTuple_GET_SIZE(args)));
    std::vector<Object> names, held;  // what the function's own names have, and the leaves of that
    std::vector<PyObject*> all_given;
    if (!kept_.empty()) {
      if (!find_kept(names, held)) return Py_NewRef(Py_NotImplemented);
      all_given.assign(given.begin(), given.end());
      for (const Object& x : held) all_given.push_back(x.get());
      given = Tensors(all_given.data(), all_given.size());
    }
    const bool serves = dispatcher().is_wrapper_plain() && default_device == device_ &&
                        (paused_level() >= 0) == is_paused_ && arguments_.take(given, tensors) &&
                        guards_.hold() && is_as_before(tensors);
    if (!serves) return Py_NewRef(Py_NotImplemented);
    Values values;
    SmallVector<Value*, 8> pointers;
    if (!find_values(tensors, values, pointers)) return Py_NewRef(Py_NotImplemented);
    const Args all(pointers.data(), pointers.size());
    const Values found = history_.is_there() ? history_.run(all) : run_plain(all);
    if (found.empty() && !stretch_->results.empty()) return Py_NewRef(Py_NotImplemented);
    put(tensors, found);
    ++calls;
    return results_.returned(tensors, found, names);
  }

  int visit(visitproc visit, void* arg) const {
    if (const int stop = guards_.visit(visit, arg); stop != 0) return stop;
    if (const int stop = arguments_.visit(visit, arg); stop != 0) return stop;
    if (const int stop = history_.visit(visit, arg); stop != 0) return stop;
    for (const Object& object : apart_) Py_VISIT(object.get());
    for (const Kept& name : kept_) {
      Py_VISIT(name.dict.get());
      if (const int stop = name.tree.visit(visit, arg); stop != 0) return stop;
    }
    for (const RecordedPlace& place : places_) {
      if (const int stop = place.visit(visit, arg); stop != 0) return stop;
    }
    for (const auto& [place, had_one] : leaves_) {
      if (const int stop = place.visit(visit, arg); stop != 0) return stop;
    }
    for (const auto& [place, which] : changes_) {
      if (const int stop = place.visit(visit, arg); stop != 0) return stop;
    }
    return results_.visit(visit, arg);
  }

  long long calls = 0;

 private:
  // A name of the function's own.
  struct Kept {
    Object dict, key;
    QuickTree tree;
  };

  static int number_of(PyObject* which) {
    return which == Py_None ? -1 : static_cast<int>(count_in(which));
  }

  // What the function keeps itself by now, and the leaves of it; false: it is arranged otherwise.
  bool find_kept(std::vector<Object>& names, std::vector<Object>& held) const {
    for (const Kept& name : kept_) {
      PyObject* const x = PyDict_GetItemWithError(name.dict.get(), name.key.get());
      if (x == nullptr) PyErr_Clear();
      if (x == nullptr || !name.tree.take(x, held)) return false;
      const bool may_change = PyList_Check(x) != 0 || PyDict_Check(x) != 0;
      const auto is_same = [x](const Object& other) { return other.get() == x; };
      if (may_change && std::any_of(names.begin(), names.end(), is_same)) return false;
      names.push_back(Object::share(x));
    }
    return true;
  }

  // What the program is given; false: something is not of the kind that it runs on here.
  bool find_values(Tensors tensors, Values& values, SmallVector<Value*, 8>& pointers) const {
    for (size_t i = 0; i < places_.size(); ++i) {
      Ref<Value> found = history_.is_there() ? places_[i].find_recorded(tensors.data())
                                             : places_[i].find(tensors.data());
      const RawTensor* elements = elements_under(found.get());
      // Cheaper than the error of a program for other shapes.
      if (elements == nullptr ||
          !stretch_->program->may_be(stretch_->given[i], elements->dtype, elements->shape)) {
        return false;
      }
      pointers.push_back(found.get());
      values.push_back(std::move(found));
    }
    return true;
  }

  static Ref<Stretch> stretch_of(const Op& op) {
    const Holder* holder = holder_of(op);
    if (holder == nullptr) fail(ErrorKind::kAttribute, said::op("QuickCall"), "must have a call");
    return holder->calls[0];
  }

  // Empty: the values do not fit, or a rule of a user's has a say.
  Values run_plain(Args all) const {
    if (!all.empty() && !meaning_.holds_on_elements(*op_, all.size())) return {};
    std::optional<Stretch::Ready> ready;
    try {
      ready.emplace(stretch_->ready(all));
    } catch (const Error&) {  // the long way says what does not fit, or records again
      return {};
    }
    return stretch_->run(*ready, all);
  }

  bool is_as_before(Tensors tensors) const {
    for (const auto& [tensor, is_wanted] : wanted_) {
      if (carries_gradient(tensor.get()) != is_wanted) return false;
    }
    for (const auto& [place, had_one] : leaves_) {
      if (place.has_gradient(tensors.data()) != had_one) return false;
    }
    const auto is_one = [](const RecordedPlace& place) {
      return !place.is_number() || place.is_one();
    };
    const auto is_apart = [&](const Object& met) {
      return std::find(tensors.begin(), tensors.end(), met.get()) == tensors.end();
    };
    return std::all_of(places_.begin(), places_.end(), is_one) &&
           std::all_of(apart_.begin(), apart_.end(), is_apart);
  }

  // All or nothing: what may fail comes before the first Tensor gets its value.
  void put(Tensors tensors, const Values& found) const {
    Values made;
    for (const auto& [place, which] : changes_) {
      Ref<Value> value = which < 0 ? Ref<Value>() : found[static_cast<size_t>(which)];
      made.push_back(place.prepared(tensors.data(), std::move(value)));
    }
    for (const bool is_number : {true, false}) {
      for (size_t i = 0; i < changes_.size(); ++i) {
        const RecordedPlace& place = changes_[i].first;
        if (place.is_number() == is_number) place.put(tensors.data(), std::move(made[i]));
      }
    }
  }

  const Ref<Op> op_;  // around the program
  const Ref<Stretch> stretch_;
  const KnownMeaning meaning_;
  const QuickArguments arguments_;
  const QuickGuards guards_;
  const QuickHistory history_;
  std::vector<std::pair<Object, bool>> wanted_;
  std::vector<std::pair<RecordedPlace, bool>> leaves_;
  const std::vector<Object> apart_;
  std::vector<Kept> kept_;
  std::vector<RecordedPlace> places_;
  std::vector<std::pair<RecordedPlace, int>> changes_;
  const QuickResults results_;
  const bool is_paused_;
  const Device device_;
};

struct QuickCallObject {
  PyObject_HEAD QuickCall* call;
};
QuickCall& quick_call_in(PyObject* self) { return *reinterpret_cast<QuickCallObject*>(self)->call; }

PyTypeObject* quick_call_class = nullptr;

PyObject* quick_call_new(PyTypeObject* cls, PyObject* args, PyObject*) {
  PyObject* given[13];
  if (PyArg_ParseTuple(args, "OOOOOOOOOOOOO", &given[0], &given[1], &given[2], &given[3], &given[4],
                       &given[5], &given[6], &given[7], &given[8], &given[9], &given[10],
                       &given[11], &given[12]) == 0) {
    return nullptr;
  }
  return guarded([&] {
    auto made = std::make_unique<QuickCall>(given[0], given[1], given[2], given[3], given[4],
                                            given[5], given[6], given[7], given[8], given[9],
                                            given[10], given[11], given[12]);
    PyObject* self = checked(cls->tp_alloc(cls, 0));
    reinterpret_cast<QuickCallObject*>(self)->call = made.release();
    return self;
  });
}

int quick_call_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const auto* call = reinterpret_cast<QuickCallObject*>(self)->call;
  return call == nullptr ? 0 : call->visit(visit, arg);
}

void quick_call_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<QuickCallObject*>(self)->call;
  cls->tp_free(self);
  Py_DECREF(cls);
}

PyObject* quick_call_calls(PyObject* self, void*) {
  return PyLong_FromLongLong(quick_call_in(self).calls);
}

PyGetSetDef quick_call_getset[] = {
    {"calls", quick_call_calls, nullptr, "How many calls it has served.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot quick_call_slots[] = {
    {Py_tp_new, as_slot(quick_call_new)},
    {Py_tp_dealloc, as_slot(quick_call_dealloc)},
    {Py_tp_traverse, as_slot(quick_call_traverse)},
    {Py_tp_getset, quick_call_getset},
    {0, nullptr},
};
PyType_Spec quick_call_spec = {"tensorlike._C.QuickCall", sizeof(QuickCallObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, quick_call_slots};

// A function of Python's that recorded programs serve: `_quick` has QuickCalls, `_called` is the
// long way, and `_failed` is given the error of a quick call and its arguments, to raise it.
struct QuickCallerObject {
  PyObject_HEAD PyObject* quick;
};
QuickCallerObject& quick_caller_in(PyObject* self) {
  return *reinterpret_cast<QuickCallerObject*>(self);
}

PyObject* after_error(PyObject* self, PyObject* args) {
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) return nullptr;
  PyObject *type = nullptr, *error = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  if (trace != nullptr) PyException_SetTraceback(error, trace);
  const Object held[] = {Object::steal(type), Object::steal(error), Object::steal(trace)};
  return PyObject_CallMethod(self, "_failed", "OO", error, args);
}

PyObject* quick_caller_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  static PyObject* const long_way = PyUnicode_InternFromString("_called");
  const Object quick = Object::share(quick_caller_in(self).quick);
  if (quick && (kwargs == nullptr || PyDict_GET_SIZE(kwargs) == 0)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(quick.get()); ++i) {
      QuickCall& call = quick_call_in(PyTuple_GET_ITEM(quick.get(), i));
      PyObject* found = guarded([&] { return call.call(args); });
      if (found == nullptr) return after_error(self, args);
      if (found != Py_NotImplemented) return found;
      Py_DECREF(found);
    }
  }
  const Object method = Object::steal(PyObject_GetAttr(self, long_way));
  return method ? PyObject_Call(method.get(), args, kwargs) : nullptr;
}

int quick_caller_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(quick_caller_in(self).quick);
  return 0;
}
int quick_caller_clear(PyObject* self) {
  Py_CLEAR(quick_caller_in(self).quick);
  return 0;
}
void quick_caller_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  quick_caller_clear(self);
  cls->tp_free(self);
  Py_DECREF(cls);
}

PyObject* get_quick(PyObject* self, void*) {
  PyObject* const quick = quick_caller_in(self).quick;
  return quick == nullptr ? PyTuple_New(0) : Py_NewRef(quick);
}
int set_quick(PyObject* self, PyObject* quick, void*) {
  return guarded_status([&] {
    Object calls = own(PySequence_Tuple(quick == nullptr ? Py_None : quick));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(calls.get()); ++i) {
      if (Py_TYPE(PyTuple_GET_ITEM(calls.get(), i)) != quick_call_class) {
        fail(ErrorKind::kAttribute, said::op("QuickCaller"), "must be given QuickCalls");
      }
    }
    Py_XSETREF(quick_caller_in(self).quick, calls.release());
  });
}

PyGetSetDef quick_caller_getset[] = {
    {"_quick", get_quick, set_quick, "The calls that are tried first.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot quick_caller_slots[] = {
    {Py_tp_call, as_slot(quick_caller_call)},
    {Py_tp_dealloc, as_slot(quick_caller_dealloc)},
    {Py_tp_traverse, as_slot(quick_caller_traverse)},
    {Py_tp_clear, as_slot(quick_caller_clear)},
    {Py_tp_getset, quick_caller_getset},
    {0, nullptr},
};
PyType_Spec quick_caller_spec = {"tensorlike._C.QuickCaller", sizeof(QuickCallerObject), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                 quick_caller_slots};

}  // namespace

void add_quick_calls(PyObject* module) {
  quick_call_class = add_type(module, quick_call_spec, nullptr);
  add_type(module, quick_caller_spec, nullptr);
}

}  // namespace tensorlike::bind
