// The extension module: what is on the hot path is made of raw types in the files beside this one;
// the rest is bound by pybind11 here.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <csignal>
#include <new>

#include "base/blocking.h"
#include "base/isa.h"
#include "base/pool.h"
#include "bind/declare.h"
#include "bind/objects.h"
#include "memory/allocator.h"

namespace py = pybind11;

namespace tensorlike::bind {
namespace {

// The GIL is let go while a long kernel runs, by the thread that holds it.
void* release_gil() { return PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr; }
void take_gil(void* state) {
  outlive_python([&] { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); });
}

// Whether Ctrl-C was pressed: Python then has its KeyboardInterrupt set.
bool is_interrupted() {
  if (Py_IsInitialized() == 0) return false;
  Gil gil;
  return PyErr_CheckSignals() != 0;
}

const char* isa_name() {
  switch (isa()) {
    case Isa::kV4:
      return "v4";
    case Isa::kV3:
      return "v3";
    default:
      return "v2";
  }
}

py::dict stats() {
  const MemoryStats now = memory_stats();
  py::dict out;
  out["allocated"] = now.allocated;
  out["peak"] = now.peak;
  out["cached"] = now.cached;
  out["limit"] = now.limit;
  return out;
}

}  // namespace
}  // namespace tensorlike::bind

// pybind11's own entry, which waits for ever in a subinterpreter, goes by another name.
#define PyInit__C init_core
PYBIND11_MODULE(_C, m) {
  using namespace tensorlike;
  using namespace tensorlike::bind;
  PyObject* module = m.ptr();
  references_are_guarded = true;
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error&) {
      set_error();
    } catch (const PythonError&) {
      set_error();
    } catch (const Interrupted&) {  // else a RuntimeError, caused by the KeyboardInterrupt
      set_error();
    } catch (const std::bad_alloc&) {
      set_error();
    }
  });
  try {
    add_errors(module);
    add_dtypes(module);
    add_ops(module);
    add_tensors(module);
    add_functions(module);
    add_tapes(module);
    add_backward(module);
    add_transforms(module);
    add_apply(module);
    add_rules(module);
    add_engine(module);
    add_contexts(module);
    add_cycles();
    add_lapack();
  } catch (const PythonError&) {
    throw py::error_already_set();
  }
  static PyMethodDef memory[] = {
      {"from_dlpack", as_method(from_dlpack), METH_O, nullptr},
      {"bitcast", as_method(bitcast), METH_VARARGS, "The same memory as another dtype."},
      {nullptr, nullptr, 0, nullptr}};
  PyModule_AddFunctions(module, memory);
  blocking_hooks = {release_gil, take_gil};
  embedder_hooks = {
      [] { return reinterpret_cast<void*>(static_cast<intptr_t>(ensure_gil())); },
      [](void* state) {
        PyGILState_Release(static_cast<PyGILState_STATE>(reinterpret_cast<intptr_t>(state)));
      }};
  set_interrupt_hook(is_interrupted);
  m.def("declare_specs", declare_specs);
  m.def("memory_stats", stats);
  m.def("reset_peak_memory", reset_peak_memory);
  m.def("set_memory_limit", set_memory_limit);
  m.def("empty_cache", empty_cache);
  m.def("fail_allocation_after", fail_allocation_after);
  m.def("allocations_before_failure", allocations_before_failure);
  m.def("num_threads", num_threads);
  m.def("set_num_threads", [](int n) {
    if (n < 1) throw py::value_error(text("set_num_threads: n must be at least 1; got ", n));
    set_num_threads(n);
  });
  m.def("isa", isa_name);
  m.attr("__version__") = TENSORLIKE_VERSION;
}
#undef PyInit__C

// There is one core in a process, under one lock: the main interpreter's.
extern "C" PYBIND11_EXPORT PyObject* PyInit__C();
extern "C" PYBIND11_EXPORT PyObject* PyInit__C() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return init_core();
  PyErr_SetString(PyExc_ImportError,
                  "tensorlike: must be imported in the main interpreter; got a subinterpreter; use "
                  "threads or processes.");
  return nullptr;
}
