// The dispatcher for the Python class around it (imperative/dispatch.py): rules are registered,
// turned off, removed and asked about.
#include "bind/rules.h"

#include <algorithm>
#include <unordered_map>

#include "bind/context.h"

namespace tensorlike::bind {

bool PythonRule::call(const Op& op, Args args, Values& out) {
  Gil gil;
  Object op_object = own(from_op(op));
  std::vector<Object> held;
  std::vector<PyObject*> stack{op_object.get()};
  for (Value* arg : args) {
    held.push_back(own(from_value(Ref<Value>(arg))));
    stack.push_back(held.back().get());
  }
  const DeviceScope scope(device_beside(args));
  Object result = own(PyObject_Vectorcall(function_, stack.data(), stack.size(), nullptr));
  if (result.get() == Py_NotImplemented) return false;
  const Object results = result_tuple(result.get());
  check_results(*this, &op, results.get(), stack.data() + 1, stack.size() - 1);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(results.get()); ++i) {
    out.push_back(as_argument(PyTuple_GET_ITEM(results.get(), i)));
  }
  return true;
}

namespace {

// -1 where attributes, or a class written in Python, decide.
int declared_outputs(const Op& op) {
  if (op.scalar != nullptr) return op.scalar->spec.outputs;
  if (op.reduction != nullptr) return 1;
  return op.cls.is_declared ? op.cls.spec.outputs : -1;
}

}  // namespace

Object result_tuple(PyObject* result) {
  if (PyTuple_Check(result) != 0) return Object::share(result);
  return own(PyList_Check(result) != 0 ? PySequence_Tuple(result) : PyTuple_Pack(1, result));
}

void check_tensor_like(PyObject* item, const std::string& who, const char* wanted) {
  if (is_tensor_like(item)) return;
  fail(ErrorKind::kDispatch, who, " must return ", wanted, said::got(Py_TYPE(item)->tp_name));
}

void check_results(const PythonRule& rule, const Op* op, PyObject* results, PyObject* const* args,
                   size_t n) {
  const Py_ssize_t got = PyTuple_GET_SIZE(results);
  const int wanted = op == nullptr ? -1 : declared_outputs(*op);
  if (wanted >= 0 && got != wanted) {
    fail(ErrorKind::kDispatch, said::op(op->name()), "the rule ", rule.name, " [", rule.place,
         "] must return ", wanted, wanted == 1 ? " result" : " results", said::got(got));
  }
  for (Py_ssize_t i = 0; i < got; ++i) {
    PyObject* item = PyTuple_GET_ITEM(results, i);
    if (is_tensor_like(item)) continue;
    const bool is_kind = std::any_of(args, args + n, [&](PyObject* arg) {
      return arg != Py_None && Py_TYPE(arg) == Py_TYPE(item);
    });
    if (is_kind) continue;
    const std::string who = op == nullptr ? std::string("apply") : op->name();
    check_tensor_like(item, text(who, ": the rule ", rule.name, " [", rule.place, "]"),
                      "tensor-likes, or NotImplemented");
  }
}

PyObject* values_to_tuple(const Values& values) {
  Object out = own(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i) {
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), checked(from_value(values[i])));
  }
  return out.release();
}

std::pair<std::vector<const Type*>, size_t> kinds_of(PyObject* const* args, size_t n) {
  std::vector<const Type*> kinds;
  size_t highest = 0;
  double most = -1e300;
  for (size_t i = 0; i < n; ++i) {
    const Ref<Value> value = as_argument(args[i]);
    kinds.push_back(value->type);
    const double priority = value->priority();
    if (priority > most) {
      most = priority;
      highest = i;
    }
  }
  return {std::move(kinds), highest};
}

