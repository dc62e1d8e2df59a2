// Stream: draws under one key, numbered in the order in which they are taken, by any thread; all
// under the GIL. Whose numbers they are is told in imperative/random.py.
#include "bind/streams.h"

#include "program/recording.h"
#include "tape/tape.h"

namespace tensorlike::bind {
namespace {

constexpr uint64_t kWord = 0xFFFFFFFFU;
constexpr uint32_t kMore = 2, kSeed = 3;  // what a new key is for

struct StreamObject {
  PyObject_HEAD StreamPlace place;
  unsigned long thread;  // that has drawn alone
  uint64_t since;        // since this many were taken
  PyObject* of;          // the stream that it stands for in a block that draws again; else null
};
StreamObject& stream_in(PyObject* self) { return *reinterpret_cast<StreamObject*>(self); }

PyTypeObject* stream_type = nullptr;
PyObject* replayed = nullptr;        // a ContextVar: what stands for a stream in this thread
PyObject* process_stream = nullptr;  // that programs draw from, and tell of

bool is_stream(PyObject* object) { return PyObject_TypeCheck(object, stream_type) != 0; }

// Where the stream draws in this thread.
StreamObject& now(PyObject* self) {
  PyObject* found = nullptr;
  if (PyContextVar_Get(replayed, nullptr, &found) < 0) throw PythonError();
  const Object held = Object::steal(found);  // which the context has as well
  const bool is_it = found != nullptr && is_stream(found) && stream_in(found).of == self;
  return stream_in(is_it ? found : self);
}

// The key and the number of the next draw.
StreamPlace next(PyObject* self) {
  StreamObject& stream = now(self);
  const unsigned long thread = PyThread_get_thread_ident();
  if (thread != stream.thread) {
    stream.thread = thread;
    stream.since = stream.place.taken;
  }
  StreamPlace drawn = stream.place;
  ++stream.place.taken;
  return drawn;
}

Draw take(PyObject* self) {
  const StreamPlace drawn = next(self);
  const uint64_t key =
      drawn.taken > kWord ? derived_key(drawn.key, drawn.taken >> 32, kMore) : drawn.key;
  const Draw draw{static_cast<int64_t>(key), static_cast<int64_t>(drawn.taken & kWord)};
  if (self == process_stream) note_draw(draw, false);
  return draw;
}

int64_t take_key(PyObject* self, uint32_t purpose) {
  const StreamPlace drawn = next(self);
  const auto key = static_cast<int64_t>(derived_key(drawn.key, drawn.taken, purpose));
  if (self == process_stream) note_draw({key, 0}, true);
  return key;
}

void give_back_to(StreamObject& stream, StreamPlace before) {
  const bool is_alone =
      stream.thread == PyThread_get_thread_ident() && stream.since <= before.taken;
  const bool has_drawn = before.key == stream.place.key && before.taken < stream.place.taken;
  if (is_alone && has_drawn) stream.place.taken = before.taken;
}

void restart(StreamObject& stream, StreamPlace place) {
  stream.place = place;
  stream.thread = 0;
  stream.since = place.taken;
}

StreamPlace place_of(PyObject* key, PyObject* taken) {
  const StreamPlace place{PyLong_AsUnsignedLongLong(key), PyLong_AsUnsignedLongLong(taken)};
  if (PyErr_Occurred() != nullptr) throw PythonError();
  return place;
}

PyObject* stream_restart(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n != 2) return PyErr_Format(PyExc_TypeError, "_restart: takes a key and a number");
  return guarded([&] {
    restart(now(self), place_of(args[0], args[1]));
    return Py_NewRef(Py_None);
  });
}

PyObject* stream_at(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n != 2) return PyErr_Format(PyExc_TypeError, "_at: takes a key and a number");
  return guarded([&] {
    Object made = own(stream_type->tp_alloc(stream_type, 0));
    restart(stream_in(made.get()), place_of(args[0], args[1]));
    stream_in(made.get()).of = Py_NewRef(self);
    return made.release();
  });
}

PyObject* stream_state(PyObject* self, PyObject*) {
  return guarded([&] {
    const StreamPlace place = now(self).place;
    return Py_BuildValue("KK", static_cast<unsigned long long>(place.key),
                         static_cast<unsigned long long>(place.taken));
  });
}

PyObject* stream_give_back(PyObject* self, PyObject* state) {
  if (PyTuple_Check(state) == 0 || PyTuple_GET_SIZE(state) != 2) {
    return PyErr_Format(PyExc_TypeError, "give_back: takes what `state` gave");
  }
  return guarded([&] {
    const StreamPlace before = place_of(PyTuple_GET_ITEM(state, 0), PyTuple_GET_ITEM(state, 1));
    give_back_to(now(self), before);
    return Py_NewRef(Py_None);
  });
}

