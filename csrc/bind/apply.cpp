// `apply` as Python sees it: ops applied to objects of any kind.
#include <array>

#include "bind/beyond_half.h"
#include "bind/lifted_numbers.h"
#include "bind/rules.h"
#include "dispatch/power.h"

namespace tensorlike::bind {
namespace {

// Resolutions of calls whose tensor-likes are all written in Python, by the classes met.
struct FastEntry {
  uint64_t version = ~uint64_t{0};
  PyTypeObject* op = nullptr;
  std::array<PyTypeObject*, 4> args = {};
  size_t count = 0;
  std::shared_ptr<const Resolution> resolution;
};
constexpr size_t kFastEntries = 256;
auto& fast_entries = *new std::array<FastEntry, kFastEntries>;

// Runs candidates from `start` on directly with the Python objects. Native rules, and lifted
// arguments, go the general way.
PyObject* run_objects(std::shared_ptr<const Resolution> resolution, PyObject* op_object,
                      PyObject* const* args, size_t n) {
  for (size_t i = 0; i < resolution->size(); ++i) {
    const Candidate& candidate = (*resolution)[i];
    if (!candidate.rule->is_enabled) continue;
    if (candidate.rule->is_native() || candidate.lifts) {
      const Ref<Op> op = to_op(op_object);
      Values held;
      SmallVector<Value*, 4> pointers;
      for (size_t k = 0; k < n; ++k) held.push_back(as_argument(args[k]));
      for (const Ref<Value>& value : held) pointers.push_back(value.get());
      // From here on as the core does it, after the rules that have declined.
      FrameGuard guard(*resolution, i == 0 ? 0 : i - 1);
      return values_to_tuple(
          i == 0 ? dispatcher().call(*op, {pointers.data(), pointers.size()})
                 : dispatcher().call_super(*op, {pointers.data(), pointers.size()}));
    }
    FrameGuard guard(*resolution, i);
    PyObject* stack[8];
    std::vector<PyObject*> long_stack;
    PyObject** target = stack;
    if (n + 1 > 8) {
      long_stack.resize(n + 1);
      target = long_stack.data();
    }
    target[0] = op_object;
    for (size_t k = 0; k < n; ++k) target[k + 1] = args[k];
    // Rules are native or written in Python.
    const auto& rule = static_cast<const PythonRule&>(*candidate.rule);
    Object result = own(PyObject_Vectorcall(rule.function(), target, n + 1, nullptr));
    if (result.get() == Py_NotImplemented) continue;
    Object results = result_tuple(result.get());
    const bool is_op = PyObject_TypeCheck(op_object, types.op_base) != 0;
    check_results(rule, is_op ? reinterpret_cast<OpObject*>(op_object)->op : nullptr, results.get(),
                  args, n);
    return results.release();
  }
  const Ref<Op> op = to_op(op_object);
  std::vector<const Type*> kinds;
  for (size_t i = 0; i < n; ++i) kinds.push_back(&kind_type(Py_TYPE(args[i])));
  dispatcher().fail_miss(*op, kinds);
}

PyObject* apply_foreign(PyObject* op_object, const OpClass& cls, PyObject* const* args, size_t n) {
  PyTypeObject* op_type = Py_TYPE(op_object);
  size_t hash = reinterpret_cast<size_t>(op_type) >> 4;
  for (size_t i = 0; i < n; ++i) {
    hash = hash * 31 + (reinterpret_cast<size_t>(Py_TYPE(args[i])) >> 4);
  }
  FastEntry& entry = fast_entries[hash % kFastEntries];
  const uint64_t version = dispatcher().version();
  bool hit = n <= 4 && entry.version == version && entry.op == op_type && entry.count == n;
  for (size_t i = 0; hit && i < n; ++i) hit = entry.args[i] == Py_TYPE(args[i]);
  if (hit) return run_objects(entry.resolution, op_object, args, n);
  const auto [kinds, highest] = kinds_of(args, n);
  auto resolution = dispatcher().resolve(cls, kinds, highest);
  // A priority may differ between instances, so that only calls of one kind are remembered.
  bool one_kind = n <= 4;
  for (size_t i = 1; i < n; ++i) one_kind = one_kind && kinds[i] == kinds[0];
  if (one_kind) {
    entry = {version, op_type, {}, n, resolution};
    for (size_t i = 0; i < n; ++i) entry.args[i] = Py_TYPE(args[i]);
  }
  return run_objects(resolution, op_object, args, n);
}

// A literal meets all tensors that are computed with, not only the one that it is lifted beside;
// conditions are apart. Where that gives it another dtype, the Const says so.
void set_literal_dtype(const Op& op, size_t position, const Literal& literal, PyObject* const* args,
                       size_t n, PyObject* like, ConstOp& constant) {
  if (op.scalar == nullptr || n != op.scalar->spec.args.size()) return;
  const std::vector<ArgSpec>& specs = op.scalar->spec.args;
  const Kind kind = kind_of(literal);
  Spec known;
  if (!as_argument(like)->spec(known)) return;
  DType wanted = default_dtype(kind);
  if (specs[position].category == Category::kBoolean) {
    if (kind != Kind::kBool) return;
  } else {
    bool any = false;
    DType beside = DType::kBool;
    for (size_t i = 0; i < n; ++i) {
      Spec spec;
      const bool counts = is_tensor_like(args[i]) && specs[i].category != Category::kBoolean;
      if (!counts || !as_argument(args[i])->spec(spec)) continue;
      beside = any ? promote(beside, spec.dtype) : spec.dtype;
      any = true;
    }
    if (any) wanted = literal_dtype(kind, beside);
  }
  if (wanted == literal_dtype(kind, known.dtype)) return;
  constant.dtype = wanted;
  constant.attrs[1] = wanted;
}

// An integer beyond int64 has become a float: beside integers that is a mistake.
void check_large_literal(PyObject* like) {
  Spec known;
  if (!as_argument(like)->spec(known) || kind_of(known.dtype) >= Kind::kFloating) return;
  fail(ErrorKind::kOverflow, said::op("literal"), "must fit int64", said::got("a larger integer"),
       said::fix("use floats"));
}

// Makes tensor-likes of the other arguments, beside the highest tensor-like present.
bool lift_others(const Op& op, PyObject* const* args, size_t n, std::vector<Object>& held,
                 std::vector<PyObject*>& lifted) {
  const bool has_other =
      std::any_of(args, args + n, [](PyObject* a) { return a != Py_None && !is_tensor_like(a); });
  if (!has_other) return false;
  if (op.scalar != nullptr && !op.scalar->conditions.empty()) check_given(*op.scalar, args, n);
  PyObject* like = nullptr;
  double most = -1e300;
  for (size_t i = 0; i < n; ++i) {
    if (!is_tensor_like(args[i])) continue;
    const double priority = as_argument(args[i])->priority();
    if (priority > most) {
      most = priority;
      like = args[i];
    }
  }
  if (like == nullptr) return false;
  for (size_t i = 0; i < n; ++i) {
    if (is_tensor_like(args[i]) || args[i] == Py_None) {
      lifted.push_back(args[i]);
      continue;
    }
    Literal literal;
    Ref<ConstOp> constant;
    if (to_literal(args[i], literal)) {
      if (i == 1 && op.scalar != nullptr && op.scalar->spec.name == "pow") {
        check_exponent(*as_argument(args[0]), literal);
      }
      constant = const_op(literal);
      set_literal_dtype(op, i, literal, args, n, like, *constant);
      if (PyLong_CheckExact(args[i]) && literal.index() == 2) check_large_literal(like);
    } else {
      constant = make_ref<ConstOp>(registry().constant(), as_raw(args[i], Py_None));
    }
    Object op_object = own(from_op(*constant));
    Object result = own(apply_objects(op_object.get(), constant.get(), &like, 1));
    held.push_back(Object::share(PyTuple_GET_ITEM(result.get(), 0)));
    lifted.push_back(held.back().get());
  }
  return true;
}

bool all_native(PyObject* const* args, size_t n, bool& any_wrapper) {
  any_wrapper = false;
  for (size_t i = 0; i < n; ++i) {
    if (!is_tensor_like(args[i]) || value_of(args[i]) == nullptr) return false;
    any_wrapper = any_wrapper || is_wrapper(args[i]);
  }
  return true;
}

PyTypeObject* wrapper_class(PyObject* const* args, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (is_wrapper(args[i])) return result_class(Py_TYPE(args[i]));
  }
  return nullptr;
}

}  // namespace

