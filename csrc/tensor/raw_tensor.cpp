#include "tensor/raw_tensor.h"

#include "op/registry.h"
#include "tensor/arrays.h"

namespace tensorlike {

const Type& tensor_base_type() {
  static const Type* type = new Type("TensorBase");
  return *type;
}
const Type& raw_tensor_type() {
  static const Type* type = new Type("RawTensor", &tensor_base_type());
  return *type;
}
const Type& shape_tensor_type() {
  static const Type* type = new Type("ShapeTensor", &tensor_base_type());
  return *type;
}
const Type& tracer_type() {
  static const Type* type = new Type("Tracer", &tensor_base_type());
  return *type;
}

Spec spec_of(const std::string& op, const Value& value) {
  Spec spec;
  if (!value.spec(spec)) {
    fail(ErrorKind::kDispatch, said::op(op), "the shape and dtype of a ", value.type->name(),
         " are needed; give the class `shape` and `dtype`.");
  }
  return spec;
}

Ref<RawTensor> RawTensor::empty(DType dtype, Dims shape) {
  const int64_t count = element_count(shape);
  Ref<Storage> storage = Storage::allocate(static_cast<size_t>(count) * size_of(dtype));
  return make_ref<RawTensor>(dtype, shape, contiguous_strides(shape), count, std::move(storage));
}

Ref<RawTensor> RawTensor::scalar(DType dtype, Literal value) {
  check_literal(value, dtype);
  Ref<RawTensor> out = empty(dtype, {});
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *out->as<T>() = literal_as<T>(value);
  });
  return out;
}

Ref<RawTensor> RawTensor::view(Dims view_shape, Dims view_strides, int64_t offset) const {
  return make_ref<RawTensor>(dtype, std::move(view_shape), std::move(view_strides), storage,
                             data + offset * static_cast<int64_t>(size_of(dtype)));
}

Ref<RawTensor> copy(const RawTensor& x) { return cast(x, x.dtype); }

Ref<RawTensor> contiguous(const RawTensor& x) {
  if (x.is_contiguous) return Ref<RawTensor>(const_cast<RawTensor*>(&x));
  return copy(x);
}

Ref<RawTensor> cast(const RawTensor& x, DType dtype) {
  Ref<RawTensor> out = RawTensor::empty(dtype, x.shape);
  assign(*out, x);
  return out;
}

Ref<RawTensor> broadcast_to(const RawTensor& x, std::span<const int64_t> shape) {
  Array seen = broadcast_to(static_cast<const Array&>(x), shape);
  return x.view(std::move(seen.shape), std::move(seen.strides));
}

ConstOp::ConstOp(const OpClass& cls, Literal value) : Op(cls), literal(value) {
  attrs = {std::visit([](auto v) { return Attr(v); }, value), Attr(), Attr()};
}

ConstOp::ConstOp(const OpClass& cls, Ref<RawTensor> value) : Op(cls), array(std::move(value)) {
  attrs = {Attr(), Attr(), Attr()};
}

Ref<ConstOp> const_op(Literal literal) { return make_ref<ConstOp>(registry().constant(), literal); }

Ref<RawTensor> make_const(const Op& op, const Spec* like) {
  const auto& constant = static_cast<const ConstOp&>(op);
  if (constant.array) {
    const DType dtype = constant.dtype.value_or(constant.array->dtype);
    return dtype == constant.array->dtype ? constant.array : cast(*constant.array, dtype);
  }
  const Kind kind = kind_of(*constant.literal);
  const DType natural = like == nullptr ? default_dtype(kind) : literal_dtype(kind, like->dtype);
  return RawTensor::scalar(constant.dtype.value_or(natural), *constant.literal);
}

}  // namespace tensorlike
