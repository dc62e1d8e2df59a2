// Ops whose class is written in Python: their bodies and gradients are methods of the object.
#include <algorithm>

#include "bind/programs.h"
#include "bind/rules.h"
#include "tape/gradient.h"

namespace tensorlike::bind {
namespace {

// Python ops may bring `vjp(self, inputs, outputs, cotangents)`: one gradient (or None) each.
void run_python_vjp(GradCall& call) {
  Gil gil;
  const auto& op = static_cast<const ForeignOp&>(call.op);
  auto pack = [](Args values) {
    Object out = own(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
    for (size_t i = 0; i < values.size(); ++i) {
      PyObject* item =
          values[i] == nullptr ? Py_NewRef(Py_None) : from_value(Ref<Value>(values[i]));
      PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), checked(item));
    }
    return out;
  };
  Object inputs = pack(call.inputs);
  Object outputs = pack(call.outputs);
  Object cotangents = pack(call.cotangents);
  Object result = own(PyObject_CallMethod(op.object(), "vjp", "OOO", inputs.get(), outputs.get(),
                                          cotangents.get()));
  const Object gradients = result_tuple(result.get());
  const size_t got = static_cast<size_t>(PyTuple_GET_SIZE(gradients.get()));
  if (got != call.results.size()) {
    fail(ErrorKind::kAutodiff, said::op(op.name()), said::argument("vjp"),
         "must return one gradient per input, ", call.results.size(), said::got(got));
  }
  for (size_t i = 0; i < got; ++i) {
    PyObject* item = PyTuple_GET_ITEM(gradients.get(), static_cast<Py_ssize_t>(i));
    if (item == Py_None) continue;
    check_tensor_like(item, op.name() + ": vjp", "a gradient or None for each input");
    call.result(i) = to_value(item);
  }
}

// That of a call of a program is a part of the program.
void run_pulled(GradCall& call) {
  const Holder* held = static_cast<const ForeignOp&>(call.op).holder();
  if (!held->pulled->pull(call)) run_python_vjp(call);
}

const GradRule kPythonVjp{run_python_vjp, ~0U, true};
const GradRule kPulled{run_pulled, ~0U, true};
const GradRule kNoRule{};

}  // namespace

ForeignOp::ForeignOp(const OpClass& cls, PyObject* object) : Op(cls), object_(Py_NewRef(object)) {
  ++python_parts;
}

ForeignOp::~ForeignOp() {
  Gil gil;
  --python_parts;
  Py_DECREF(object_);
}

std::string ForeignOp::name() const { return Py_TYPE(object_)->tp_name; }

const Holder* ForeignOp::holder() const {
  if (!is_holder_known_.load(std::memory_order_acquire)) {
    Gil gil;
    const Object held = find_attribute(object_, "holder");
    holder_ = held ? find_holder(held.get()) : nullptr;  // which the object keeps
    is_holder_known_.store(true, std::memory_order_release);
  }
  return holder_;
}

// Values and shapes that the core knows are computed without Python.
bool ForeignOp::run_define(Args args, Values& out) const {
  constexpr unsigned kOwn = Value::kRaw | Value::kShape;
  const auto is_own = [](const Value* x) { return (x->tag & ~kOwn) == 0; };
  if (const Holder* held = holder();
      held != nullptr && std::all_of(args.begin(), args.end(), is_own)) {
    out = held->apply(args);
    return true;
  }
  Gil gil;
  Object define = find_attribute(object_, "define");
  if (!define) return false;
  Object packed = own(PyTuple_New(static_cast<Py_ssize_t>(args.size())));
  for (size_t i = 0; i < args.size(); ++i) {
    PyTuple_SET_ITEM(packed.get(), static_cast<Py_ssize_t>(i),
                     checked(from_value(Ref<Value>(args[i]))));
  }
  Object result = own(PyObject_CallObject(define.get(), packed.get()));
  if (result.get() == Py_NotImplemented) return false;
  const Object results = result_tuple(result.get());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(results.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(results.get(), i);
    check_tensor_like(item, name() + ": define", "tensor-likes");
    out.push_back(to_value(item));
  }
  return true;
}

const GradRule& ForeignOp::grad_rule() const {
  if (const Holder* held = holder(); held != nullptr && held->pulled != nullptr) return kPulled;
  Gil gil;
  return find_attribute(object_, "vjp") ? kPythonVjp : kNoRule;
}

}  // namespace tensorlike::bind
