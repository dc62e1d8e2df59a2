// The engine's options, its reports and the profile, and the devices, as Python data.
#include "engine/engine.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind/objects.h"
#include "engine/async.h"
#include "engine/profile.h"
#include "memory/backend.h"

namespace py = pybind11;

namespace tensorlike::bind {
namespace {

constexpr const char* kModes[] = {"sync", "async", "lazy"};

py::dict get_options() {
  const EngineOptions now = engine_options();
  py::dict out;
  out["mode"] = kModes[static_cast<int>(now.mode)];
  out["threshold"] = now.threshold;
  out["max_nodes"] = now.max_nodes;
  out["max_bytes"] = now.max_bytes;
  out["workers"] = now.workers;
  return out;
}

py::list programs() {
  py::list out;
  for (const FusedProgram& program : fused_programs()) {
    py::dict row;
    row["reason"] = program.reason;
    row["ops"] = program.ops;
    row["places"] = program.places;
    row["shape"] =
        py::tuple(py::cast(std::vector<int64_t>(program.shape.begin(), program.shape.end())));
    row["operands"] = program.operands;
    row["outputs"] = program.outputs;
    row["reused"] = program.reused;
    row["instructions"] = program.instructions;
    out.append(row);
  }
  return out;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const Device& device : devices()) names.push_back(to_string(device));
  return names;
}

// Called after every line by whoever times lines: without pybind's way of calling.
PyObject* finish(PyObject*, PyObject*) {
  return guarded([&] {
    finish_all("asked to");
    return Py_NewRef(Py_None);
  });
}
PyMethodDef engine_functions[] = {
    {"finish_all", as_method(finish), METH_NOARGS, "Runs everything that waits."},
    {nullptr, nullptr, 0, nullptr},
};

// Gives back what it was.
std::string set_default_device(const std::string& name) {
  return to_string(std::exchange(default_device, require_device("device", name)));
}

}  // namespace

void add_engine(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  m.def("engine_options", get_options);
  // Before Python's end, since the engine's thread may need the GIL.
  py::module_::import("atexit").attr("register")(py::cpp_function(stop_async));
  check(PyModule_AddFunctions(module, engine_functions));
  add_expressions(module);
  m.def("fused_programs", programs);
  m.def("waiting_ops", waiting_ops);
  m.def("is_profiling", is_profiling);
  m.def("devices", device_names);
  m.def("default_device", [] { return to_string(default_device); });
  m.def("set_default_device", set_default_device);
}

}  // namespace tensorlike::bind
