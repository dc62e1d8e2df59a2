// What is recorded of ops that have no tensor-like among their arguments to say what applying
// means: they belong to the program of an unknown size among their attributes, or to the one that
// is being built in this thread.
#pragma once

#include "program/program.h"

namespace tensorlike {

// While it is set, ops of this thread on RawTensors, or on nothing, belong to no program, whatever
// numbers their attributes hold: those of a program that runs on arrays. Returns what was set.
bool run_all(bool is_set);

struct BlocksOfThread;

// While one lives, an op is inferred by applying it to shapes in this thread: what it makes of
// nothing on its way is a shape as well, and no part of a program.
class Inferring {
 public:
  Inferring();
  ~Inferring();
  Inferring(const Inferring&) = delete;
  Inferring& operator=(const Inferring&) = delete;

 private:
  const bool before_;
};

// A block of the thread that makes it, in which ops without arguments are added to a program; null:
// they run. Blocks end in any order, and in any thread: a generator that was left open in one may
// be closed in another.
class RecordedBlock {
 public:
  explicit RecordedBlock(Program* program);
  ~RecordedBlock();
  RecordedBlock(const RecordedBlock&) = delete;
  RecordedBlock& operator=(const RecordedBlock&) = delete;

 private:
  friend struct BlocksOfThread;
  Program* const program_;
  RecordedBlock* below_;    // the one around it that goes on
  BlocksOfThread* thread_;  // null: that thread has ended
};

// Whether ops without arguments are added to a program in this thread.
bool is_recording();

// The program that is being built in this thread, or null; whether one is, in the innermost block
// or in one around it.
Program* recorded_program();
bool is_recorded_here(const Program& program);

// The program that is being built in this thread which a number is a size of; null: of none.
Program* recorded_owner(int64_t number);

// Whether a number that looks like a size of a program stands for one of those that are being built
// in this thread, by its second witness.
bool is_second_witness_here(const Program& owner, int64_t number);
bool is_second_witness(int64_t number);

// A draw was taken from the process's stream: it is one of the program that is being built.
void note_draw(const Draw& draw, bool is_key_alone);

// An op on RawTensors, or on nothing, that makes something of sizes of a program is part of it.
bool append_creation(const Op& op, Args args, Values& out);
// One more, or one less, for whom such ops must be looked at.
void watch_creations(int change);

}  // namespace tensorlike
