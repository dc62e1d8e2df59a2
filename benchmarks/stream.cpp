// STREAM's "add" on float32, by as many threads as asked: c = a + b, once with plain stores and
// once with stores that pass the caches by. What the memory of this machine can do.
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <thread>
#include <vector>

#ifdef __SSE__
#include <immintrin.h>
#endif

namespace {

void add_plain(const float* a, const float* b, float* c, size_t n) {
  for (size_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

void add_past_caches(const float* a, const float* b, float* c, size_t n) {
#ifdef __AVX512F__
  for (size_t i = 0; i + 16 <= n; i += 16) {
    _mm512_stream_ps(c + i, _mm512_add_ps(_mm512_load_ps(a + i), _mm512_load_ps(b + i)));
  }
#elif defined(__SSE__)
  for (size_t i = 0; i + 4 <= n; i += 4) {
    _mm_stream_ps(c + i, _mm_add_ps(_mm_load_ps(a + i), _mm_load_ps(b + i)));
  }
#else
  add_plain(a, b, c, n);
#endif
#ifdef __SSE__
  _mm_sfence();
#endif
}

}  // namespace

extern "C" {

// Memory on large pages, as an allocator for arrays would give.
float* stream_allocate(size_t count) {
  constexpr size_t kPage = size_t{1} << 21;
  const size_t bytes = (count * sizeof(float) + kPage - 1) / kPage * kPage;
  void* memory = std::aligned_alloc(kPage, bytes);
  if (memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<float*>(memory);
}

void stream_free(float* memory) { std::free(memory); }

// `n` is a multiple of 16 * threads, and all memory is aligned to 64 bytes.
void stream_add(const float* a, const float* b, float* c, size_t n, int threads, int past_caches) {
  const auto add = past_caches != 0 ? add_past_caches : add_plain;
  const size_t share = n / static_cast<size_t>(threads);
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) {
    const size_t at = share * static_cast<size_t>(t);
    others.emplace_back(add, a + at, b + at, c + at, share);
  }
  add(a, b, c, share);
  for (std::thread& other : others) other.join();
}
}
