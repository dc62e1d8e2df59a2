// Where in the user's code an op is applied, and whether another op reads what it gives: seen in
// the code that Python is running. Of each piece of code that is found out once, and kept with it.
#include "bind/expressions.h"

#include <memory>
#include <vector>

#include "bind/context.h"
#include "bind/passing.h"
// After Python.h.
#include <frameobject.h>

namespace tensorlike::bind {
namespace {

#if PY_VERSION_HEX >= 0x030C0000
constexpr auto request_place = PyUnstable_Eval_RequestCodeExtraIndex;
constexpr auto get_kept = PyUnstable_Code_GetExtra;
constexpr auto keep = PyUnstable_Code_SetExtra;
#else
constexpr auto request_place = _PyEval_RequestCodeExtraIndex;
constexpr auto get_kept = _PyCode_GetExtra;
constexpr auto keep = _PyCode_SetExtra;
#endif

using KnownPlaces = std::vector<Passing>;  // by the instruction

// Of the code that a frame runs; none where it cannot be read. Null: nothing can be kept with it.
const KnownPlaces* places_in(PyFrameObject* frame, PyCodeObject* code) {
  static const Py_ssize_t kept_at =
      request_place([](void* places) { delete static_cast<KnownPlaces*>(places); });
  void* kept = nullptr;
  auto* const object = reinterpret_cast<PyObject*>(code);
  if (kept_at < 0 || get_kept(object, kept_at, &kept) != 0) return nullptr;
  if (kept != nullptr) return static_cast<const KnownPlaces*>(kept);
  auto made = std::make_unique<KnownPlaces>();
#if PY_VERSION_HEX >= 0x030B0000
  const Object globals = own(PyFrame_GetGlobals(frame));
  const Object builtins = own(PyFrame_GetBuiltins(frame));
#else
  const Object globals = Object::share(frame->f_globals);
  const Object builtins = Object::share(frame->f_builtins);
#endif
  try {
    *made = passings_in(code, globals.get(), builtins.get());
  } catch (const PythonError&) {
    PyErr_Clear();
  }
  return keep(object, kept_at, made.get()) == 0 ? made.release() : nullptr;
}

int instruction_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame) / 2;
#else
  return frame->f_lasti;
#endif
}

PyFrameObject* as_frame(const Object& object) {
  return reinterpret_cast<PyFrameObject*>(object.get());
}

// Where a frame is; `passing`: what becomes there of the result.
UsersPlace place_in(PyFrameObject* frame, Passing& passing) {
  const Object code = Object::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  const auto* const places = places_in(frame, reinterpret_cast<PyCodeObject*>(code.get()));
  PyErr_Clear();
  const int at = instruction_of(frame);
  if (places == nullptr || at < 0 || at >= static_cast<int>(places->size())) return {};
  passing = (*places)[static_cast<size_t>(at)];
  return {code.get(), passing.at, passing.to == Passing::To::kOp, passing.held};
}

// A result that is returned goes on where the call stands whose result it is.
UsersPlace place_of_op() {
  if (PyGILState_Check() == 0) return {};  // a thread that Python does not know
  if (ops_applied == 0) return {};         // some other call
  UsersPlace innermost;
  Object frame = Object::share(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    Passing passing;
    const UsersPlace place = place_in(as_frame(frame), passing);
    if (place.is_passed_on) return place;
    if (innermost.code == nullptr) innermost = place;
    if (passing.to != Passing::To::kCaller) break;
    frame = Object::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(as_frame(frame))));
  }
  return innermost;
}

UsersPlace place_of_caller() {
  if (PyGILState_Check() == 0 || PyEval_GetFrame() == nullptr) return {};
  const Object frame =
      Object::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(PyEval_GetFrame())));
  Passing passing;
  return frame ? place_in(as_frame(frame), passing) : UsersPlace();
}

PyObject* passed_on(PyObject*, PyObject* result) { return Py_NewRef(result); }

// OneExpression(): what a block of this package's own code applies. It may be entered again inside
// itself.
class ExpressionBlock {
 public:
  explicit ExpressionBlock(PyObject*) {}
  void enter() { open_.push_back(std::make_unique<OneExpression>()); }
  void exit() {
    if (open_.empty()) return;
    const std::unique_ptr<OneExpression> last = std::move(open_.back());
    open_.pop_back();
    last->end();
  }

 private:
  std::vector<std::unique_ptr<OneExpression>> open_;
};

PyMethodDef expression_functions[] = {
    {"passed_on", as_method(passed_on), METH_O,
     "What it is given, which an op of this package reads before users do."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool is_passing_on(PyObject* function) {
  return PyCFunction_Check(function) != 0 &&
         PyCFunction_GetFunction(function) == as_method(passed_on);
}

void add_expressions(PyObject* module) {
  check(PyModule_AddFunctions(module, expression_functions));
  Context<ExpressionBlock>::add(module, "tensorlike._C.OneExpression",
                                "A block whose ops are one expression.");
  users_place = place_of_op;
  callers_place = place_of_caller;
}

}  // namespace tensorlike::bind
