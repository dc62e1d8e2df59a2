// Program for Python: listings, records, saved programs.
#include "bind/programs.h"

#include "base/place.h"
#include "bind/rules.h"

namespace tensorlike::bind {
namespace {

PyTypeObject* program_class = nullptr;
struct ProgramObject {
  PyObject_HEAD Program* program;
};
PyObject* program_new(PyTypeObject* cls, PyObject*, PyObject*) {
  return guarded([&] {
    PyObject* self = checked(cls->tp_alloc(cls, 0));
    Ref<Program> made = make_ref<Program>();
    made->handle = self;
    reinterpret_cast<ProgramObject*>(self)->program = made.detach();
    return self;
  });
}

void program_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  program_in(self).handle = nullptr;
  program_in(self).release();
  cls->tp_free(self);
  Py_DECREF(cls);
}

int program_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return visit_held(self, program_in(self), visit, arg);
}

int program_clear(PyObject* self) {
  program_in(self).release_values();
  return 0;
}

Program::Dimension to_dimension(PyObject* item) {
  if (item == Py_None) return {};
  if (PyUnicode_Check(item)) return {kUnknownSize, shown(item)};
  const Attr size = to_attr(item, "Program", {"shape", attr_type("int"), true, {}});
  if (!std::holds_alternative<int64_t>(size)) {
    fail(ErrorKind::kAttribute, said::op("Program"), said::argument("shape"),
         "must hold sizes: integers, None, or names of unknown sizes",
         said::got(Py_TYPE(item)->tp_name));
  }
  if (std::get<int64_t>(size) < 0) {
    fail(ErrorKind::kShape, said::op("Program"), said::argument("shape"),
         "dimensions must not be negative", said::got(std::get<int64_t>(size)));
  }
  return {std::get<int64_t>(size), {}};
}

// input(name, shape, dtype) -> its number
PyObject* add_input(PyObject* self, PyObject* args) {
  PyObject *name = nullptr, *shape = nullptr, *dtype = nullptr;
  if (PyArg_ParseTuple(args, "UOO", &name, &shape, &dtype) == 0) return nullptr;
  return guarded([&] {
    if (PyTuple_Check(shape) == 0 && PyList_Check(shape) == 0) {
      fail(ErrorKind::kAttribute, said::op("input"), said::argument("shape"),
           "must be a tuple of sizes", said::got(Py_TYPE(shape)->tp_name));
    }
    Object items = own(PySequence_Tuple(shape));
    std::vector<Program::Dimension> dimensions;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      dimensions.push_back(to_dimension(PyTuple_GET_ITEM(items.get(), i)));
    }
    return PyLong_FromLong(program_in(self).add_input(shown(name), to_dtype(dtype), dimensions));
  });
}

// capture(value, name="") -> its number
PyObject* capture(PyObject* self, PyObject* args) {
  PyObject* object = nullptr;
  const char* name = "";
  if (PyArg_ParseTuple(args, "O|s", &object, &name) == 0) return nullptr;
  return guarded([&] {
    const Ref<Value> value = as_argument(object);
    const Spec spec = spec_of("capture", *value);
    const std::string full = Py_TYPE(object)->tp_name;
    const std::string note = full.substr(full.rfind('.') + 1);
    return PyLong_FromLong(program_in(self).capture(value, spec, note, name));
  });
}

// append(op, inputs, outputs=None) -> the numbers of its results; `outputs` are ShapeTensors where
// it is known what comes out.
PyObject* append(PyObject* self, PyObject* args) {
  PyObject *op = nullptr, *inputs = nullptr, *outputs = Py_None;
  const char* place = nullptr;
  if (PyArg_ParseTuple(args, "OO|Oz", &op, &inputs, &outputs, &place) == 0) return nullptr;
  return guarded([&] {
    Program& program = program_in(self);
    const std::vector<int> numbers = to_variables(program, inputs);
    std::string line = place != nullptr ? std::string(place) : place_of_user();
    const Ref<Op> added = to_op(op);
    if (outputs == Py_None) return from_variables(program.append(*added, numbers, std::move(line)));
    Object items = own(PySequence_Tuple(outputs));
    Specs specs;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      specs.push_back(spec_of("append", *to_value(PyTuple_GET_ITEM(items.get(), i))));
    }
    return from_variables(program.append(*added, numbers, std::move(line), specs));
  });
}

