// Sizes that are not known. Each stands for two numbers, its witnesses, with which shapes are
// inferred by the ordinary rules: a dimension that comes out different is unknown, one that comes
// out the same is known. So nothing that infers or differentiates needs to know of unknown sizes.
//
// First witnesses are primes that no number of the trade is near to a multiple of: where a rule
// makes an attribute of a shape that it was given, the number tells which size it was made of.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tensorlike {

class Program;

struct Witness {
  int64_t first = 0;
  int64_t second = 0;

  bool is_known() const { return first == second; }
  bool operator==(const Witness&) const = default;
};

// Numbers up to this one are what they are: no witness, and no fraction of one, is among them.
inline constexpr int64_t kPlainNumbers = 4096;

// Whether none of these sizes may stand for another one.
inline bool are_plain(std::span<const int64_t> sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < kPlainNumbers; });
}

// How many witnesses there are: where it is 0, numbers are numbers.
inline std::atomic<int> live_witnesses = 0;

// Says to inference and to bodies whether there are witnesses (op/counts.h).
void watch_sizes(bool are_there);

// Frees programs that are held only by one another, where what holds them is not the core's: called
// as witnesses become many, since shapes are refused where their numbers grow too large.
inline void (*collect_programs)() = nullptr;

// A witness that nobody has; it stays the program's until that lets it go.
Witness take_witness(Program& owner);
// One that is about as large as these numbers, and not larger, so that what is left of a size that
// was divided is none below zero.
Witness take_witness_below(Program& owner, const Witness& numbers);
void release_witness(const Witness& witness);

// What stands for a number with a fraction that follows from sizes: about as large as that, and no
// number that anybody would write, in single precision either. It stays the program's until that
// lets it go.
double take_real(Program& owner, double about);
void release_real(double number);

// The program whose unknown size a number is made of; null for none.
Program* program_of(int64_t number);
// The same of one with a fraction, which stands for what a program calculates.
Program* program_of(double number);
// Whether a number stands for an unknown size of some program, as either of its witnesses.
bool stands_for(int64_t number);

// A number that a user wrote, and no size: should it look like one, it is refused where it might be
// taken for it.
void note_written(int64_t number);
bool was_written(int64_t number);

// `number` as a multiple of `base` and a small number; none where it is no such thing.
struct Multiple {
  int64_t factor = 0;
  int64_t rest = 0;
};
std::optional<Multiple> multiple_of(int64_t number, int64_t base);

}  // namespace tensorlike
