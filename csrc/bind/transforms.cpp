// What the transforms written in Python ask of the core: forward mode, and what is declared of ops.

#include "bind/objects.h"
#include "tape/forward.h"
#include "tensor/body.h"

namespace tensorlike::bind {
namespace {

// push_forward(op, primals, tangents) -> (outputs, tangents), or None where the op is to be taken
// through its body. A tangent of None is zero.
PyObject* push(PyObject*, PyObject* args) {
  PyObject* op_object = nullptr;
  PyObject* primals = nullptr;
  PyObject* tangents = nullptr;
  if (PyArg_ParseTuple(args, "OO!O!:push_forward", &op_object, &PyTuple_Type, &primals,
                       &PyTuple_Type, &tangents) == 0) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const Ref<Op> op = to_op(op_object);
    const Py_ssize_t n = PyTuple_GET_SIZE(primals);
    if (PyTuple_GET_SIZE(tangents) != n) {
      fail(ErrorKind::kAutodiff, said::op("push_forward"), "one tangent per argument is needed",
           said::got(PyTuple_GET_SIZE(tangents), " for ", n));
    }
    Values held;
    SmallVector<Value*, 4> values;
    SmallVector<Value*, 4> moves;
    for (Py_ssize_t i = 0; i < n; ++i) {
      held.push_back(to_value(PyTuple_GET_ITEM(primals, i)));
      values.push_back(held.back().get());
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* tangent = PyTuple_GET_ITEM(tangents, i);
      held.push_back(tangent == Py_None ? Ref<Value>() : to_value(tangent));
      moves.push_back(held.back().get());
    }
    Forward out;
    if (!push_forward(*op, {values.data(), values.size()}, {moves.data(), moves.size()}, out)) {
      return Py_NewRef(Py_None);
    }
    Object outputs = own(to_tuple(out.outputs, nullptr));
    Object found = own(PyTuple_New(static_cast<Py_ssize_t>(out.tangents.size())));
    for (size_t i = 0; i < out.tangents.size(); ++i) {
      PyObject* item = out.tangents[i] ? from_value(out.tangents[i]) : Py_NewRef(Py_None);
      PyTuple_SET_ITEM(found.get(), static_cast<Py_ssize_t>(i), checked(item));
    }
    return PyTuple_Pack(2, outputs.get(), found.get());
  });
}

// declared(op) -> (batch, ((attribute, follows, front), ...), is_scalar, is_reduction, has_body);
// of those attributes that follow an axis of examples in front, see opdecl/compiler/attr_types.py
PyObject* declared(PyObject*, PyObject* op_object) {
  return guarded([&]() -> PyObject* {
    const Ref<Op> op = to_op(op_object);
    const OpSpec& spec = op->cls.spec;
    Object moving = own(PyList_New(0));
    for (const AttrSpec& attr : spec.attrs) {
      if (attr.type->follows.empty() && attr.type->front.empty()) continue;
      Object item = own(Py_BuildValue("(ssN)", attr.name.c_str(), attr.type->follows.data(),
                                      from_attr(attr.type->front)));
      check(PyList_Append(moving.get(), item.get()));
    }
    Object attrs = own(PyList_AsTuple(moving.get()));
    return Py_BuildValue(
        "(sOOOO)", spec.batch.c_str(), attrs.get(), op->scalar != nullptr ? Py_True : Py_False,
        op->reduction != nullptr ? Py_True : Py_False, op->has_body() ? Py_True : Py_False);
  });
}

// apply_body(op, *xs) -> the outputs of the op's body on tensor-likes of any kind, or None where it
// has none. The expression of a scalar function is its body.
PyObject* call_body(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n < 1)
      fail(ErrorKind::kDispatch, said::op("apply.body"), "an op is needed first",
           said::got("no arguments"));
    const Ref<Op> op = to_op(args[0]);
    Values held;
    SmallVector<Value*, 4> pointers;
    for (Py_ssize_t i = 1; i < n; ++i) held.push_back(as_argument(args[i]));
    for (const Ref<Value>& value : held) pointers.push_back(value.get());
    Values out;
    if (!apply_body(*op, {pointers.data(), pointers.size()}, out)) return Py_NewRef(Py_None);
    return to_tuple(out, nullptr);
  });
}

PyMethodDef transforms_functions[] = {
    {"apply_body", as_method(call_body), METH_FASTCALL, "An op's body on tensor-likes, or None."},
    {"push_forward", push, METH_VARARGS, "Applies an op, and its derivative to tangents."},
    {"declared", as_method(declared), METH_O, "What is declared of an op for batching."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool ForeignOp::has_body() const {
  Gil gil;
  return cls.define || static_cast<bool>(find_attribute(object_, "define"));
}

void add_transforms(PyObject* module) {
  check(PyModule_AddFunctions(module, transforms_functions));
}

}  // namespace tensorlike::bind
