#include "engine/profile.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>

#include "engine/engine.h"

namespace tensorlike {
namespace {

using Clock = std::chrono::steady_clock;

// One that is going on. Its events are told by when they began, on the clock.
struct Profile {
  int64_t name;
  int64_t begin;
  std::vector<ProfileEvent> events;
};

// Several may go on at once, in blocks inside one another or in threads, and each sees all that
// runs. The engine's thread reports its launches too, and takes no other lock.
struct Profiles {
  std::mutex mutex;
  std::vector<Profile> open;
  std::atomic<size_t> count{0};
  int64_t last_name = 0;
};

Profiles& profiles() {
  static auto* instance = new Profiles;
  return *instance;
}

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

int64_t bytes_of(const Spec& spec) {
  return element_count(spec.shape) * static_cast<int64_t>(size_of(spec.dtype));
}

}  // namespace

bool is_profiling() { return profiles().count.load(std::memory_order_relaxed) > 0; }

int64_t start_profile() {
  finish_all("a profile begins");
  Profiles& all = profiles();
  int64_t name = 0;
  {
    const std::lock_guard lock(all.mutex);
    name = ++all.last_name;
    all.open.push_back({name, now(), {}});
    all.count = all.open.size();
  }
  update_small_launches();
  return name;
}

std::vector<ProfileEvent> stop_profile(int64_t name) {
  // Also when what waits fails: else it would go on for ever.
  std::exception_ptr failure;
  try {
    finish_all("the profile ends");
  } catch (...) {
    failure = std::current_exception();
  }
  Profiles& all = profiles();
  std::vector<ProfileEvent> events;
  {
    const std::lock_guard lock(all.mutex);
    const auto found = std::find_if(all.open.begin(), all.open.end(),
                                    [&](const Profile& open) { return open.name == name; });
    if (found != all.open.end()) {
      events = std::move(found->events);
      all.open.erase(found);
    }
    all.count = all.open.size();
  }
  update_small_launches();
  if (failure) std::rethrow_exception(failure);
  return events;
}

void ProfileScope::begin() {
  event = std::make_unique<ProfileEvent>();
  event->start = now();
}

void ProfileScope::end() {
  const std::unique_ptr<ProfileEvent> told = std::move(event);
  if (told == nullptr || told->name.empty()) return;  // it failed
  told->duration = now() - told->start;
  Profiles& all = profiles();
  const std::lock_guard lock(all.mutex);
  try {
    for (Profile& open : all.open) {
      if (told->start < open.begin) continue;
      open.events.push_back(*told);
      open.events.back().start -= open.begin;
    }
  } catch (const std::bad_alloc&) {  // an event less
  }
}

void ProfileScope::describe(const Op& op, const std::string& place, std::span<const Spec> inputs,
                            std::span<const Spec> outputs) {
  event->name = op.name();
  event->ops = {op.name()};
  event->place = place;
  for (const Spec& spec : inputs) event->bytes += bytes_of(spec);
  for (const Spec& spec : outputs) event->bytes += bytes_of(spec);
  if (!outputs.empty()) event->shape = to_string(outputs[0].shape);
}

int64_t bytes_of(const RawTensor& tensor) { return bytes_of(tensor.spec()); }

}  // namespace tensorlike
