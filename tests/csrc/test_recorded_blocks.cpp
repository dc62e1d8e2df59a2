// Blocks in which ops without arguments are added to a program end in any order and in any thread.
#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <utility>

#include "expect.h"
#include "program/recording.h"

namespace tensorlike {
namespace {

using Block = std::unique_ptr<RecordedBlock>;

// A draw is noted by the program that is being built: which of the two is it?
bool takes_draws(const Program& program) {
  const size_t before = program.draws.size();
  static int64_t last = 0;
  note_draw({++last, 0}, true);
  return program.draws.size() > before;
}

void test_the_innermost_that_is_left_goes_on() {
  std::array<int, 3> order = {0, 1, 2};
  do {
    std::array<Ref<Program>, 3> programs;
    std::array<Block, 3> blocks;
    for (size_t i = 0; i < 3; ++i) {
      programs[i] = make_ref<Program>();
      blocks[i] = std::make_unique<RecordedBlock>(programs[i].get());
    }
    for (int which : order) {
      size_t innermost = 2;
      while (!blocks[innermost]) --innermost;
      expect(takes_draws(*programs[innermost]), "the innermost block takes what is drawn");
      blocks[static_cast<size_t>(which)].reset();
      programs[static_cast<size_t>(which)] = nullptr;
    }
    expect(!is_recording(), "nothing is recorded behind the last block");
  } while (std::next_permutation(order.begin(), order.end()));
}

void test_a_block_of_none_is_in_front_while_it_goes_on() {
  const Ref<Program> program = make_ref<Program>();
  auto outer = std::make_unique<RecordedBlock>(program.get());
  auto none = std::make_unique<RecordedBlock>(nullptr);
  expect(!is_recording(), "ops run in a block of no program");
  outer.reset();
  expect(!is_recording(), "and behind the one around it");
  none.reset();
  expect(!is_recording(), "and behind both");
}

void test_a_block_ends_where_it_did_not_begin() {
  const Ref<Program> program = make_ref<Program>();
  auto here = std::make_unique<RecordedBlock>(program.get());
  std::thread([&] {
    expect(!is_recording(), "a block is of one thread");
    here.reset();
  }).join();
  expect(!is_recording(), "it has ended, whoever ended it");
  Block there;
  std::thread([&] { there = std::make_unique<RecordedBlock>(program.get()); }).join();
  there.reset();  // of a thread that is over
  expect(!is_recording(), "what began elsewhere is not here");
}

}  // namespace
}  // namespace tensorlike

int main() {
  tensorlike::test_the_innermost_that_is_left_goes_on();
  tensorlike::test_a_block_of_none_is_in_front_while_it_goes_on();
  tensorlike::test_a_block_ends_where_it_did_not_begin();
  return tensorlike::failures == 0 ? 0 : 1;
}
