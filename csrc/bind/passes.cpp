// Passes for Python, one at a time: the order, the switches and the texts are its own.
#include "program/passes.h"

#include <algorithm>
#include <memory>

#include "bind/programs.h"
#include "program/memory_plan.h"
#include "program/recording.h"
#include "tensor/value.h"

namespace tensorlike::bind {
namespace {

std::vector<int> to_numbers(const Program& program, PyObject* objects) {
  Object items = own(PySequence_Tuple(objects));
  std::vector<int> numbers;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    const long number = PyLong_AsLong(PyTuple_GET_ITEM(items.get(), i));
    if (number == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    if (number < 0 || static_cast<size_t>(number) >= program.variables().size()) {
      fail(ErrorKind::kIndex, said::op("optimize"), "a result must be of the program",
           said::got("number ", number));
    }
    numbers.push_back(static_cast<int>(number));
  }
  return numbers;
}

Object from_numbers(const std::vector<int>& numbers) {
  Object tuple = own(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (size_t i = 0; i < numbers.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLong(numbers[i])));
  }
  return tuple;
}

// run_pass(name, program, results, level, empty) -> (results, changes, nanoseconds); where nothing
// changes `empty` stays so.
PyObject* run_pass_by_name(PyObject*, PyObject* args) {
  const char* name = nullptr;
  PyObject *source = nullptr, *results = nullptr, *empty = nullptr;
  int level = 0;
  if (PyArg_ParseTuple(args, "sOOiO", &name, &source, &results, &level, &empty) == 0) {
    return nullptr;
  }
  return guarded([&] {
    const Ref<Program> program(&to_program(source));
    const std::vector<int> numbers = to_numbers(*program, results);
    const RecordedBlock nothing(nullptr);  // what passes compute is no part of what is built
    const PassResult found =
        run_pass(find_pass(name), *program, numbers, static_cast<OptLevel>(std::clamp(level, 0, 2)),
                 to_program(empty));
    const Object tuple = from_numbers(found.results);
    return checked(Py_BuildValue("(OiL)", tuple.get(), found.changes,
                                 static_cast<long long>(found.nanoseconds)));
  });
}

// rewritten(stretch, names, level) -> what passes make of it, or itself
PyObject* rewritten_stretch(PyObject*, PyObject* args) {
  PyObject *stretch = nullptr, *names = nullptr;
  int level = 0;
  if (PyArg_ParseTuple(args, "OO!i", &stretch, &PyTuple_Type, &names, &level) == 0) return nullptr;
  return guarded([&] {
    std::vector<std::string> passes;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
      passes.push_back(shown(PyTuple_GET_ITEM(names, i)));
    }
    const Ref<Stretch> before(&to_stretch(stretch));
    const RecordedBlock nothing(nullptr);  // what passes compute is no part of what is built
    Ref<Stretch> made = rewritten(before, passes, static_cast<OptLevel>(std::clamp(level, 0, 2)));
    return made.get() == before.get() ? Py_NewRef(stretch) : from_stretch(std::move(made));
  });
}

// passes() -> (name, what it does, the level from which it runs) of each, in their order
PyObject* list_passes(PyObject*, PyObject*) {
  return guarded([&] {
    Object out = own(PyList_New(0));
    for (const Pass& pass : passes()) {
      Object item =
          own(Py_BuildValue("(ssi)", std::string(pass.name).c_str(), std::string(pass.what).c_str(),
                            static_cast<int>(pass.least)));
      check(PyList_Append(out.get(), item.get()));
    }
    return out.release();
  });
}

Dims to_shape(PyObject* object) {
  const Object items = own(PySequence_Tuple(object));
  Dims shape;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    const long long size = PyLong_AsLongLong(PyTuple_GET_ITEM(items.get(), i));
    if (size == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    shape.push_back(size);
  }
  return shape;
}

