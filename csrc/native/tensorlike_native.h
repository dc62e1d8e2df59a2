// What a library of native ops includes: C99 or C++, and no other header of ours. A kernel is a
// function of a tl_call, which holds arrays, attributes by name, and what it may ask of the core.
// TL_LIBRARY lists the kernels; tensorlike.declare(path, library=...) finds them by their names.
#ifndef TENSORLIKE_NATIVE_H
#define TENSORLIKE_NATIVE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// What is below, as a number: it changes with any of it, and a library of another one is refused.
#define TENSORLIKE_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

// Element types. float16 and bfloat16 have the bits of IEEE's binary16 and of a float32's upper
// half, bool is a byte of 0 or 1, complex numbers are two parts.
enum {
  TL_BOOL = 0,
  TL_INT8 = 1,
  TL_INT16 = 2,
  TL_INT32 = 3,
  TL_INT64 = 4,
  TL_UINT8 = 5,
  TL_UINT16 = 6,
  TL_UINT32 = 7,
  TL_UINT64 = 8,
  TL_FLOAT16 = 9,
  TL_BFLOAT16 = 10,
  TL_FLOAT32 = 11,
  TL_FLOAT64 = 12,
  TL_COMPLEX64 = 13,
  TL_COMPLEX128 = 14
};

// Why a kernel refuses: which of Python's exceptions it becomes.
enum {
  TL_SHAPE_ERROR = 1,     // tensorlike.ShapeError, a ValueError
  TL_DTYPE_ERROR = 2,     // tensorlike.DTypeError, a TypeError
  TL_INDEX_ERROR = 3,     // tensorlike.IndexRangeError, an IndexError
  TL_ARGUMENT_ERROR = 4,  // tensorlike.ArgumentError, a ValueError
  TL_MEMORY_ERROR = 5,    // tensorlike.OutOfMemoryError, a MemoryError
  TL_MATRIX_ERROR = 6     // tensorlike.MatrixError, a ValueError
};

typedef struct tl_array {
  int32_t dtype;
  int32_t ndim;
  const int64_t* shape;
  const int64_t* strides;  // in elements; a step may be 0 or negative
  void* data;              // the first element; NULL where only shapes are known
} tl_array;

enum {
  TL_ATTR_NONE = 0,
  TL_ATTR_BOOL = 1,     // integer: 0 or 1
  TL_ATTR_INT = 2,      // integer
  TL_ATTR_UINT = 3,     // number beyond int64: its bits in integer
  TL_ATTR_FLOAT = 4,    // number
  TL_ATTR_COMPLEX = 5,  // number, imaginary
  TL_ATTR_TEXT = 6,     // text, count bytes and a 0
  TL_ATTR_INTS = 7,     // integers, count of them
  TL_ATTR_DTYPE = 8     // integer
};

// An attribute of the op, as it was declared.
typedef struct tl_attr {
  const char* name;
  int32_t kind;
  int64_t count;
  int64_t integer;
  double number;
  double imaginary;
  const char* text;
  const int64_t* integers;
} tl_attr;

typedef struct tl_call tl_call;
// 0: done. Else the call failed, and tl_fail has said why: `return tl_fail(...)`.
typedef int32_t (*tl_function)(tl_call* call);
typedef void (*tl_loop)(void* data, int64_t begin, int64_t end);

// One call of a kernel, which fills the outputs: they have memory, in order, not set. It runs on
// any thread, without Python's lock; nothing it is given may be kept. Or one of an inference, which
// sees inputs without elements and no outputs, and calls `result` for each output in turn.
struct tl_call {
  const char* op;
  int32_t input_count;
  int32_t output_count;
  int32_t attr_count;
  const tl_array* inputs;
  const tl_array* outputs;
  const tl_attr* attrs;
  // Memory for this call alone, 64-byte aligned and not set; NULL where there is none: return 1.
  void* (*memory)(tl_call* call, size_t bytes);
  // Runs body(data, begin, end) on parts of [0, count), of about `grain` or more, on several
  // threads. Not 0: it failed or was interrupted, and what it should have written is not there;
  // return 1.
  int32_t (*parallel)(tl_call* call, int64_t count, int64_t grain, tl_loop body, void* data);
  int32_t (*result)(tl_call* call, int32_t dtype, int32_t ndim, const int64_t* shape);
  // What must hold, in words; the first of several counts. Any thread of the call may say so.
  int32_t (*fail)(tl_call* call, int32_t kind, const char* text);
};

