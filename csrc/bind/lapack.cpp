// Where the LAPACK library lies: in the package scipy-openblas32, which is imported only when the
// first op asks for it.
#include "kernels/lapack.h"

#include <pybind11/pybind11.h>

#include "bind/objects.h"

namespace py = pybind11;

namespace tensorlike::bind {
namespace {

std::string find_installed() {
  const py::gil_scoped_acquire gil;
  try {
    const py::module_ package = py::module_::import("scipy_openblas32");
    const auto folder = package.attr("get_lib_dir")().cast<std::string>();
    const auto file = package.attr("get_library")(py::arg("fullname") = true).cast<std::string>();
    return folder + "/" + file;
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return {};
  }
}

}  // namespace

void add_lapack() { find_lapack = find_installed; }

}  // namespace tensorlike::bind