// memory_plan(program, results, shapes of its inputs, replaces states) -> bytes of all results, of
// those that share memory, of what they share, and the least that this could be
PyObject* memory_plan_of(PyObject*, PyObject* args) {
  PyObject *source = nullptr, *results = nullptr, *shapes = nullptr;
  int replaces = 0;
  if (PyArg_ParseTuple(args, "OOO!p", &source, &results, &PyTuple_Type, &shapes, &replaces) == 0) {
    return nullptr;
  }
  return guarded([&] {
    const Ref<Program> program(&to_program(source));
    std::vector<int> wanted = to_numbers(*program, results);
    for (const auto& [state, value] : program->assigned()) wanted.push_back(value);
    std::vector<int> given = program->inputs();
    const size_t fed = given.size();
    if (static_cast<size_t>(PyTuple_GET_SIZE(shapes)) != fed) {
      fail(ErrorKind::kArgument, said::op("memory"), "one shape for each of ", fed,
           " inputs is needed", said::got(PyTuple_GET_SIZE(shapes)));
    }
    given.insert(given.end(), program->states().begin(), program->states().end());
    std::vector<Ref<Value>> held;
    std::vector<Value*> values;
    for (size_t i = 0; i < given.size(); ++i) {
      Spec spec = program->variables()[static_cast<size_t>(given[i])].spec;
      if (i < fed) {
        spec.shape = to_shape(PyTuple_GET_ITEM(shapes, static_cast<Py_ssize_t>(i)));
      }
      values.push_back(held.emplace_back(make_ref<ShapeTensor>(spec)).get());
    }
    const auto ready = make_ref<Stretch>(program, given, wanted)->ready(values);
    const MemoryPlan plan = plan_memory(*program, *ready.schedule, *ready.bound, replaces != 0);
    const size_t shared = plan.layout ? plan.layout->bytes : plan.planned;
    return checked(Py_BuildValue(
        "(nnnn)", static_cast<Py_ssize_t>(plan.results), static_cast<Py_ssize_t>(plan.planned),
        static_cast<Py_ssize_t>(shared), static_cast<Py_ssize_t>(plan.least)));
  });
}

// verify(program, results): ArgumentError where it is no program.
PyObject* verify_program(PyObject*, PyObject* args) {
  PyObject *source = nullptr, *results = nullptr;
  if (PyArg_ParseTuple(args, "OO", &source, &results) == 0) return nullptr;
  return guarded([&] {
    const Program& program = to_program(source);
    verify(program, to_numbers(program, results));
    return Py_NewRef(Py_None);
  });
}

// A graph under a user's hands.
struct GraphObject {
  PyObject_HEAD Graph* graph;
};
Graph& graph_in(PyObject* self) { return *reinterpret_cast<GraphObject*>(self)->graph; }

// Graph(program, results)
PyObject* graph_new(PyTypeObject* cls, PyObject* args, PyObject*) {
  PyObject *source = nullptr, *results = nullptr;
  if (PyArg_ParseTuple(args, "OO", &source, &results) == 0) return nullptr;
  return guarded([&] {
    const Program& program = to_program(source);
    auto graph = std::make_unique<Graph>(program, to_numbers(program, results));
    PyObject* self = checked(cls->tp_alloc(cls, 0));
    reinterpret_cast<GraphObject*>(self)->graph = graph.release();
    return self;
  });
}

void graph_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  delete &graph_in(self);
  cls->tp_free(self);
  Py_DECREF(cls);
}

int to_number(const Graph& graph, PyObject* object) {
  const long number = PyLong_AsLong(object);
  if (number == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  if (number < 0 || static_cast<size_t>(number) >= graph.variables().size()) {
    fail(ErrorKind::kIndex, said::op("Graph"), "a variable must be of the program",
         said::got("number ", number));
  }
  return static_cast<int>(number);
}

// steps() -> (op, inputs, outputs, place) of each
PyObject* graph_steps(PyObject* self, PyObject*) {
  return guarded([&] {
    const FinalizersWait whole;
    Object out = own(PyList_New(0));
    for (const Program::Step& step : graph_in(self).steps()) {
      Object inputs = from_numbers(step.inputs), outputs = from_numbers(step.outputs);
      Object item = own(Py_BuildValue("(NOOs)", from_op(*step.op), inputs.get(), outputs.get(),
                                      step.place.c_str()));
      check(PyList_Append(out.get(), item.get()));
    }
    return out.release();
  });
}

// insert(place, op, inputs, line) -> the numbers of its results
PyObject* graph_insert(PyObject* self, PyObject* args) {
  Py_ssize_t place = 0;
  PyObject *op = nullptr, *inputs = nullptr;
  const char* line = "";
  if (PyArg_ParseTuple(args, "nOOs", &place, &op, &inputs, &line) == 0) return nullptr;
  return guarded([&] {
    Graph& graph = graph_in(self);
    if (place < 0 || static_cast<size_t>(place) > graph.steps().size()) {
      fail(ErrorKind::kIndex, said::op("Graph"), said::argument("place"),
           "must be that of a step, or the end", said::got(place));
    }
    Object items = own(PySequence_Tuple(inputs));
    std::vector<int> numbers;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      numbers.push_back(to_number(graph, PyTuple_GET_ITEM(items.get(), i)));
    }
    return from_numbers(graph.insert(static_cast<size_t>(place), *to_op(op), numbers, line))
        .release();
  });
}

