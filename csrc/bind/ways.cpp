// Which way a kernel goes, for tests and measurements (benchmarks/fit_costs.py).
#include "kernels/ways.h"

#include <pybind11/pybind11.h>

#include "bind/objects.h"

namespace py = pybind11;

namespace tensorlike::bind {
namespace {

void want(const py::object& name) {
  if (name.is_none()) return want_way(std::nullopt);
  const auto text = name.cast<std::string>();
  for (size_t i = 0; i < kWayNames.size(); ++i) {
    if (kWayNames[i] == text) return want_way(static_cast<Way>(i));
  }
  throw py::value_error("want_way: there is no way " + text);
}

// [(name, predicted nanoseconds, counts), ...]
py::list noted() {
  py::list found;
  for (const Considered& each : noted_ways()) {
    const Work& work = each.work;
    const auto counts =
        py::make_tuple(work.calls, work.products, work.loads, work.moved, work.made, work.read);
    const std::string name(kWayNames[static_cast<size_t>(each.way)]);
    found.append(py::make_tuple(name, each.time, counts));
  }
  return found;
}

}  // namespace

void add_ways(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  m.def("want_way", want);
  m.def("note_ways", note_ways);
  m.def("noted_ways", noted);
  m.def("processor_vendor", [] { return std::string(processor_vendor()); });
}

}  // namespace tensorlike::bind
