// Whether what an operator gives is read by the next operator of the same expression, and by
// nothing else before it: seen in the code that Python is running. Of each piece of code that is
// found out once, and kept with it.
#include "bind/expressions.h"

#include <memory>
#include <vector>

#include "bind/objects.h"
#include "engine/expression.h"
// After Python.h.
#include <frameobject.h>
#include <opcode.h>

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

using Bytes =
    std::basic_string_view<unsigned char>;  // two of an instruction: what, and its argument

#if PY_VERSION_HEX >= 0x030B0000
constexpr bool kNamesMayBeCalled = true;  // a bit of the argument says so
#else
constexpr bool kNamesMayBeCalled = false;
#endif
constexpr bool kAttributesMayBeCalled = PY_VERSION_HEX >= 0x030C0000;

// How many operands an operator of elements has; 0: it is none.
int operands_of(int what, [[maybe_unused]] int argument) {
  switch (what) {
    case UNARY_NEGATIVE:
    case UNARY_INVERT:
      return 1;
    case COMPARE_OP:
      return 2;
#ifdef BINARY_OP
    case BINARY_OP:
      return argument < NB_INPLACE_ADD && argument != NB_MATRIX_MULTIPLY ? 2 : 0;
#else
    case BINARY_ADD:
    case BINARY_SUBTRACT:
    case BINARY_MULTIPLY:
    case BINARY_TRUE_DIVIDE:
    case BINARY_FLOOR_DIVIDE:
    case BINARY_MODULO:
    case BINARY_POWER:
    case BINARY_AND:
    case BINARY_OR:
    case BINARY_XOR:
    case BINARY_LSHIFT:
    case BINARY_RSHIFT:
      return 2;
#endif
    default:
      return 0;
  }
}

// Whether it is an operator that binds its first operand anew: `p -= lr * g` ends with one.
bool is_in_place(int what, [[maybe_unused]] int argument) {
  switch (what) {
#ifdef BINARY_OP
    case BINARY_OP:
      return argument >= NB_INPLACE_ADD && argument != NB_INPLACE_MATRIX_MULTIPLY;
#else
    case INPLACE_ADD:
    case INPLACE_SUBTRACT:
    case INPLACE_MULTIPLY:
    case INPLACE_TRUE_DIVIDE:
    case INPLACE_FLOOR_DIVIDE:
    case INPLACE_MODULO:
    case INPLACE_POWER:
    case INPLACE_AND:
    case INPLACE_OR:
    case INPLACE_XOR:
    case INPLACE_LSHIFT:
    case INPLACE_RSHIFT:
      return true;
#endif
    default:
      return false;
  }
}

// How many values an instruction puts on the stack; 0: it does something else.
int loaded_by(int what, int argument) {
  switch (what) {
    case LOAD_FAST:
    case LOAD_CONST:
    case LOAD_DEREF:
    case LOAD_NAME:
#ifdef LOAD_FAST_CHECK
    case LOAD_FAST_CHECK:
#endif
      return 1;
#ifdef LOAD_FAST_LOAD_FAST
    case LOAD_FAST_LOAD_FAST:
      return 2;
#endif
    case LOAD_GLOBAL:
      return kNamesMayBeCalled && argument % 2 != 0 ? 0 : 1;
    default:
      return 0;
  }
}

bool does_nothing(int what) {
#ifdef CACHE
  if (what == CACHE) return true;
#endif
  return what == EXTENDED_ARG || what == NOP;
}

// Whether an operator reads what the instruction at a place leaves on the stack, and only operands
// are found before.
bool is_passed_on(Bytes code, size_t at) {
  int above = 0;  // values on the stack that came later
  for (size_t i = at + 2; i + 1 < code.size(); i += 2) {
    const int what = code[i];
    const int argument = code[i + 1];
    if (does_nothing(what)) continue;
    if (is_in_place(what, argument)) return above < 2;
    if (const int operands = operands_of(what, argument); operands > 0) {
      if (above < operands) return true;
      above -= operands - 1;
    } else if (what == LOAD_ATTR) {
      if (above == 0 || (kAttributesMayBeCalled && argument % 2 != 0)) return false;
    } else if (what == BINARY_SUBSCR) {
      if (above < 2) return false;
      --above;
    } else {
      const int loaded = loaded_by(what, argument);
      if (loaded == 0) return false;
      above += loaded;
    }
  }
  return false;
}

// By the instruction.
using KnownPlaces = std::vector<bool>;

// Null: it cannot be had.
const KnownPlaces* places_in(PyCodeObject* code) {
  static const Py_ssize_t kept_at =
      request_place([](void* places) { delete static_cast<KnownPlaces*>(places); });
  void* kept = nullptr;
  auto* const object = reinterpret_cast<PyObject*>(code);
  if (kept_at < 0 || get_kept(object, kept_at, &kept) != 0) return nullptr;
  if (kept != nullptr) return static_cast<const KnownPlaces*>(kept);
  const Object bytes = Object::steal(PyObject_GetAttrString(object, "co_code"));
  if (!bytes || PyBytes_Check(bytes.get()) == 0) return nullptr;
  const Bytes all(reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes.get())),
                  static_cast<size_t>(PyBytes_GET_SIZE(bytes.get())));
  auto made = std::make_unique<KnownPlaces>(all.size() / 2);
  for (size_t i = 0; i + 1 < all.size(); i += 2) {
    (*made)[i / 2] = operands_of(all[i], all[i + 1]) > 0 && is_passed_on(all, i);
  }
  if (keep(object, kept_at, made.get()) != 0) return nullptr;
  return made.release();
}

size_t instruction_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return static_cast<size_t>(PyFrame_GetLasti(frame)) / 2;
#else
  return static_cast<size_t>(frame->f_lasti);
#endif
}

bool is_passed_on_now() {
  if (PyGILState_Check() == 0) return false;       // a thread that Python does not know
  if (operators_applied == 0) return false;        // some other call
  PyFrameObject* const frame = PyEval_GetFrame();  // borrowed
  if (frame == nullptr) return false;
  const Object code = Object::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  const KnownPlaces* const places = places_in(reinterpret_cast<PyCodeObject*>(code.get()));
  if (places == nullptr) {
    PyErr_Clear();
    return false;
  }
  const size_t at = instruction_of(frame);
  return at < places->size() && (*places)[at];
}

}  // namespace

void add_expressions() { is_passed_on_by_user = is_passed_on_now; }

}  // namespace tensorlike::bind
