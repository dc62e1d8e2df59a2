// A program over many sets of operands: what they have in common is spread over tiles once.
#include "cpu/program_sets.h"

#include <algorithm>

#include "cpu/tiles.h"
#include "memory/workspace.h"

namespace tensorlike {
namespace {

constexpr int64_t kRun = 512;    // elements at a time: with a dozen tiles, in the nearest cache
constexpr size_t kApart = 1536;  // bytes between tiles, so that they do not share cache sets

class Sets final : public ProgramSets {
 public:
  Sets(const TileLoops& loops, Arrays shared) : loops_(loops) {
    const size_t bytes = static_cast<size_t>(kRun) * loops.widest + kApart;
    const size_t tiles = static_cast<size_t>(loops.first_output());
    char* const first = workspace_.bytes(tiles * bytes);
    slots_.resize(static_cast<size_t>(loops.slots()));
    for (size_t s = 0; s < tiles; ++s) slots_[s] = first + s * bytes;
    for (size_t i = 0; i < shared.size(); ++i) {
      if (shared[i] == nullptr) {
        differing_.push_back(i);
      } else {
        fill_tile(slots_[i], shared[i]->data, size_of(shared[i]->dtype), kRun);
      }
    }
    for (size_t c = 0; c < loops.constants.size(); ++c) {
      const TileLoops::Constant& constant = loops.constants[c];
      fill_tile(slots_[static_cast<size_t>(loops.first_constant()) + c], constant.value,
                size_of(constant.dtype), kRun);
    }
  }

  void run(Arrays operands, Arrays outputs) override {
    const size_t first_output = static_cast<size_t>(loops_.first_output());
    const int64_t count = outputs[0]->count;
    for (int64_t at = 0; at < count; at += kRun) {
      for (size_t i = 0; i < operands.size(); ++i) slots_[differing_[i]] = part(*operands[i], at);
      for (size_t k = 0; k < outputs.size(); ++k) slots_[first_output + k] = part(*outputs[k], at);
      run_loops(loops_, {slots_.data(), slots_.size()}, std::min(kRun, count - at));
    }
  }

 private:
  static char* part(const Array& x, int64_t at) {
    return x.data + static_cast<size_t>(at) * size_of(x.dtype);
  }

  const TileLoops& loops_;
  Workspace workspace_;
  SmallVector<char*, 16> slots_;
  SmallVector<size_t, 4> differing_;  // operands
};

}  // namespace

std::unique_ptr<ProgramSets> program_sets(const TileProgram& program, Arrays shared) {
  return std::make_unique<Sets>(loops_of(program), shared);
}

}  // namespace tensorlike
