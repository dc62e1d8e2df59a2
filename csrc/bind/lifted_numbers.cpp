// `maximum(x, 0.0)`, `where(mask, x, 0)`, `x + array`: numbers and data become elements without a
// Const that is applied for each. What a Const says of dtypes, `lift_others` in apply.cpp says,
// too; a test holds both ways against each other.
#include "bind/lifted_numbers.h"

#include <optional>

#include "bind/beyond_half.h"
#include "bind/elements.h"
#include "op/conditions.h"
#include "tensor/creation.h"

namespace tensorlike::bind {
namespace {

bool is_own_number(PyObject* object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
         PyComplex_CheckExact(object);
}

// Data that become elements of a dtype of their own.
bool is_data(PyObject* object) {
  return is_numpy_array(object) || PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

// What is computed with, of dtypes that promote to `beside`, and conditions, which are apart.
DType dtype_of_number(const ArgSpec& spec, Kind kind, std::optional<DType> beside, DType first) {
  if (spec.category == Category::kBoolean) {
    return kind == Kind::kBool ? default_dtype(kind) : literal_dtype(kind, first);
  }
  return beside ? literal_dtype(kind, *beside) : default_dtype(kind);
}

}  // namespace

void check_given(const Scalar& scalar, PyObject* const* args, size_t n) {
  SmallVector<Given, 4> given;
  for (size_t i = 0; i < n; ++i) {
    Literal literal;
    given.push_back(to_literal(args[i], literal) ? Given(literal) : Given());
  }
  check_numbers(scalar, {given.data(), given.size()});
}

bool lift_numbers(const Op& op, PyObject* const* args, size_t n,
                  SmallVector<Ref<Value>, 4>& values) {
  static const Function& power = *registry().find_function("pow");
  const bool may_be = op.scalar != nullptr && n == op.scalar->spec.args.size() &&
                      op.scalar != power.shared_op->scalar && dispatcher().is_wrapper_plain() &&
                      registry().constant().plain.load(std::memory_order_relaxed) &&
                      apply_creation.load(std::memory_order_relaxed) == nullptr;
  if (!may_be) return false;
  std::optional<Spec> like;  // of the first tensor: reading data may run anybody's code
  std::optional<DType> beside;
  for (size_t i = 0; i < n; ++i) {
    if (is_own_number(args[i]) && exceeds_half(args[i])) return false;
    if (is_own_number(args[i]) || is_data(args[i])) continue;
    const RawTensor* const raw = is_plain_tensor(args[i]) ? raw_under(value_of(args[i])) : nullptr;
    if (raw == nullptr) return false;
    if (!like) like = raw->spec();
    if (op.scalar->spec.args[i].category == Category::kBoolean) continue;
    beside = beside ? promote(*beside, raw->dtype) : raw->dtype;
  }
  if (!like) return false;
  if (!op.scalar->conditions.empty()) check_given(*op.scalar, args, n);
  for (size_t i = 0; i < n; ++i) {
    Literal literal;
    if (is_tensor_like(args[i])) {
      values.push_back(Ref<Value>(value_of(args[i])));
    } else if (is_data(args[i])) {
      values.push_back(moved(*as_raw(args[i], Py_None), like->device));
    } else if (to_literal(args[i], literal)) {
      const ArgSpec& spec = op.scalar->spec.args[i];
      const DType dtype = dtype_of_number(spec, kind_of(literal), beside, like->dtype);
      values.push_back(RawTensor::scalar(dtype, literal, like->device));
    }
  }
  return true;
}

}  // namespace tensorlike::bind
