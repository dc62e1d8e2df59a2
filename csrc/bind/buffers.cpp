// Elements in and out: the buffer protocol (PEP 3118) and DLPack, both without copies where the
// other side cannot write.
#include <cstring>
#include <optional>

#include "bind/objects.h"

namespace tensorlike::bind {
namespace {

// The formats of PEP 3118; bfloat16 has none.
constexpr const char* kFormats[kDTypeCount] = {"?", "b", "h",     "i", "q", "B",  "H", "I",
                                               "Q", "e", nullptr, "f", "d", "Zf", "Zd"};

struct Export {
  std::vector<Py_ssize_t> shape, strides;
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

// A copy of what a buffer holds.
Ref<RawTensor> from_buffer(Py_buffer& view) {
  struct Release {
    Py_buffer* view;
    ~Release() { PyBuffer_Release(view); }
  } release{&view};
  const std::optional<DType> dtype = dtype_of_format(view.format, view.itemsize);
  if (!dtype) {
    fail(
        ErrorKind::kDType,
        "tensor: the data must be boolean, an integer of 8 to 64 bits, a float of 16 to 64 bits or "
        "a complex number of 64 or 128; got format '",
        view.format == nullptr ? "" : view.format,
        "'; convert it first: array.astype(\"float32\").");
  }
  Dims shape(view.shape, view.shape + view.ndim);
  element_count(shape);
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
    return copy(*seen);
  }
  // Fields of records, or packed data: byte by byte.
  if (PyBuffer_ToContiguous(out->data, &view, view.len, 'C') != 0) throw PythonError();
  return out;
}

// Elements of an array, or of what Python makes one of. What has no buffer (bfloat16 arrays) the
// hook turns into a tensor.
Ref<RawTensor> from_data(PyObject* object, PyObject* dtype) {
  Py_buffer view;
  if (PyObject_CheckBuffer(object) != 0 && !PyBytes_Check(object)) {
    if (get_view(object, view)) return from_buffer(view);
    PyErr_Clear();
  }
  if (hooks.as_array == nullptr) fail(ErrorKind::kDispatch, "tensor: not set up.");
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

Ref<RawTensor> as_raw(PyObject* object, PyObject* dtype) {
  Ref<RawTensor> raw;
  Literal literal;
  if (is_tensor_like(object) && value_of(object) != nullptr) {
    Value* value = value_of(object);
    while (value->tag == Value::kTracer) value = static_cast<Tracer*>(value)->primal.get();
    if (value->tag != Value::kRaw) {
      fail(ErrorKind::kDispatch, "tensor: a value is needed; got a ", value->type->name(), ".");
    }
    raw = Ref<RawTensor>(static_cast<RawTensor*>(value));
    raw->ready("read");
  } else if (to_literal(object, literal) &&
             !(is_wide_integer(object, literal) && dtype == Py_None)) {
    // Straight to the dtype that is asked for: nothing is rounded twice, or wraps around.
    const DType wanted = dtype == Py_None ? default_dtype(kind_of(literal)) : to_dtype(dtype);
    const bool is_wide = is_wide_integer(object, literal) && kind_of(wanted) < Kind::kFloating;
    return is_wide ? wide_scalar(object, wanted) : RawTensor::scalar(wanted, literal);
  } else {
    raw = from_data(object, dtype);
  }
  if (dtype == Py_None) return raw;
  const DType wanted = to_dtype(dtype);
  return raw->dtype == wanted ? raw : cast(*raw, wanted);
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  return guarded_status([&] {
    view->obj = nullptr;
    auto* raw = static_cast<RawTensor*>(value_of(self));
    raw->ready("read");
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
    const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    Ref<RawTensor> exported(raw);
    if (!wants_strides) exported = contiguous(*raw);
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
    view->ndim = static_cast<int>(exported->shape.size());
    view->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    view->shape = (flags & PyBUF_ND) == PyBUF_ND ? held->shape.data() : nullptr;
    view->strides = wants_strides ? held->strides.data() : nullptr;
    view->suboffsets = nullptr;
    held->tensor = std::move(exported);
    view->internal = held.release();
    view->obj = Py_NewRef(self);
  });
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Export*>(view->internal); }

namespace {

// The structures of the DLPack standard, version 1.0 (dmlc/dlpack, dlpack.h).
struct DLDevice {
  int32_t type;
  int32_t id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major;
  uint32_t minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};

constexpr int32_t kCpu = 1;
constexpr uint64_t kReadOnly = 1;
constexpr uint64_t kIsCopied = 2;
constexpr uint8_t kInt = 0;
constexpr uint8_t kUInt = 1;
constexpr uint8_t kFloat = 2;
constexpr uint8_t kBFloat = 4;
constexpr uint8_t kComplexCode = 5;
constexpr uint8_t kBoolCode = 6;

DLDataType to_dlpack_type(DType dtype) {
  const uint8_t bits = static_cast<uint8_t>(size_of(dtype) * 8);
  if (dtype == DType::kBool) return {kBoolCode, 8, 1};
  if (dtype == DType::kBFloat16) return {kBFloat, bits, 1};
  switch (kind_of(dtype)) {
    case Kind::kFloating:
      return {kFloat, bits, 1};
    case Kind::kComplex:
      return {kComplexCode, bits, 1};
    default:
      return {is_unsigned(dtype) ? kUInt : kInt, bits, 1};
  }
}

std::optional<DType> from_dlpack_type(DLDataType type) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const DLDataType row = to_dlpack_type(static_cast<DType>(d));
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) {
      return static_cast<DType>(d);
    }
  }
  return std::nullopt;
}

struct Held {
  Ref<RawTensor> tensor;
  std::vector<int64_t> shape, strides;
};

DLTensor describe(Held& held) {
  const RawTensor& x = *held.tensor;
  held.shape.assign(x.shape.begin(), x.shape.end());
  held.strides.assign(x.strides.begin(), x.strides.end());
  return {x.data,
          {kCpu, 0},
          static_cast<int32_t>(x.shape.size()),
          to_dlpack_type(x.dtype),
          held.shape.data(),
          held.strides.data(),
          0};
}

template <class Managed>
void drop(Managed* managed) {
  delete static_cast<Held*>(managed->context);
  delete managed;
}

// A capsule that nobody consumed is dropped with its tensor.
template <class Managed>
void capsule_destructor(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

}  // namespace

PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject* stream = Py_None;
  PyObject* version = Py_None;
  PyObject* device = Py_None;
  PyObject* wants_copy = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(names),
                                  &stream, &version, &device, &wants_copy) == 0) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    if (stream != Py_None) {
      PyErr_SetString(PyExc_BufferError, "__dlpack__: a CPU tensor has no stream; pass None");
      throw PythonError();
    }
    if (device != Py_None) {
      int type = 0;
      int id = 0;
      if (PyArg_ParseTuple(device, "ii", &type, &id) == 0) throw PythonError();
      if (type != kCpu || id != 0) {
        PyErr_SetString(PyExc_BufferError,
                        "__dlpack__: the tensor lives on the CPU, device (1, 0)");
        throw PythonError();
      }
    }
    auto held = std::make_unique<Held>();
    auto* raw = static_cast<RawTensor*>(value_of(self));
    raw->ready("read");
    const bool is_copied = wants_copy == Py_True;
    held->tensor = is_copied ? copy(*raw) : Ref<RawTensor>(raw);
    int major = 0;
    if (version != Py_None) {
      if (!PyTuple_Check(version) || PyTuple_GET_SIZE(version) != 2) {
        PyErr_SetString(PyExc_TypeError, "__dlpack__: max_version must be (major, minor)");
        throw PythonError();
      }
      major = static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(version, 0)));
    }
    if (major < 1) {
      // The old form cannot say "read-only": the consumer gets memory of its own.
      if (!is_copied) held->tensor = copy(*raw);
      const DLTensor tensor = describe(*held);
      auto* managed = new DLManagedTensor{tensor, held.release(), drop<DLManagedTensor>};
      return checked(PyCapsule_New(
          managed, "dltensor",
          +[](PyObject* capsule) { capsule_destructor<DLManagedTensor>(capsule, "dltensor"); }));
    }
    const DLTensor tensor = describe(*held);
    auto* managed = new DLManagedTensorVersioned{
        1,     0, held.release(), drop<DLManagedTensorVersioned>, is_copied ? kIsCopied : kReadOnly,
        tensor};
    return checked(PyCapsule_New(
        managed, "dltensor_versioned", +[](PyObject* capsule) {
          capsule_destructor<DLManagedTensorVersioned>(capsule, "dltensor_versioned");
        }));
  });
}