namespace {

// Tables that hold rules are never destroyed: the interpreter is gone before static objects are.
auto& rules_of = *new std::unordered_map<PyObject*, std::vector<std::shared_ptr<PythonRule>>>;
const std::vector<std::shared_ptr<PythonRule>> no_rules;

// The wrapper's meaning: apply to what is wrapped, wrap the results.
class WrapperRule final : public Rule {
 public:
  WrapperRule()
      : Rule("apply_wrapper", "built in", {&op_base_type(), {{&kind_type(types.wrapper)}}, true}) {}
  bool is_native() const override { return true; }
  bool call(const Op& op, Args args, Values& out) override {
    Gil gil;
    Values inner;
    SmallVector<Value*, 4> pointers;
    PyTypeObject* cls = types.tensor;
    for (size_t i = args.size(); i-- > 0;) {
      PyObject* object = static_cast<ForeignValue*>(args[i])->object();
      cls = result_class(Py_TYPE(object));
      inner.push_back(to_value(object));
    }
    for (size_t i = inner.size(); i-- > 0;) pointers.push_back(inner[i].get());
    for (const Ref<Value>& value : apply(op, {pointers.data(), pointers.size()})) {
      Object wrapped = own(wrap(value, cls));
      out.push_back(make_ref<ForeignValue>(wrapped.get()));
    }
    return true;
  }
};

Kinds to_kinds(PyObject* classes, std::vector<Object>& held) {
  Kinds kinds;
  Object sequence = own(PySequence_Tuple(classes));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence.get()); ++i) {
    PyObject* cls = PyTuple_GET_ITEM(sequence.get(), i);
    if (PyType_Check(cls) == 0) {
      fail(ErrorKind::kAttribute, said::op("register"), "a class is needed",
           said::got(Py_TYPE(cls)->tp_name));
    }
    kinds.push_back(&kind_type(reinterpret_cast<PyTypeObject*>(cls)));
    held.push_back(Object::share(cls));
  }
  return kinds;
}

const Type& op_type_of(PyTypeObject* cls) {
  if (cls == types.op_base || cls == types.python_op_base) return op_base_type();
  return op_class(cls);
}

// add_rule(function, name, place, op_class, ((kind, ...), ...), is_variadic)
PyObject* add_rule(PyObject*, PyObject* args) {
  PyObject* function = nullptr;
  PyObject* name = nullptr;
  PyObject* place = nullptr;
  PyObject* op = nullptr;
  PyObject* kinds = nullptr;
  int is_variadic = 0;
  if (PyArg_ParseTuple(args, "OUUO!O!p", &function, &name, &place, &PyType_Type, &op, &PyTuple_Type,
                       &kinds, &is_variadic) == 0) {
    return nullptr;
  }
  return guarded([&] {
    if (PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(op), types.op_base) == 0 &&
        !is_virtual_op(reinterpret_cast<PyTypeObject*>(op))) {
      PyErr_Format(PyExc_TypeError,
                   "register: %U: the first annotation must be a class of ops; "
                   "got %R",
                   name, op);
      throw PythonError();
    }
    Signature signature;
    std::vector<Object> classes{Object::share(op)};
    signature.op = &op_type_of(reinterpret_cast<PyTypeObject*>(op));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kinds); ++i) {
      signature.args.push_back(to_kinds(PyTuple_GET_ITEM(kinds, i), classes));
    }
    signature.is_variadic = is_variadic != 0;
    const auto known = rules_of.find(function);
    for (const auto& other : known == rules_of.end() ? no_rules : known->second) {
      if (compare(other->signature, signature) != Order::kSame) continue;
      PyErr_Format(PyExc_ValueError,
                   "register: %U must be registered once; got it again for the same classes; "
                   "unregister it first",
                   name);
      throw PythonError();
    }
    auto rule = std::make_shared<PythonRule>(shown(name), shown(place), std::move(signature),
                                             function, std::move(classes));
    dispatcher().add(rule);
    rules_of[function].push_back(std::move(rule));
    return Py_NewRef(Py_None);
  });
}

// set_rule_enabled(function, is_enabled) -> whether the function is registered
PyObject* set_rule_enabled(PyObject*, PyObject* args) {
  PyObject* function = nullptr;
  int is_enabled = 0;
  if (PyArg_ParseTuple(args, "Op", &function, &is_enabled) == 0) return nullptr;
  return guarded([&] {
    const auto found = rules_of.find(function);
    if (found == rules_of.end()) return Py_NewRef(Py_False);
    const auto rules = found->second;  // a copy: others may register meanwhile
    for (const auto& rule : rules) dispatcher().set_enabled(*rule, is_enabled != 0);
    return Py_NewRef(Py_True);
  });
}

