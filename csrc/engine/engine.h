// The engine: when a launch runs. `sync` runs it at once. `lazy` keeps elementwise ops and
// reductions of large tensors as a graph until somebody needs elements, and then runs chains of
// them as one program that writes only what is still held. `async` hands launches to a thread that
// runs them in order. Shapes, dtypes and their errors are known at once in every mode, and the bits
// of the results are the same.
#pragma once

#include <string>
#include <vector>

#include "tensor/raw_tensor.h"

namespace tensorlike {

enum class EngineMode : unsigned char { kSync, kAsync, kLazy };

struct EngineOptions {
  EngineMode mode = EngineMode::kSync;
  int64_t threshold = 16384;           // elements: smaller launches run at once
  int64_t max_nodes = 64;              // of a chain that waits
  size_t max_bytes = size_t{1} << 30;  // of the results of everything that waits
  int64_t workers = 1;                 // threads that run launches, in the mode kAsync
};

EngineOptions engine_options();
// Whether launches run at once, in the order in which they are made.
bool runs_at_once();
// Finishes what waits, then changes how later launches are treated; what went wrong in the former
// is thrown after the latter.
//
// Options belong to blocks, which threads may enter and leave in any order: those of the block that
// was entered last and has not ended are in force. Outside of all there is one that never ends. To
// set options is to change those of the block in force.
void set_engine_options(const EngineOptions& options);
int64_t enter_engine_block(const EngineOptions& options);  // the result names it
void leave_engine_block(int64_t block);
// Leaves it, and sets its options in what it was entered in.
void keep_engine_block(int64_t block);

// Tells the short way for small tensors whether the engine wants to see every launch.
void update_small_launches();

// Applies any op to RawTensors, as the engine's mode has it; see `execute` for the donations.
Values launch(const Op& op, Args args, uint32_t donated = 0, int64_t holds = 0);

// Whether somebody else may write to the elements at any time, since the memory is theirs and we
// only look at it: to launch later would be too late.
inline bool is_changeable(const RawTensor& x) {
  return !x.pending && x.forms == nullptr && !x.storage->is_owned();
}

// What went wrong in a kernel that ran later than its launch, told with the op and the line that
// applied it; as it is when it names a place already.
Error with_place(const Error& error, const Op& op, const std::string& place);

// Runs everything that waits. An error of a kernel names the op and the line that applied it.
void finish_all(const char* reason);

// What ran as one program.
struct FusedProgram {
  std::string reason;               // who asked
  std::vector<std::string> ops;     // in order
  std::vector<std::string> places;  // the user's line of each
  Dims shape;
  int operands = 0;
  int outputs = 0;  // written to memory
  int reused = 0;   // of these, over an operand that nobody needed any more
  int instructions = 0;
};

// The last programs since the options were set, oldest first, and the ops that wait now.
std::vector<FusedProgram> fused_programs();
std::vector<std::string> waiting_ops();

}  // namespace tensorlike
