#include "engine/profile.h"

#include "engine/engine.h"

namespace tensorlike {
namespace {

using Clock = std::chrono::steady_clock;

struct Profile {
  bool is_on = false;
  Clock::time_point begin;
  std::vector<ProfileEvent> events;
};

Profile& profile() {
  static auto* instance = new Profile;
  return *instance;
}

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - profile().begin)
      .count();
}

}  // namespace

bool is_profiling() { return profile().is_on; }

void start_profile() {
  finish_all("a profile begins");
  profile().events.clear();
  profile().begin = Clock::now();
  profile().is_on = true;
  update_small_launches();
}

std::vector<ProfileEvent> stop_profile() {
  finish_all("the profile ends");
  profile().is_on = false;
  update_small_launches();
  return std::move(profile().events);
}

ProfileScope::ProfileScope() : is_on_(profile().is_on) {
  if (is_on_) event.start = now();
}

ProfileScope::~ProfileScope() {
  if (!is_on_) return;
  event.duration = now() - event.start;
  profile().events.push_back(std::move(event));
}

int64_t bytes_of(const RawTensor& tensor) {
  return tensor.count * static_cast<int64_t>(size_of(tensor.dtype));
}

}  // namespace tensorlike
