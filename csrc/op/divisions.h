// Sizes that an op divides: while numbers stand for sizes, a rest may be one that no size has which
// a run is given. Whoever infers with such numbers notes what was divided, and says so.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tensorlike {

struct Division {
  int64_t count = 0;
  int64_t parts = 1;
};

inline thread_local std::vector<Division>* noted_divisions = nullptr;

class NotedDivisions {
 public:
  explicit NotedDivisions(std::vector<Division>& noted)
      : before_(std::exchange(noted_divisions, &noted)) {}
  ~NotedDivisions() { noted_divisions = before_; }
  NotedDivisions(const NotedDivisions&) = delete;
  NotedDivisions& operator=(const NotedDivisions&) = delete;

 private:
  std::vector<Division>* const before_;
};

// Whether nothing is left, or somebody notes what is divided.
inline bool divides(int64_t count, int64_t parts) {
  if (parts == 0) return false;
  if (noted_divisions != nullptr) noted_divisions->push_back({count, parts});
  return noted_divisions != nullptr || count % parts == 0;
}

}  // namespace tensorlike
