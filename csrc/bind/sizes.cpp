// Sizes that are not known, as Python sees them: what stands for one is never shown as a number.
#include "program/sizes.h"

#include <algorithm>

#include "bind/programs.h"
#include "op/counts.h"
#include "program/recording.h"

namespace tensorlike::bind {
namespace {

PyTypeObject* size_class = nullptr;  // set from Python

PyObject* set_size_class(PyObject*, PyObject* cls) {
  size_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls));
  Py_RETURN_NONE;
}

// Whether the last dimensions are these numbers; -1: they are no plain numbers.
int ends_with_numbers(const Dims& shape, PyObject* sizes) {
  const Py_ssize_t count = PyTuple_GET_SIZE(sizes);
  const Py_ssize_t first = static_cast<Py_ssize_t>(shape.size()) - count;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const size = PyTuple_GET_ITEM(sizes, i);
    int overflow = 0;
    if (PyLong_CheckExact(size) == 0) return -1;
    const long long number = PyLong_AsLongLongAndOverflow(size, &overflow);
    if (overflow != 0 || first < 0 || number != shape[static_cast<size_t>(first + i)]) return 0;
  }
  return 1;
}

// ends_with(x, sizes): whether the shape of x ends with a tuple. Of elements no tuple is made.
PyObject* ends_with(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || PyTuple_Check(args[1]) == 0) {
    PyErr_SetString(PyExc_TypeError, "ends_with: takes what has a shape, and a tuple");
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const bool is_own = is_own_wrapper(Py_TYPE(args[0]));
    const RawTensor* const raw = is_own ? raw_under(value_of(args[0])) : nullptr;
    if (raw != nullptr && (live_witnesses == 0 || are_plain(raw->shape))) {
      const int found = ends_with_numbers(raw->shape, args[1]);
      if (found >= 0) return PyBool_FromLong(found);
    }
    const Object given = own(PyObject_GetAttrString(args[0], "shape"));
    const Object shape = own(PySequence_Tuple(given.get()));
    const Py_ssize_t all = PyTuple_GET_SIZE(shape.get());
    const Py_ssize_t first = std::max<Py_ssize_t>(0, all - PyTuple_GET_SIZE(args[1]));
    const Object last = own(PyTuple_GetSlice(shape.get(), first, all));
    return PyObject_RichCompare(last.get(), args[1], Py_EQ);
  });
}

PyMethodDef sizes_functions[] = {
    {"set_size_class", as_method(set_size_class), METH_O, "Says what unknown sizes are."},
    {"ends_with", as_method(ends_with), METH_FASTCALL, "Whether a shape ends with these sizes."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* from_witness(const Witness& witness, const Program& program) {
  if (witness.is_known()) return PyLong_FromLongLong(witness.first);
  auto* owner = static_cast<PyObject*>(program.handle);
  return checked(PyObject_CallFunction(
      reinterpret_cast<PyObject*>(size_class), "LLO", static_cast<long long>(witness.first),
      static_cast<long long>(witness.second), owner != nullptr ? owner : Py_None));
}

bool is_size(PyObject* object) { return Py_TYPE(object) == size_class; }

namespace {

// What a size of a program around is in the block that is being built, which needs numbers of its
// own; null: nothing is built, or no block, or it has no such size.
Object size_in_block(PyObject* object, PyObject* owner) {
  const Program* const program = recorded_program();
  auto* const block = program == nullptr ? nullptr : static_cast<PyObject*>(program->handle);
  if (block == nullptr || block == owner || !find_attribute(block, "own_size")) return {};
  // A number of another program's is one by chance: rules see sizes of the block as numbers, too.
  // One with a fraction is nobody else's.
  if (owner == Py_None) return {};
  const Object first = own(PyObject_GetAttrString(object, "first"));
  if (PyFloat_Check(first.get()) == 0 && !is_recorded_here(program_in(owner))) return {};
  Object size = own(PyObject_CallMethod(block, "own_size", "O", object));
  return size.get() == Py_None ? Object() : std::move(size);
}

}  // namespace

Literal literal_of_size(PyObject* object) {
  const Object kept = own(PyObject_GetAttrString(object, "kept"));
  if (kept.get() != Py_None) own(PyObject_CallMethod(object, "refuse_kept", nullptr));
  Object owner = own(PyObject_GetAttrString(object, "owner"));
  Object number = own(PyObject_GetAttrString(object, "first"));
  if (Object inside = size_in_block(object, owner.get()); inside.get() != nullptr) {
    if (is_size(inside.get())) return literal_of_size(inside.get());
    number = std::move(inside);
  } else {
    use_sizes(owner.get());
  }
  if (PyFloat_Check(number.get())) return PyFloat_AS_DOUBLE(number.get());
  const long long whole = PyLong_AsLongLong(number.get());
  if (whole == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  const Object is_float = own(PyObject_GetAttrString(object, "is_float"));
  if (is_float.get() == Py_True) return static_cast<double>(whole);
  return static_cast<int64_t>(whole);
}

Literal literal_to_calculate(PyObject* object) {
  const Literal number = literal_of_size(object);
  if (!std::holds_alternative<int64_t>(number)) return number;
  const Literal parts[] = {1.0, number};
  return calculated_by_sizes("multiply", parts).value_or(number);
}

int64_t number_of_size(PyObject* object) {
  const Literal number = literal_of_size(object);
  if (const auto* whole = std::get_if<int64_t>(&number)) return *whole;
  own(PyObject_CallMethod(object, "__index__", nullptr));  // which says why it is none
  throw PythonError();
}

PyObject* from_number(int64_t number) {
  const Program* program = live_witnesses > 0 ? program_of(number) : nullptr;
  const auto size = program != nullptr ? program->witness_of(number) : std::nullopt;
  return size ? from_witness(*size, *program) : PyLong_FromLongLong(number);
}

PyObject* from_real(double number) {
  const Program* program = live_witnesses > 0 ? program_of(number) : nullptr;
  if (program == nullptr) return PyFloat_FromDouble(number);
  auto* owner = static_cast<PyObject*>(program->handle);
  return checked(PyObject_CallFunction(reinterpret_cast<PyObject*>(size_class), "ddO", number,
                                       -number, owner != nullptr ? owner : Py_None));
}

PyObject* said_shape(Value& value) {
  if (live_witnesses == 0) return nullptr;
  Value* inner = &value;
  while (inner->tag == Value::kTracer) inner = static_cast<Tracer*>(inner)->primal.get();
  auto* const object = static_cast<PyObject*>(inner->embedded());
  if (object == nullptr) return nullptr;
  Object shape = own(PyObject_GetAttrString(object, "shape"));
  return PyTuple_CheckExact(shape.get()) ? shape.release() : nullptr;
}

PyObject* count_of(PyObject* shape) {
  Object sizes = own(PySequence_Tuple(shape));
  Object count = own(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes.get()); ++i) {
    count = own(PyNumber_Multiply(count.get(), PyTuple_GET_ITEM(sizes.get(), i)));
  }
  return count.release();
}

PyObject* from_dims(const Dims& shape) {
  Object out = own(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (size_t i = 0; i < shape.size(); ++i) {
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLongLong(shape[i])));
  }
  return out.release();
}

void add_sizes(PyObject* module) {
  check(PyModule_AddFunctions(module, sizes_functions));
  collect_programs = [] {
    const Gil gil;
    PyGC_Collect();
  };
}

}  // namespace tensorlike::bind
