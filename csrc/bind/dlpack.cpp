// Elements in and out by DLPack, without copies where the other side cannot write.
#include <functional>
#include <memory>
#include <optional>

#include "bind/objects.h"

namespace tensorlike::bind {
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
