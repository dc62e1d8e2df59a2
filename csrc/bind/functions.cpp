// Functional calls: one callable type that reads its signature from the declaration. Tensor-likes
// come first, by position or name; attributes follow.
#include "bind/functions.h"

#include <string>

#include "bind/complex_forms.h"
#include "bind/errors.h"
#include "bind/expressions.h"
#include "bind/made_ops.h"
#include "bind/objects.h"
#include "bind/programs.h"
#include "engine/engine.h"
// After Python.h.
#include <structmember.h>

namespace tensorlike::bind {
namespace {

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* name;
  // What follows from the declaration, which is read when somebody first wants it: null till then.
  const Function* function;
  PyObject* names;      // interned: the tensors' names, then the attributes'
  PyObject* fallbacks;  // for each tensor, the number that it is where it is not given, or None
  MadeOps* made;
  PyObject* dict;
  PyObject* extension;  // what takes calls with further arguments, or null
  bool spreads;  // the integers of its one sequence may be given one by one: reshape(x, 2, 3)
};

FunctionObject* as_function(PyObject* self) { return reinterpret_cast<FunctionObject*>(self); }

// Where a keyword belongs, by identity first: call sites intern their names.
Py_ssize_t find_name(PyObject* names, PyObject* wanted) {
  const Py_ssize_t n = PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (PyTuple_GET_ITEM(names, i) == wanted) return i;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), wanted) == 0) return i;
  }
  return -1;
}

struct Call {
  SmallVector<PyObject*, 8> tensors;
  SmallVector<PyObject*, 8> attrs;  // null: not given
  Object sequence;                  // the tensors of a list, which may change while they are read
};

bool has_fallback(const ArgSpec& arg) { return !std::holds_alternative<Nothing>(arg.fallback); }

std::string signature(const FunctionSpec& spec) {
  std::string out = spec.name + "(";
  for (const ArgSpec& arg : spec.args) {
    out += (out.back() == '(' ? "" : ", ") + std::string(arg.variadic && !arg.optional ? "*" : "");
    out += arg.name + (arg.optional ? "=None" : "");
    if (has_fallback(arg)) out += "=" + to_string(arg.fallback);
  }
  for (const AttrSpec& attr : spec.attrs) {
    out += (out.back() == '(' ? "" : ", ") + attr.name;
    if (!attr.required) out += "=" + to_string(attr.fallback);
  }
  return out + ")";
}

[[noreturn]] void fail_call(const FunctionSpec& spec, const std::string& what) {
  fail(ErrorKind::kAttribute, said::op(spec.name), what, "; the call is ", signature(spec), ".");
}

void parse(const FunctionObject& self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames,
           Call& call) {
  const FunctionSpec& spec = self.function->spec;
  const size_t fixed = spec.args.size();
  const bool is_optional = fixed > 0 && spec.args.back().optional;
  const bool is_variadic = fixed > 0 && spec.args.back().variadic && !is_optional;
  size_t position = 0;
  const size_t given = static_cast<size_t>(n);
  call.attrs.resize(spec.attrs.size(), nullptr);
  if (is_variadic && fixed == 1 && given > 0 &&
      (PyList_Check(args[0]) != 0 || PyTuple_Check(args[0]) != 0)) {
    // concat([a, b], axis): a list of tensors
    call.sequence = own(PySequence_Tuple(args[0]));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call.sequence.get()); ++i) {
      call.tensors.push_back(PyTuple_GET_ITEM(call.sequence.get(), i));
    }
    position = 1;
  } else if (is_variadic) {
    for (; position < given; ++position) call.tensors.push_back(args[position]);
  } else {
    call.tensors.resize(fixed, nullptr);
    for (; position < given && position < fixed; ++position) {
      call.tensors[position] = args[position];
    }
  }
  const size_t first_attr = position;
  for (; position < given; ++position) {
    const size_t index = position - first_attr;
    if (index >= call.attrs.size()) {
      fail_call(spec, text("too many arguments: got ", given));
    }
    call.attrs[index] = args[position];
  }
  const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    const Py_ssize_t found = find_name(self.names, name);
    if (found < 0) fail_call(spec, text("unknown argument '", shown(name), "'"));
    const size_t index = static_cast<size_t>(found);
    const bool is_tensor = index < fixed;
    if (is_tensor && is_variadic) {
      fail_call(spec, text("'", shown(name), "' is given by position"));
    }
    PyObject*& slot = is_tensor ? call.tensors[index] : call.attrs[index - fixed];
    if (slot != nullptr) {
      fail_call(spec, text("'", shown(name), "' was given twice"));
    }
    slot = args[n + k];
  }
  if (is_optional && (call.tensors.back() == nullptr || call.tensors.back() == Py_None)) {
    call.tensors.resize(fixed - 1, nullptr);
  }
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    if (call.tensors[i] == nullptr && has_fallback(spec.args[i])) {
      call.tensors[i] = PyTuple_GET_ITEM(self.fallbacks, static_cast<Py_ssize_t>(i));
    }
    if (call.tensors[i] == nullptr) {
      fail_call(spec, text("the argument '", spec.args[i].name, "' is missing"));
    }
    PyObject* tensor = call.tensors[i];
    if (tensor == Py_None || PyUnicode_Check(tensor) != 0 || PyBytes_Check(tensor) != 0) {
      const size_t which = std::min(i, fixed - 1);
      fail_call(spec, text(spec.args[which].name, " must be a tensor or data; got ",
                           Py_TYPE(tensor)->tp_name));
    }
  }
}

