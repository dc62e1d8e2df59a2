// The Python objects of this module, and the ways between them and the core's.
#pragma once

#include "bind/python.h"
#include "dispatch/dispatcher.h"
#include "op/registry.h"
#include "tape/tape.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
class Holder;
}

namespace tensorlike::bind {

// TensorBase and everything under it. A subclass written in Python has no value: the object itself
// is the tensor-like. A wrapper's value is what it wraps.
struct TensorObject {
  PyObject_HEAD Value* value;
  PyObject* weakrefs;
  uint64_t born;  // how many had been made then, itself included
};

struct OpObject {
  PyObject_HEAD Op* op;  // null for ops written in Python
  PyObject* weakrefs;
};

struct Types {
  PyTypeObject* op_base = nullptr;
  PyTypeObject* python_op_base = nullptr;  // ops.OpBase, the same root with Python's part
  PyTypeObject* tensor_base = nullptr;
  PyTypeObject* raw_tensor = nullptr;
  PyTypeObject* shape_tensor = nullptr;
  PyTypeObject* tracer = nullptr;
  PyTypeObject* wrapper = nullptr;
  PyTypeObject* tensor = nullptr;     // the class that functional calls return: set from Python
  PyTypeObject* parameter = nullptr;  // what is computed from one is a tensor, not a parameter
  PyTypeObject* tape = nullptr;
  PyTypeObject* function = nullptr;
  PyTypeObject* dtype = nullptr;
};
extern Types types;

inline bool is_tensor_like(PyObject* object) {
  return PyObject_TypeCheck(object, types.tensor_base) != 0;
}
inline PyTypeObject* result_class(PyTypeObject* cls) {
  return cls == types.parameter ? types.tensor : cls;
}
inline bool is_own_wrapper(PyTypeObject* cls) {
  return cls == types.tensor || cls == types.parameter;
}
inline bool is_wrapper(PyObject* object) {
  return is_own_wrapper(Py_TYPE(object)) || PyObject_TypeCheck(object, types.wrapper) != 0;
}
// How many tensor-like objects have been made.
uint64_t births();
inline uint64_t born(PyObject* object) { return reinterpret_cast<TensorObject*>(object)->born; }
inline Value* value_of(PyObject* object) { return reinterpret_cast<TensorObject*>(object)->value; }
// Whether it is a Tensor around a value of the core's own, so that no class of Python's has a say.
inline bool is_plain_tensor(PyObject* object) {
  return is_own_wrapper(Py_TYPE(object)) && value_of(object)->tag != Value::kOther;
}
// The elements themselves or those under tracers, which have their shape and dtype; else null.
inline const RawTensor* raw_under(const Value* value) {
  while (value != nullptr && value->tag == Value::kTracer) {
    value = static_cast<const Tracer*>(value)->primal.get();
  }
  return value != nullptr && value->tag == Value::kRaw ? static_cast<const RawTensor*>(value)
                                                       : nullptr;
}

// How many Python objects the core holds: those of the three classes below.
inline int64_t python_parts = 0;

// A tensor-like, or any other object, that the core only passes around.
class ForeignValue final : public Value {
 public:
  explicit ForeignValue(PyObject* object);
  ~ForeignValue() override;
  double priority() const override;
  bool spec(Spec& out) const override;
  Ref<Value> lift(Value& other) override;
  void* embedded() const override { return object_; }
  PyObject* object() const { return object_; }

 private:
  PyObject* object_;
};

// The Python object that a value stands for; null where it is one of the core's own kinds.
inline PyObject* object_of(const Value& value) {
  return value.tag == Value::kOther ? static_cast<PyObject*>(value.embedded()) : nullptr;
}

// An op written in Python.
class ForeignOp final : public Op {
 public:
  ForeignOp(const OpClass& cls, PyObject* object);
  ~ForeignOp() override;
  std::string name() const override;
  bool run_define(Args args, Values& out) const override;
  bool has_body() const override;
  const GradRule& grad_rule() const override;
  PyObject* object() const { return object_; }
  // The programs that it holds, which say what it means on values: its attribute `holder`. Null:
  // there is none.
  const Holder* holder() const;