PyObject* remove_rule(PyObject*, PyObject* function) {
  return guarded([&] {
    const auto taken = rules_of.extract(function);
    if (!taken) return Py_NewRef(Py_False);
    for (const auto& rule : taken.mapped()) dispatcher().remove(*rule);
    return Py_NewRef(Py_True);
  });
}

// Registration(function, name, place, op_class, kinds, is_variadic): a rule for a block.
class Registration {
 public:
  explicit Registration(PyObject* args) : args_(Object::share(args)) {}
  Registration(Registration&&) = default;
  ~Registration() {
    if (is_on_) run_unraisable([&] { exit(); });
  }
  void enter() {
    own(add_rule(nullptr, args_.get()));
    is_on_ = true;
  }
  void exit() {
    if (std::exchange(is_on_, false)) own(remove_rule(nullptr, PyTuple_GET_ITEM(args_.get(), 0)));
  }

 private:
  Object args_;
  bool is_on_ = false;
};

PyObject* call_super(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n < 1) fail(ErrorKind::kDispatch, said::op("apply.super"), "an op is needed first.");
    const Ref<Op> op = to_op(args[0]);
    Values held;
    SmallVector<Value*, 4> pointers;
    for (Py_ssize_t i = 1; i < n; ++i) held.push_back(as_argument(args[i]));
    for (const Ref<Value>& value : held) pointers.push_back(value.get());
    return values_to_tuple(dispatcher().call_super(*op, {pointers.data(), pointers.size()}));
  });
}

// resolution(op, *xs) -> ((name, place, signature, is_enabled, matches, lifts, function), ...):
// what runs first comes first; then the rules that do not match.
PyObject* resolution(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n < 1) fail(ErrorKind::kDispatch, said::op("apply.explain"), "an op is needed first.");
    const Ref<Op> op = to_op(args[0]);
    const auto [kinds, highest] = kinds_of(args + 1, static_cast<size_t>(n) - 1);
    Object out = own(PyList_New(0));
    auto add = [&](const Rule& rule, bool matches, bool lifts) {
      const auto* python = dynamic_cast<const PythonRule*>(&rule);
      Object row = own(Py_BuildValue(
          "(sssNNNO)", rule.name.c_str(), rule.place.c_str(), to_string(rule.signature).c_str(),
          PyBool_FromLong(rule.is_enabled), PyBool_FromLong(matches), PyBool_FromLong(lifts),
          python == nullptr ? Py_None : python->function()));
      check(PyList_Append(out.get(), row.get()));
    };
    const auto candidates = dispatcher().resolve(op->cls, kinds, highest);
    for (const Candidate& candidate : *candidates) add(*candidate.rule, true, candidate.lifts);
    for (const auto& rule : dispatcher().rules()) {
      const bool is_listed = std::any_of(candidates->begin(), candidates->end(),
                                         [&](const Candidate& c) { return c.rule == rule; });
      if (!is_listed) add(*rule, false, false);
    }
    return checked(PyList_AsTuple(out.get()));
  });
}

PyMethodDef rules_functions[] = {
    {"add_rule", add_rule, METH_VARARGS, nullptr},
    {"set_rule_enabled", set_rule_enabled, METH_VARARGS, nullptr},
    {"remove_rule", as_method(remove_rule), METH_O, nullptr},
    {"apply_super", as_method(call_super), METH_FASTCALL, "Continues with the next rule."},
    {"resolution", as_method(resolution), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_rules(PyObject* module) {
  dispatcher().add(std::make_shared<WrapperRule>());
  check(PyModule_AddFunctions(module, rules_functions));
  Context<Registration>::add(module, "tensorlike._C.Registration",
                             "Registration(...): a rule for the length of a block.");
}

}  // namespace tensorlike::bind
