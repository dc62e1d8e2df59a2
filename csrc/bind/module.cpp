// The extension module: what is on the hot path is made of raw types in the files beside this one;
// the rest is bound by pybind11 here.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <new>

#include "base/blocking.h"
#include "base/environment.h"
#include "base/isa.h"
#include "base/pool.h"
#include "bind/complex_forms.h"
#include "bind/declare.h"
#include "bind/objects.h"
#include "bind/programs.h"
#include "memory/allocator.h"
#include "memory/share_all.h"
#include "tensor/planned_launch.h"

namespace py = pybind11;

namespace tensorlike::bind {
namespace {

// The GIL is let go while a long kernel runs, by the thread that holds it. Python must not be asked
// by the core's own threads, nor by one that let go already: once it has ended, it says of all
// threads that they hold it.
thread_local bool has_let_go = false;
void* release_gil() {
  if (is_worker() || has_let_go || PyGILState_Check() == 0) return nullptr;
  void* const state = PyEval_SaveThread();
  has_let_go = true;
  return state;
}
void take_gil(void* state) {
  has_let_go = false;
  outlive_python([&] { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); });
}

// Whether Ctrl-C was pressed: Python then has its KeyboardInterrupt set.
bool is_interrupted() {
  if (Py_IsInitialized() == 0) return false;
  Gil gil;
  return PyErr_CheckSignals() != 0;
}

// Whether an op's next launch on these Tensors is made by a plan.
bool is_launch_planned(const py::object& op, const py::args& tensors) {
  SmallVector<const Array*, 8> inputs;
  for (const py::handle tensor : tensors) {
    const RawTensor* const raw = raw_under(value_of(tensor.ptr()));
    if (raw == nullptr) return false;
    inputs.push_back(raw);
  }
  return is_planned(*to_op(op.ptr()), {inputs.data(), inputs.size()});
}

// What tests ask, and what they do to the memory that the core gets.
void add_test_hooks(py::module_& m) {
  m.def("is_planned", is_launch_planned);
  m.def("fail_allocation_after", fail_allocation_after);
  m.def("poison_memory", [](bool on) { memory_is_poisoned = on; });
  m.def("trim_heap", &trim_heap);
  m.def("share_all_memory", [](bool on, bool by_wrong_plans) {
    least_slice = on ? 1 : kLeastSlice;
    plans_are_wrong = by_wrong_plans;
  });
  m.def("allocations_before_failure", allocations_before_failure);
  add_ways(m.ptr());
}

const char* isa_name() { return name_of(isa()); }

PyObject* stats(PyObject*, PyObject*) {
  const MemoryStats now = memory_stats();
  const bool is_limited = now.limit != 0 && now.limit != SIZE_MAX;
  return Py_BuildValue("{sK sK sK sN}", "allocated", now.allocated, "peak", now.peak, "cached",
                       now.cached, "limit",
                       is_limited ? PyLong_FromSize_t(now.limit) : Py_NewRef(Py_None));
}

// A count from `least` on, up to what T holds; else an error in the call's name.
template <class T>
T to_count(PyObject* given, const char* who, const char* name, int64_t least) {
  if (PyIndex_Check(given) == 0 || PyBool_Check(given) != 0) {
    fail(ErrorKind::kAttribute, said::op(who), said::argument(name), "must be an integer",
         said::got(Py_TYPE(given)->tp_name));
  }
  Object number = own(PyNumber_Index(given));
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  if (overflow < 0 || (overflow == 0 && value < least)) {
    fail(ErrorKind::kArgument, said::op(who), said::argument(name), "must be at least ", least,
         said::got(shown(own(PyObject_Str(number.get())).get())));
  }
  constexpr auto kMost =
      static_cast<int64_t>(std::min<uint64_t>(std::numeric_limits<T>::max(), INT64_MAX));
  return static_cast<T>(overflow > 0 ? kMost : std::min(value, kMost));
}

PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }
PyObject* change_num_threads(PyObject*, PyObject* n) {
  return guarded([&] {
    set_num_threads(to_count<int>(n, "set_num_threads", "n", 1));
    Py_RETURN_NONE;
  });
}
PyObject* change_memory_limit(PyObject*, PyObject* limit) {
  return guarded([&] {
    set_memory_limit(limit == Py_None ? 0 : to_count<size_t>(limit, "set_limit", "limit", 1));
    Py_RETURN_NONE;
  });
}
PyObject* reset_peak(PyObject*, PyObject*) {
  reset_peak_memory();
  Py_RETURN_NONE;
}
PyObject* drop_cache(PyObject*, PyObject*) {
  empty_cache();
  Py_RETURN_NONE;
}
PyObject* get_isa(PyObject*, PyObject*) { return PyUnicode_FromString(isa_name()); }
PyObject* check_variables(PyObject*, PyObject*) {
  return guarded([] {
    isa();
    num_threads();
    check_environment();
    Py_RETURN_NONE;
  });
}

PyMethodDef module_functions[] = {
    {"from_dlpack", as_method(from_dlpack), METH_O, nullptr},
    {"bitcast", as_method(bitcast), METH_VARARGS, "The same memory as another dtype."},
    {"memory_stats", stats, METH_NOARGS,
     "Bytes in use, the most so far, kept for reuse; the limit."},
    {"reset_peak_memory", reset_peak, METH_NOARGS, "The most so far becomes what is in use."},
    {"set_memory_limit", change_memory_limit, METH_O, "The most bytes in use, or None."},
    {"empty_cache", drop_cache, METH_NOARGS, "Gives back what is kept for reuse."},
    {"function_names", function_names, METH_NOARGS, "All functional calls."},
    {"num_threads", get_num_threads, METH_NOARGS, "How many threads kernels use."},
    {"set_num_threads", change_num_threads, METH_O, "How many threads kernels use from now on."},
    {"isa", get_isa, METH_NOARGS, "The level of the kernels: v2, v3 or v4."},
    {"check_environment", check_variables, METH_NOARGS, "Raises for a variable that is wrong."},
    {nullptr, nullptr, 0, nullptr}};

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
    add_named(module);
    add_complex_forms(module);
    add_tapes(module);
    add_programs(module);
    add_passes(module);
    add_program_copies(module);
    add_backward(module);
    add_transforms(module);
    add_apply(module);
    add_rules(module);
    add_engine(module);
    add_contexts(module);
    add_rebinding_blocks(module);
    add_cycles();
    add_lapack();
  } catch (const PythonError&) {
    throw py::error_already_set();
  }
  PyModule_AddFunctions(module, module_functions);
  blocking_hooks = {release_gil, take_gil};
  embedder_hooks = {
      [] { return reinterpret_cast<void*>(static_cast<intptr_t>(ensure_gil())); },
      [](void* state) {
        PyGILState_Release(static_cast<PyGILState_STATE>(reinterpret_cast<intptr_t>(state)));
      }};
  set_interrupt_hook(is_interrupted);
  m.def("declare_specs", declare_specs);
  add_test_hooks(m);
  m.def("built_levels", [] {
    py::list names;
    for (Isa level : built_levels()) names.append(name_of(level));
    return py::tuple(names);
  });
  m.attr("__version__") = TENSORLIKE_VERSION;
  m.attr("compiler") = TENSORLIKE_COMPILER;
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