 private:
  PyObject* object_;
  mutable std::atomic<const Holder*> holder_{nullptr};
  mutable std::atomic<bool> is_holder_known_{false};
};

// A hook written in Python: a callable of the gradient as a Tensor, which returns None or another.
class ForeignHook final : public GradientHook {
 public:
  ForeignHook(int slot, PyObject* function);
  ~ForeignHook() override;
  Ref<Value> run(const Ref<Value>& gradient) override;
  PyObject* function() const { return function_; }

 private:
  PyObject* function_;
};

// Hierarchy nodes for Python's classes.
const Type& kind_type(PyTypeObject* cls);
const OpClass& op_class(PyTypeObject* cls);
PyTypeObject* python_class(const Type& type);
// Declares that the Python class stands for the core's op class.
void bind_op_class(PyTypeObject* cls, const OpClass& op_class);
// `cls` counts as a subclass of `base` in dispatch, though Python does not say so.
void add_virtual_base(PyTypeObject* cls, PyTypeObject* base);
bool is_virtual_op(PyTypeObject* cls);

// The core's value of a tensor-like (a wrapper's is what it wraps); of any other object, a
// ForeignValue.
Ref<Value> to_value(PyObject* object);
PyObject* from_value(const Ref<Value>& value);
// What dispatch sees of an object as it is: wrappers stay wrapped.
Ref<Value> as_argument(PyObject* object);
// A class of tensor-likes, with what they all share and slots of its own. Its objects have a size
// of their own, by `number` words more than the root's: so Python sees that they hold something
// else, and lets none become one of another class by setting `__class__`.
PyTypeObject* make_type(PyObject* module, const char* name, int number, const char* doc,
                        std::initializer_list<PyType_Slot> own_slots, bool is_collected = false);
// A tensor-like, or a wrapper, of this class around the value.
PyObject* wrap(Ref<Value> value, PyTypeObject* cls);
void rebind(PyObject* wrapper, Ref<Value> value);
// The same, which no block that goes on hears of.
void rebind_unnoted(PyObject* wrapper, Ref<Value> value);

// For the garbage collector: what a tensor-like holds of Python's by way of the core.
int visit_held(PyObject* self, visitproc visit, void* arg);
int visit_held(PyObject* self, const TapeLog& log, visitproc visit, void* arg);

// Where a tensor-like's elements live, as it says or what it is around; else the CPU.
Device device_of(PyObject* tensor_like);
// ErrorKind::kDevice unless `who` may look at the elements.
void check_on_cpu(const RawTensor& x, const char* who);

PyObject* from_dims(const Dims& dims);
[[noreturn]] void fail_attribute(PyObject* self, const char* name);
[[noreturn]] void fail_shape(PyObject* self, PyObject* shape);
Ref<Op> to_op(PyObject* object);
PyObject* from_op(const Op& op);

// Elements: numbers, lists, arrays; a Tensor's own. Copies what others could write to.
Ref<RawTensor> as_raw(PyObject* object, PyObject* dtype);
// The same of a size that is not known too: an op of the program gives its number.
Ref<Value> as_value(PyObject* object, PyObject* dtype);
// A Python number as a literal; false for anything else.
bool to_literal(PyObject* object, Literal& literal);
// Whether it is an integer beyond int64, which the literal holds rounded.
bool is_wide_integer(PyObject* object, const Literal& literal);
// An integer beyond int64 as an integer dtype: only uint64 may hold it.
Ref<RawTensor> wide_scalar(PyObject* object, DType dtype, Device device = default_device);
// The value for an operand that is not a tensor-like, beside `like`.
Ref<Value> lift_operand(PyObject* object, Value& like);

Attr to_attr(PyObject* object, const std::string& owner, const AttrSpec& spec);
PyObject* from_attr(const Attr& attr);
DType to_dtype(PyObject* object);
PyObject* from_dtype(DType dtype);

// Applies an op to Python objects of any kind: tensor-likes, wrappers, numbers, arrays.
PyObject* apply_objects(PyObject* op_object, const Op* op, PyObject* const* args, size_t n);
// apply(op, *xs), as a method or a function takes it.
PyObject* call_apply(PyObject* self, PyObject* const* args, Py_ssize_t n);
// The single result of a one-output op.
PyObject* apply_single(const Op& op, PyObject* const* args, size_t n);
// The same of one argument, the short way where that is a Tensor of ours.
PyObject* apply_to_one(const Op& op, PyObject* tensor);

PyObject* to_tuple(const Values& values, PyTypeObject* wrapper);

// What is written in Python: set once by the imperative room.
struct Hooks {
  PyObject* getitem = nullptr;   // (x, key) -> tensor: advanced indexing
  PyObject* setitem = nullptr;   // (x, key, value) -> (function, attributes, arguments)
  PyObject* as_array = nullptr;  // (object, dtype) -> an array with a buffer, or a tensor-like
  PyObject* to_array = nullptr;  // (x, dtype, copy) -> a NumPy array of what has no buffer
  PyObject* repr = nullptr;      // (x) -> text
  PyObject* carried = nullptr;   // (x) -> what is under wrappers and carriers
  PyObject* ufunc = nullptr;     // (ufunc, method, *inputs, **kwargs) -> tensor
  // Of the tensor-likes of transforms and of carriers:
  PyObject* inner = nullptr;            // (x) -> what it is around, or None
  PyObject* on_base = nullptr;          // (x, leaf or None) -> x with that place on the base tape
  PyObject* lowered = nullptr;          // (x, level) -> x outside of the transform of this level
  PyObject* refuse_examples = nullptr;  // (x, level, current): raises if a vmap is in x alone
  PyObject* own_tape = nullptr;         // (x) -> the tape of the transform that it is of, or None
};
extern Hooks hooks;

Ref<Tape> to_tape(PyObject* tape);

// x[key] = value
int set_item(PyObject* self, PyObject* key, PyObject* value);
// Replaces what a wrapper holds. Under a paused tape a leaf stays the leaf that it was.
void assign(PyObject* self, Ref<Value> result);
PyObject* replace(PyObject* module, PyObject* const* args, Py_ssize_t n);
// The value under a leaf whose tape is paused, else the value itself.
Value* writable(PyObject* self);

void add_errors(PyObject* module);
void add_dtypes(PyObject* module);
void add_ops(PyObject* module);
void add_tensors(PyObject* module);
void add_functions(PyObject* module);
void add_named(PyObject* module);
void add_numbers(PyObject* module);
void add_numpy_arrays(PyObject* module);
void add_apply(PyObject* module);
void add_rules(PyObject* module);
void add_wrappers(PyObject* module);
void add_tapes(PyObject* module);
void add_backward(PyObject* module);
void add_rebinding(PyObject* module);
void add_rebinding_blocks(PyObject* module);
void add_collections(PyObject* module);
void add_transforms(PyObject* module);
void add_engine(PyObject* module);
void add_contexts(PyObject* module);
void add_cycles();
void add_lapack();
void add_expressions(PyObject* module);
void add_ways(PyObject* module);
PyTypeObject* add_type(PyObject* module, PyType_Spec& spec, PyTypeObject* base);

// Slots and methods that every tensor-like has.
extern PyType_Slot number_slots[];

// Buffer protocol and DLPack. In other libraries' booleans any byte but 0 is true; ours are 0
// and 1.
void normalise(RawTensor& booleans);
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);
PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* from_dlpack(PyObject* module, PyObject* capsule);
PyObject* bitcast(PyObject* module, PyObject* args);

}  // namespace tensorlike::bind
