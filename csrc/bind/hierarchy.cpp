// Python's classes as nodes of the hierarchies that dispatch looks at.
#include <unordered_map>
#include <unordered_set>

#include "bind/objects.h"

namespace tensorlike::bind {
namespace {

// Maps between nodes and classes. A class that Python makes is not kept alive by its entry, which
// goes when the class does.
std::unordered_map<PyTypeObject*, const Type*> nodes;
std::unordered_map<const Type*, PyTypeObject*> classes_of;
std::unordered_map<PyTypeObject*, PyObject*> references;  // weak
std::unordered_map<PyTypeObject*, std::vector<PyTypeObject*>> virtual_bases;

bool is_subclass(PyTypeObject* cls, PyTypeObject* base) {
  const int answer =
      PyObject_IsSubclass(reinterpret_cast<PyObject*>(cls), reinterpret_cast<PyObject*>(base));
  check(answer);
  if (answer == 1) return true;
  for (const auto& [registered, bases] : virtual_bases) {
    if (PyType_IsSubtype(cls, registered) == 0) continue;
    for (PyTypeObject* virtual_base : bases) {
      if (is_subclass(virtual_base, base)) return true;
    }
  }
  return false;
}

// Null where no class is loaded.
PyTypeObject* known_class(const Type& type);

// The part of a node that knows the Python class. What is left of the class's values while it is
// being collected may still refer to the node, which therefore stays when the class is gone.
struct OfPython {
  explicit OfPython(PyTypeObject* of) : cls(of) {}
  mutable PyTypeObject* cls;

  bool is_a(const Type& self, const Type& other) const {
    if (&self == &other) return true;
    PyTypeObject* base = known_class(other);  // what is not loaded has no subclasses
    return cls != nullptr && base != nullptr && is_subclass(cls, base);
  }
};

class KindType final : public Type, public OfPython {
 public:
  explicit KindType(PyTypeObject* cls) : Type(cls->tp_name), OfPython(cls) {}
  bool is_a(const Type& other) const override { return OfPython::is_a(*this, other); }
};

// A class of ops written in Python. One that derives from a built-in class keeps its meaning.
class PythonOpClass final : public OpClass, public OfPython {
 public:
  PythonOpClass(PyTypeObject* cls, const OpClass* base)
      : OpClass(spec_for(cls, base), &op_base_type()), OfPython(cls) {
    plain = false;
    if (base == nullptr) return;
    is_declared = true;
    family = base->family;
    infer = base->infer;
    share_kernels(*base);
    device_attr = base->device_attr;
    own = base->own;
    grad = base->grad;
    gradients = base->gradients;
    define = base->define;
  }
  bool is_a(const Type& other) const override { return OfPython::is_a(*this, other); }

