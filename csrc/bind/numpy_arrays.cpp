// NumPy arrays over our memory, and elements of small ones, by NumPy's own interface: the buffer
// protocol, by which it sees what else there is, takes it four times as long.
#include <algorithm>
#include <cstring>
#include <optional>

#include "bind/elements.h"

namespace tensorlike::bind {
namespace {

// What NumPy gives to C, by its places in the table, which are the same in all versions.
struct NumPy {
  using FromType = PyObject* (*)(int);
  using New = PyObject* (*)(PyTypeObject*, PyObject*, int, const Py_intptr_t*, const Py_intptr_t*,
                            void*, int, PyObject*);
  using SetBase = int (*)(PyObject*, PyObject*);
  using DTypeOfScalar = PyObject* (*)(PyObject*);
  using ReadScalar = void (*)(PyObject*, void*);

  // How an array and its dtype begin, in all versions as well.
  struct Array {
    PyObject_HEAD char* data;
    int ndim;
    Py_intptr_t* shape;
    Py_intptr_t* strides;
    PyObject* base;
    PyObject* dtype;
    int flags;
  };
  struct DTypeObject {
    PyObject_HEAD PyTypeObject* scalar;
    char kind, type, byte_order, unused;
    int number;
  };

  PyTypeObject* array_type;
  FromType dtype_from_type;
  New new_from_dtype;
  SetBase set_base;
  PyTypeObject* scalar_type;
  DTypeOfScalar dtype_of_scalar;
  ReadScalar read_scalar;

  static NumPy found() {
    Object module = Object::steal(PyImport_ImportModule("numpy._core.multiarray"));
    if (!module) {  // NumPy 1
      PyErr_Clear();
      module = own(PyImport_ImportModule("numpy.core.multiarray"));
    }
    const Object capsule = own(PyObject_GetAttrString(module.get(), "_ARRAY_API"));
    auto** const table = static_cast<void**>(PyCapsule_GetPointer(capsule.get(), nullptr));
    if (table == nullptr) throw PythonError();
    return {static_cast<PyTypeObject*>(table[2]),   reinterpret_cast<FromType>(table[45]),
            reinterpret_cast<New>(table[94]),       reinterpret_cast<SetBase>(table[282]),
            static_cast<PyTypeObject*>(table[10]),  reinterpret_cast<DTypeOfScalar>(table[57]),
            reinterpret_cast<ReadScalar>(table[62])};
  }
};

constexpr int kNone = -1;
// NumPy's numbers of our dtypes; it has no bfloat16. An int64 is C's long where that is as long.
constexpr int kInt64 = sizeof(long) == 8 ? 7 : 9;
constexpr int kTypes[kDTypeCount] = {0,          1,  3,     5,  kInt64, 2,  4, 6,
                                     kInt64 + 1, 23, kNone, 11, 12,     14, 15};
constexpr int kInOrder = 0x0001;
constexpr int kAligned = 0x0100;
constexpr size_t kMostDims = 32;    // that every NumPy has
constexpr size_t kSmall = 1 << 14;  // bytes: copied before anybody else may run

const NumPy& numpy() {
  static const NumPy& found = *new NumPy(NumPy::found());
  return found;
}

// array_of(x) -> array, read-only; None: not of such a value, or in the general way.
PyObject* array_of(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    if (!is_own_wrapper(Py_TYPE(tensor)) || value_of(tensor)->tag != Value::kRaw) Py_RETURN_NONE;
    note_read(tensor);  // which may bind it to something else
    if (value_of(tensor)->tag != Value::kRaw) Py_RETURN_NONE;
    const Ref<RawTensor> raw(static_cast<RawTensor*>(value_of(tensor)));
    const int type = kTypes[static_cast<int>(raw->dtype)];
    const size_t ndim = raw->shape.size();
    if (type == kNone || !raw->device.is_cpu() || ndim > kMostDims) Py_RETURN_NONE;
    raw->ready("read");
    if (raw->size() == 0) Py_RETURN_NONE;
    Py_intptr_t shape[kMostDims], strides[kMostDims];
    for (size_t i = 0; i < ndim; ++i) {
      shape[i] = raw->shape[i];
      strides[i] = raw->strides[i] * static_cast<int64_t>(size_of(raw->dtype));
    }
    PyObject* const dtype = checked(numpy().dtype_from_type(type));  // taken by the array
    Object array = own(numpy().new_from_dtype(numpy().array_type, dtype, static_cast<int>(ndim),
                                              shape, strides, raw->data, kAligned, nullptr));
    check(numpy().set_base(array.get(), checked(from_value(raw))));
    return array.release();
  });
}

