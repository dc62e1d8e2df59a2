// Programs as Python sees them, and sizes that are not known.
#pragma once

#include "bind/objects.h"
#include "program/holder.h"
#include "program/program.h"

namespace tensorlike::bind {

// Whether an object is a size that is not known; the number that stands for it.
bool is_size(PyObject* object);
int64_t number_of_size(PyObject* object);
Literal literal_of_size(PyObject* object);
// The same of one that is calculated with: no integer that a double does not hold.
Literal literal_to_calculate(PyObject* object);
PyObject* from_witness(const Witness& witness, const Program& program);
// A number as Python sees it: what stands for an unknown size as such a size.
PyObject* from_number(int64_t number);
// The same of one with a fraction.
PyObject* from_real(double number);

// The shape that a tensor-like written in Python, under tracers, says itself, while sizes in it may
// be unknown; null for any other.
PyObject* said_shape(Value& value);

// The program of an object of the class Program, and numbers of its variables.
Program& program_in(PyObject* self);
Program& to_program(PyObject* object);
int to_variable(const Program& program, PyObject* object);
std::vector<int> to_variables(const Program& program, PyObject* objects);

// While there is one, Python looks for no garbage, whose finalizers may do anything: add to a
// program whose parts are being told, say.
class FinalizersWait {
 public:
  FinalizersWait() : was_enabled_(PyGC_Disable() == 1) {}
  ~FinalizersWait() {
    if (was_enabled_) PyGC_Enable();
  }
  FinalizersWait(const FinalizersWait&) = delete;
  FinalizersWait& operator=(const FinalizersWait&) = delete;

 private:
  const bool was_enabled_;
};

template <class T, class F>
PyObject* to_tuple_of(const T& items, F&& convert) {
  const FinalizersWait whole;
  Object out = own(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  Py_ssize_t at = 0;
  for (const auto& item : items) PyTuple_SET_ITEM(out.get(), at++, checked(convert(item)));
  return out.release();
}
inline PyObject* from_variables(const std::vector<int>& numbers) {
  return to_tuple_of(numbers, [](int number) { return PyLong_FromLong(number); });
}
inline PyObject* from_text(const std::string& text) {
  return checked(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}
// A number that is calculated from sizes, as nested tuples.
PyObject* from_expression(const AttrExpr& expr);
// The methods that read a program.
std::vector<PyMethodDef> program_views();

// The number of elements, a size where one in the shape is unknown.
PyObject* count_of(PyObject* shape);

// The program that an object of its class holds, and a number of one of its variables.
Program& program_in(PyObject* object);
int to_variable(const Program& program, PyObject* object);
PyObject* write_file(PyObject* self, PyObject* args);
PyObject* read_file(PyObject* self, PyObject* args);

int visit_held(PyObject* self, const Program& program, visitproc visit, void* arg);
// An object of the class Stretch, and of the class Holder; null: it is another object.
Stretch& to_stretch(PyObject* object);
PyObject* from_stretch(Ref<Stretch> stretch);
const Holder* find_holder(PyObject* object);
// The object that stands for a program: one of this class, where there was none.
PyObject* from_program(const Ref<Program>& program, PyTypeObject* cls);
// A size of this program was given to an op.
void use_sizes(PyObject* program);
void add_programs(PyObject* module);
void add_passes(PyObject* module);
void add_sizes(PyObject* module);
void add_scopes(PyObject* module);
void add_program_copies(PyObject* module);
void add_stretches(PyObject* module);
void add_holders(PyObject* module);
void add_quick_calls(PyObject* module);

}  // namespace tensorlike::bind