// The function in (how, number, ...).
std::string to_calculation(PyObject* args) {
  const Py_ssize_t parts = PyTuple_GET_SIZE(args) - 1;
  if (parts < 1 || PyUnicode_Check(PyTuple_GET_ITEM(args, 0)) == 0) {
    PyErr_SetString(PyExc_TypeError, "calculate: takes a function's name, and numbers");
    throw PythonError();
  }
  std::string how = shown(PyTuple_GET_ITEM(args, 0));
  if (is_calculation(how, static_cast<size_t>(parts))) return how;
  fail(ErrorKind::kArgument, said::op("calculate"), "must be given a function of ", parts,
       " numbers", said::got(how));
}

SizeNumber to_size_number(PyObject* object) {
  if (PyFloat_Check(object)) return PyFloat_AS_DOUBLE(object);
  const long long number = PyLong_AsLongLong(object);
  if (number == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return static_cast<int64_t>(number);
}

PyObject* from_size_number(const SizeNumber& number) {
  if (const auto* real = std::get_if<double>(&number)) return PyFloat_FromDouble(*real);
  return PyLong_FromLongLong(std::get<int64_t>(number));
}

// Of a number with a fraction that stands for what was calculated, the second is not the first.
Program::Operand to_operand(PyObject* pair) {
  if (PyTuple_Check(pair) == 0 || PyTuple_GET_SIZE(pair) != 2) {
    PyErr_SetString(PyExc_TypeError, "calculate: takes pairs of numbers");
    throw PythonError();
  }
  const SizeNumber first = to_size_number(PyTuple_GET_ITEM(pair, 0));
  if (const auto* real = std::get_if<double>(&first)) return *real;
  const SizeNumber second = to_size_number(PyTuple_GET_ITEM(pair, 1));
  if (std::holds_alternative<double>(second)) {
    PyErr_SetString(PyExc_TypeError, "calculate: takes two integers, or two floats");
    throw PythonError();
  }
  return Witness{std::get<int64_t>(first), std::get<int64_t>(second)};
}

// calculate(how, pair, ...): the two numbers of what is made so of pairs of numbers.
PyObject* calculate(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const std::string how = to_calculation(args);
    std::vector<Program::Operand> parts;
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(args); ++i) {
      parts.push_back(to_operand(PyTuple_GET_ITEM(args, i)));
    }
    Program& program = program_in(self);
    const Program::Operand made = program.calculate(how, parts);
    if (const auto* size = std::get_if<Witness>(&made)) {
      return Py_BuildValue("(LL)", static_cast<long long>(size->first),
                           static_cast<long long>(size->second));
    }
    const double real = std::get<double>(made);
    return Py_BuildValue("(dd)", real, program.real_expression(real) == nullptr ? real : -real);
  });
}

// expression(pair): what the two numbers stand for, as `steps` has it; None: nothing that is known.
PyObject* expression_of(PyObject* self, PyObject* pair) {
  return guarded([&]() -> PyObject* {
    const auto found = program_in(self).expression_for(to_operand(pair));
    return found ? from_expression(*found) : Py_NewRef(Py_None);
  });
}

// compare(a, b, how): what the witnesses of sizes say; the program remembers that it was asked.
PyObject* compare(PyObject* self, PyObject* args) {
  PyObject *a = nullptr, *b = nullptr;
  const char* how = nullptr;
  if (PyArg_ParseTuple(args, "OOs", &a, &b, &how) == 0) return nullptr;
  return guarded([&] {
    const SizeNumber x = to_size_number(a), y = to_size_number(b);
    return PyBool_FromLong(program_in(self).compare(x, y, how, place_of_user()));
  });
}

// require(a, b, how, answer, place, op="")
PyObject* require(PyObject* self, PyObject* args) {
  PyObject *a = nullptr, *b = nullptr;
  const char *how = nullptr, *place = nullptr, *op = "";
  int answer = 0;
  if (PyArg_ParseTuple(args, "OOsps|s", &a, &b, &how, &answer, &place, &op) == 0) return nullptr;
  return guarded([&] {
    program_in(self).require(to_size_number(a), to_size_number(b), how, answer != 0, place, op);
    return Py_NewRef(Py_None);
  });
}

// calculate_number(how, number, ...): the same of numbers that are known.
PyObject* calculate_known(PyObject*, PyObject* args) {
  return guarded([&] {
    const std::string how = to_calculation(args);
    std::vector<SizeNumber> parts;
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(args); ++i) {
      parts.push_back(to_size_number(PyTuple_GET_ITEM(args, i)));
    }
    return from_size_number(calculate_number(how, parts));
  });
}