PyMethodDef numpy_arrays_functions[] = {
    {"array_of", as_method(array_of), METH_O, "A NumPy array over the elements; or None."},
    {nullptr, nullptr, 0, nullptr},
};

// Our dtype of NumPy's number; nothing where we have none.
std::optional<DType> dtype_of_number(int number) {
  const auto found = std::find(std::begin(kTypes), std::end(kTypes), number);
  if (found == std::end(kTypes)) return {};
  return static_cast<DType>(found - std::begin(kTypes));
}

Ref<RawTensor> from_array(PyObject* object) {
  const auto& array = *reinterpret_cast<const NumPy::Array*>(object);
  const auto& numpy_dtype = *reinterpret_cast<const NumPy::DTypeObject*>(array.dtype);
  const std::optional<DType> dtype = dtype_of_number(numpy_dtype.number);
  const bool is_plain = (array.flags & kInOrder) != 0 && (array.flags & kAligned) != 0 &&
                        (numpy_dtype.byte_order == '=' || numpy_dtype.byte_order == '|');
  const auto ndim = static_cast<size_t>(array.ndim);
  if (!dtype || !is_plain || ndim > kMostDims) return nullptr;
  const Dims shape(array.shape, array.shape + ndim);
  const size_t bytes = static_cast<size_t>(element_count(shape)) * size_of(*dtype);
  if (bytes > kSmall) return nullptr;
  Ref<RawTensor> copied = RawTensor::empty(*dtype, shape);
  if (bytes > 0) std::memcpy(copied->data, array.data, bytes);
  if (*dtype == DType::kBool) normalise(*copied);
  return copied;
}

std::optional<DType> dtype_of_scalar(PyObject* object) {
  const Object found = Object::steal(numpy().dtype_of_scalar(object));
  if (!found) PyErr_Clear();
  if (!found) return {};
  return dtype_of_number(reinterpret_cast<const NumPy::DTypeObject*>(found.get())->number);
}

Ref<RawTensor> from_scalar(PyObject* object) {
  const std::optional<DType> dtype = dtype_of_scalar(object);
  if (!dtype) return nullptr;
  Ref<RawTensor> made = RawTensor::empty(*dtype, {});
  numpy().read_scalar(object, made->data);
  return made;
}

bool is_scalar(PyObject* object) { return PyObject_TypeCheck(object, numpy().scalar_type) != 0; }

}  // namespace

bool is_numpy_array(PyObject* object) { return Py_TYPE(object) == numpy().array_type; }

Ref<RawTensor> from_scalars(PyObject* list) {
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
  PyObject** const items = PySequence_Fast_ITEMS(list);
  if (n == 0 || !is_scalar(items[0])) return nullptr;
  for (Py_ssize_t i = 1; i < n; ++i) {
    if (Py_TYPE(items[i]) != Py_TYPE(items[0])) return nullptr;
  }
  const std::optional<DType> dtype = dtype_of_scalar(items[0]);
  if (!dtype) return nullptr;
  Ref<RawTensor> made = RawTensor::empty(*dtype, {n});
  const size_t size = size_of(*dtype);
  for (Py_ssize_t i = 0; i < n; ++i) {
    numpy().read_scalar(items[i], made->data + static_cast<size_t>(i) * size);
  }
  return made;
}

Ref<RawTensor> from_small_array(PyObject* object) {
  if (is_numpy_array(object)) return from_array(object);
  return is_scalar(object) ? from_scalar(object) : nullptr;
}

void add_numpy_arrays(PyObject* module) {
  check(PyModule_AddFunctions(module, numpy_arrays_functions));
}

}  // namespace tensorlike::bind
