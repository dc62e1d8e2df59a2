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

// A draw was taken from the process's stream: it is one of the program that is being built.
void note_draw(const Draw& draw, bool is_key_alone);

// An op on RawTensors, or on nothing, that makes something of sizes of a program is part of it.
bool append_creation(const Op& op, Args args, Values& out);
// One more, or one less, for whom such ops must be looked at.
void watch_creations(int change);

}  // namespace tensorlike
