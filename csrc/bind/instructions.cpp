#include "bind/instructions.h"

#include "bind/python.h"
// After Python.h.
#include <opcode.h>

namespace tensorlike::bind {

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

bool is_product(int what, [[maybe_unused]] int argument) {
#ifdef BINARY_OP
  return what == BINARY_OP && argument == NB_MATRIX_MULTIPLY;
#else
  return what == BINARY_MATRIX_MULTIPLY;
#endif
}

bool does_nothing(int what) {
  switch (what) {
    case NOP:
#ifdef CACHE
    case CACHE:
    case RESUME:
#endif
#ifdef PRECALL
    case PRECALL:
#endif
#ifdef KW_NAMES
    case KW_NAMES:
#endif
      return true;
    default:
      return false;
  }
}

}  // namespace tensorlike::bind