PyObject* stream_take(PyObject* self, PyObject*) {
  return guarded([&] {
    const Draw draw = take(self);
    return Py_BuildValue("LL", static_cast<long long>(draw.first),
                         static_cast<long long>(draw.second));
  });
}

PyObject* stream_take_key(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n > 1) return PyErr_Format(PyExc_TypeError, "take_key: takes a purpose");
  return guarded([&] {
    const unsigned long purpose = n == 1 ? PyLong_AsUnsignedLong(args[0]) : +kSeed;
    if (PyErr_Occurred() != nullptr) throw PythonError();
    return PyLong_FromLongLong(take_key(self, static_cast<uint32_t>(purpose)));
  });
}

void stream_dealloc(PyObject* self) {
  PyTypeObject* const cls = Py_TYPE(self);
  Py_XDECREF(stream_in(self).of);
  cls->tp_free(self);
  Py_DECREF(cls);
}

PyMethodDef stream_methods[] = {
    {"_restart", as_method(stream_restart), METH_FASTCALL, "Begins under a key, at a draw."},
    {"_at", as_method(stream_at), METH_FASTCALL, "What may stand for it, at another place."},
    {"state", stream_state, METH_NOARGS, "The key, and how many draws were taken."},
    {"give_back", stream_give_back, METH_O,
     "Takes back the draws since a state, unless another thread has drawn meanwhile."},
    {"take", stream_take, METH_NOARGS, "The key, an int64, and the counter of the next draw."},
    {"take_key", as_method(stream_take_key), METH_FASTCALL,
     "A key for one draw, an int64; it counts as a draw."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot stream_slots[] = {
    {Py_tp_dealloc, as_slot(stream_dealloc)},
    {Py_tp_methods, stream_methods},
    {Py_tp_doc, const_cast<char*>("Draws under one key.")},
    {0, nullptr},
};
PyType_Spec stream_spec = {"tensorlike._C.Stream", sizeof(StreamObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, stream_slots};

// derived_key(key, data, purpose) -> a key, of 64 bits like all of these but the purpose
PyObject* derived_key_of(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3) return PyErr_Format(PyExc_TypeError, "derived_key: three numbers");
  const unsigned long long key = PyLong_AsUnsignedLongLongMask(args[0]);
  const unsigned long long data = PyLong_AsUnsignedLongLongMask(args[1]);
  const unsigned long purpose = PyLong_AsUnsignedLongMask(args[2]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return PyLong_FromUnsignedLongLong(derived_key(key, data, static_cast<uint32_t>(purpose)));
}

Draw draw_of_process(bool is_key_alone) {
  const Gil gil;
  if (is_key_alone) return {take_key(process_stream, kSeed), 0};
  return take(process_stream);
}

// set_stream(stream): where the process draws, and its programs.
PyObject* set_stream(PyObject*, PyObject* stream) {
  if (!is_stream(stream)) return PyErr_Format(PyExc_TypeError, "set_stream: takes a Stream");
  Py_XSETREF(process_stream, Py_NewRef(stream));
  next_draw = draw_of_process;
  Py_RETURN_NONE;
}

PyMethodDef streams_functions[] = {
    {"derived_key", as_method(derived_key_of), METH_FASTCALL, "derived_key(key, data, purpose)"},
    {"set_stream", set_stream, METH_O, "set_stream(stream): where the process draws."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

DrawsOf::DrawsOf(PyObject* source) {
  static PyObject* const name = PyUnicode_InternFromString("_stream");
  Object found = source == nullptr ? Object() : find_attribute(source, name);
  if (!found || !is_stream(found.get())) return;
  before_ = now(found.get()).place;
  stream_ = std::move(found);
}

// Inside a transform each example may draw by itself.
bool DrawsOf::is_plain() const { return stream_ && innermost_level() == 0; }

PyObject* DrawsOf::drawn(const Op& op) const {
  return wrap(apply(*with_draw(op, take(stream_.get())), {})[0], types.tensor);
}

void DrawsOf::give_back() const noexcept {
  if (stream_) give_back_to(now(stream_.get()), before_);
}

void add_streams(PyObject* module) {
  stream_type = add_type(module, stream_spec, nullptr);
  replayed = checked(PyContextVar_New("tensorlike_replayed", nullptr));
  check(PyModule_AddObjectRef(module, "replayed", replayed));
  check(PyModule_AddFunctions(module, streams_functions));
}

}  // namespace tensorlike::bind
