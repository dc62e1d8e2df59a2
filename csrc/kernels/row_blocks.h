// An elementwise program over blocks of rows: its loops are called on memory as it lies.
#pragma once

#include <array>

#include "kernels/kernel_table.h"
#include "kernels/scratch.h"
#include "kernels/tile.h"

namespace tensorlike {

// Where the elements of a slot are, in a row of `columns` elements.
struct RowSlot {
  enum class Way : unsigned char {
    kInPlace,
    kNumber,   // one for each row
    kCarried,  // in steps: copied to a buffer first
    kMade      // a temporary: in a buffer
  };
  Way way = Way::kInPlace;
  int64_t size = 0;           // bytes of an element
  int64_t step = 0, row = 0;  // bytes from element to element, and from row to row
  int64_t buffer = 0;         // bytes into those of the thread

  bool has_buffer() const { return way == Way::kCarried || way == Way::kMade; }
};

// What is done to each block.
struct RowPlan {
  explicit RowPlan(const TileLoops& loops) : program(loops) {}

  static constexpr size_t kMostInputs = 3;  // of a loop, whose output is one
  const TileLoops& program;
  int64_t columns = 1;
  SmallVector<RowSlot, 12> slots;
  SmallVector<TileKernel, 8> kernels;  // of the instructions
  bool is_flat = true;  // rows follow each other in all slots: they are one long one to the loops
  int64_t piece = 0;    // elements of a block at most, where slots have buffers; else 0
  bool is_far = false;
  int64_t buffer_bytes = 0;
};

// Runs a plan on one thread.
class RowBlocks {
 public:
  explicit RowBlocks(const RowPlan& plan);
  // So many rows of n elements, `at[s]` being where slot s has the first one. Rows are whole where
  // there are several.
  void run(char* const* at, int64_t rows, int64_t n);

 private:
  // A loop, what it reads and writes, and how far that is from one row to the next.
  struct Call {
    using Places = std::array<const char*, RowPlan::kMostInputs>;
    TileKernel kernel = nullptr;
    Places in{};
    char* out = nullptr;
    std::array<int64_t, RowPlan::kMostInputs> read{};
    int64_t written = 0;

    void run(const Places& from, char* to, int64_t n) const {
      void* const outputs[] = {to};
      const void* const inputs[] = {from[0], from[1], from[2]};
      kernel(outputs, inputs, n);
    }
    void run_each(int64_t rows, int64_t n) const;
  };
  struct Carried {
    size_t slot;
    MoveBlock block;
  };

  void go_to(char* const* at, int64_t row);
  void run_block(int64_t rows, int64_t n, int64_t next);
  Call call_of(size_t instruction, int64_t n) const;

  const RowPlan& plan_;
  ScratchLoan loan_;
  SmallVector<Carried, 3> carried_;
  SmallVector<char*, 12> found_;    // where the loops find slots
  SmallVector<int64_t, 12> along_;  // bytes from element to element there; 0 in buffers
};

}  // namespace tensorlike
