#include "engine/engine.h"

#include <charconv>
#include <exception>
#include <iterator>
#include <string_view>

#include "base/environment.h"
#include "base/place.h"
#include "base/stack.h"
#include "engine/async.h"
#include "engine/expression.h"
#include "engine/lazy.h"
#include "engine/profile.h"
#include "engine/task.h"

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

struct Block {
  int64_t name;
  EngineOptions options;
};
std::vector<Block> blocks = {{0, options}};
int64_t last_block = 0;

auto find_block(int64_t name) {
  return std::find_if(blocks.begin(), blocks.end(),
                      [&](const Block& block) { return block.name == name; });
}

bool are_equal(const EngineOptions& a, const EngineOptions& b) {
  return a.mode == b.mode && a.threshold == b.threshold && a.max_nodes == b.max_nodes &&
         a.max_bytes == b.max_bytes && a.workers == b.workers;
}

// The small way follows the options from the start; static initialisers may run before this one.
const bool is_started = (update_small_launches(), true);

}  // namespace

EngineOptions engine_options() { return options; }

bool runs_at_once() { return options.mode == EngineMode::kSync; }

namespace {

// The options of the block in force become those that are followed.
void follow_blocks() {
  if (are_equal(options, blocks.back().options)) return;
  // Also when what waits fails: else a block could not give the mode back.
  std::exception_ptr failure;
  try {
    finish_all("the mode changes");
  } catch (...) {
    failure = std::current_exception();
  }
  forget_programs();
  options = blocks.back().options;
  update_small_launches();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

void set_engine_options(const EngineOptions& wanted) {
  blocks.back().options = wanted;
  follow_blocks();
}

int64_t enter_engine_block(const EngineOptions& wanted) {
  const int64_t name = ++last_block;
  blocks.push_back({name, wanted});
  try {
    follow_blocks();
  } catch (...) {  // of what waited: the block is not entered
    leave_engine_block(name);
    throw;
  }
  return name;
}

void leave_engine_block(int64_t name) {
  if (const auto found = find_block(name); found != blocks.end()) blocks.erase(found);
  follow_blocks();
}

void keep_engine_block(int64_t name) {
  if (const auto found = find_block(name); found != blocks.end()) {
    std::prev(found)->options = found->options;
    blocks.erase(found);
  }
  follow_blocks();
}

// Launches of the small way are never worth waiting for, unless somebody says so.
void update_small_launches() {
  const bool may_wait = options.mode != EngineMode::kSync && options.threshold <= 4096;
  small_launches_are_direct = !may_wait && !is_profiling();
}

Error with_place(const Error& error, const Op& op, const std::string& place) {
  if (!error.fields().place.empty()) return error;
  ErrorFields fields = error.fields();
  if (!fields.op.empty() && fields.op != op.name()) fields.must = fields.op + ": " + fields.must;
  fields.op = op.name();
  fields.place = place;
  return Error(error.kind(), std::move(fields));
}

void finish_all(const char* reason) {
  finish_lazy(reason);
  finish_async();
}

Values launch(const Op& op, Args args, uint32_t donated, int64_t holds) {
  check_stack();
  if (args.empty() && options.mode != EngineMode::kAsync && !is_running_task) {
    Values out;
    if (push_fill(op, out)) return out;
  }
  // What a body applies on the engine's thread is not pushed: the push would wait for itself.
  if (options.mode != EngineMode::kSync && donated == 0 && !is_running_task) {
    Values out;
    const bool is_lazy = options.mode == EngineMode::kLazy;
    if (is_lazy ? push_lazily(op, args, options.threshold, {}, out) : push_async(op, args, out))
      return out;
  }
  if (options.mode == EngineMode::kSync) {
    Values out;
    if (launch_in_expression(op, args, donated, holds, out)) return out;
  }
  for (Value* arg : args) {
    const RawTensor& x = *static_cast<RawTensor*>(arg);
    if (x.pending) x.ready(op.name().c_str());
  }
  ProfileScope scope;
  Values out = execute(op, args, donated, holds);
  if (scope) {
    std::vector<Spec> inputs;
    std::vector<Spec> outputs;
    for (Value* arg : args) inputs.push_back(static_cast<RawTensor*>(arg)->spec());
    for (const Ref<Value>& result : out) {
      outputs.push_back(static_cast<RawTensor*>(result.get())->spec());
    }
    scope.describe(op, place_of_user(), inputs, outputs);
  }
  return out;
}

}  // namespace tensorlike
