// What lies in steps is carried into a buffer first, and what loops give each other stays in one:
// the next loop finds it in the nearest cache. So blocks are short where there are buffers.
#include "kernels/row_blocks.h"

#include <algorithm>
#include <cstdlib>

namespace tensorlike {
namespace {

constexpr int64_t kNextRow = 16384;  // bytes: what is read that soon stays in the nearest cache

ScratchPlace t_rows;

}  // namespace

RowBlocks::RowBlocks(const RowPlan& plan) : plan_(plan), loan_(t_rows) {
  found_.resize(plan.slots.size());
  calls_.resize(plan.kernels.size());
  char* const buffers = plan.buffer_bytes == 0 ? nullptr : loan_.reserve<char>(plan.buffer_bytes);
  for (size_t s = 0; s < plan.slots.size(); ++s) {
    const RowSlot& slot = plan.slots[s];
    if (!slot.has_buffer()) continue;
    found_[s] = buffers + slot.buffer;
    if (slot.way != RowSlot::Way::kCarried) continue;
    const MoveKernels& kernels = move_kernels(slot.size);
    const bool is_next_row = 0 < slot.row && slot.row <= kNextRow;
    carried_.push_back({kernels.rows,
                        kernels.steps(slot.step),
                        is_next_row ? slot.row : 0,
                        s,
                        {found_[s], 0, slot.size, nullptr, slot.row, slot.step, 0, 0}});
  }
  for (size_t i = 0; i < calls_.size(); ++i) {
    const TileLoop& loop = plan.program.instructions[i];
    Call& call = calls_[i];
    call.kernel = plan.kernels[i];
    for (size_t k = 0; k < loop.in.size(); ++k) call.in[k] = place_of(loop.in[k]);
    call.out = place_of(loop.out[0]);
  }
}

RowBlocks::Place RowBlocks::place_of(int slot) const {
  const RowSlot& s = plan_.slots[static_cast<size_t>(slot)];
  return {nullptr, s.has_buffer() ? 0 : s.step, s.has_buffer() ? plan_.columns * s.size : s.row};
}

void RowBlocks::run(char* const* at, int64_t rows, int64_t n) {
  const int64_t piece = plan_.piece == 0 ? rows * n : plan_.piece;
  const int64_t together = std::max<int64_t>(1, piece / n);
  for (int64_t r = 0; r < rows; r += together) {
    go_to(at, r);
    if (n <= piece) {
      run_rows(std::min(together, rows - r), n);
    } else {
      for (int64_t left = n; left > 0; left -= piece) run_piece(std::min(left, piece));
    }
  }
}

void RowBlocks::go_to(char* const* at, int64_t row) {
  for (size_t s = 0; s < found_.size(); ++s) {
    if (!plan_.slots[s].has_buffer()) found_[s] = at[s] + row * plan_.slots[s].row;
  }
  for (Carried& c : carried_) c.block.in = at[c.slot] + row * c.block.in_row;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const TileLoop& loop = plan_.program.instructions[i];
    for (size_t k = 0; k < loop.in.size(); ++k) {
      calls_[i].in[k].at = found_[static_cast<size_t>(loop.in[k])];
    }
    calls_[i].out.at = found_[static_cast<size_t>(loop.out[0])];
  }
}

// A part of a row. All places are at the next one then.
void RowBlocks::run_piece(int64_t n) {
  for (Carried& c : carried_) {
    c.copy(c.block.out, c.block.in, n, c.block.in_step, c.ahead);
    c.block.in += n * c.block.in_step;
  }
  for (Call& call : calls_) {
    call.run(call.in[0].at, call.in[1].at, call.in[2].at, call.out.at, n);
    for (Place& x : call.in) x.at += n * x.step;
    call.out.at += n * call.out.step;
  }
}

void RowBlocks::run_rows(int64_t rows, int64_t n) {
  for (Carried& c : carried_) c.carry(rows, n);
  const bool is_one = rows == 1 || plan_.is_flat;
  for (const Call& call : calls_) is_one ? call.run_each(1, rows * n) : call.run_each(rows, n);
}

void RowBlocks::Carried::carry(int64_t rows, int64_t n) {
  block.rows = rows;
  block.columns = n;
  block.out_row = n * block.out_step;
  move(block);
}

// All places are counted on, used or not, in registers.
void RowBlocks::Call::run_each(int64_t rows, int64_t n) const {
  const char *x = in[0].at, *y = in[1].at, *z = in[2].at;
  char* to = out.at;
  for (; rows > 0; --rows) {
    run(x, y, z, to, n);
    x += in[0].row;
    y += in[1].row;
    z += in[2].row;
    to += out.row;
  }
}

}  // namespace tensorlike