Ref<Op> make_new_op(const Function& function, const Call& call);

Ref<Op> op_for(const FunctionObject& self, const Call& call) {
  const Function& function = *self.function;
  const MadeOps::Given given(call.attrs.data(), call.attrs.size());
  if (Ref<Op> known = self.made->find(given).op) return known;
  Ref<Op> op = make_new_op(function, call);
  self.made->keep(given, {op});
  return op;
}

Ref<Op> make_new_op(const Function& function, const Call& call) {
  std::vector<Attr> attrs;
  attrs.reserve(function.spec.attrs.size());
  for (size_t i = 0; i < function.spec.attrs.size(); ++i) {
    const AttrSpec& spec = function.spec.attrs[i];
    if (call.attrs[i] != nullptr) {
      attrs.push_back(to_attr(call.attrs[i], function.spec.name, spec));
    } else if (spec.required) {
      fail_call(function.spec, text("the argument '", spec.name, "' is missing"));
    } else {
      attrs.push_back(spec.fallback);
    }
  }
  return function.make_op(std::move(attrs));
}

// Whether a call has arguments that the declaration does not know.
bool has_further_arguments(const FunctionObject& self, Py_ssize_t n, PyObject* kwnames) {
  const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  if (n + keywords > PyTuple_GET_SIZE(self.names)) return true;
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    if (find_name(self.names, PyTuple_GET_ITEM(kwnames, k)) < 0) return true;
  }
  return false;
}

PyObject* call_function(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames);

// The call with integers that are given one by one, after the tensor, in a tuple.
PyObject* call_together(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  return guarded([&]() -> PyObject* {
    const Object together = own(PyTuple_New(n - 1));
    for (Py_ssize_t i = 1; i < n; ++i) {
      PyTuple_SET_ITEM(together.get(), i - 1, Py_NewRef(args[i]));
    }
    SmallVector<PyObject*, 8> all;
    all.push_back(args[0]);
    all.push_back(together.get());
    for (Py_ssize_t i = 0; i < keywords; ++i) all.push_back(args[n + i]);
    return call_function(object, all.data(), 2, kwnames);
  });
}

PyObject* call_function(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const FunctionObject& self = *as_function(object);
  if (self.spreads && PyVectorcall_NARGS(nargsf) > 1 && PyIndex_Check(args[1])) {
    return call_together(object, args, nargsf, kwnames);
  }
  if (self.extension != nullptr &&
      has_further_arguments(self, PyVectorcall_NARGS(nargsf), kwnames)) {
    return PyObject_Vectorcall(self.extension, args, nargsf, kwnames);
  }
  PyObject* result = guarded_call(self.function->spec.name, [&]() -> PyObject* {
    Call call;
    parse(self, args, PyVectorcall_NARGS(nargsf), kwnames, call);
    const Ref<Op>& shared = self.function->shared_op;
    const Ref<Op> op = shared ? shared : op_for(self, call);
    const size_t n = call.tensors.size();
    const OpApplied applied;
    if (n == 0) {
      const Values out = apply(*op, {});
      return wrap(out[0], types.tensor);
    }
    return n == 1 ? apply_to_one(*op, call.tensors[0]) : apply_single(*op, call.tensors.data(), n);
  });
  if (result != nullptr) return result;
  return call_complex_form(self.function->spec.name, args, nargsf, kwnames);
}

PyObject* argument_names(const FunctionSpec& spec) {
  Object names = own(PyTuple_New(static_cast<Py_ssize_t>(spec.args.size() + spec.attrs.size())));
  Py_ssize_t at = 0;
  for (const ArgSpec& arg : spec.args) {
    PyTuple_SET_ITEM(names.get(), at++, checked(PyUnicode_InternFromString(arg.name.c_str())));
  }
  for (const AttrSpec& attr : spec.attrs) {
    PyTuple_SET_ITEM(names.get(), at++, checked(PyUnicode_InternFromString(attr.name.c_str())));
  }
  return names.release();
}

PyObject* fallbacks_of(const FunctionSpec& spec) {
  return to_tuple_of(spec.args, [](const ArgSpec& arg) { return from_attr(arg.fallback); });
}

// The declaration of a call, which is read now if nobody has wanted it.
const Function& declared(FunctionObject& self) {
  if (self.function != nullptr) return *self.function;
  const char* const name = PyUnicode_AsUTF8(self.name);
  const Function* const function = registry().find_function(name);
  if (function == nullptr) {
    fail(ErrorKind::kDeclaration, "there is no declared function '", name, "'",
         registry().did_you_mean(name, true, true), "; declare it first, by tensorlike.declare.");
  }
  Object names = Object::steal(argument_names(function->spec));
  Object fallbacks = Object::steal(fallbacks_of(function->spec));
  self.made = new MadeOps;
  self.names = names.release();
  self.fallbacks = fallbacks.release();
  self.function = function;
  self.vectorcall = call_function;
  return *function;
}

