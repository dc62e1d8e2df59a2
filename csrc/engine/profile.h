// What ran, when, and on how many bytes: collected while somebody profiles.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tensor/raw_tensor.h"

namespace tensorlike {

struct ProfileEvent {
  std::string name;              // the op, or the ops that ran as one program
  std::vector<std::string> ops;  // more than one: fused
  std::string place;             // the user's line
  std::string shape;             // of the (first) result
  int64_t start = 0;             // nanoseconds since the profile began
  int64_t duration = 0;
  int64_t bytes = 0;  // read and written
};

bool is_profiling();
// Begins a profile, beside those that are going on; the result names it.
int64_t start_profile();
// Ends one, after what waits has run.
std::vector<ProfileEvent> stop_profile(int64_t profile);

// Times what runs in its scope. Does nothing unless somebody profiles.
class ProfileScope {
 public:
  ProfileScope() {
    if (is_profiling()) begin();
  }
  ~ProfileScope() {
    if (event) end();
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

  explicit operator bool() const { return event != nullptr; }
  // Tells the profiles now; the destructor does where nobody has.
  void end();
  // The op, the line that applied it, what it reads and what it writes.
  void describe(const Op& op, const std::string& place, std::span<const Spec> inputs,
                std::span<const Spec> outputs);
  std::unique_ptr<ProfileEvent> event;  // null: nobody profiles

 private:
  void begin();
};

int64_t bytes_of(const RawTensor& tensor);

}  // namespace tensorlike
