#include "base/stack.h"

#include <pthread.h>

#include "base/error.h"

namespace tensorlike::detail {

constexpr uintptr_t kKernels = 32768;  // bytes: kernels keep their buffers in the heap

void find_stack_floor() {
  stack_floor = 0;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* lowest = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &lowest, &size) == 0) {
    stack_floor = reinterpret_cast<uintptr_t>(lowest) + kKernels;
  }
  pthread_attr_destroy(&attributes);
}

void fail_stack() {
  fail(ErrorKind::kDispatch, said::op("apply"),
       "the thread's stack must have room for another call", said::got("one that is used up"),
       said::fix("nest tensor-likes, rules and hooks less deeply, or give the thread a larger "
                 "stack (threading.stack_size)"));
}

}  // namespace tensorlike::detail