// capture(value) -> the number of a constant
PyObject* graph_capture(PyObject* self, PyObject* value) {
  return guarded(
      [&] { return PyLong_FromLong(graph_in(self).capture(to_value(value), "RawTensor")); });
}

// replace(from, to): whoever reads the one reads the other instead
PyObject* graph_replace(PyObject* self, PyObject* args) {
  PyObject *from = nullptr, *to = nullptr;
  if (PyArg_ParseTuple(args, "OO", &from, &to) == 0) return nullptr;
  return guarded([&] {
    Graph& graph = graph_in(self);
    const int a = to_number(graph, from), b = to_number(graph, to);
    if (!graph.is_same_kind(a, b)) {
      fail(ErrorKind::kShape, said::op("Graph"), said::argument("replace"),
           "must put a value of the same shape and dtype in the place of another",
           said::got(text(to_string(graph.variable(a).spec), " and ",
                          to_string(graph.variable(b).spec))));
    }
    graph.replace(a, b);
    return Py_NewRef(Py_None);
  });
}

// finish(empty) -> the results' numbers in the new program, without what nobody reads
PyObject* graph_finish(PyObject* self, PyObject* empty) {
  return guarded([&] {
    Graph& graph = graph_in(self);
    graph.keep(graph.live_steps());
    graph.finish(to_program(empty));
    return from_numbers(graph.finished_results()).release();
  });
}

PyMethodDef graph_methods[] = {
    {"steps", as_method(graph_steps), METH_NOARGS, "The op, inputs, outputs and line of each."},
    {"insert", graph_insert, METH_VARARGS, "insert(place, op, inputs, line): its results."},
    {"capture", as_method(graph_capture), METH_O, "capture(value): a constant's number."},
    {"replace", graph_replace, METH_VARARGS, "replace(from, to): for all who read it."},
    {"finish", as_method(graph_finish), METH_O, "finish(empty): the results' numbers there."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot graph_slots[] = {
    {Py_tp_new, as_slot(graph_new)},
    {Py_tp_dealloc, as_slot(graph_dealloc)},
    {Py_tp_methods, graph_methods},
    {0, nullptr},
};
PyType_Spec graph_spec = {"tensorlike._C.Graph", sizeof(GraphObject), 0, Py_TPFLAGS_DEFAULT,
                          graph_slots};

PyMethodDef passes_functions[] = {
    {"run_pass", run_pass_by_name, METH_VARARGS,
     "run_pass(name, program, results, level, empty): results, changes and nanoseconds; `empty` is "
     "filled where there are changes."},
    {"rewritten", rewritten_stretch, METH_VARARGS,
     "rewritten(stretch, names, level): what passes make of it."},
    {"memory_plan", memory_plan_of, METH_VARARGS,
     "memory_plan(program, results, shapes, replaces): bytes of all results, of those that share "
     "memory, of what they share, and the least of it."},
    {"list_passes", list_passes, METH_NOARGS, "All passes: name, what, least level."},
    {"verify_program", verify_program, METH_VARARGS, "verify_program(program, results)"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_passes(PyObject* module) {
  add_type(module, graph_spec, nullptr);
  check(PyModule_AddFunctions(module, passes_functions));
}

}  // namespace tensorlike::bind
