#include "engine/engine.h"

#include <charconv>
#include <exception>
#include <string_view>

#include "base/environment.h"
#include "base/place.h"
#include "engine/async.h"
#include "engine/lazy.h"
#include "engine/profile.h"

namespace tensorlike {
namespace {

// TENSORLIKE_ENGINE may name the first mode, and after a colon the threshold: lazy, lazy:1.
EngineOptions first_options() {
  EngineOptions first;
  const char* text = variable("TENSORLIKE_ENGINE");
  if (text == nullptr) return first;
  const std::string_view all = text;
  const std::string_view name = all.substr(0, all.find(':'));
  bool is_known = name == "sync" || name == "lazy" || name == "async";
  if (name == "lazy") first.mode = EngineMode::kLazy;
  if (name == "async") first.mode = EngineMode::kAsync;
  if (name.size() < all.size()) {
    const std::string_view number = all.substr(name.size() + 1);
    const char* const end = number.data() + number.size();
    const auto parsed = std::from_chars(number.data(), end, first.threshold);
    is_known = is_known && parsed.ec == std::errc() && parsed.ptr == end && first.threshold > 0;
  }
  if (is_known) return first;
  refuse_variable("TENSORLIKE_ENGINE",
                  "sync, async or lazy, and may go on with a threshold (lazy:1)");
  return {};
}

EngineOptions options = first_options();

// As if the options had been set: what runs before main knows no engine.
const bool is_started = (update_small_launches(), true);

}  // namespace

EngineOptions engine_options() { return options; }

void set_engine_options(const EngineOptions& wanted) {
  // Also when what waits fails: else a block could not give the mode back.
  std::exception_ptr failure;
  try {
    finish_all("the mode changes");
  } catch (...) {
    failure = std::current_exception();
  }
  forget_programs();
  options = wanted;
  update_small_launches();
  if (failure) std::rethrow_exception(failure);
}

// Launches of the small way are never worth waiting for, unless somebody says so.
void update_small_launches() {
  const bool may_wait = options.mode != EngineMode::kSync && options.threshold <= 4096;
  small_launches_are_direct = !may_wait && !is_profiling();
}

std::string with_place(const std::string& what, const Op& op, const std::string& place) {
  if (what.find("; applied at ") != std::string::npos) return what;
  constexpr std::string_view kOwner = "memory: ";
  if (what.starts_with(kOwner))
    return with_place(op.name() + ": " + what.substr(kOwner.size()), op, place);
  const bool is_named = what.starts_with(op.name() + ":");
  const size_t end = what.ends_with(".") ? what.size() - 1 : what.size();
  return (is_named ? "" : op.name() + ": ") + what.substr(0, end) +
         (place.empty() ? "." : "; applied at " + place + ".");
}

void finish_all(const char* reason) {
  finish_lazy(reason);
  finish_async();
}

Values launch(const Op& op, Args args, uint32_t donated, int64_t holds) {
  if (options.mode != EngineMode::kSync && donated == 0) {
    Values out;
    const bool is_lazy = options.mode == EngineMode::kLazy;
    if (is_lazy ? push_lazily(op, args, out) : push_async(op, args, out)) return out;
  }
  for (Value* arg : args) {
    const RawTensor& x = *static_cast<RawTensor*>(arg);
    if (x.pending) x.ready(op.name().c_str());
  }
  ProfileScope scope;
  Values out = execute(op, args, donated, holds);
  if (scope) {
    scope.event.name = op.name();
    scope.event.ops = {op.name()};
    scope.event.place = place_of_user();
    for (Value* arg : args) scope.event.bytes += bytes_of(*static_cast<RawTensor*>(arg));
    for (const Ref<Value>& result : out) {
      scope.event.bytes += bytes_of(*static_cast<RawTensor*>(result.get()));
    }
    if (!out.empty()) scope.event.shape = to_string(static_cast<RawTensor*>(out[0].get())->shape);
  }
  return out;
}

}  // namespace tensorlike