namespace {

Ref<RawTensor> adopt(const DLTensor& tensor, std::function<void()> give_back) {
  // Whatever is wrong, the producer gets its tensor back.
  struct Guard {
    std::function<void()>& give_back;
    bool armed = true;
    ~Guard() {
      if (armed) give_back();
    }
  } guard{give_back};
  auto refuse = [](const std::string& what) {
    PyErr_SetString(PyExc_BufferError, what.c_str());
    throw PythonError();
  };
  if (tensor.device.type != kCpu) refuse("from_dlpack: only CPU memory can be taken over");
  const std::optional<DType> dtype = from_dlpack_type(tensor.dtype);
  if (!dtype)
    refuse(
        "from_dlpack: the dtype must be bool, an integer of 8 to 64 bits, a float of 16 to 64 "
        "bits, "
        "bfloat16, or a complex number of 64 or 128 bits");
  if (tensor.ndim < 0 || static_cast<size_t>(tensor.ndim) > kMaxDims ||
      (tensor.ndim > 0 && tensor.shape == nullptr)) {
    refuse("from_dlpack: the number of dimensions is out of range");
  }
  Dims shape(tensor.shape, tensor.shape + tensor.ndim);
  const int64_t count = element_count(shape);
  Dims strides = tensor.strides == nullptr ? contiguous_strides(shape)
                                           : Dims(tensor.strides, tensor.strides + tensor.ndim);
  char* data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (count > 0 && tensor.data == nullptr) refuse("from_dlpack: the data pointer is null");
  if (reinterpret_cast<uintptr_t>(data) % size_of(*dtype) != 0) {
    refuse("from_dlpack: the data must be aligned to its elements");
  }
  guard.armed = false;
  Ref<Storage> storage = Storage::foreign(data, 0, std::move(give_back), true);
  return make_ref<RawTensor>(*dtype, shape, strides, storage, data);
}

}  // namespace

