// Elements in and out by DLPack, without copies where the other side cannot write.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "bind/errors.h"
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

namespace {

// A pair of integers, or whatever else the text says; those beyond 64 bits are the largest.
std::pair<int64_t, int64_t> pair_of(PyObject* given, const char* what) {
  int64_t both[2] = {};
  if (PyTuple_Check(given) == 0 || PyTuple_GET_SIZE(given) != 2)
    fail_builtin(PyExc_TypeError, "__dlpack__", what);
  for (Py_ssize_t i = 0; i < 2; ++i) {
    if (PyIndex_Check(PyTuple_GET_ITEM(given, i)) == 0)
      fail_builtin(PyExc_TypeError, "__dlpack__", what);
    Object number = own(PyNumber_Index(PyTuple_GET_ITEM(given, i)));
    int overflow = 0;
    both[i] = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
    if (overflow != 0) both[i] = overflow > 0 ? INT64_MAX : INT64_MIN;
  }
  return {both[0], both[1]};
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
      fail_builtin(PyExc_BufferError, "__dlpack__", "a CPU tensor has no stream; pass None");
    }
    if (device != Py_None) {
      const auto wanted = pair_of(device, "dl_device must be (type, id), two integers");
      if (wanted != std::pair<int64_t, int64_t>(kCpu, 0)) {
        fail_builtin(PyExc_BufferError, "__dlpack__", "the tensor lives on the CPU, device (1, 0)");
      }
    }
    if (wants_copy != Py_None && PyBool_Check(wants_copy) == 0) {
      fail_builtin(PyExc_TypeError, "__dlpack__", "copy must be True, False or None");
    }
    int64_t major = 0;
    if (version != Py_None) {
      major = pair_of(version, "max_version must be (major, minor), two integers").first;
    }
    auto held = std::make_unique<Held>();
    auto* raw = static_cast<RawTensor*>(value_of(self));
    raw->ready("read");
    check_on_cpu(*raw, "__dlpack__");
    const bool is_copied = wants_copy == Py_True;
    held->tensor = is_copied ? copy(*raw) : Ref<RawTensor>(raw);
    if (major < 1) {
      if (wants_copy == Py_False) {
        fail_builtin(PyExc_BufferError, "__dlpack__",
                     "copy=False needs max_version=(1, 0): older forms cannot say that memory "
                     "is read-only");
      }
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

// The booleans as they are, or a copy where a byte is neither 0 nor 1.
Ref<RawTensor> normal_booleans(const Ref<RawTensor>& shared) {
  Dims distinct(shared->shape);  // what is repeated is looked at once
  for (size_t i = 0; i < distinct.size(); ++i) {
    if (shared->strides[i] == 0 && distinct[i] > 1) distinct[i] = 1;
  }
  const Ref<RawTensor> bytes = contiguous(*shared->view(distinct, shared->strides));
  const auto* const begin = reinterpret_cast<const uint8_t*>(bytes->data);
  const bool is_normal =
      std::all_of(begin, begin + bytes->count, [](uint8_t byte) { return byte <= 1; });
  if (is_normal) return shared;
  const Ref<RawTensor> own_copy = copy(*shared);
  normalise(*own_copy);
  return own_copy;
}

Ref<RawTensor> adopt(const DLTensor& tensor, std::function<void()> give_back) {
  // Whatever is wrong, the producer gets its tensor back.
  struct Guard {
    std::function<void()>& give_back;
    bool armed = true;
    ~Guard() {
      if (armed) give_back();
    }
  } guard{give_back};
  if (tensor.device.type != kCpu)
    fail_builtin(PyExc_BufferError, "from_dlpack", "only CPU memory can be taken over");
  const std::optional<DType> dtype = from_dlpack_type(tensor.dtype);
  if (!dtype)
    fail_builtin(PyExc_BufferError, "from_dlpack",
                 "the dtype must be bool, an integer of 8 to 64 bits, a float of 16 to 64 "
                 "bits, "
                 "bfloat16, or a complex number of 64 or 128 bits");
  if (tensor.ndim < 0 || static_cast<size_t>(tensor.ndim) > kMaxDims ||
      (tensor.ndim > 0 && tensor.shape == nullptr)) {
    fail_builtin(PyExc_BufferError, "from_dlpack", "the number of dimensions is out of range");
  }
  Dims shape(tensor.shape, tensor.shape + tensor.ndim);
  const int64_t count = element_count(shape);
  Dims strides = tensor.strides == nullptr ? contiguous_strides(shape)
                                           : Dims(tensor.strides, tensor.strides + tensor.ndim);
  char* data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (count > 0 && tensor.data == nullptr)
    fail_builtin(PyExc_BufferError, "from_dlpack", "the data pointer is null");
  if (reinterpret_cast<uintptr_t>(data) % size_of(*dtype) != 0) {
    fail_builtin(PyExc_BufferError, "from_dlpack", "the data must be aligned to its elements");
  }
  guard.armed = false;
  Ref<Storage> storage = Storage::foreign(data, 0, std::move(give_back), true);
  const auto shared = make_ref<RawTensor>(*dtype, shape, strides, storage, data);
  return *dtype == DType::kBool ? normal_booleans(shared) : shared;
}

}  // namespace

// Takes the tensor out of a capsule: its memory is shared, never written to.
PyObject* from_dlpack(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned") != 0) {
      auto* managed = static_cast<DLManagedTensorVersioned*>(
          PyCapsule_GetPointer(capsule, "dltensor_versioned"));
      if (managed->major != 1) {
        fail_builtin(PyExc_BufferError, "from_dlpack", "only DLPack 1.x is understood");
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
    fail_builtin(PyExc_BufferError, "from_dlpack", "an unused DLPack capsule is needed");
  });
}

}  // namespace tensorlike::bind
