// Compares both ways of sorting keys, by digits and by comparing vectors, with std::sort: sizes at
// the edges of networks and digits, few and many different keys, shared by several threads. Exits
// non-zero on the first failure.
#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "../../csrc/kernels/kernel_table.h"
#include "../../csrc/kernels/radix_sort.h"

namespace {

using namespace tensorlike;

std::mt19937_64 g_random(20240607);

template <class Key>
std::vector<Key> draw(size_t n, uint64_t variety) {
  std::vector<Key> keys(n);
  for (Key& key : keys) {
    const uint64_t word = g_random();
    key = static_cast<Key>(variety == 0 ? word : word % variety);
    if (word % 16 == 0) key = static_cast<Key>(-1);  // also what pads the networks
  }
  return keys;
}

template <class Key>
bool is_sorted_as(const std::vector<Key>& keys, const std::vector<Key>& wanted, const char* how) {
  if (keys == wanted) return true;
  std::printf("FAIL: %zu keys of %zu bytes %s\n", keys.size(), sizeof(Key), how);
  return false;
}

template <class Key>
bool check(size_t n, uint64_t variety, const SortKernels& kernels) {
  const std::vector<Key> given = draw<Key>(n, variety);
  std::vector<Key> wanted = given;
  std::sort(wanted.begin(), wanted.end());
  bool is_good = true;
  for (int shares : {1, 3}) {
    std::vector<Key> keys = given;
    std::vector<Key> other(n);
    std::vector<int64_t> counts(static_cast<size_t>(shares * kSortCounts));
    const Key* sorted =
        radix_sort(keys.data(), other.data(), static_cast<int64_t>(n), shares, counts.data());
    if (sorted == other.data()) keys = other;
    is_good = is_sorted_as(keys, wanted, "by digits") && is_good;
  }
  if (kernels.sort != nullptr) {
    std::vector<Key> keys = given;
    kernels.sort(keys.data(), static_cast<int64_t>(n));
    is_good = is_sorted_as(keys, wanted, "by comparing") && is_good;
  }
  return is_good;
}

}  // namespace

int main() {
  const KernelTable& table = kernel_table();
  std::vector<size_t> sizes{400, 1023, 8191, 8192, 8193, 20000, 300001};
  for (size_t n = 0; n < 300; ++n) sizes.push_back(n);
  bool is_good = true;
  for (size_t n : sizes) {
    for (uint64_t variety : {uint64_t{0}, uint64_t{1}, uint64_t{7}, uint64_t{1} << 20}) {
      is_good = check<uint32_t>(n, variety, table.sort32) && is_good;
      is_good = check<uint64_t>(n, variety, table.sort64) && is_good;
    }
  }
  return is_good ? 0 : 1;
}
