// Alignments of labels with steps, one sequence at a time, for one ISA level. The states of a path
// are its labels with blanks between and around them; a state is reached from itself, from the one
// before, and, where `hop` is 0 and not minus infinity, from the one before that.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/math.h"

namespace tensorlike {
namespace {

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

template <class T>
T larger(T a, T b) {
  return (b > a) | (b != b) ? b : a;
}

// The largest of some terms, to be subtracted from them: 0 in place of minus infinity, of which the
// difference would be NaN.
template <class T>
T reference(T x) {
  return x == kNever<T> ? T(0) : x;
}

template <class T>
void emit(T* to, const T* log_probs, const int64_t* path, int64_t states) {
  for (int64_t s = 0; s < states; ++s) to[s] = log_probs[path[s]];
}

// Rows have two elements more in front, which nothing reaches.
template <class T>
void advance(T* now, const T* before, const T* emission, const T* hop, int64_t states) {
  for (int64_t s = 0; s < states; ++s) {
    const T a = before[s];
    const T b = before[s - 1];
    const T c = before[s - 2] + hop[s];
    const T high = a > b ? a : b;
    const T low = a > b ? b : a;
    const T most = larger(larger(a, b), c);
    const T shift = reference(most);
    const T middle = c > high ? high : c > low ? c : low;
    const T least = c > low ? low : c;
    now[s] = most + vm::log(T(1) + vm::exp(middle - shift) + vm::exp(least - shift)) + emission[s];
  }
}

template <class T>
void forward(const CtcSequence& q, void* table, void* scratch) {
  const T* const x = static_cast<const T*>(q.log_probs);
  const T* const hop = static_cast<const T*>(q.hop);
  T* const emission = static_cast<T*>(scratch);
  T* row = static_cast<T*>(table) + kCtcMargin;
  for (int64_t step = 0; step < q.steps; ++step) {
    emit(emission, x + step * q.stride, q.path, q.states);
    T* const now = row + (q.keeps_all ? step : step % 2) * (q.states + kCtcMargin);
    now[-1] = now[-2] = kNever<T>;
    if (step == 0) {
      for (int64_t s = 0; s < q.states; ++s) now[s] = s < 2 ? emission[s] : kNever<T>;
      continue;
    }
    const T* const before =
        row + (q.keeps_all ? step - 1 : (step - 1) % 2) * (q.states + kCtcMargin);
    advance(now, before, emission, hop, q.states);
  }
}

// The gradient by the states of a step, from the gradient by those of the next step.
template <class T>
void retreat(T* flow, const T* next, const T* before, const T* gain, const T* hop, int64_t states) {
  for (int64_t s = 0; s < states; ++s) {
    const T a = before[s];
    flow[s] = next[s] * vm::exp(a + gain[s]) + next[s + 1] * vm::exp(a + gain[s + 1]) +
              next[s + 2] * vm::exp(a + gain[s + 2] + hop[s + 2]);
  }
}

// `scratch` holds emissions, gains and the flows into two steps, each with kCtcMargin elements
// more. The flow into the last step is in the third part.
template <class T>
void backward(const CtcSequence& q, const void* table, void* gradient, void* scratch) {
  const T* const x = static_cast<const T*>(q.log_probs);
  const T* const hop = static_cast<const T*>(q.hop);
  const T* const row = static_cast<const T*>(table) + kCtcMargin;
  const int64_t width = q.states + kCtcMargin;
  T* const emission = static_cast<T*>(scratch);
  T* const gain = emission + width;
  T* next = gain + width;
  T* flow = next + width;
  for (int64_t i = 0; i < kCtcMargin; ++i) {
    next[q.states + i] = flow[q.states + i] = T(0);
    gain[q.states + i] = kNever<T>;
  }
  for (int64_t step = q.steps; step-- > 0;) {
    T* const to = static_cast<T*>(gradient) + step * q.stride;
    for (int64_t s = 0; s < q.states; ++s) to[q.path[s]] += next[s];
    if (step == 0) break;
    emit(emission, x + step * q.stride, q.path, q.states);
    const T* const now = row + step * width;
    for (int64_t s = 0; s < q.states; ++s) gain[s] = emission[s] - reference(now[s]);
    retreat(flow, next, now - width, gain, hop, q.states);
    T* const done = next;
    next = flow;
    flow = done;
  }
}

}  // namespace

void TL_FILL(alignments)(KernelTable& table);
void TL_FILL(alignments)(KernelTable& table) {
  table.ctc[DType::kFloat32] = {forward<float>, backward<float>};
  table.ctc[DType::kFloat64] = {forward<double>, backward<double>};
}

}  // namespace tensorlike
