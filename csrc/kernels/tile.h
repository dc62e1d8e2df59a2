// Tile programs: elementwise work is a few vector instructions over tiles of about a thousand
// elements that stay in L1. The driver knows strides, constants and threads; an instruction is one
// ahead-of-time compiled loop over contiguous memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace tensorlike {

// out[k][i] = f(in[0][i], in[1][i], ...) for i < n. Outputs may be the inputs' own memory.
using TileKernel = void (*)(void* const* out, const void* const* in, int64_t n);

struct TileLoop {
  TileKernel kernel = nullptr;
  SmallVector<int, 4> in;
  SmallVector<int, 2> out;
  // Where one number is the first input alone, and where each of the others is one: to which in[k]
  // points. Null: numbers are repeated.
  TileKernel beside[2] = {};

  // The loop for inputs of which is_number(i) says whether they are numbers; null: there is none.
  template <class F>
  TileKernel loop_beside(F&& is_number) const {
    size_t numbers = 0;
    for (size_t i = 0; i < in.size(); ++i) numbers += is_number(i) ? 1 : 0;
    if (numbers == 0) return kernel;
    if (in.size() < 2 || numbers == in.size()) return nullptr;
    if (is_number(0)) return numbers == 1 ? beside[0] : nullptr;
    return numbers + 1 == in.size() ? beside[1] : nullptr;
  }
};

// Slots: the operands, the constants, the temporaries, and last the outputs.
struct TileLoops {
  struct Constant {
    DType dtype;
    alignas(16) unsigned char value[16];
  };
  int operands = 0;
  std::vector<Constant> constants;
  int temporaries = 0;
  int outputs = 0;
  size_t widest = 8;  // bytes of the largest element in any slot
  std::vector<TileLoop> instructions;

  int first_constant() const { return operands; }
  int first_temporary() const { return operands + static_cast<int>(constants.size()); }
  int first_output() const { return first_temporary() + temporaries; }
  int slots() const { return first_output() + outputs; }
};

// An operand, broadcast to the output's shape: strides in elements, 0 where it repeats.
struct TileOperand {
  const char* data = nullptr;
  size_t size = 4;  // bytes of an element
  Dims strides;
};

struct TileOutput {
  char* data = nullptr;
  size_t size = 4;
};

inline constexpr int64_t kTile = 1024;  // elements

// A program with its operands, ready to run over any part of `shape` in C order. What it refers to
// must outlive it.
class BoundProgram {
 public:
  BoundProgram(const TileLoops& program, std::span<const int64_t> shape,
               std::span<const TileOperand> operands);
  BoundProgram(const BoundProgram&) = delete;
  BoundProgram& operator=(const BoundProgram&) = delete;

  bool needs_tiles() const { return needs_tiles_; }
  // Whether the operand's elements lie in memory as those of the output.
  bool lies_in_order(size_t operand) const { return access_[operand] == Access::kDirect; }

 private:
  friend class TileRunner;
  enum class Access : unsigned char {
    kDirect,
    kFilled,
    kInRows,
    kOneRow,  // short, and the same one everywhere
    kGathered,
    kTransposed
  };
  // The loops of the instructions where some slots are one number each. `is_one`: of these slots,
  // those that need not be repeated.
  struct Beside {
    SmallVector<TileKernel, 8> kernels;
    SmallVector<char, 12> is_one;
  };
  int64_t strip_rows(const TileOperand& operand) const;
  void find_rows(std::span<const int64_t> shape);
  bool may_be_number(size_t operand) const;
  int64_t in_order() const { return std::count(access_.begin(), access_.end(), Access::kDirect); }
  Beside beside_numbers(bool in_rows) const;

  const TileLoops& program_;
  Dims shape_;
  SmallVector<TileOperand, 4> operands_;
  SmallVector<Access, 4> access_;
  bool needs_tiles_ = false;  // some slot lives in a tile buffer
  bool has_rows_ = false;
  bool repeats_row_ = false;
  int64_t bytes_in_order_ = 0;  // of all elements of operands that lie so
  Beside anywhere_, in_row_;    // the latter of runs that stay within a row
};

// Runs a bound program on one thread, whose tile buffers it uses: one runner at a time per thread.
class TileRunner {
 public:
  // Runs follow each other, and are of `total` elements together; more may follow.
  explicit TileRunner(const BoundProgram& bound, int64_t total = kTile);
  // How many elements from `begin` on a run should have, `most` at most. Where some operand lies in
  // rows, runs that stay within one read it where it is; one short row is repeated by whole ones.
  int64_t run_length(int64_t begin, int64_t most);
  // Elements [begin, begin + n) of the outputs, into out[0], out[1], ...
  void run(int64_t begin, int64_t n, char* const* out);

 private:
  // Rows of a transposed operand, in order: elements [begin, end) of the shape.
  struct Strip {
    size_t operand;
    size_t offset;  // in the buffers of this thread
    char* data;
    int64_t begin, end;
  };

  void fill(size_t slot, const void* value, size_t size);
  size_t plan_strips();
  void read_strip(Strip& strip, int64_t begin);
  const char* in_strip(size_t operand, int64_t begin, int64_t n);
  void go_to(int64_t begin);
  void go_on(int64_t n);
  bool stays_in_row(int64_t n) const { return column_ + n <= bound_.shape_.back(); }
  void find_elements(size_t operand, int64_t begin, int64_t n);
  char* tile(size_t slot) const;

  const BoundProgram& bound_;
  const int64_t total_;
  const bool reads_many_;  // operands in order, from beyond the second-level cache
  int64_t end_ = 0;        // of the runs that are known to come
  char* tiles_ = nullptr;
  // What an operand's tile is known to hold: `count` elements that repeat what is at a place.
  struct Held {
    const char* place = nullptr;
    int64_t count = 0;
  };

  // The element that comes next: its place in its row, the indices of the row, and where operands
  // that lie in rows have it. Counted on from run to run.
  int64_t next_ = -1;
  int64_t column_ = 0;
  SmallVector<int64_t, 6> row_;
  SmallVector<const char*, 4> place_;

  SmallVector<char*, 12> slot_;
  SmallVector<Held, 4> held_;
  SmallVector<Strip, 2> strips_;
};

// Runs the program over `shape`; the outputs are contiguous.
void run_tiles(const TileLoops& program, std::span<const int64_t> shape,
               std::span<const TileOperand> operands, std::span<const TileOutput> outputs);

// The loops over tiles, rows or whatever the slots point to; `kernels`, if there are any, in place
// of the instructions' own.
void run_loops(const TileLoops& program, std::span<char* const> slots, int64_t n,
               std::span<const TileKernel> kernels = {});

// n times the element `value`.
void fill_tile(char* out, const void* value, size_t size, int64_t n);

// Copies n elements, in C order from linear position `begin` of `shape`, into contiguous memory.
void gather_tile(const TileOperand& operand, std::span<const int64_t> shape, int64_t begin,
                 int64_t n, char* out);

// Merges neighbouring dimensions that every operand walks in one stride.
void collapse(Dims& shape, std::span<TileOperand> operands);

}  // namespace tensorlike