PyObject* to_tuple(const Values& values, PyTypeObject* wrapper) {
  if (wrapper == nullptr) return values_to_tuple(values);
  Object out = own(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i) {
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), checked(wrap(values[i], wrapper)));
  }
  return out.release();
}

PyObject* apply_objects(PyObject* op_object, const Op* op, PyObject* const* args, size_t n) {
  Ref<Op> held_op;
  if (op == nullptr) {
    held_op = to_op(op_object);
    op = held_op.get();
  }
  if (Values found = applied_beyond_half(*op, args, n); !found.empty()) {
    return to_tuple(found, wrapper_class(args, n));
  }
  std::vector<Object> held;
  std::vector<PyObject*> lifted;
  if (lift_others(*op, args, n, held, lifted)) {
    args = lifted.data();
  } else if (n > 0 && !std::any_of(args, args + n,
                                   [](PyObject* a) { return is_tensor_like(a) || a == Py_None; })) {
    // No tensor-like at all: data becomes Tensors; Const cannot know what it should make.
    if (&op->cls == &registry().constant()) {
      fail(ErrorKind::kDispatch, said::op("Const"),
           "at least one tensor-like must be given, since it says what kind the result is",
           said::got(Py_TYPE(args[0])->tp_name));
    }
    for (size_t i = 0; i < n; ++i) {
      held.push_back(own(wrap(as_value(args[i], Py_None), types.tensor)));
      lifted.push_back(held.back().get());
    }
    args = lifted.data();
  }
  bool any_wrapper = false;
  if (all_native(args, n, any_wrapper) && (!any_wrapper || dispatcher().is_wrapper_plain())) {
    Values values;
    SmallVector<Value*, 4> pointers;
    for (size_t i = 0; i < n; ++i) {
      values.push_back(Ref<Value>(value_of(args[i])));
      pointers.push_back(value_of(args[i]));
    }
    return to_tuple(apply(*op, {pointers.data(), pointers.size()}), wrapper_class(args, n));
  }
  if (n == 0) return values_to_tuple(apply(*op, {}));
  Object op_held;
  if (op_object == nullptr) {
    op_held = own(from_op(*op));
    op_object = op_held.get();
  }
  return apply_foreign(op_object, op->cls, args, n);
}

