// Runs a row program over arrays: which axes make a row, how rows lie in memory, which thread does
// which. Rows that do not lie in order are brought in order a block at a time, so that a program
// sees plain arrays and memory is read in whole cache lines.
#pragma once

#include <array>
#include <span>

#include "kernels/row.h"
#include "memory/array.h"
#include "memory/workspace.h"

namespace tensorlike {

class RowRun {
 public:
  // Rows of arrays of this shape: what lies along `axes` (non-negative, distinct) is one row.
  RowRun(const Dims& shape, const Dims& axes, Workspace& workspace);

  int64_t rows() const { return rows_; }

  // The elements along these axes, the last ones of a row, are a run.
  void set_runs(const Dims& axes);

  // The program's operands, in its order. Inputs broadcast to the shape.
  void read(const Array& x);
  // One element a row: the size along the axes is 1.
  void read_each(const Array& x);
  void write(const Array& y);
  void write_each(const Array& y);
  // One element a run: the size along its axes is 1.
  void read_runs(const Array& x);
  void write_runs(const Array& y);
  // A row to which the program adds for each row; contiguous. The sums are made in a fixed order.
  void add_up(const Array& total);

  // `columns`: the program for rows that lie beside each other, where there is one.
  void run(RowProgram program, double parameter = 0, ColumnProgram columns = nullptr);

 private:
  struct Run {
    int64_t size, stride;
  };
  using Runs = SmallVector<Run, 4>;
  struct Operand {
    char* data = nullptr;
    size_t size = 0;     // bytes of an element
    int64_t length = 0;  // elements of a row
    Runs across, along;  // over the rows, and along one
    bool is_direct = false;
    bool is_shared = false;  // all rows are the same one
    bool is_sum = false;

    int64_t offset(int64_t row) const;
    // Copies rows into the buffer, or back.
    void move(int64_t row, int64_t count, char* buffer, bool is_back) const;
    void move_part(char* there, int64_t step, char* buffer, const Run& run, int64_t count,
                   bool is_back) const;
  };

  struct Operands {
    std::array<Operand, RowBlock::kOperands> all;
    size_t count = 0;

    Operand& next() { return all[count++]; }
    std::span<const Operand> used() const { return {all.data(), count}; }
  };
  // Axes, as bits.
  using Axes = uint64_t;
  static_assert(kMaxDims <= 64);
  static bool has(Axes axes, size_t i) { return (axes >> i & 1U) != 0; }

  // `repeats`: the axes along which the operand has one element.
  void set(Operand& operand, const Array& x, Axes repeats) const;
  void run_rows(RowProgram program, double parameter, int64_t begin, int64_t end, char* sums) const;
  // How many rows lie beside each other in all operands that have whole ones; 0 where they don't.
  int64_t rows_beside() const;
  void run_columns(ColumnProgram program, double parameter, int64_t beside) const;
  void join(const char* partial, int64_t parts) const;

  Workspace& workspace_;
  Dims shape_;
  Axes in_row_ = 0, in_run_ = 0;
  int64_t rows_ = 1;
  int64_t length_ = 1;
  int64_t run_ = 1;
  int64_t block_rows_ = 1;
  Operands in_, out_;
};

}  // namespace tensorlike
