// Operators and brackets of tensor-likes. Two Tensors of built-in kinds go straight to the core.
#include <array>
#include <string>

#include "bind/beyond_half.h"
#include "bind/elements.h"
#include "bind/expressions.h"
#include "bind/iteration.h"
#include "bind/keys.h"
#include "bind/programs.h"
#include "bind/rebinding.h"
#include "dispatch/power.h"
#include "engine/engine.h"
#include "tensor/body.h"
#include "tensor/kernel_run.h"

namespace tensorlike::bind {
namespace {

enum Operator : unsigned char {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kRemainder,
  kPow,
  kAnd,
  kOr,
  kXor,
  kLeftShift,
  kRightShift,
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kGreater,
  kGreaterEqual,
  kNegative,
  kPositive,
  kAbs,
  kInvert,
  kMatMul,
  kOperators
};

constexpr const char* kNames[kOperators] = {"add",
                                            "subtract",
                                            "multiply",
                                            "divide",
                                            "floor_divide",
                                            "remainder",
                                            "pow",
                                            "bitwise_and",
                                            "bitwise_or",
                                            "bitwise_xor",
                                            "bitwise_left_shift",
                                            "bitwise_right_shift",
                                            "less",
                                            "less_equal",
                                            "equal",
                                            "not_equal",
                                            "greater",
                                            "greater_equal",
                                            "negative",
                                            "positive",
                                            "abs",
                                            "bitwise_invert",
                                            "matmul"};

const Op& operator_op(Operator which) {
  static const std::array<const Op*, kOperators> ops = [] {
    std::array<const Op*, kOperators> made = {};
    for (int i = 0; i < kOperators; ++i) {
      const Function* function = registry().find_function(kNames[i]);
      made[static_cast<size_t>(i)] = function->shared_op.get();
    }
    return made;
  }();
  return *ops[which];
}

bool is_number(PyObject* object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
         PyComplex_CheckExact(object) || is_size(object);
}

// What may stand beside a tensor-like; anything else gets its own say.
bool is_operand(PyObject* object) {
  return is_tensor_like(object) || is_number(object) || PyList_Check(object) ||
         PyTuple_Check(object) || PyObject_CheckBuffer(object) != 0 ||
         find_attribute(object, "__dlpack__");
}

PyObject* binary(Operator which, PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    const Op& op = operator_op(which);
    const bool a_is = is_plain_tensor(a);
    const bool b_is = is_plain_tensor(b);
    if ((a_is || b_is) && (a_is || is_number(a)) && (b_is || is_number(b)) &&
        dispatcher().is_wrapper_plain()) {
      if (a_is && b_is) {
        // Nothing lets the GIL go in here, so that the values cannot be replaced meanwhile.
        Value* args[] = {value_of(a), value_of(b)};
        if (Ref<Value> out = apply_small(op, args)) return wrap(std::move(out), types.tensor);
      } else if (exceeds_half(a_is ? b : a) && holds_half(*value_of(a_is ? a : b))) {
        PyObject* both[] = {a, b};
        return apply_single(op, both, 2);
      }
      const Ref<Value> x = a_is ? Ref<Value>(value_of(a)) : lift_operand(a, *value_of(b));
      const Ref<Value> y = b_is ? Ref<Value>(value_of(b)) : lift_operand(b, *value_of(a));
      Value* args[] = {x.get(), y.get()};
      Ref<Value> out = a_is && b_is ? nullptr : apply_small(op, args);
      const OpApplied applied;
      if (!out) out = std::move(apply_further(op, args, 0)[0]);
      return wrap(std::move(out), types.tensor);
    }
    if (!is_operand(a) || !is_operand(b)) return Py_NewRef(Py_NotImplemented);
    PyObject* args[] = {a, b};
    return apply_single(op, args, 2);
  });
}

PyObject* unary(Operator which, PyObject* x) {
  return guarded([&]() -> PyObject* {
    const Op& op = operator_op(which);
    if (is_plain_tensor(x) && dispatcher().is_wrapper_plain()) {
      const Ref<Value> value(value_of(x));
      Value* args[] = {value.get()};
      const OpApplied applied;
      return wrap(std::move(apply_donating(op, args, 0)[0]), types.tensor);
    }
    return apply_single(op, &x, 1);
  });
}

