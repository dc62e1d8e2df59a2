// What copies of programs are made of, for Python: states that another program starts, names that
// are taken over, draws that go along.
#include "bind/programs.h"
#include "bind/rules.h"

namespace tensorlike::bind {
namespace {

// add_state(program, name, shape, dtype) -> the number of a state, which another program starts
PyObject* add_state(PyObject*, PyObject* args) {
  PyObject *program = nullptr, *name = nullptr, *shape = nullptr, *dtype = nullptr;
  if (PyArg_ParseTuple(args, "OUOO", &program, &name, &shape, &dtype) == 0) return nullptr;
  return guarded([&] {
    const Attr sizes = to_attr(shape, "add_state", {"shape", attr_type("shape"), true, {}});
    const auto& dims = std::get<std::vector<int64_t>>(sizes);
    const Spec spec{to_dtype(dtype), Dims(dims.begin(), dims.end())};
    return PyLong_FromLong(to_program(program).add_state(shown(name), spec));
  });
}

// reserve_names(program, count): what nobody names gets numbers above this one.
PyObject* reserve_names(PyObject*, PyObject* args) {
  PyObject* program = nullptr;
  int count = 0;
  if (PyArg_ParseTuple(args, "Oi", &program, &count) == 0) return nullptr;
  return guarded([&] {
    to_program(program).reserve_names(count);
    return Py_NewRef(Py_None);
  });
}

PyObject* count_variables(PyObject*, PyObject* program) {
  return guarded([&] { return PyLong_FromSize_t(to_program(program).variables().size()); });
}

PyMethodDef program_copies_functions[] = {
    {"add_state", add_state, METH_VARARGS, "add_state(program, name, shape, dtype): its number."},
    {"reserve_names", reserve_names, METH_VARARGS, "reserve_names(program, count)"},
    {"count_variables", count_variables, METH_O, "How many variables a program has."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_program_copies(PyObject* module) {
  check(PyModule_AddFunctions(module, program_copies_functions));
}

}  // namespace tensorlike::bind
