// Writing past the caches, for one ISA level.
#include <cstring>

#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tensorlike {
namespace {

#if defined(__SSE2__)
constexpr int64_t kLine = 64;

void write_line(char* out, const char* in) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(out), _mm512_loadu_si512(in));
#elif defined(__AVX2__)
  for (int64_t i = 0; i < kLine; i += 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i)));
  }
#else
  for (int64_t i = 0; i < kLine; i += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
  }
#endif
}

void stream(char* out, const char* in, int64_t bytes, const char* const* ahead, int64_t count) {
  const bool is_aligned = reinterpret_cast<uintptr_t>(out) % kLine == 0;
  const int64_t end = is_aligned ? bytes / kLine * kLine : 0;
  for (int64_t i = 0; i < end; i += kLine) {
    write_line(out + i, in + i);
    for (int64_t k = 0; k < count; ++k) __builtin_prefetch(ahead[k] + i);
  }
  std::memcpy(out + end, in + end, static_cast<size_t>(bytes - end));
}

void stream_end() { _mm_sfence(); }
#else
void stream(char* out, const char* in, int64_t bytes, const char* const*, int64_t) {
  std::memcpy(out, in, static_cast<size_t>(bytes));
}

void stream_end() {}
#endif

}  // namespace

void TL_FILL(streams)(KernelTable& table);
void TL_FILL(streams)(KernelTable& table) {
  table.stream = stream;
  table.stream_end = stream_end;
}

}  // namespace tensorlike
