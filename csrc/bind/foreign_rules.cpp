// Kernels and inference of ops that were declared at run time with functions of Python.
#include "bind/declare.h"
#include "bind/objects.h"
#include "op/infer.h"
#include "op/registry.h"
#include "tensor/body.h"
#include "tensor/shape_values.h"

namespace tensorlike::bind {
namespace {

struct Rules {
  Object kernel;  // (inputs, attributes) -> results, tuples of RawTensors
  Object infer;   // (inputs, attributes) -> results, tuples of ShapeTensors; or None
};

const Rules& rules_of(const Op& op) { return *static_cast<const Rules*>(op.cls.own.get()); }

Values call(const Op& op, PyObject* rule, Args inputs) {
  Object given = own(PyTuple_New(static_cast<Py_ssize_t>(inputs.size())));
  for (size_t i = 0; i < inputs.size(); ++i) {
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i),
                     checked(from_value(Ref<Value>(inputs[i]))));
  }
  Object attributes = own(PyDict_New());
  for (size_t i = 0; i < op.attrs.size(); ++i) {
    Object value = own(from_attr(op.attrs[i]));
    check(PyDict_SetItemString(attributes.get(), op.cls.spec.attrs[i].name.c_str(), value.get()));
  }
  PyObject* args[] = {given.get(), attributes.get()};
  Object results = own(PyObject_Vectorcall(rule, args, 2, nullptr));
  Values out;
  for (Py_ssize_t i = 0; i < PyTuple_Size(results.get()); ++i) {
    out.push_back(to_value(PyTuple_GET_ITEM(results.get(), i)));
  }
  if (PyErr_Occurred() != nullptr) throw PythonError();
  const int wanted = op.cls.spec.outputs;
  if (wanted >= 0 && out.size() != static_cast<size_t>(wanted)) {
    fail(ErrorKind::kShape, said::op(op.name()),
         rule == rules_of(op).kernel.get() ? op.cls.spec.kernel : op.cls.spec.infer,
         " must return as many results as the op has outputs, ", wanted, said::got(out.size()));
  }
  return out;
}

bool fits(const Spec& got, const Spec& wanted) {
  bool same = got.dtype == wanted.dtype && got.shape.size() == wanted.shape.size();
  for (size_t i = 0; same && i < wanted.shape.size(); ++i) {
    same = wanted.shape[i] == kUnknownSize || wanted.shape[i] == got.shape[i];
  }
  return same;
}

Values run_kernel(const Op& op, RawArgs inputs, const Specs& outputs) {
  const Gil gil;
  SmallVector<Value*, 4> values;
  for (RawTensor* input : inputs) values.push_back(input);
  Values out = call(op, rules_of(op).kernel.get(), {values.data(), values.size()});
  for (size_t i = 0; i < out.size() && i < outputs.size(); ++i) {
    const Spec got = spec_of(op.name(), *out[i]);
    if (fits(got, outputs[i])) continue;
    fail(got.dtype == outputs[i].dtype ? ErrorKind::kShape : ErrorKind::kDType, op.name(), ": ",
         op.cls.spec.kernel, " must return what was inferred, ", name_of(outputs[i].dtype),
         to_string(outputs[i].shape), "; got ", name_of(got.dtype), to_string(got.shape), ".");
  }
  return out;
}

Specs run_infer(const Op& op, std::span<const Spec> inputs) {
  const Gil gil;
  check_arity(op, inputs.size());
  PyObject* rule = rules_of(op).infer.get();
  if (rule == Py_None) return infer_by_body(op, inputs);
  return specs_on_shapes(op, inputs, [&](Args shapes) { return call(op, rule, shapes); });
}

}  // namespace

OwnRules python_rules(PyObject* kernel, PyObject* infer) {
  // Kept until the process ends, as op classes are.
  auto* const rules = new Rules{Object::share(kernel), Object::share(infer)};
  return {KernelRule(run_kernel), run_infer,
          std::shared_ptr<const void>(std::shared_ptr<const void>(), rules)};
}

}  // namespace tensorlike::bind
