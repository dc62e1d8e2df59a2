// What runs of a program for some results, in which order, and what is let go on the way.
#pragma once

#include <atomic>
#include <bit>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/known_chain.h"
#include "engine/known_rows.h"
#include "program/program.h"

namespace tensorlike {

struct Program::Schedule {
  struct Turn {
    size_t step;
    uint32_t donated;         // inputs that the run itself made, and nobody reads later
    uint32_t replaced;        // those of them that are states which may be written over
    std::vector<int> writes;  // the variable of each output; -1: nobody reads it
    std::vector<int> drops;   // variables that nobody reads afterwards
    int chain = -1;           // the one that begins with it
    int band = -1;            // the same

    // Where states may be written over, and are as many as what is made, nothing else is: a
    // gradient's memory is free again then, and what states become lies where they lay.
    uint32_t donated_where(bool replaces) const {
      if (!replaces || replaced == 0) return donated;
      return static_cast<size_t>(std::popcount(replaced)) >= writes.size() ? replaced : donated;
    }
  };
  // Turns side by side, elementwise and of one shape, as one tile program.
  struct Chain {
    size_t turns = 0;  // how many
    int inner = -1;    // a variable of its shape
    KnownChain known = {};
    std::vector<int> operands = {}, writes = {}, drops = {};  // as those of a turn
    uint32_t donated = 0;
  };
  // Turns side by side, chains among them, that run together, some rows at a time.
  struct Band {
    size_t turns = 0;
    KnownRows known = {};
    std::vector<int> slots = {};               // the variable of each; operands come first
    std::vector<int> writes = {}, drops = {};  // as those of a turn
  };
  const uint64_t number = next_number();  // no other has it
  std::vector<int> given, results;
  size_t updates = 0;         // the turn at which those begin that only make what states become
  std::vector<int> replaced;  // states that these may write over
  std::vector<Turn> turns;
  std::vector<Chain> chains;
  std::vector<Band> bands;
  std::vector<int> constants;  // captured values that are read
  bool draws = false;          // whether steps of it draw random numbers anew in each run

  static uint64_t next_number() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }
};

// Who keeps the states: told before the first of them may be written over, so that the run alone
// holds them, and, where it ends in an error after that, what they are now.
class Program::Updating {
 public:
  virtual ~Updating() = default;
  virtual void begin(std::span<const int> states) = 0;
  virtual void keep(int state, Ref<Value> value) = 0;
};

// Finds the chains among the turns: steps of one `Step::chain` that have come to lie side by side.
void find_chains(const Program& program, Program::Schedule& schedule);
// The same of `Step::band`, after the chains.
void find_bands(const Program& program, Program::Schedule& schedule);

// How many times each variable is read: by turns, and as a result.
using ReaderCounts = std::unordered_map<int, int>;
ReaderCounts readers_in(const Program& program, const Program::Schedule& schedule);
// Elementwise turns as one tile program, where it reads few enough operands. `readers`: of the
// whole schedule.
std::optional<Program::Schedule::Chain> make_chain(const Program& program,
                                                   std::span<const Program::Schedule::Turn> turns,
                                                   ReaderCounts& readers);

}  // namespace tensorlike
