// Copies of rows of words in steps: every size of word, steps both ways, lengths around those of
// vectors. The words lie at the end or at the begin of memory that pages without access surround,
// so that a read of what is not between the first word and the last one ends the process. Exits
// non-zero on the first word that is wrong.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "../../csrc/kernels/kernel_table.h"

namespace {

using namespace tensorlike;

constexpr int64_t kMostWords = 200;
constexpr int64_t kMostStep = 11;  // in words
constexpr int64_t kWidest = 16;    // bytes
constexpr int64_t kRow = kMostWords * kMostStep * kWidest;

// Bytes between two pages that nobody may read.
class Guarded {
 public:
  Guarded() {
    const int64_t page = sysconf(_SC_PAGESIZE);
    bytes_ = (kRow + page - 1) / page * page;
    auto* all = static_cast<char*>(mmap(nullptr, static_cast<size_t>(bytes_ + 2 * page), PROT_NONE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    begin_ = all + page;
    mprotect(begin_, static_cast<size_t>(bytes_), PROT_READ | PROT_WRITE);
    for (int64_t i = 0; i < bytes_; ++i) begin_[i] = static_cast<char>(i * 7 + i / 256);
  }
  const char* begin() const { return begin_; }
  const char* end() const { return begin_ + bytes_; }

 private:
  char* begin_;
  int64_t bytes_;
};

bool check_row(const char* in, int64_t size, int64_t step, int64_t n) {
  std::vector<char> out(static_cast<size_t>((n + 1) * size), char{77});
  move_kernels(size).rows({out.data(), 0, size, in, 0, step * size, 1, n});
  for (int64_t i = 0; i < n; ++i) {
    if (std::memcmp(out.data() + i * size, in + i * step * size, static_cast<size_t>(size)) == 0) {
      continue;
    }
    std::printf("FAIL: word %lld of %lld, of %lld bytes in steps of %lld\n",
                static_cast<long long>(i), static_cast<long long>(n), static_cast<long long>(size),
                static_cast<long long>(step));
    return false;
  }
  if (out.back() == char{77}) return true;
  std::printf("FAIL: written beyond the last word\n");
  return false;
}

}  // namespace

int main() {
  const Guarded memory;
  for (int64_t size = 1; size <= kWidest; size *= 2) {
    for (int64_t step = -kMostStep; step <= kMostStep; ++step) {
      for (int64_t n = 1; n <= kMostWords; ++n) {
        // From the lowest to the highest of the words.
        const int64_t span = ((n - 1) * (step < 0 ? -step : step) + 1) * size;
        const int64_t first = step < 0 ? span - size : 0;
        if (!check_row(memory.begin() + first, size, step, n)) return 1;
        if (!check_row(memory.end() - span + first, size, step, n)) return 1;
      }
    }
  }
  std::puts("ok");
  return 0;
}
