// A long kernel says so, and whoever embeds the core may release its own locks meanwhile (the
// binding releases the GIL). The core knows only the two hooks.
#pragma once

namespace tensorlike {

struct BlockingHooks {
  void* (*enter)() = nullptr;
  void (*leave)(void*) = nullptr;
};

inline BlockingHooks blocking_hooks;
// The other way round: a thread of the core's own takes the embedder's lock.
inline BlockingHooks embedder_hooks;

class EmbedderLock {
 public:
  EmbedderLock() {
    if (embedder_hooks.enter != nullptr) state_ = embedder_hooks.enter();
  }
  ~EmbedderLock() {
    if (embedder_hooks.leave != nullptr) embedder_hooks.leave(state_);
  }
  EmbedderLock(const EmbedderLock&) = delete;
  EmbedderLock& operator=(const EmbedderLock&) = delete;

 private:
  void* state_ = nullptr;
};

// Held around work that takes longer than about 20 microseconds.
class BlockingRegion {
 public:
  explicit BlockingRegion(bool is_long) {
    if (is_long && blocking_hooks.enter != nullptr) state_ = blocking_hooks.enter();
  }
  ~BlockingRegion() {
    if (state_ != nullptr) blocking_hooks.leave(state_);
  }
  BlockingRegion(const BlockingRegion&) = delete;
  BlockingRegion& operator=(const BlockingRegion&) = delete;

 private:
  void* state_ = nullptr;
};

// Locks a mutex whose holder may need what the hooks give back (a rule's class check runs Python):
// whoever has to wait lets go of it first.
template <class Mutex>
class PatientLock {
 public:
  explicit PatientLock(Mutex& mutex) : mutex_(mutex) {
    if (mutex_.try_lock()) return;
    BlockingRegion region(true);
    mutex_.lock();
  }
  ~PatientLock() { mutex_.unlock(); }
  PatientLock(const PatientLock&) = delete;
  PatientLock& operator=(const PatientLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace tensorlike