// What an op gives of values of the core's own: a Tensor, or a tuple of them.
static PyObject* applied(const Op& op, Args values) {
  if (Ref<Value> out = apply_small(op, values)) return wrap(std::move(out), types.tensor);
  Values out = apply_further(op, values, 0);
  return out.size() == 1 ? wrap(std::move(out[0]), types.tensor) : to_tuple(out, types.tensor);
}

PyObject* apply_single(const Op& op, PyObject* const* args, size_t n) {
  SmallVector<Ref<Value>, 4> held;
  SmallVector<Value*, 4> pointers;
  if (n > 0 && dispatcher().is_wrapper_plain() && std::all_of(args, args + n, is_plain_tensor)) {
    for (size_t i = 0; i < n; ++i) held.push_back(Ref<Value>(value_of(args[i])));
  } else {
    lift_numbers(op, args, n, held);
  }
  if (!held.empty()) {
    for (const Ref<Value>& value : held) pointers.push_back(value.get());
    return applied(op, {pointers.data(), n});
  }
  Object result = own(apply_objects(nullptr, &op, args, n));
  if (PyTuple_GET_SIZE(result.get()) != 1) return result.release();
  return Py_NewRef(PyTuple_GET_ITEM(result.get(), 0));
}

PyObject* apply_to_one(const Op& op, PyObject* tensor) {
  if (!is_plain_tensor(tensor) || !dispatcher().is_wrapper_plain())
    return apply_single(op, &tensor, 1);
  const Ref<Value> value(value_of(tensor));
  Value* pointers[] = {value.get()};
  return applied(op, pointers);
}

PyObject* call_apply(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n < 1)
      fail(ErrorKind::kDispatch, said::op("apply"), "an op is needed first",
           said::got("no arguments"));
    const Op* op = PyObject_TypeCheck(args[0], types.op_base) != 0
                       ? reinterpret_cast<OpObject*>(args[0])->op
                       : nullptr;
    return apply_objects(args[0], op, args + 1, static_cast<size_t>(n) - 1);
  });
}

namespace {

PyMethodDef apply_functions[] = {
    {"apply", as_method(call_apply), METH_FASTCALL, "apply(op, *xs): what op(*xs) does."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_apply(PyObject* module) { check(PyModule_AddFunctions(module, apply_functions)); }

}  // namespace tensorlike::bind