// agree(a, b, op): takes two sizes for equal that may be; whether they are.
PyObject* agree(PyObject* self, PyObject* args) {
  long long a = 0, b = 0;
  const char* op = nullptr;
  if (PyArg_ParseTuple(args, "LLs", &a, &b, &op) == 0) return nullptr;
  return guarded([&] { return PyBool_FromLong(program_in(self).agree(a, b, "", op)); });
}

// run(results, inputs) -> the values of the results
PyObject* run(PyObject* self, PyObject* args) {
  PyObject *results = nullptr, *given = nullptr;
  if (PyArg_ParseTuple(args, "OO!", &results, &PyTuple_Type, &given) == 0) return nullptr;
  return guarded([&] {
    const Ref<Program> program(&program_in(self));
    const std::vector<int> numbers = to_variables(*program, results);
    const size_t n = static_cast<size_t>(PyTuple_GET_SIZE(given));
    // Wrappers that nobody has a rule for are taken off, and put on again.
    PyTypeObject* wrapper = nullptr;
    for (size_t i = 0; i < n && dispatcher().is_wrapper_plain(); ++i) {
      PyObject* item = PyTuple_GET_ITEM(given, static_cast<Py_ssize_t>(i));
      if (wrapper == nullptr && is_wrapper(item)) wrapper = result_class(Py_TYPE(item));
    }
    Values values;
    SmallVector<Value*, 4> pointers;
    for (size_t i = 0; i < n; ++i) {
      PyObject* item = PyTuple_GET_ITEM(given, static_cast<Py_ssize_t>(i));
      values.push_back(wrapper != nullptr ? to_value(item) : as_argument(item));
      pointers.push_back(values.back().get());
    }
    const Values found = program->run(numbers, {pointers.data(), pointers.size()});
    return tensorlike::bind::to_tuple(found, wrapper);
  });
}

// bind(sizes) -> the ops for these sizes
PyObject* bind_sizes(PyObject* self, PyObject* sizes) {
  return guarded([&] {
    const Attr numbers = to_attr(sizes, "bind", {"sizes", attr_type("sizes"), true, {}});
    const auto* many = std::get_if<std::vector<int64_t>>(&numbers);
    const auto* one = std::get_if<int64_t>(&numbers);
    if (many == nullptr && one == nullptr) {
      fail(ErrorKind::kAttribute, said::op("bind"), said::argument("sizes"), "must be integers",
           said::got(Py_TYPE(sizes)->tp_name));
    }
    const auto bound = program_in(self).bind(many != nullptr ? *many : std::vector<int64_t>{*one});
    return to_tuple_of(bound->ops, [](const Ref<const Op>& op) { return from_op(*op); });
  });
}

// rename(number, name)
PyObject* rename_variable(PyObject* self, PyObject* args) {
  PyObject *number = nullptr, *name = nullptr;
  if (PyArg_ParseTuple(args, "OU", &number, &name) == 0) return nullptr;
  return guarded([&] {
    program_in(self).rename(to_variable(program_in(self), number), shown(name));
    return Py_NewRef(Py_None);
  });
}

// hold(name, program)
PyObject* add_part(PyObject* self, PyObject* args) {
  PyObject *name = nullptr, *part = nullptr;
  if (PyArg_ParseTuple(args, "UO!", &name, program_class, &part) == 0) return nullptr;
  return guarded([&] {
    program_in(self).add_part(shown(name), Ref<Program>(&program_in(part)));
    return Py_NewRef(Py_None);
  });
}

const PyMethodDef program_methods[] = {
    {"add_input", add_input, METH_VARARGS, "add_input(name, shape, dtype): its number."},
    {"capture", capture, METH_VARARGS, "capture(value, name=''): the number of a value."},
    {"append", append, METH_VARARGS,
     "append(op, inputs, outputs=None, place=None): the numbers of an op's results."},
    {"bind", as_method(bind_sizes), METH_O, "bind(sizes): the ops for these sizes."},
    {"values", run, METH_VARARGS, "values(results, inputs): runs the program."},
    {"calculate", calculate, METH_VARARGS, "calculate(how, ...): says how a number is made."},
    {"expression", as_method(expression_of), METH_O, "expression(pair): how a number is made."},
    {"compare", compare, METH_VARARGS, "compare(a, b, how): what is known of two sizes."},
    {"agree", agree, METH_VARARGS, "agree(a, b, op): takes two sizes for equal."},
    {"require", require, METH_VARARGS, "require(a, b, how, answer, place): a guard."},
    {"rename", rename_variable, METH_VARARGS, "rename(number, name): another name."},
    {"hold", add_part, METH_VARARGS, "hold(name, program): a program that attributes of ops name."},
    {"write_file", write_file, METH_VARARGS, "write_file(results, weights, language): bytes."},
    {"read_file", read_file, METH_VARARGS, "read_file(data, language): results, weights."},
};

