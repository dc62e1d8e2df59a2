// Declarations at run time: what the Python front end has checked and lowered.
#include "bind/declare.h"

#include "bind/objects.h"
#include "op/declaration_text.h"
#include "tensor/library.h"

namespace py = pybind11;

namespace tensorlike::bind {
namespace {

// The kernel that an op brings, where it does: of Python or of a library.
OwnRules rules_from(const OpSpec& op, const py::dict& rules) {
  if (!rules.contains(op.name)) return {};
  const py::object own = rules[py::str(op.name)];
  if (py::isinstance<py::str>(own)) return library_rules(op, own.cast<std::string>());
  const auto pair = own.cast<py::tuple>();
  return python_rules(py::object(pair[0]).ptr(), py::object(pair[1]).ptr());
}

}  // namespace

void declare_specs(const std::string& text, const py::dict& rules) {
  const Json json = Json::parse(text);
  std::vector<std::pair<AnySpec, OwnRules>> made;  // all kernels are found before anything is added
  for (const Json::Value& value : json.root().list("declarations")) {
    AnySpec spec = read_declaration(value, From::kProcess);
    const auto* op = std::get_if<OpSpec>(&spec);
    OwnRules own = op == nullptr ? OwnRules() : rules_from(*op, rules);
    made.emplace_back(std::move(spec), std::move(own));
  }
  for (auto& [spec, own] : made) {
    if (auto* op = std::get_if<OpSpec>(&spec)) {
      registry().add(std::move(*op), std::move(own));
    } else {
      registry().add(std::move(spec));
    }
  }
  registry().link();
  dispatcher().invalidate();
}

PyObject* function_names(PyObject*, PyObject*) {
  return guarded([&] {
    Object names = own(PyList_New(0));
    for (const std::string_view each : registry().function_names()) {
      const auto size = static_cast<Py_ssize_t>(each.size());
      Object name = own(PyUnicode_FromStringAndSize(each.data(), size));
      check(PyList_Append(names.get(), name.get()));
    }
    return names.release();
  });
}

}  // namespace tensorlike::bind
