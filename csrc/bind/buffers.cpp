// Elements in and out by the buffer protocol (PEP 3118): a copy of what comes in, and a view for
// readers.
#include <algorithm>
#include <cstring>
#include <optional>

#include "bind/elements.h"
#include "bind/programs.h"

namespace tensorlike::bind {
namespace {

// The formats of PEP 3118; bfloat16 has none.
constexpr const char* kFormats[kDTypeCount] = {"?", "b", "h",     "i", "q", "B",  "H", "I",
                                               "Q", "e", nullptr, "f", "d", "Zf", "Zd"};

struct Export {
  SmallVector<Py_ssize_t, 5> shape, strides;
  Ref<RawTensor> tensor;
};

std::optional<DType> dtype_of_format(const char* format, Py_ssize_t size) {
  if (format == nullptr) return std::nullopt;
  if (*format == '<' || *format == '=' || *format == '@') ++format;
  std::string_view name = format;
  // C's names for integers differ in width between platforms: the size tells.
  if (name == "l" || name == "n") name = size == 8 ? "q" : "i";
  if (name == "L" || name == "N") name = size == 8 ? "Q" : "I";
  for (int d = 0; d < kDTypeCount; ++d) {
    if (kFormats[d] != nullptr && name == kFormats[d]) return static_cast<DType>(d);
  }
  return std::nullopt;
}

// False where there is no such view; NumPy's dates show bytes without the strides asked for.
bool get_view(PyObject* object, Py_buffer& view) {
  if (PyObject_GetBuffer(object, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) return false;
  if (view.ndim == 0 || (view.shape != nullptr && view.strides != nullptr)) return true;
  PyBuffer_Release(&view);
  PyErr_SetString(PyExc_BufferError, "tensor: the buffer must say its shape and strides");
  return false;
}

}  // namespace

void check_on_cpu(const RawTensor& x, const char* who) {
  if (x.device.is_cpu()) return;
  fail(ErrorKind::kDevice, said::op(who), "the elements must be in the host's memory",
       said::got("a tensor on ", to_string(x.device)), said::fix("move it: x.to(\"cpu\")"));
}

void normalise(RawTensor& booleans) {
  auto* bytes = reinterpret_cast<uint8_t*>(booleans.data);
  for (int64_t i = 0; i < booleans.count; ++i) bytes[i] = bytes[i] != 0;
}

namespace {

// A copy of what a buffer holds.
Ref<RawTensor> from_buffer(Py_buffer& view) {
  struct Release {
    Py_buffer* view;
    ~Release() { PyBuffer_Release(view); }
  } release{&view};
  const std::optional<DType> dtype = dtype_of_format(view.format, view.itemsize);
  if (!dtype) {
    fail(ErrorKind::kDType, said::op("tensor"),
         "the data must be boolean, an integer of 8 to 64 bits, a float of 16 to 64 bits or a "
         "complex number of 64 or 128",
         said::got("format '", view.format == nullptr ? "" : view.format, "'"),
         said::fix("convert it first: array.astype(\"float32\")"));
  }
  Dims shape(view.shape, view.shape + view.ndim);
  Ref<RawTensor> out = RawTensor::empty(*dtype, shape);
  const Py_ssize_t size = view.itemsize;
  bool divides = true;
  Dims strides;
  for (int i = 0; i < view.ndim; ++i) {
    divides = divides && view.strides[i] % size == 0;
    strides.push_back(view.strides[i] / size);
  }
  const bool is_aligned = reinterpret_cast<uintptr_t>(view.buf) % static_cast<size_t>(size) == 0;
  if (divides && is_aligned) {
    const Ref<Storage> storage = Storage::foreign(view.buf, 0, [] {}, true);
    const auto seen =
        make_ref<RawTensor>(*dtype, shape, strides, storage, static_cast<char*>(view.buf));
    out = copy(*seen);
  } else if (PyBuffer_ToContiguous(out->data, &view, view.len, 'C') != 0) {
    throw PythonError();  // fields of records, or packed data: byte by byte
  }
  if (*dtype == DType::kBool) normalise(*out);
  return out;
}

// Elements of an array, or of what Python makes one of. What has no buffer (bfloat16 arrays) the
// hook turns into a tensor.
Ref<RawTensor> from_data(PyObject* object, PyObject* dtype) {
  if (Ref<RawTensor> small = from_small_array(object)) return small;
  Py_buffer view;
  if (PyObject_CheckBuffer(object) != 0 && !PyBytes_Check(object)) {
    if (get_view(object, view)) return from_buffer(view);
    PyErr_Clear();
  }
  if (hooks.as_array == nullptr) fail(ErrorKind::kDispatch, said::op("tensor"), "not set up.");
  Object wanted = Object::share(dtype);
  if (dtype != Py_None) wanted = own(from_dtype(to_dtype(dtype)));
  PyObject* args[] = {object, wanted.get()};
  Object array = own(PyObject_Vectorcall(hooks.as_array, args, 2, nullptr));
  if (is_tensor_like(array.get())) return copy(*as_raw(array.get(), Py_None));
  if (!get_view(array.get(), view)) throw PythonError();
  return from_buffer(view);
}

}  // namespace

bool is_wide_integer(PyObject* object, const Literal& literal) {
  return PyLong_CheckExact(object) != 0 && std::holds_alternative<double>(literal);
}

Ref<Value> as_value(PyObject* object, PyObject* dtype) {
  if (!is_size(object)) return as_raw(object, dtype);
  return to_value(own(PyObject_CallMethod(object, "as_tensor_like", "O", dtype)).get());
}

Ref<RawTensor> as_raw(PyObject* object, PyObject* dtype) {
  if (is_size(object)) {  // the number that stands for it is none of its own
    fail(ErrorKind::kShape, said::op("tensor"), "an array must be made of numbers",
         said::got("a size that is not known"),
         said::fix("tensor(size, dtype=x.dtype) is one of the program"));
  }
  Ref<RawTensor> raw;
  Literal literal;
  if (is_tensor_like(object) && value_of(object) != nullptr) {
    Value* value = value_of(object);
    while (value->tag == Value::kTracer) value = static_cast<Tracer*>(value)->primal.get();
    if (value->tag != Value::kRaw) {
      fail(ErrorKind::kDispatch, said::op("tensor"), "a value is needed",
           said::got("a ", value->type->name()));
    }
    raw = Ref<RawTensor>(static_cast<RawTensor*>(value));
    raw->ready("read");
  } else if (to_literal(object, literal) &&
             !(is_wide_integer(object, literal) && dtype == Py_None)) {
    // Straight to the dtype that is asked for: nothing is rounded twice, or wraps around.
    const DType wanted = dtype == Py_None ? default_dtype(kind_of(literal)) : to_dtype(dtype);
    const bool is_wide = is_wide_integer(object, literal) && kind_of(wanted) < Kind::kFloating;
    return is_wide ? wide_scalar(object, wanted)
                   : RawTensor::scalar(wanted, literal, default_device);
  } else {
    const Ref<RawTensor> stored = from_lists(object, dtype);
    raw = moved(stored ? *stored : *from_data(object, dtype), default_device);
  }
  if (dtype == Py_None) return raw;
  const DType wanted = to_dtype(dtype);
  return raw->dtype == wanted ? raw : cast(*raw, wanted);
}

namespace {

// The elements in the order that the flags of a request ask for (PEP 3118), copied where they lie
// in another one: nobody can write to either.
Ref<RawTensor> in_order(const RawTensor& raw, int flags) {
  auto wants = [&](int flag) { return (flags & flag) == flag; };
  if (!wants(PyBUF_STRIDES) || wants(PyBUF_C_CONTIGUOUS)) return contiguous(raw);
  const bool takes_fortran = wants(PyBUF_F_CONTIGUOUS) || wants(PyBUF_ANY_CONTIGUOUS);
  if (!takes_fortran || (wants(PyBUF_ANY_CONTIGUOUS) && raw.is_contiguous)) {
    return Ref<RawTensor>(const_cast<RawTensor*>(&raw));
  }
  auto reversed = [](Dims dims) {
    std::reverse(dims.begin(), dims.end());
    return dims;
  };
  const Ref<RawTensor> transposed = raw.view(reversed(raw.shape), reversed(raw.strides));
  if (wants(PyBUF_ANY_CONTIGUOUS) && !transposed->is_contiguous) return contiguous(raw);
  const Ref<RawTensor> laid_out = contiguous(*transposed);
  return laid_out->view(Dims(raw.shape), reversed(laid_out->strides));
}

}  // namespace

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  return guarded_status([&] {
    view->obj = nullptr;
    auto* raw = static_cast<RawTensor*>(value_of(self));
    raw->ready("read");
    check_on_cpu(*raw, "the buffer protocol");
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
      PyErr_SetString(PyExc_BufferError, "tensor-likes are values: their memory is read-only");
      throw PythonError();
    }
    const char* format = kFormats[static_cast<int>(raw->dtype)];
    if (format == nullptr) {
      PyErr_Format(PyExc_BufferError, "%s has no buffer format; convert it: x.astype(float32)",
                   std::string(name_of(raw->dtype)).c_str());
      throw PythonError();
    }
    const bool wants_shape = (flags & PyBUF_ND) == PyBUF_ND;
    const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    Ref<RawTensor> exported = in_order(*raw, flags);
    auto held = std::make_unique<Export>();
    const Py_ssize_t size = static_cast<Py_ssize_t>(size_of(raw->dtype));
    for (size_t i = 0; i < exported->shape.size(); ++i) {
      held->shape.push_back(exported->shape[i]);
      held->strides.push_back(exported->strides[i] * size);
    }
    view->buf = exported->data;
    view->len = exported->size() * size;
    view->itemsize = size;
    view->readonly = 1;
    const int ndim = static_cast<int>(exported->shape.size());
    view->ndim = wants_shape ? ndim : std::min(ndim, 1);  // without a shape, a row of bytes
    view->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    view->shape = wants_shape && ndim > 0 ? held->shape.data() : nullptr;
    view->strides = wants_strides && ndim > 0 ? held->strides.data() : nullptr;
    view->suboffsets = nullptr;
    held->tensor = std::move(exported);
    view->internal = held.release();
    view->obj = Py_NewRef(self);
  });
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Export*>(view->internal); }

// bitcast(raw, dtype): the same memory as a dtype of the same width; for what has no buffer.
PyObject* bitcast(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  PyObject* wanted = nullptr;
  if (PyArg_ParseTuple(args, "O!O", types.raw_tensor, &object, &wanted) == 0) return nullptr;
  return guarded([&] {
    const Ref<RawTensor> raw = as_raw(object, Py_None);
    const DType dtype = to_dtype(wanted);
    if (size_of(dtype) != size_of(raw->dtype) || dtype == DType::kBool) {
      fail(ErrorKind::kDType, said::op("bitcast"), "the dtype must be a number as wide as ",
           name_of(raw->dtype), said::got(name_of(dtype)));
    }
    return from_value(
        make_ref<RawTensor>(dtype, raw->shape, raw->strides, raw->storage, raw->data));
  });
}

}  // namespace tensorlike::bind