PyMethodDef* all_methods() {
  static std::vector<PyMethodDef> methods = program_views();
  methods.insert(methods.end(), std::begin(program_methods), std::end(program_methods));
  methods.push_back({nullptr, nullptr, 0, nullptr});
  return methods.data();
}

PyType_Slot program_slots[] = {
    {Py_tp_new, as_slot(program_new)},
    {Py_tp_dealloc, as_slot(program_dealloc)},
    {Py_tp_traverse, as_slot(program_traverse)},
    {Py_tp_clear, as_slot(program_clear)},
    {Py_tp_methods, all_methods()},
    {0, nullptr},
};
PyType_Spec program_spec = {"tensorlike._C.Program", sizeof(ProgramObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                            program_slots};

Ref<Value> make_symbol(Program& program, int variable) {
  Gil gil;
  if (program.handle == nullptr) fail(ErrorKind::kDispatch, said::op("Program"), "it is gone.");
  auto* listing = static_cast<PyObject*>(program.handle);
  Object made = own(PyObject_CallMethod(listing, "symbol", "i", variable));
  return make_ref<ForeignValue>(made.get());
}

std::string print_op(const Op& op) {
  Gil gil;
  Object object = own(from_op(op));
  return shown(own(PyObject_Str(object.get())).get());
}

}  // namespace

Program& program_in(PyObject* self) { return *reinterpret_cast<ProgramObject*>(self)->program; }

// Its parts come to stand under their names in its attribute `parts`.
PyObject* from_program(const Ref<Program>& program, PyTypeObject* cls) {
  if (program->handle != nullptr) return Py_NewRef(static_cast<PyObject*>(program->handle));
  Object made = own(cls->tp_alloc(cls, 0));
  program->handle = made.get();
  reinterpret_cast<ProgramObject*>(made.get())->program = Ref<Program>(program).detach();
  Object parts = own(PyDict_New());
  for (const auto& [name, part] : program->parts()) {
    check(PyDict_SetItem(parts.get(), own(from_text(name)).get(),
                         own(from_program(part, cls)).get()));
  }
  check(PyObject_SetAttrString(made.get(), "parts", parts.get()));
  return made.release();
}

Program& to_program(PyObject* object) {
  if (PyObject_TypeCheck(object, program_class) == 0) {
    fail(ErrorKind::kAttribute, said::op("Program"), "must be a program",
         said::got(Py_TYPE(object)->tp_name));
  }
  return program_in(object);
}

int to_variable(const Program& program, PyObject* object) {
  const long number = PyLong_AsLong(object);
  if (number == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  if (number < 0 || static_cast<size_t>(number) >= program.variables().size()) {
    fail(ErrorKind::kIndex, said::op("Program"), "a variable must be of the program",
         said::got("number ", number));
  }
  return static_cast<int>(number);
}

std::vector<int> to_variables(const Program& program, PyObject* objects) {
  Object items = own(PySequence_Tuple(objects));
  std::vector<int> numbers;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    numbers.push_back(to_variable(program, PyTuple_GET_ITEM(items.get(), i)));
  }
  return numbers;
}

void use_sizes(PyObject* program) { program_in(program).is_recorded = true; }

static PyMethodDef programs_functions[] = {
    {"calculate_number", calculate_known, METH_VARARGS, "What is calculated from known sizes."},
    {nullptr, nullptr, 0, nullptr},
};

void add_programs(PyObject* module) {
  check(PyModule_AddFunctions(module, programs_functions));
  program_class = add_type(module, program_spec, nullptr);
  symbol_of = make_symbol;
  text_of_op = print_op;
  add_sizes(module);
  add_scopes(module);
  add_stretches(module);
  add_holders(module);
  add_quick_calls(module);
}

}  // namespace tensorlike::bind
