// What ran, when, and on how many bytes: collected while somebody profiles.
#pragma once

#include <chrono>
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
void start_profile();
// Ends the profile, after what waits has run.
std::vector<ProfileEvent> stop_profile();

// Times what runs in its scope. Does nothing unless somebody profiles.
class ProfileScope {
 public:
  ProfileScope();
  ~ProfileScope();
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

  explicit operator bool() const { return is_on_; }
  ProfileEvent event;

 private:
  bool is_on_;
};

int64_t bytes_of(const RawTensor& tensor);

}  // namespace tensorlike