// x += y: the result keeps x's shape and, where nothing is lost, x's dtype.
PyObject* in_place(Operator which, PyObject* self, PyObject* other) {
  if (!is_wrapper(self) || value_of(self) == nullptr) return binary(which, self, other);
  return guarded([&]() -> PyObject* {
    const Op& op = operator_op(which);
    Ref<Value> result;
    Value* target = writable(self);
    const bool is_plain = target->tag == Value::kRaw && op.cls.plain && op.scalar != nullptr &&
                          dispatcher().is_wrapper_plain() &&
                          (is_number(other) || is_plain_tensor(other)) &&
                          !(exceeds_half(other) && holds_half(*target));
    if (is_plain) {
      const Ref<Value> x(target);
      const Ref<Value> y = is_number(other) ? lift_operand(other, *x) : Ref<Value>(value_of(other));
      if (y->tag == Value::kRaw) {
        const auto& x_raw = *static_cast<RawTensor*>(target);
        const Dims& shape = x_raw.shape;
        Value* args[] = {x.get(), y.get()};
        // Held by the wrapper (or its tracer) and by x.
        const bool is_alone = may_donate(self) && !x_raw.pending && is_ours(x_raw, 2);
        result = is_alone ? launch(op, args, 1, 2)[0] : apply_one(op, args);
        if (!(static_cast<RawTensor*>(result.get())->shape == shape)) {
          fail(ErrorKind::kShape, said::op(op.name()), "an in-place operation keeps the shape ",
               to_string(shape),
               said::got(to_string(static_cast<RawTensor*>(result.get())->shape)));
        }
      }
    }
    if (!result) {
      if (!is_operand(other)) return Py_NewRef(Py_NotImplemented);
      // What the tensor-like does not know cannot be checked.
      Spec before;
      const bool is_known = value_of(self)->spec(before);
      PyObject* args[] = {self, other};
      Object out = own(apply_single(op, args, 2));
      result = to_value(out.get());
      Spec after;
      if (is_known && result->spec(after) && !(after.shape == before.shape)) {
        fail(ErrorKind::kShape, said::op(op.name()), "an in-place operation keeps the shape ",
             to_string(before.shape), said::got(to_string(after.shape)));
      }
    }
    assign(self, std::move(result));
    return Py_NewRef(self);
  });
}

template <Operator kWhich>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  return binary(kWhich, a, b);
}
template <Operator kWhich>
PyObject* in_place_slot(PyObject* a, PyObject* b) {
  return in_place(kWhich, a, b);
}
template <Operator kWhich>
PyObject* unary_slot(PyObject* x) {
  return unary(kWhich, x);
}

Ref<Value> cheaper_power(PyObject* x, PyObject* exponent) {
  Literal number;
  if (!is_plain_tensor(x) || !dispatcher().is_wrapper_plain()) return nullptr;
  if (!is_number(exponent) || !to_literal(exponent, number)) return nullptr;
  return power_of_number(*Ref<Value>(value_of(x)), number);
}
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&]() -> PyObject* {
    Ref<Value> result = cheaper_power(a, b);
    return result ? wrap(std::move(result), types.tensor) : binary(kPow, a, b);
  });
}
PyObject* in_place_power(PyObject* a, PyObject* b, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref<Value> result = cheaper_power(a, b);
    if (!result) return in_place(kPow, a, b);
    assign(a, std::move(result));
    return Py_NewRef(a);
  });
}

PyObject* compare(PyObject* a, PyObject* b, int how) {
  if (b == Py_None) Py_RETURN_NOTIMPLEMENTED;
  switch (how) {
    case Py_LT:
      return binary(kLess, a, b);
    case Py_LE:
      return binary(kLessEqual, a, b);
    case Py_EQ:
      return binary(kEqual, a, b);
    case Py_NE:
      return binary(kNotEqual, a, b);
    case Py_GT:
      return binary(kGreater, a, b);
    default:
      return binary(kGreaterEqual, a, b);
  }
}

// The one element. Classes of Python's may say it otherwise.
PyObject* element_of(PyObject* self) {
  if (!is_own_wrapper(Py_TYPE(self))) return PyObject_CallMethod(self, "item", nullptr);
  return guarded([&] { return item_in(self); });
}

int truth(PyObject* self) {
  Object item = Object::steal(element_of(self));
  return item ? PyObject_IsTrue(item.get()) : -1;
}
PyObject* as_int(PyObject* self) {
  Object item = Object::steal(element_of(self));
  return item ? PyNumber_Long(item.get()) : nullptr;
}
PyObject* as_float(PyObject* self) {
  Object item = Object::steal(element_of(self));
  if (item && PyFloat_CheckExact(item.get())) return item.release();
  return item ? PyNumber_Float(item.get()) : nullptr;
}
PyObject* as_index(PyObject* self) {
  Object item = Object::steal(element_of(self));
  if (item && PyLong_CheckExact(item.get())) return item.release();
  if (item) PyErr_SetString(PyExc_TypeError, "only an integer tensor can be an index");
  if (!item && PyErr_ExceptionMatches(PyExc_ValueError) != 0) {
    PyErr_SetString(PyExc_TypeError, "only a tensor with one element can be an index");
  }
  return nullptr;
}

