// The kernels of tests/ops/test_libraries.py: good ones, and such as break the contract.
#include <math.h>
#include <time.h>
#include "tensorlike_native.h"

static int is_wide(const tl_array* x) { return x->dtype == TL_FLOAT64; }
static double get(const tl_array* x, int64_t i) {
  return is_wide(x) ? ((const double*)x->data)[i] : (double)((const float*)x->data)[i];
}
static void set(const tl_array* x, int64_t i, double value) {
  if (is_wide(x)) {
    ((double*)x->data)[i] = value;
  } else {
    ((float*)x->data)[i] = (float)value;
  }
}

static int32_t same(tl_call* call) {
  const tl_array* x = &call->inputs[0];
  const int32_t dtype = x->dtype < TL_FLOAT16 ? TL_FLOAT32 : x->dtype;
  return call->result(call, dtype, x->ndim, x->shape);
}

static int32_t mixed(tl_call* call) {
  int64_t count = 0;
  const int64_t* const axes = tl_ints(call, "axes", &count);
  double offset = (double)tl_int(call, "n") + tl_bool(call, "also");
  offset += (double)strlen(tl_text(call, "word"));
  for (int64_t i = 0; i < count; ++i) offset += (double)axes[i];
  for (int64_t i = 0; i < tl_count(&call->outputs[0]); ++i) {
    set(&call->outputs[0], i, get(&call->inputs[0], i) * tl_float(call, "k") + offset);
  }
  return 0;
}

static int32_t mean(tl_call* call) {
  const tl_array* const x = &call->inputs[0];
  const int64_t n = x->shape[x->ndim - 1];
  for (int64_t row = 0; row < tl_count(&call->outputs[0]); ++row) {
    double total = 0;
    for (int64_t i = 0; i < n; ++i) total += get(x, row * n + i);
    set(&call->outputs[0], row, total / (double)n);
  }
  return 0;
}

static int32_t strided_sum(tl_call* call) {  // of a matrix as it lies
  const tl_array* const x = &call->inputs[0];
  double total = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    for (int64_t k = 0; k < x->shape[1]; ++k) {
      total += get(x, i * x->strides[0] + k * x->strides[1]);
    }
  }
  set(&call->outputs[0], 0, total);
  return 0;
}

static int32_t number(tl_call* call) {
  return call->result(call, call->inputs[0].dtype, 0, NULL);
}

static int32_t two(tl_call* call) { return same(call) != 0 || same(call) != 0; }

struct part {
  tl_call* call;
  double* whole;
};
static void split_part(void* data, int64_t begin, int64_t end) {
  struct part* part = (struct part*)data;
  for (int64_t i = begin; i < end; ++i) {
    const double x = get(&part->call->inputs[0], i);
    if (isnan(x)) tl_fail(part->call, TL_ARGUMENT_ERROR, "x must be a number; got %g", x);
    part->whole[i] = trunc(x);
  }
}
static int32_t split(tl_call* call) {
  const int64_t n = tl_count(&call->inputs[0]);
  struct part part = {call, (double*)call->memory(call, (size_t)n * sizeof(double))};
  if (part.whole == NULL) return 1;
  if (call->parallel(call, n, 1, split_part, &part) != 0) return 1;
  for (int64_t i = 0; i < n; ++i) {
    set(&call->outputs[0], i, part.whole[i]);
    set(&call->outputs[1], i, get(&call->inputs[0], i) - part.whole[i]);
  }
  return 0;
}

// Says at flags[0] that it runs, and waits until flags[1] is set: for ten seconds at most.
static int32_t wait(tl_call* call) {
  volatile int64_t* const flags = (volatile int64_t*)(intptr_t)tl_int(call, "flags");
  const time_t start = time(NULL);
  flags[0] = 1;
  while (flags[1] == 0) {
    if (time(NULL) - start > 10) return tl_fail(call, TL_ARGUMENT_ERROR, "nobody came");
  }
  set(&call->outputs[0], 0, get(&call->inputs[0], 0) + 1);
  return 0;
}

static int32_t trace(tl_call* call) {
  const tl_array* const x = &call->inputs[0];
  if (x->ndim != 2) return tl_fail(call, TL_SHAPE_ERROR, "x must have two dimensions");
  double total = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i) total += get(x, i * (x->shape[1] + 1));
  set(&call->outputs[0], 0, total);
  return 0;
}

static int32_t reasons(tl_call* call) {
  return tl_fail(call, (int32_t)tl_int(call, "kind"), "x must be %s; got %d", "another", 7);
}
static int32_t silent(tl_call* call) { (void)call; return 3; }
static int32_t undeclared(tl_call* call) { (void)tl_int(call, "missing"); return 0; }
static int32_t greedy(tl_call* call) {
  return call->memory(call, (size_t)1 << 60) == NULL ? 1 : 0;
}
static int32_t infers_nothing(tl_call* call) { (void)call; return 0; }
static int32_t infers_nonsense(tl_call* call) {
  const int64_t shape[] = {-1};
  return call->result(call, TL_FLOAT32, 1, shape);
}
static int32_t infers_no_dtype(tl_call* call) { return call->result(call, 99, 0, NULL); }
static int32_t gives_late(tl_call* call) { return same(call); }

static const tl_kernel kernels[] = {
    {"mixed", mixed, same},
    {"library_mean", mean, NULL},
    {"strided_sum", strided_sum, number},
    {"split", split, two},
    {"wait", wait, same},
    {"trace", trace, number},
    {"reasons", reasons, same},
    {"silent", silent, same},
    {"undeclared", undeclared, same},
    {"greedy", greedy, same},
    {"infers_nothing", mean, infers_nothing},
    {"infers_nonsense", mean, infers_nonsense},
    {"infers_no_dtype", mean, infers_no_dtype},
    {"gives_late", gives_late, same},
};
TL_LIBRARY(kernels);
