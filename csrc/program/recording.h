// What is recorded of ops that have no tensor-like among their arguments to say what applying
// means: they belong to the program of an unknown size among their attributes, or to the one that
// is being built in this thread.
#pragma once

#include "program/program.h"

namespace tensorlike {

// While it is set, ops of this thread on RawTensors, or on nothing, belong to no program, whatever
// numbers their attributes hold: those of a program that runs on arrays. Returns what was set.
bool run_all(bool is_set);

// From now on ops without arguments are added to this program; null: they run. Returns the one
// before.
Program* record_in(Program* program);

// A draw was taken from the process's stream: it is one of the program that is being built.
void note_draw(const Draw& draw, bool is_key_alone);

// An op on RawTensors, or on nothing, that makes something of sizes of a program is part of it.
bool append_creation(const Op& op, Args args, Values& out);
// One more, or one less, for whom such ops must be looked at.
void watch_creations(int change);

}  // namespace tensorlike
