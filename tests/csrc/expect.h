// How C++ tests say what must hold; a test's program ends with 1 where anything did not.
#pragma once

#include <atomic>
#include <cstdio>
#include <string_view>

namespace tensorlike {

inline std::atomic<int> failures{0};

inline void expect(bool holds, std::string_view what) {
  if (holds) return;
  std::printf("FAILED: %.*s\n", static_cast<int>(what.size()), what.data());
  ++failures;
}

}  // namespace tensorlike
