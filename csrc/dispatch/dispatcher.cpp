#include "dispatch/dispatcher.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/blocking.h"
#include "base/error.h"
#include "base/stack.h"
#include "op/registry.h"

namespace tensorlike {
namespace {

constexpr int kDepthLimit = 1024;

std::string describe(const Rule& rule) {
  return text(rule.name, to_string(rule.signature), " ... @ ", rule.place);
}

class NativeRule final : public Rule {
 public:
  using Call = bool (*)(const Op&, Args, Values&);
  NativeRule(std::string name, const Type& kind, Call call)
      : Rule(std::move(name), "built in", {&op_base_type(), {{&kind}}, true}), call_(call) {}
  bool call(const Op& op, Args args, Values& out) override { return call_(op, args, out); }
  bool is_native() const override { return true; }

 private:
  Call call_;
};

// The rule that expands bodies, on anything.
bool is_root(const Rule& rule) {
  return rule.is_native() && rule.signature.args[0][0] == &tensor_base_type();
}

// Most specific first; rules are given newest first, and stay so within one signature.
using Rules = std::vector<std::shared_ptr<Rule>>;

Rules ordered(Rules matching) {
  Rules out;
  while (!matching.empty()) {
    size_t best = 0;
    for (size_t i = 1; i < matching.size(); ++i) {
      if (compare(matching[i]->signature, matching[best]->signature) == Order::kBefore) best = i;
    }
    out.push_back(matching[best]);
    matching.erase(matching.begin() + static_cast<ptrdiff_t>(best));
  }
  return out;
}

}  // namespace

Dispatcher& dispatcher() {
  static Dispatcher* instance = [] {
    static auto* made = new Dispatcher;
    // A child of fork has no thread that could let go of the mutex, which is held while Python
    // compares classes; nothing is half changed then.
    pthread_atfork(nullptr, nullptr, [] { new (&made->mutex_) std::recursive_mutex; });
    return made;
  }();
  return *instance;
}

Dispatcher::Dispatcher() {
  add(std::make_shared<NativeRule>("apply_body", tensor_base_type(), &apply_body));
  add(std::make_shared<NativeRule>("apply_raw", raw_tensor_type(), &apply_raw));
  add(std::make_shared<NativeRule>("apply_shape", shape_tensor_type(), &apply_shape));
  add(std::make_shared<NativeRule>("apply_tracer", tracer_type(), &apply_tracer));
}

void Dispatcher::check_ambiguity(const Rule& rule) const {
  for (const auto& other : rules_) {
    if (is_root(*other)) continue;  // always comes last
    const Signature& a = rule.signature;
    const Signature& b = other->signature;
    const bool same_op = a.op->is_a(*b.op) && b.op->is_a(*a.op);
    if (!same_op || compare(a, b) != Order::kNone || !args_meet(a, b)) continue;
    // A third rule that covers just the overlap, for all their ops, settles it.
    const bool is_settled = std::any_of(rules_.begin(), rules_.end(), [&](const auto& third) {
      return a.op->is_a(*third->signature.op) && compare(third->signature, a) == Order::kBefore &&
             compare(third->signature, b) == Order::kBefore;
    });
    if (is_settled) continue;
    fail(ErrorKind::kAmbiguity, said::op("apply"), "rules must not be ambiguous",
         said::got(describe(rule), " and ", describe(*other)),
         said::fix("register a rule for what both match first"));
  }
}

void Dispatcher::add(std::shared_ptr<Rule> rule) {
  Cache old;
  PatientLock lock(mutex_);
  check_ambiguity(*rule);
  rules_.insert(rules_.begin(), std::move(rule));
  old = take_cache();
}

void Dispatcher::set_enabled(Rule& rule, bool is_enabled) {
  Cache old;
  PatientLock lock(mutex_);
  rule.is_enabled = is_enabled;
  old = take_cache();
}

void Dispatcher::remove(const Rule& rule) {
  Cache old;
  std::shared_ptr<Rule> removed;
  PatientLock lock(mutex_);
  const auto found = std::find_if(rules_.begin(), rules_.end(),
                                  [&](const auto& other) { return other.get() == &rule; });
  if (found == rules_.end()) return;
  removed = std::move(*found);
  rules_.erase(found);
  old = take_cache();
}

std::vector<std::shared_ptr<Rule>> Dispatcher::rules() const {
  PatientLock lock(mutex_);
  return rules_;
}

void Dispatcher::invalidate() {
  Cache old;
  PatientLock lock(mutex_);
  old = take_cache();
}

Dispatcher::Cache Dispatcher::take_cache() {
  ++version_;
  update_plain();
  return std::exchange(cache_, {});
}

// A rule disturbs the direct paths when a built-in kind (or a wrapper) may be what it names.
void Dispatcher::update_plain() {
  bool wrapper_plain = true;
  std::vector<const Type*> touched;
  for (const auto& rule : rules_) {
    const bool is_passive_native = rule->is_native() && rule->is_enabled;
    if (is_passive_native || (!rule->is_native() && !rule->is_enabled)) continue;
    bool touches_core = rule->signature.args.empty();
    bool touches_wrapper = rule->signature.args.empty();
    for (const Kinds& kinds : rule->signature.args) {
      for (const Type* kind : kinds) {
        for (const Type* built_in : {&raw_tensor_type(), &tracer_type(), &shape_tensor_type()}) {
          touches_core = touches_core || built_in->is_a(*kind);
        }
        if (wrapper_type_ != nullptr) {
          touches_wrapper =
              touches_wrapper || wrapper_type_->is_a(*kind) || kind->is_a(*wrapper_type_);
        }
      }
    }
    if (touches_core) touched.push_back(rule->signature.op);
    wrapper_plain = wrapper_plain && !touches_wrapper;
  }
  registry().set_touched(std::move(touched));
  is_wrapper_plain_ = wrapper_plain;
}

std::shared_ptr<const Resolution> Dispatcher::resolve(const Type& op,
                                                      std::span<const Type* const> kinds,
                                                      size_t highest) {
  std::string key(sizeof(void*) * (kinds.size() + 2), '\0');
  const Type* op_pointer = &op;
  std::memcpy(key.data(), &op_pointer, sizeof(void*));
  std::memcpy(key.data() + sizeof(void*), &highest, sizeof(void*));
  if (!kinds.empty()) {
    std::memcpy(key.data() + 2 * sizeof(void*), kinds.data(), sizeof(void*) * kinds.size());
  }
  PatientLock lock(mutex_);
  if (const auto found = cache_.find(key); found != cache_.end()) return found->second;
  auto matching = [&](std::span<const Type* const> wanted) {
    Rules out;
    for (const auto& rule : rules_) {
      if (matches(rule->signature, op, wanted)) out.push_back(rule);
    }
    return ordered(std::move(out));
  };
  const Rules direct = matching(kinds);
  auto resolution = std::make_shared<Resolution>();
  // The root rule expands bodies on anything; what the highest kind says comes before it.
  std::shared_ptr<Rule> root;
  for (const auto& rule : direct) {
    if (is_root(*rule)) {
      root = rule;
    } else {
      resolution->push_back({rule, false});
    }
  }
  if (!kinds.empty()) {
    const std::vector<const Type*> lifted(kinds.size(), kinds[highest]);
    for (const auto& rule : matching(lifted)) {
      const bool is_known = std::any_of(resolution->begin(), resolution->end(),
                                        [&](const Candidate& c) { return c.rule == rule; });
      if (!is_known && rule != root) resolution->push_back({rule, true});
    }
  }
  if (root != nullptr) resolution->push_back({root, false});
  // Which rule comes first must be clear; further down it only matters if somebody gets there.
  for (size_t i = 1; i < resolution->size(); ++i) {
    const Candidate& a = (*resolution)[0];
    const Candidate& b = (*resolution)[i];
    if (a.lifts == b.lifts && !is_root(*b.rule) &&
        compare(a.rule->signature, b.rule->signature) == Order::kNone) {
      fail(ErrorKind::kAmbiguity, said::op("apply"), "rules must not be ambiguous for ", op.name(),
           said::got(describe(*a.rule), " and ", describe(*b.rule)),
           said::fix("register a rule for ", op.name()));
    }
  }
  cache_.emplace(std::move(key), resolution);
  return resolution;
}

Frame*& current_frame() {
  static thread_local Frame* frame = nullptr;
  return frame;
}

FrameGuard::FrameGuard(const Resolution& resolution, size_t index)
    : frame_{&resolution, index, current_frame(),
             current_frame() == nullptr ? 1 : current_frame()->depth + 1} {
  check_stack();
  if (frame_.depth > kDepthLimit) {
    fail(ErrorKind::kDispatch, said::op("apply"), "rules may call one another ", kDepthLimit,
         " deep", said::got("deeper"),
         said::fix("a rule probably applies the op to its own arguments: unwrap them, or use "
                   "apply.super"));
  }
  current_frame() = &frame_;
}

namespace {

size_t highest_of(Args args) {
  size_t highest = 0;
  for (size_t i = 1; i < args.size(); ++i) {
    if (args[i]->priority() > args[highest]->priority()) highest = i;
  }
  return highest;
}

bool lift_all(Args args, Values& lifted) {
  Value* like = args[highest_of(args)];
  for (Value* arg : args) {
    lifted.push_back(like->lift(*arg));
    if (!lifted.back()) return false;
  }
  return true;
}

std::vector<const Type*> kinds_of(Args args) {
  std::vector<const Type*> kinds;
  for (Value* arg : args) kinds.push_back(arg->type);
  return kinds;
}

bool run(const Resolution& resolution, size_t start, const Op& op, Args args, Values& out) {
  for (size_t i = start; i < resolution.size(); ++i) {
    const Candidate& candidate = resolution[i];
    if (!candidate.rule->is_enabled) continue;
    FrameGuard guard(resolution, i);
    if (!candidate.lifts) {
      if (candidate.rule->call(op, args, out)) return true;
      continue;
    }
    Values lifted;
    if (!lift_all(args, lifted)) continue;
    SmallVector<Value*, 4> pointers;
    for (const Ref<Value>& value : lifted) pointers.push_back(value.get());
    if (candidate.rule->call(op, {pointers.data(), pointers.size()}, out)) return true;
  }
  return false;
}

// Whether a rule would apply if the highest tensor-like lifted the others.
bool lacks_lift(const Resolution& resolution, size_t start) {
  return std::any_of(resolution.begin() + static_cast<ptrdiff_t>(start), resolution.end(),
                     [](const Candidate& c) { return c.lifts && c.rule->is_enabled; });
}

}  // namespace

Values Dispatcher::call(const Op& op, Args args) {
  const std::vector<const Type*> kinds = kinds_of(args);
  const auto resolution = resolve(op.cls, kinds, args.empty() ? 0 : highest_of(args));
  Values out;
  if (run(*resolution, 0, op, args, out)) return out;
  if (args.empty() && apply_raw(op, args, out)) return out;
  fail_miss(op, kinds, lacks_lift(*resolution, 0) ? kinds[highest_of(args)] : nullptr);
}

Values Dispatcher::call_super(const Op& op, Args args) {
  const Frame* frame = current_frame();
  if (frame == nullptr) {
    fail(ErrorKind::kAutodiff, "super called at top level; call it inside a rule.");
  }
  Values out;
  // The resolution stays alive: the frame's own call holds it.
  if (run(*frame->resolution, frame->index + 1, op, args, out)) return out;
  const std::vector<const Type*> kinds = kinds_of(args);
  const bool lacks = !args.empty() && lacks_lift(*frame->resolution, frame->index + 1);
  fail_miss(op, kinds, lacks ? kinds[highest_of(args)] : nullptr);
}

void Dispatcher::fail_miss(const Op& op, std::span<const Type* const> kinds,
                           const Type* not_lifting) {
  std::string message = "no rule says what " + op.cls.name() + " means on (";
  for (size_t i = 0; i < kinds.size(); ++i) message += (i > 0 ? ", " : "") + kinds[i]->name();
  message += ")";
  std::vector<std::pair<int, std::string>> close;
  for (const auto& rule : rules()) {
    int score = op.cls.is_a(*rule->signature.op) ? 2 : 0;
    for (size_t i = 0; i < kinds.size(); ++i) {
      const Kinds* wanted = rule->signature.kinds_at(i);
      if (wanted == nullptr) continue;
      score += std::any_of(wanted->begin(), wanted->end(),
                           [&](const Type* type) { return kinds[i]->is_a(*type); });
    }
    close.emplace_back(-score, describe(*rule) + (rule->is_enabled ? "" : " (disabled)"));
  }
  std::stable_sort(close.begin(), close.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (not_lifting != nullptr) {
    message += "; " + not_lifting->name() +
               " must make one of its kind of what stands beside it: "
               "define lift(self, other) in " +
               not_lifting->name() + ", or derive it from Carrier";
  }
  message += "; closest candidates:";
  for (size_t i = 0; i < close.size() && i < 3; ++i) message += "\n  " + close[i].second;
  fail(ErrorKind::kDispatch, said::op("apply"), message);
}

}  // namespace tensorlike
