// Context managers over states of the core: see context.h for why they are written here.
#include <algorithm>

#include "bind/context.h"
#include "engine/engine.h"
#include "engine/profile.h"

namespace tensorlike::bind {
namespace {

// The blocks of this thread that say what is recorded, the innermost last. They end in any order: a
// generator may have been left open inside of one.
struct Pauses {
  std::vector<std::pair<uint64_t, int>> open;  // its number, and the level that it pauses
  int outside = 0;                             // the level outside of them all

  uint64_t begin(int level) {
    static uint64_t last = 0;  // under the GIL
    if (open.empty()) outside = paused_level();
    open.emplace_back(++last, level);
    set_paused_level(level);
    return last;
  }
  void end(uint64_t number) {
    const auto is_it = [&](const auto& block) { return block.first == number; };
    const auto found = std::find_if(open.begin(), open.end(), is_it);
    if (found == open.end()) return;  // it began in another thread
    open.erase(found);
    set_paused_level(open.empty() ? outside : open.back().second);
  }
};
thread_local Pauses pauses;

// Pause(records=False): ops in the block are not recorded; with True they are, by the open tapes.
struct PauseObject {
  PyObject_HEAD bool records;
  std::vector<uint64_t> entered;  // a block may be entered again inside itself
};
PauseObject& pause_in(PyObject* self) { return *reinterpret_cast<PauseObject*>(self); }

PyObject* pause_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"records", nullptr};
  int records = 0;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|p", const_cast<char**>(names), &records) == 0) {
    return nullptr;
  }
  return guarded([&] {
    PyObject* self = checked(cls->tp_alloc(cls, 0));
    pause_in(self).records = records != 0;
    new (&pause_in(self).entered) std::vector<uint64_t>;
    return self;
  });
}

void pause_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  pause_in(self).entered.~vector();
  cls->tp_free(self);
  Py_DECREF(cls);
}

PyObject* pause_enter(PyObject* self, PyObject*) {
  return guarded([&] {
    std::vector<uint64_t>& entered = pause_in(self).entered;
    entered.reserve(entered.size() + 1);
    entered.push_back(pauses.begin(pause_in(self).records ? -1 : innermost_level()));
    return Py_NewRef(self);
  });
}

PyObject* pause_exit(PyObject* self, PyObject*) {
  std::vector<uint64_t>& entered = pause_in(self).entered;
  if (!entered.empty()) {
    pauses.end(entered.back());
    entered.pop_back();
  }
  Py_RETURN_NONE;
}

