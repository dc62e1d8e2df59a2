#include "tensor/raw_tensor.h"

#include "memory/backend.h"
#include "op/infer.h"
#include "op/registry.h"

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

Device device_beside(Args args) {
  if (!has_devices()) return default_device;
  for (const Value* arg : args) {
    Spec spec;
    if (arg != nullptr && arg->spec(spec)) return spec.device;
  }
  return default_device;
}

Ref<RawTensor> RawTensor::empty(DType dtype, Dims shape, Device device) {
  const int64_t count = element_count(shape);
  Ref<Storage> storage = Storage::allocate(static_cast<size_t>(count) * size_of(dtype), device);
  return make_ref<RawTensor>(dtype, shape, contiguous_strides(shape), count, std::move(storage),
                             device);
}

Ref<RawTensor> RawTensor::empty(DType dtype, Dims shape, Dims strides, Device device) {
  const size_t bytes = static_cast<size_t>(element_count(shape)) * size_of(dtype);
  Ref<Storage> storage = Storage::allocate(bytes, device);
  char* const data = storage->data();
  return make_ref<RawTensor>(dtype, std::move(shape), std::move(strides), std::move(storage), data);
}

Ref<RawTensor> RawTensor::scalar(DType dtype, Literal value, Device device) {
  check_literal(value, dtype);
  Ref<RawTensor> out = empty(dtype, {}, device);
  if (!device.is_cpu()) {
    backend(device).fill(*out, value);
    return out;
  }
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
  registry();  // hands the backends down, if nobody has applied an op yet
  Ref<RawTensor> out = RawTensor::empty(dtype, x.shape, x.device);
  backend(x.device).assign(*out, x);
  return out;
}

Ref<RawTensor> moved(const RawTensor& x, Device device) {
  if (x.device == device) return Ref<RawTensor>(const_cast<RawTensor*>(&x));
  const Ref<RawTensor> from = contiguous(x);
  Ref<RawTensor> out = RawTensor::empty(x.dtype, x.shape, device);
  const size_t bytes = static_cast<size_t>(x.count) * size_of(x.dtype);
  if (x.device.is_cpu()) {
    backend(device).copy_in(out->data, from->data, bytes);
  } else if (device.is_cpu()) {
    backend(x.device).copy_out(out->data, from->data, bytes);
  } else {
    return moved(*moved(*from, Device()), device);
  }
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

Spec spec_of_const(const Op& op, const Spec* like) {
  const auto& constant = static_cast<const ConstOp&>(op);
  const Device device = results_device(op, like == nullptr ? default_device : like->device);
  if (constant.array) {
    return {constant.dtype.value_or(constant.array->dtype), constant.array->shape, device};
  }
  const Kind kind = kind_of(*constant.literal);
  const DType natural = like == nullptr ? default_dtype(kind) : literal_dtype(kind, like->dtype);
  const DType dtype = constant.dtype.value_or(natural);
  if (!literals_are_sizes) check_literal(*constant.literal, dtype);
  return {dtype, {}, device};
}

Ref<RawTensor> make_const(const Op& op, const Spec* like) {
  const auto& constant = static_cast<const ConstOp&>(op);
  const Spec made = spec_of_const(op, like);
  if (!constant.array) return RawTensor::scalar(made.dtype, *constant.literal, made.device);
  const bool is_cast = made.dtype != constant.array->dtype;
  return moved(is_cast ? *cast(*constant.array, made.dtype) : *constant.array, made.device);
}

}  // namespace tensorlike
