// Recursion ends with an error before the thread's stack does. Threads may have small stacks, and
// how deep tensor-likes, rules and hooks call one another is up to users.
#pragma once

#include <cstdint>

namespace tensorlike {

namespace detail {

// Below this address a call is refused. Not known before a thread's first check.
inline thread_local uintptr_t stack_floor = UINTPTR_MAX;
void find_stack_floor();
[[noreturn]] void fail_stack();

}  // namespace detail

// Throws Error where too little stack is left for a kernel, or for another round of what recurses.
inline void check_stack() {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (here >= detail::stack_floor) [[likely]]
    return;
  if (detail::stack_floor == UINTPTR_MAX) detail::find_stack_floor();
  if (here < detail::stack_floor) detail::fail_stack();
}

}  // namespace tensorlike
