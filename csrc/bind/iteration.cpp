// What iterates over a tensor-like: it knows how many parts there are, so that none is asked for in
// vain, and an IndexError on the way is nobody's end.
#include "bind/iteration.h"

#include "bind/objects.h"

namespace tensorlike::bind {
namespace {

struct PartsObject {
  PyObject_HEAD PyObject* x;  // null once it is through
  Py_ssize_t next, count;
};

PartsObject& parts_in(PyObject* self) { return *reinterpret_cast<PartsObject*>(self); }

PyTypeObject* parts_type = nullptr;

PyObject* next_part(PyObject* self) {
  PartsObject& parts = parts_in(self);
  if (parts.x == nullptr || parts.next == parts.count) {
    Py_CLEAR(parts.x);
    return nullptr;
  }
  const Object place = Object::steal(PyLong_FromSsize_t(parts.next++));
  if (!place) return nullptr;
  const Object held = Object::share(parts.x);
  return PyObject_GetItem(held.get(), place.get());
}

PyObject* length_hint(PyObject* self, PyObject*) {
  const PartsObject& parts = parts_in(self);
  return PyLong_FromSsize_t(parts.x == nullptr ? 0 : parts.count - parts.next);
}

int parts_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(parts_in(self).x);
  return 0;
}

int parts_clear(PyObject* self) {
  Py_CLEAR(parts_in(self).x);
  return 0;
}

void parts_dealloc(PyObject* self) {
  PyTypeObject* const cls = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  parts_clear(self);
  cls->tp_free(self);
  Py_DECREF(cls);
}

PyMethodDef parts_methods[] = {
    {"__length_hint__", length_hint, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot parts_slots[] = {
    {Py_tp_iter, as_slot(PyObject_SelfIter)},
    {Py_tp_iternext, as_slot(next_part)},
    {Py_tp_methods, parts_methods},
    {Py_tp_traverse, as_slot(parts_traverse)},
    {Py_tp_clear, as_slot(parts_clear)},
    {Py_tp_dealloc, as_slot(parts_dealloc)},
    {0, nullptr},
};
PyType_Spec parts_spec = {
    "tensorlike._C.Parts", sizeof(PartsObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, parts_slots};

}  // namespace

PyObject* parts_of(PyObject* x, Py_ssize_t count) {
  PyObject* const self = parts_type->tp_alloc(parts_type, 0);
  if (self == nullptr) return nullptr;
  parts_in(self).x = Py_NewRef(x);
  parts_in(self).count = count;
  return self;
}

void add_iteration(PyObject* module) { parts_type = add_type(module, parts_spec, nullptr); }

}  // namespace tensorlike::bind
