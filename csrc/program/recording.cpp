#include "program/recording.h"

#include <cmath>
#include <mutex>

#include "base/place.h"
#include "op/op.h"
#include "program/sizes.h"
#include "tensor/creation.h"

namespace tensorlike {
namespace {

std::atomic<int> watchers = 0;
thread_local bool runs_all = false;
thread_local bool infers = false;

// Held where blocks begin and end: a thread may end while another ends a block of its.
std::mutex& blocks_change() {
  static std::mutex& instance = *new std::mutex;
  return instance;
}

}  // namespace

struct BlocksOfThread {
  RecordedBlock* innermost = nullptr;

  Program* program() const { return innermost == nullptr ? nullptr : innermost->program_; }

  // Whether some program that is being built here is such a one.
  template <typename Is>
  bool holds(const Is& is) const {
    const RecordedBlock* block = innermost;
    while (block != nullptr && (block->program_ == nullptr || !is(*block->program_))) {
      block = block->below_;
    }
    return block != nullptr;
  }

  ~BlocksOfThread() {
    const std::lock_guard<std::mutex> lock(blocks_change());
    for (RecordedBlock* block = innermost; block != nullptr; block = block->below_) {
      block->thread_ = nullptr;
    }
  }

  static BlocksOfThread& mine() {
    static thread_local BlocksOfThread instance;
    return instance;
  }
};

RecordedBlock::RecordedBlock(Program* program)
    : program_(program), thread_(&BlocksOfThread::mine()) {
  const std::lock_guard<std::mutex> lock(blocks_change());
  below_ = std::exchange(thread_->innermost, this);
  if (program_ != nullptr) watch_creations(1);
}

RecordedBlock::~RecordedBlock() {
  const std::lock_guard<std::mutex> lock(blocks_change());
  if (program_ != nullptr) watch_creations(-1);
  if (thread_ == nullptr) return;
  RecordedBlock** place = &thread_->innermost;
  while (*place != this) place = &(*place)->below_;
  *place = below_;
}

Program* recorded_program() { return BlocksOfThread::mine().program(); }

bool is_second_witness(int64_t number) {
  return BlocksOfThread::mine().holds(
      [&](const Program& program) { return program.is_of_second_witnesses(number); });
}

bool is_second_witness_here(const Program& owner, int64_t number) {
  const BlocksOfThread& mine = BlocksOfThread::mine();
  return !mine.holds([&](const Program& program) { return &program == &owner; }) &&
         is_second_witness(number);
}

Program* recorded_owner(int64_t number) {
  Program* found = nullptr;
  BlocksOfThread::mine().holds([&](Program& program) {
    found = program.witness_of(number) ? &program : nullptr;
    return found != nullptr;
  });
  return found;
}

bool is_recorded_here(const Program& program) {
  return BlocksOfThread::mine().holds([&](const Program& one) { return &one == &program; });
}

bool is_recording() { return BlocksOfThread::mine().program() != nullptr; }

Inferring::Inferring() : before_(std::exchange(infers, true)) {}

Inferring::~Inferring() { infers = before_; }

bool run_all(bool is_set) { return std::exchange(runs_all, is_set); }

// The program that is recorded, and calculates what a number with a fraction stands for.
static Program* program_of_real(double number) {
  Program* const owner = program_of(number);
  return owner != nullptr && owner->is_recorded ? owner : nullptr;
}

bool append_creation(const Op& op, Args args, Values& out) {
  if (runs_all) return false;
  Program* program = nullptr;
  const auto look = [&](int64_t number) {
    Program* owner = program == nullptr && !was_written(number) ? program_of(number) : nullptr;
    if (owner != nullptr && owner->is_recorded) program = owner;
  };
  for (const Attr& attr : op.attrs) {
    if (const auto* whole = std::get_if<int64_t>(&attr)) look(*whole);
    const auto* number = std::get_if<double>(&attr);
    if (number != nullptr && program == nullptr) program = program_of_real(*number);
    if (number != nullptr && std::fabs(*number) < 0x1p53) {
      if (*number == std::trunc(*number)) look(static_cast<int64_t>(*number));
    }
    if (const auto* numbers = std::get_if<std::vector<int64_t>>(&attr)) {
      for (int64_t number : *numbers) look(number);
    }
  }
  if (program == nullptr && args.empty()) program = BlocksOfThread::mine().program();
  // An op that has no rule is inferred by applying it, on nothing as well: once.
  static thread_local const Op* added = nullptr;
  if (program == nullptr || symbol_of == nullptr || added == &op) return false;
  struct Adding {
    const Op* const before = added;
    ~Adding() { added = before; }
  } const adding;
  added = &op;
  if (infers && args.empty()) {
    for (const Spec& spec : infer_any(op, {})) out.push_back(make_ref<ShapeTensor>(spec));
    return true;
  }
  std::vector<int> inputs;
  for (Value* arg : args) {
    if (arg->tag != Value::kRaw) return false;
    inputs.push_back(program->capture(Ref<Value>(arg), spec_of(op.name(), *arg), "RawTensor"));
  }
  for (int variable : program->append(op, inputs, place_of_user())) {
    out.push_back(symbol_of(*program, variable));
  }
  return true;
}

void note_draw(const Draw& draw, bool is_key_alone) {
  Program* const program = BlocksOfThread::mine().program();
  if (program != nullptr) program->draws.insert({draw, is_key_alone});
}

void watch_creations(int change) {
  apply_creation = (watchers += change) > 0 ? append_creation : nullptr;
}

}  // namespace tensorlike