PyObject* get_item(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    KeyItems items;
    if (!parse_items(key, items)) {
      const DeviceScope scope(device_of(self));  // for what the key becomes
      if (PyObject* const found = get_by_tensor(self, key)) return found;
      if (hooks.getitem == nullptr) fail(ErrorKind::kIndex, said::op("index"), "not set up");
      PyObject* args[] = {self, key};
      return PyObject_Vectorcall(hooks.getitem, args, 2, nullptr);
    }
    const Ref<Op> op = index_op(false, items);
    return apply_to_one(*op, self);
  });
}

// index_op(key): the op that x[key] is, of a key that is integers, slices, None and an ellipsis.
PyObject* index_op_of(PyObject*, PyObject* key) {
  return guarded([&] {
    KeyItems items;
    if (!parse_items(key, items))
      fail(ErrorKind::kIndex, said::op("index_op"), "a plain key is needed");
    return from_op(*index_op(false, items));
  });
}

Py_ssize_t length(PyObject* self) {
  if (is_own_wrapper(Py_TYPE(self))) {
    const RawTensor* raw = raw_under(value_of(self));
    if (raw != nullptr && !raw->shape.empty()) return static_cast<Py_ssize_t>(raw->shape[0]);
  }
  Py_ssize_t size = -1;
  guarded_status([&] {
    Object shape = own(PyObject_GetAttrString(self, "shape"));
    if (PyTuple_Check(shape.get()) == 0) fail_shape(self, shape.get());
    if (PyTuple_GET_SIZE(shape.get()) == 0) {
      PyErr_SetString(PyExc_TypeError, "len() of a zero-dimensional tensor");
      throw PythonError();
    }
    // A size that is not known says by its __index__ why it is no number.
    size = PyNumber_AsSsize_t(PyTuple_GET_ITEM(shape.get(), 0), PyExc_OverflowError);
    if (size >= 0 || PyErr_Occurred() != nullptr) return;
    fail(ErrorKind::kAttribute, said::op(Py_TYPE(self)->tp_name), said::argument("shape"),
         "must hold no negative sizes", said::got(size));
  });
  return size;
}

// Over the first dimension.
PyObject* iterate(PyObject* self) {
  const RawTensor* const raw = raw_under(value_of(self));
  if (raw != nullptr && raw->shape.empty()) {
    PyErr_SetString(PyExc_TypeError, "iteration over a zero-dimensional tensor");
    return nullptr;
  }
  const Py_ssize_t count = length(self);
  return count < 0 ? nullptr : parts_of(self, count);
}

Py_hash_t hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<size_t>(self) >> 4);
}

}  // namespace

#define TL_BINARY(slot, which)                          \
  {Py_nb_##slot, as_slot(binary_slot<which>)}, {        \
    Py_nb_inplace_##slot, as_slot(in_place_slot<which>) \
  }

namespace {
PyMethodDef numbers_functions[] = {
    {"index_op", as_method(index_op_of), METH_O, "The op that x[key] is, of a plain key."},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

void add_numbers(PyObject* module) {
  check(PyModule_AddFunctions(module, numbers_functions));
  add_iteration(module);
}

PyType_Slot number_slots[] = {
    TL_BINARY(add, kAdd),
    TL_BINARY(subtract, kSubtract),
    TL_BINARY(multiply, kMultiply),
    TL_BINARY(true_divide, kDivide),
    TL_BINARY(floor_divide, kFloorDivide),
    TL_BINARY(remainder, kRemainder),
    TL_BINARY(and, kAnd),
    TL_BINARY(or, kOr),
    TL_BINARY(xor, kXor),
    TL_BINARY(lshift, kLeftShift),
    TL_BINARY(rshift, kRightShift),
    TL_BINARY(matrix_multiply, kMatMul),
    {Py_nb_power, as_slot(power)},
    {Py_nb_inplace_power, as_slot(in_place_power)},
    {Py_nb_negative, as_slot(unary_slot<kNegative>)},
    {Py_nb_positive, as_slot(unary_slot<kPositive>)},
    {Py_nb_absolute, as_slot(unary_slot<kAbs>)},
    {Py_nb_invert, as_slot(unary_slot<kInvert>)},
    {Py_nb_bool, as_slot(truth)},
    {Py_nb_int, as_slot(as_int)},
    {Py_nb_float, as_slot(as_float)},
    {Py_nb_index, as_slot(as_index)},
    {Py_tp_richcompare, as_slot(compare)},
    {Py_tp_hash, as_slot(hash)},
    {Py_tp_iter, as_slot(iterate)},
    {Py_mp_subscript, as_slot(get_item)},
    {Py_mp_ass_subscript, as_slot(set_item)},
    {Py_mp_length, as_slot(length)},
    {Py_sq_item, as_slot(+[](PyObject* self, Py_ssize_t i) -> PyObject* {
       Object index = Object::steal(PyLong_FromSsize_t(i));
       return index ? get_item(self, index.get()) : nullptr;
     })},
    {0, nullptr},
};
#undef TL_BINARY

}  // namespace tensorlike::bind