typedef struct tl_kernel {
  const char* name;   // as the declaration says it: `kernel: {cpu: name}`
  tl_function run;    // not called where all results are empty
  tl_function infer;  // NULL: the declaration's body says shapes and dtypes
} tl_kernel;

// What a library gives when it is asked; abi_version stays the first for ever.
typedef struct tl_library {
  int32_t abi_version;
  size_t kernel_count;
  const tl_kernel* kernels;
} tl_library;

#if defined(__GNUC__)
#define TL_EXPORT __attribute__((visibility("default")))
#define TL_LIKE_PRINTF __attribute__((format(printf, 3, 4)))
#else
#define TL_EXPORT
#define TL_LIKE_PRINTF
#endif

// The one function that a library exports.
TL_EXPORT const tl_library* tensorlike_library(void);

// TL_LIBRARY(kernels) after `static const tl_kernel kernels[] = {{"name", run, NULL}, ...};`
#define TL_LIBRARY(list)                                                                         \
  const tl_library* tensorlike_library(void) {                                                   \
    static const tl_library library = {TENSORLIKE_ABI_VERSION, sizeof(list) / sizeof((list)[0]), \
                                       (list)};                                                  \
    return &library;                                                                             \
  }                                                                                              \
  typedef int tl_library_is_defined

// Says why the call fails, in the words of printf; returns 1, for the kernel to return.
static inline int32_t tl_fail(tl_call* call, int32_t kind, const char* format, ...) TL_LIKE_PRINTF;
static inline int32_t tl_fail(tl_call* call, int32_t kind, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return call->fail(call, kind, text);
}

// The attribute of this name and kind; else the call fails, and NULL.
static inline const tl_attr* tl_find(tl_call* call, const char* name, int32_t kind) {
  for (int32_t i = 0; i < call->attr_count; ++i) {
    if (strcmp(call->attrs[i].name, name) == 0 && call->attrs[i].kind == kind) {
      return &call->attrs[i];
    }
  }
  tl_fail(call, TL_ARGUMENT_ERROR, "the kernel must read an attribute that is declared so; got %s",
          name);
  return NULL;
}

static inline int tl_bool(tl_call* call, const char* name) {
  const tl_attr* found = tl_find(call, name, TL_ATTR_BOOL);
  return found != NULL && found->integer != 0;
}

static inline int64_t tl_int(tl_call* call, const char* name) {
  const tl_attr* found = tl_find(call, name, TL_ATTR_INT);
  return found != NULL ? found->integer : 0;
}

static inline double tl_float(tl_call* call, const char* name) {
  const tl_attr* found = tl_find(call, name, TL_ATTR_FLOAT);
  return found != NULL ? found->number : 0.0;
}

static inline const char* tl_text(tl_call* call, const char* name) {
  const tl_attr* found = tl_find(call, name, TL_ATTR_TEXT);
  return found != NULL ? found->text : "";
}

// The integers of a list; how many in `count`.
static inline const int64_t* tl_ints(tl_call* call, const char* name, int64_t* count) {
  const tl_attr* found = tl_find(call, name, TL_ATTR_INTS);
  *count = found != NULL ? found->count : 0;
  return found != NULL ? found->integers : NULL;
}

// How many elements an array has.
static inline int64_t tl_count(const tl_array* array) {
  int64_t count = 1;
  for (int32_t i = 0; i < array->ndim; ++i) count *= array->shape[i];
  return count;
}

#ifdef __cplusplus
}

// parallel, of anything that is called as f(begin, end).
template <class F>
int32_t tl_parallel(tl_call* call, int64_t count, int64_t grain, F f) {
  return call->parallel(
      call, count, grain,
      [](void* data, int64_t begin, int64_t end) { (*static_cast<F*>(data))(begin, end); }, &f);
}
#endif

#endif