 private:
  static OpSpec spec_for(PyTypeObject* cls, const OpClass* base) {
    OpSpec spec;
    if (base != nullptr) spec = base->spec;
    if (base == nullptr) spec.args = {{"x", Category::kAll, true}};
    spec.name = cls->tp_name;
    return spec;
  }
};

// The callback of a class's weak reference; `self` is the class's address.
PyObject* forget(PyObject* self, PyObject*) {
  return guarded([&] {
    auto* cls = static_cast<PyTypeObject*>(PyLong_AsVoidPtr(self));
    const auto found = nodes.extract(cls);
    if (found) {
      classes_of.erase(found.mapped());
      if (const auto* node = dynamic_cast<const OfPython*>(found.mapped())) node->cls = nullptr;
    }
    if (const auto reference = references.extract(cls)) Py_DECREF(reference.mapped());
    dispatcher().invalidate();  // another class may come to lie there
    return Py_NewRef(Py_None);
  });
}
PyMethodDef forget_method = {"forget", as_method(forget), METH_O, nullptr};

void remember(PyTypeObject* cls, const Type& node) {
  nodes[cls] = &node;
  classes_of.emplace(&node, cls);
}

void remember_for_ever(PyTypeObject* cls, const Type& node) {
  Py_INCREF(cls);
  remember(cls, node);
}

void remember_weakly(PyTypeObject* cls, const Type& node) {
  Object address = own(PyLong_FromVoidPtr(cls));
  Object callback = own(PyCFunction_New(&forget_method, address.get()));
  Object reference = own(PyWeakref_NewRef(reinterpret_cast<PyObject*>(cls), callback.get()));
  remember(cls, node);
  references[cls] = reference.release();
}

PyTypeObject* known_class(const Type& type) {
  if (&type == &op_base_type()) return types.op_base;
  const auto found = classes_of.find(&type);
  if (found != classes_of.end()) return found->second;
  for (PyTypeObject* cls :
       {types.tensor_base, types.raw_tensor, types.shape_tensor, types.tracer}) {
    if (&kind_type(cls) == &type) return cls;
  }
  return nullptr;
}

}  // namespace

const Type& kind_type(PyTypeObject* cls) {
  if (const auto found = nodes.find(cls); found != nodes.end()) return *found->second;
  if (cls == types.tensor_base) {
    remember_for_ever(cls, tensor_base_type());
  } else if (cls == types.raw_tensor) {
    remember_for_ever(cls, raw_tensor_type());
  } else if (cls == types.shape_tensor) {
    remember_for_ever(cls, shape_tensor_type());
  } else if (cls == types.tracer) {
    remember_for_ever(cls, tracer_type());
  } else {
    remember_weakly(cls, *new KindType(cls));
  }
  return *nodes.at(cls);
}

const OpClass& op_class(PyTypeObject* cls) {
  if (const auto found = nodes.find(cls); found != nodes.end()) {
    if (const auto* known = dynamic_cast<const OpClass*>(found->second)) return *known;
    fail(ErrorKind::kDispatch, said::op(cls->tp_name),
         "a class of tensor-likes cannot be a class of ops.");
  }
  const OpClass* base = nullptr;
  if (PyType_IsSubtype(cls, types.op_base) != 0) {
    for (PyTypeObject* up = cls->tp_base; up != nullptr && base == nullptr; up = up->tp_base) {
      const auto found = nodes.find(up);
      if (found == nodes.end() || found->second == &op_base_type()) continue;
      const auto* candidate = static_cast<const OpClass*>(found->second);
      if (candidate->is_declared) base = candidate;
    }
  }
  const auto* made = new PythonOpClass(cls, base);
  remember_weakly(cls, *made);
  return *made;
}

// The classes that stand for built-in ops are loaded when they are first asked for, by whomever.
PyTypeObject* python_class(const Type& type) {
  static auto& asked = *new std::unordered_set<const Type*>;
  if (PyTypeObject* cls = known_class(type)) return cls;
  const auto* op = dynamic_cast<const OpClass*>(&type);
  if (op == nullptr || !op->is_declared || !asked.insert(op).second) return nullptr;
  const Object package = own(PyImport_ImportModule("tensorlike.ops.generated"));
  const Object made = Object::steal(PyObject_GetAttrString(package.get(), op->spec.name.c_str()));
  if (made.get() == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw PythonError();
    PyErr_Clear();  // declared elsewhere
  }
  return known_class(type);
}

void bind_op_class(PyTypeObject* cls, const OpClass& op_class) { remember_for_ever(cls, op_class); }

void add_virtual_base(PyTypeObject* cls, PyTypeObject* base) {
  if (is_subclass(base, cls)) {
    fail(ErrorKind::kDispatch, said::op(base->tp_name, ".register"),
         "a class must not come to derive from itself",
         said::got(cls->tp_name, ", which it derives from"));
  }
  Py_INCREF(cls);
  Py_INCREF(base);
  virtual_bases[cls].push_back(base);
  dispatcher().invalidate();
}

bool is_virtual_op(PyTypeObject* cls) {
  return !virtual_bases.empty() && is_subclass(cls, types.op_base);
}

}  // namespace tensorlike::bind
