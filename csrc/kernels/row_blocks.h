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
  // Where a loop reads or writes, and the bytes from element to element and from row to row.
  struct Place {
    char* at = nullptr;
    int64_t step = 0, row = 0;
  };
  struct Call {
    TileKernel kernel = nullptr;
    std::array<Place, RowPlan::kMostInputs> in{};
    Place out;

    void run(const char* x, const char* y, const char* z, char* to, int64_t n) const {
      void* const outputs[] = {to};
      const void* const inputs[] = {x, y, z};
      kernel(outputs, inputs, n);
    }
    void run_each(int64_t rows, int64_t n) const;
  };
  struct Carried {
    void (*move)(const MoveBlock& block);
    StepCopy copy;  // of a row
    int64_t ahead;  // bytes to the next row, where that is read soon
    size_t slot;
    MoveBlock block;

    void carry(int64_t rows, int64_t n);
  };

  Place place_of(int slot) const;
  void go_to(char* const* at, int64_t row);
  void run_piece(int64_t n);
  void run_rows(int64_t rows, int64_t n);

  const RowPlan& plan_;
  ScratchLoan loan_;
  SmallVector<Call, 2> calls_;
  SmallVector<Carried, 3> carried_;
  SmallVector<char*, 12> found_;  // where the loops find slots
};

}  // namespace tensorlike
