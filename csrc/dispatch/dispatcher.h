// Multiple dispatch: which rule says what applying this op to these tensor-likes means.
//
// A rule has a signature (a class of ops, and kinds of tensor-likes). Among the rules that match,
// the most specific comes first: the op's class is compared first, then the kinds; within one
// signature the newest. A rule may decline, or continue with the next one (super), so that logging
// or counting can sit on top of a tensor-like without owning it. Where arguments are of mixed
// kinds, rules that match them as they are come first, then those of the highest kind present,
// which lifts the others.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "dispatch/signature.h"
#include "tensor/body.h"
#include "tensor/value.h"

namespace tensorlike {

class Rule {
 public:
  Rule(std::string name, std::string place, Signature signature)
      : name(std::move(name)), place(std::move(place)), signature(std::move(signature)) {}
  virtual ~Rule() = default;
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

  // False: the rule declines, and the next one is tried.
  virtual bool call(const Op& op, Args args, Values& out) = 0;
  virtual bool is_native() const { return false; }

  const std::string name;
  const std::string place;  // file:line
  const Signature signature;
  std::atomic<bool> is_enabled{true};
};

struct Candidate {
  std::shared_ptr<Rule> rule;  // a rule may be unregistered while it runs
  bool lifts;                  // matches once the arguments are of the highest kind present
};
using Resolution = std::vector<Candidate>;

class Dispatcher {
 public:
  // An ambiguity with a rule that exists is ErrorKind::kAmbiguity, and nothing is registered.
  void add(std::shared_ptr<Rule> rule);
  void set_enabled(Rule& rule, bool is_enabled);
  void remove(const Rule& rule);
  std::vector<std::shared_ptr<Rule>> rules() const;

  std::shared_ptr<const Resolution> resolve(const Type& op, std::span<const Type* const> kinds,
                                            size_t highest);
  Values call(const Op& op, Args args);
  // Continues after the rule that is running now.
  Values call_super(const Op& op, Args args);

  // Goes up with every change, for caches outside.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  // Whether a user's rule may match built-in tensor-likes or their wrapper.
  bool is_wrapper_plain() const { return is_wrapper_plain_.load(std::memory_order_relaxed); }
  // The kind of the wrapper, whose rules concern is_wrapper_plain.
  void set_wrapper_type(const Type& type) { wrapper_type_ = &type; }

  // `not_lifting`: the kind whose rule would apply if it lifted the others; null: it is not that.
  [[noreturn]] void fail_miss(const Op& op, std::span<const Type* const> kinds,
                              const Type* not_lifting = nullptr);

  // Forgets resolutions: a class's bases have changed.
  void invalidate();

 private:
  using Cache = std::unordered_map<std::string, std::shared_ptr<const Resolution>>;
  // The old resolutions, to be dropped when nothing is locked: dropping a rule may run Python.
  [[nodiscard]] Cache take_cache();

  friend Dispatcher& dispatcher();
  Dispatcher();
  void update_plain();
  void check_ambiguity(const Rule& rule) const;

  mutable std::recursive_mutex mutex_;
  std::vector<std::shared_ptr<Rule>> rules_;
  Cache cache_;
  std::atomic<uint64_t> version_{0};
  std::atomic<bool> is_wrapper_plain_{true};
  const Type* wrapper_type_ = nullptr;
};

Dispatcher& dispatcher();

// The rule that runs now in this thread, for super: a stack of calls.
struct Frame {
  const Resolution* resolution;
  size_t index;
  Frame* previous;
  int depth;
};
Frame*& current_frame();

// Puts a rule on the stack while it runs; fails beyond the depth limit.
class FrameGuard {
 public:
  FrameGuard(const Resolution& resolution, size_t index);
  ~FrameGuard() { current_frame() = frame_.previous; }

 private:
  Frame frame_;
};

// The meaning of the built-in tensor-likes; each is defined by the floor that owns it.
bool apply_raw(const Op& op, Args args, Values& out);
bool apply_shape(const Op& op, Args args, Values& out);
bool apply_tracer(const Op& op, Args args, Values& out);

// The result of an op that has one, without detours, where the arguments are small RawTensors and
// no rule of a user's can have a say; null everywhere else. Never lets the GIL go.
Ref<Value> apply_small(const Op& op, Args args);

// `apply`, where the caller alone holds the arguments whose bits are set, once each, and lets them
// go: their memory may be written over.
Values apply_donating(const Op& op, Args args, uint32_t donated);
// The same, where `apply_small` has given nothing.
Values apply_further(const Op& op, Args args, uint32_t donated);

}  // namespace tensorlike