PyObject* call_first(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return guarded([&] {
    declared(*as_function(object));
    return checked(call_function(object, args, nargsf, kwnames));
  });
}

// Function(name, extension=None, spreads=False): the functional call that this declaration made;
// calls with further arguments go to the extension; the integers of its first attribute may be
// given one by one.
PyObject* function_new(PyTypeObject* cls, PyObject* args, PyObject*) {
  PyObject* name = nullptr;
  PyObject* extension = nullptr;
  int spreads = 0;
  if (PyArg_ParseTuple(args, "U|Op:Function", &name, &extension, &spreads) == 0) return nullptr;
  if (extension == Py_None) extension = nullptr;
  return guarded([&]() -> PyObject* {
    const char* const known = PyUnicode_AsUTF8(name);
    if (known == nullptr) throw PythonError();
    Object self = own(cls->tp_alloc(cls, 0));
    as_function(self.get())->vectorcall = call_first;
    as_function(self.get())->name = Py_NewRef(name);
    as_function(self.get())->extension = Py_XNewRef(extension);
    as_function(self.get())->spreads = spreads != 0;
    if (!registry().has_function(known)) declared(*as_function(self.get()));  // tells what is wrong
    return self.release();
  });
}

void function_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_CLEAR(as_function(self)->name);
  Py_CLEAR(as_function(self)->names);
  Py_CLEAR(as_function(self)->fallbacks);
  Py_CLEAR(as_function(self)->dict);
  Py_CLEAR(as_function(self)->extension);
  delete as_function(self)->made;
  cls->tp_free(self);
  Py_DECREF(cls);
}

int function_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_function(self)->dict);
  Py_VISIT(as_function(self)->extension);
  return 0;
}

int function_clear(PyObject* self) {
  Py_CLEAR(as_function(self)->dict);
  Py_CLEAR(as_function(self)->extension);
  return 0;
}

PyObject* function_repr(PyObject* self) {
  return guarded([&] {
    const std::string shown = signature(declared(*as_function(self)).spec);
    return PyUnicode_FromFormat("<function %s>", shown.c_str());
  });
}

// A function in a class is a method.
PyObject* function_get(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

PyObject* function_text(PyObject* self, void*) {
  return guarded(
      [&] { return PyUnicode_FromString(signature(declared(*as_function(self)).spec).c_str()); });
}
PyObject* function_op(PyObject* self, void*) {
  return guarded(
      [&] { return PyUnicode_FromString(declared(*as_function(self)).spec.op.c_str()); });
}

// Functions are found again by their names, as those of a module are.
PyObject* function_reduce(PyObject* self, PyObject*) {
  PyObject* dict = as_function(self)->dict;
  if (dict != nullptr && PyDict_GetItemString(dict, "__module__") != nullptr) {
    return Py_NewRef(as_function(self)->name);
  }
  return Py_BuildValue("(O(O))", types.function, as_function(self)->name);
}
PyObject* function_copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyMethodDef function_methods[] = {
    {"__reduce__", as_method(function_reduce), METH_NOARGS, nullptr},
    {"__copy__", as_method(function_copy), METH_NOARGS, nullptr},
    {"__deepcopy__", as_method(function_copy), METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef function_getset[] = {
    {"text_signature", function_text, nullptr, "How it is called.", nullptr},
    {"op_name", function_op, nullptr, "The class of the op that it applies.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(FunctionObject, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot function_slots[] = {
    {Py_tp_new, as_slot(function_new)},
    {Py_tp_dealloc, as_slot(function_dealloc)},
    {Py_tp_traverse, as_slot(function_traverse)},
    {Py_tp_clear, as_slot(function_clear)},
    {Py_tp_call, as_slot(PyVectorcall_Call)},
    {Py_tp_repr, as_slot(function_repr)},
    {Py_tp_descr_get, as_slot(function_get)},
    {Py_tp_getset, function_getset},
    {Py_tp_methods, function_methods},
    {Py_tp_members, function_members},
    {0, nullptr},
};
PyType_Spec function_spec = {"tensorlike._C.Function", sizeof(FunctionObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_METHOD_DESCRIPTOR,
                             function_slots};

PyMethodDef functions_in_module[] = {
    {"replace", as_method(replace), METH_FASTCALL, "Binds Tensors to the results of an op."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool takes_elements_as_they_come(PyObject* function) {
  const OpClass& cls = *declared(*as_function(function)).op_class;
  return cls.family != OpClass::Family::kOther || cls.reduce != nullptr || !cls.has_kernel();
}

void add_functions(PyObject* module) {
  types.function = add_type(module, function_spec, nullptr);
  check(PyModule_AddFunctions(module, functions_in_module));
}

}  // namespace tensorlike::bind