PyMethodDef pause_methods[] = {
    {"__enter__", as_method(pause_enter), METH_NOARGS, nullptr},
    {"__exit__", as_method(pause_exit), METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot pause_slots[] = {
    {Py_tp_new, as_slot(pause_new)},
    {Py_tp_dealloc, as_slot(pause_dealloc)},
    {Py_tp_methods, pause_methods},
    {Py_tp_doc, const_cast<char*>("Pause(records=False): whether what is inside is recorded.")},
    {0, nullptr},
};
PyType_Spec pause_spec = {"tensorlike._C.Pause", sizeof(PauseObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, pause_slots};

// EngineBlock(mode, threshold, max_nodes, max_bytes, workers), the mode as its number: in force at
// once. A with statement ends it. Without one it goes when the object does, and leaves its options
// where it was made; not if an exception drops the object before its with statement, which was
// never entered.
struct BlockObject {
  PyObject_HEAD EngineOptions options;
  int64_t name;
  enum class State : unsigned char { kMade, kEntered, kLeft } state;
};
BlockObject& block_in(PyObject* self) { return *reinterpret_cast<BlockObject*>(self); }

PyObject* block_new(PyTypeObject* cls, PyObject* args, PyObject*) {
  int mode = 0;
  long long threshold = 0;
  long long max_nodes = 0;
  unsigned long long max_bytes = 0;
  long long workers = 0;
  if (PyArg_ParseTuple(args, "iLLKL", &mode, &threshold, &max_nodes, &max_bytes, &workers) == 0) {
    return nullptr;
  }
  return guarded([&] {
    Object self = own(cls->tp_alloc(cls, 0));
    BlockObject& block = block_in(self.get());
    block.state = BlockObject::State::kLeft;
    block.options = {static_cast<EngineMode>(mode), threshold, max_nodes, max_bytes, workers};
    block.name = enter_engine_block(block.options);
    block.state = BlockObject::State::kMade;
    return self.release();
  });
}

void block_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  if (block_in(self).state == BlockObject::State::kMade) {
    const bool is_dropped = PyErr_Occurred() != nullptr;
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    const int status = guarded_status([&] {
      is_dropped ? leave_engine_block(block_in(self).name) : keep_engine_block(block_in(self).name);
    });
    if (status < 0) PyErr_WriteUnraisable(self);
    PyErr_Restore(type, value, trace);
  }
  cls->tp_free(self);
  Py_DECREF(cls);
}

PyObject* block_enter(PyObject* self, PyObject*) {
  return guarded([&] {
    BlockObject& block = block_in(self);
    if (block.state == BlockObject::State::kEntered) {
      fail(ErrorKind::kAttribute, said::op("engine.mode"),
           "a block must have ended before it is entered again.");
    }
    // One that was made before others were entered comes last all the same.
    const int64_t made = block.state == BlockObject::State::kMade ? block.name : -1;
    block.name = enter_engine_block(block.options);
    block.state = BlockObject::State::kEntered;
    leave_engine_block(made);
    return Py_NewRef(self);
  });
}

PyObject* block_exit(PyObject* self, PyObject*) {
  return guarded([&] {
    BlockObject& block = block_in(self);
    if (block.state == BlockObject::State::kEntered) {
      block.state = BlockObject::State::kLeft;
      leave_engine_block(block.name);
    }
    return Py_NewRef(Py_None);
  });
}

PyMethodDef block_methods[] = {
    {"__enter__", as_method(block_enter), METH_NOARGS, nullptr},
    {"__exit__", as_method(block_exit), METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot block_slots[] = {
    {Py_tp_new, as_slot(block_new)},
    {Py_tp_dealloc, as_slot(block_dealloc)},
    {Py_tp_methods, block_methods},
    {Py_tp_doc, const_cast<char*>("EngineBlock(...): options of the engine.")},
    {0, nullptr},
};
PyType_Spec block_spec = {"tensorlike._C.EngineBlock", sizeof(BlockObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, block_slots};

// Profile(): what is launched inside. A block may be entered again inside itself.
struct ProfileObject {
  PyObject_HEAD std::vector<int64_t> running;
  std::vector<ProfileEvent> events;  // of the block that ended last, until they are taken
  bool has_ended;
};
ProfileObject& profile_in(PyObject* self) { return *reinterpret_cast<ProfileObject*>(self); }

PyObject* profile_new(PyTypeObject* cls, PyObject*, PyObject*) {
  return guarded([&] {
    PyObject* self = checked(cls->tp_alloc(cls, 0));
    new (&profile_in(self).running) std::vector<int64_t>;
    new (&profile_in(self).events) std::vector<ProfileEvent>;
    return self;
  });
}

void end_profile(ProfileObject& profile) {
  const int64_t name = profile.running.back();
  profile.running.pop_back();
  profile.events = stop_profile(name);
  profile.has_ended = true;
}

// One that is dropped while it goes on ends.
void profile_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  ProfileObject& profile = profile_in(self);
  while (!profile.running.empty()) {
    PyObject* pending[3];  // the exception that is on its way
    PyErr_Fetch(&pending[0], &pending[1], &pending[2]);
    if (guarded_status([&] { end_profile(profile); }) < 0) PyErr_WriteUnraisable(Py_None);
    PyErr_Restore(pending[0], pending[1], pending[2]);
  }
  profile.running.~vector();
  profile.events.~vector();
  cls->tp_free(self);
  Py_DECREF(cls);
}

PyObject* profile_enter(PyObject* self, PyObject*) {
  return guarded([&] {
    std::vector<int64_t>& running = profile_in(self).running;
    running.reserve(running.size() + 1);  // from here on it is sure to be ended
    running.push_back(start_profile());
    return Py_NewRef(self);
  });
}

PyObject* profile_exit(PyObject* self, PyObject*) {
  return guarded([&] {
    if (!profile_in(self).running.empty()) end_profile(profile_in(self));
    return Py_NewRef(Py_None);
  });
}

// take() -> [(name, ops, place, shape, start, duration, bytes)], or None where no block has ended
// since.
PyObject* profile_take(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (!std::exchange(profile_in(self).has_ended, false)) return Py_NewRef(Py_None);
    const std::vector<ProfileEvent> events = std::move(profile_in(self).events);
    Object rows = own(PyList_New(0));
    for (const ProfileEvent& event : events) {
      Object ops = own(PyTuple_New(static_cast<Py_ssize_t>(event.ops.size())));
      for (size_t i = 0; i < event.ops.size(); ++i) {
        PyTuple_SET_ITEM(ops.get(), static_cast<Py_ssize_t>(i),
                         checked(PyUnicode_FromString(event.ops[i].c_str())));
      }
      Object row = own(Py_BuildValue(
          "(sOssLLL)", event.name.c_str(), ops.get(), event.place.c_str(), event.shape.c_str(),
          static_cast<long long>(event.start), static_cast<long long>(event.duration),
          static_cast<long long>(event.bytes)));
      check(PyList_Append(rows.get(), row.get()));
    }
    return rows.release();
  });
}

PyMethodDef profile_methods[] = {
    {"__enter__", as_method(profile_enter), METH_NOARGS, nullptr},
    {"__exit__", as_method(profile_exit), METH_VARARGS, nullptr},
    {"_take", as_method(profile_take), METH_NOARGS, "What was launched, in the order of ending."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot profile_slots[] = {
    {Py_tp_new, as_slot(profile_new)},
    {Py_tp_dealloc, as_slot(profile_dealloc)},
    {Py_tp_methods, profile_methods},
    {Py_tp_doc, const_cast<char*>("Profile(): the launches of a block.")},
    {0, nullptr},
};
PyType_Spec profile_spec = {"tensorlike._C.Profile", sizeof(ProfileObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, profile_slots};

// Setting(variable, value): a context variable has the value in a block, which may be entered again
// inside itself.
class Setting {
 public:
  explicit Setting(PyObject* args) {
    PyObject* variable = nullptr;
    PyObject* value = nullptr;
    if (PyArg_ParseTuple(args, "O!O", &PyContextVar_Type, &variable, &value) == 0) {
      throw PythonError();
    }
    variable_ = Object::share(variable);
    value_ = Object::share(value);
  }
  Setting(Setting&&) = default;
  ~Setting() {
    while (!tokens_.empty()) run_unraisable([&] { exit(); });
  }
  void enter() {
    tokens_.reserve(tokens_.size() + 1);
    tokens_.push_back(own(PyContextVar_Set(variable_.get(), value_.get())));
  }
  void exit() {
    if (tokens_.empty()) return;
    const Object token = std::move(tokens_.back());
    tokens_.pop_back();
    if (PyContextVar_Reset(variable_.get(), token.get()) == 0) return;
    // A generator that was left open in another context: there the variable has a value of its own.
    if (PyErr_ExceptionMatches(PyExc_ValueError) == 0) throw PythonError();
    PyErr_Clear();
  }

 private:
  Object variable_;
  Object value_;
  std::vector<Object> tokens_;
};

}  // namespace

void add_contexts(PyObject* module) {
  add_type(module, pause_spec, nullptr);
  add_type(module, profile_spec, nullptr);
  add_type(module, block_spec, nullptr);
  Context<Setting>::add(module, "tensorlike._C.Setting",
                        "Setting(variable, value): a context variable has a value in a block.");
}

}  // namespace tensorlike::bind