// bitcast(raw, dtype): the same memory as a dtype of the same width; for what has no buffer.
PyObject* bitcast(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  PyObject* wanted = nullptr;
  if (PyArg_ParseTuple(args, "O!O", types.raw_tensor, &object, &wanted) == 0) return nullptr;
  return guarded([&] {
    const Ref<RawTensor> raw = as_raw(object, Py_None);
    const DType dtype = to_dtype(wanted);
    if (size_of(dtype) != size_of(raw->dtype) || dtype == DType::kBool) {
      fail(ErrorKind::kDType, "bitcast: the dtype must be a number as wide as ",
           name_of(raw->dtype), "; got ", name_of(dtype), ".");
    }
    return from_value(
        make_ref<RawTensor>(dtype, raw->shape, raw->strides, raw->storage, raw->data));
  });
}

// Takes the tensor out of a capsule: its memory is shared, never written to.
PyObject* from_dlpack(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned") != 0) {
      auto* managed = static_cast<DLManagedTensorVersioned*>(
          PyCapsule_GetPointer(capsule, "dltensor_versioned"));
      if (managed->major != 1) {
        PyErr_SetString(PyExc_BufferError, "from_dlpack: only DLPack 1.x is understood");
        throw PythonError();
      }
      check(PyCapsule_SetName(capsule, "used_dltensor_versioned"));
      return from_value(adopt(managed->tensor, [managed] {
        if (managed->deleter != nullptr) {
          Gil gil;
          managed->deleter(managed);
        }
      }));
    }
    if (PyCapsule_IsValid(capsule, "dltensor") != 0) {
      auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
      check(PyCapsule_SetName(capsule, "used_dltensor"));
      return from_value(adopt(managed->tensor, [managed] {
        if (managed->deleter != nullptr) {
          Gil gil;
          managed->deleter(managed);
        }
      }));
    }
    PyErr_SetString(PyExc_BufferError, "from_dlpack: an unused DLPack capsule is needed");
    throw PythonError();
  });
}

}  // namespace tensorlike::bind
