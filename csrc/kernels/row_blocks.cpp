// What lies in steps is carried into a buffer first, and what loops give each other stays in one:
// the next loop finds it in the nearest cache. So blocks are short where there are buffers.
#include "kernels/row_blocks.h"

#include <algorithm>
#include <cstdlib>

namespace tensorlike {
namespace {

constexpr int64_t kFetched = 64;  // bytes of a cache line

thread_local ScratchBuffer t_rows;

void fetch(const char* first, int64_t n, int64_t step) {
  const int64_t by = std::max<int64_t>(1, kFetched / std::abs(step));
  for (int64_t i = 0; i < n; i += by) __builtin_prefetch(first + i * step);
}

}  // namespace

RowBlocks::RowBlocks(const RowPlan& plan) : plan_(plan), loan_(t_rows) {
  found_.resize(plan.slots.size());
  along_.resize(plan.slots.size());
  char* const buffers = plan.buffer_bytes == 0 ? nullptr : loan_.reserve<char>(plan.buffer_bytes);
  for (size_t s = 0; s < plan.slots.size(); ++s) {
    const RowSlot& slot = plan.slots[s];
    along_[s] = slot.has_buffer() ? 0 : slot.step;
    if (!slot.has_buffer()) continue;
    found_[s] = buffers + slot.buffer;
    if (slot.way != RowSlot::Way::kCarried) continue;
    carried_.push_back({s, {found_[s], 0, slot.size, nullptr, slot.row, slot.step, 0, 0}});
  }
}

void RowBlocks::run(char* const* at, int64_t rows, int64_t n) {
  const int64_t piece = plan_.piece == 0 ? rows * n : plan_.piece;
  const int64_t together = std::max<int64_t>(1, piece / n);
  for (int64_t r = 0; r < rows; r += together) {
    go_to(at, r);
    if (n <= piece) {
      run_block(std::min(together, rows - r), n, 0);
      continue;
    }
    for (int64_t left = n; left > 0; left -= piece) {
      const int64_t count = std::min(left, piece);
      run_block(1, count, std::clamp<int64_t>(left - piece, 0, piece));
      for (size_t s = 0; s < found_.size(); ++s) found_[s] += count * along_[s];
    }
  }
}

void RowBlocks::go_to(char* const* at, int64_t row) {
  for (size_t s = 0; s < found_.size(); ++s) {
    if (!plan_.slots[s].has_buffer()) found_[s] = at[s] + row * plan_.slots[s].row;
  }
  for (Carried& c : carried_) c.block.in = at[c.slot] + row * c.block.in_row;
}

// `next` elements of the row follow this block and are wanted soon.
void RowBlocks::run_block(int64_t rows, int64_t n, int64_t next) {
  for (Carried& c : carried_) {
    MoveBlock& block = c.block;
    const char* const end = block.in + n * block.in_step;
    if (plan_.is_far) fetch(end, next, block.in_step);
    block.rows = rows;
    block.columns = n;
    block.out_row = n * block.out_step;
    move_kernels(block.out_step).rows(block);
    block.in = end;
  }
  const bool is_one = rows == 1 || plan_.is_flat;
  for (size_t i = 0; i < plan_.kernels.size(); ++i) {
    const Call call = call_of(i, n);
    is_one ? call.run(call.in, call.out, rows * n) : call.run_each(rows, n);
  }
}

RowBlocks::Call RowBlocks::call_of(size_t instruction, int64_t n) const {
  const TileLoop& loop = plan_.program.instructions[instruction];
  Call call{plan_.kernels[instruction]};
  const auto row_of = [&](size_t slot) {
    const RowSlot& s = plan_.slots[slot];
    return s.has_buffer() ? n * s.size : s.row;
  };
  for (size_t k = 0; k < loop.in.size(); ++k) {
    const auto slot = static_cast<size_t>(loop.in[k]);
    call.in[k] = found_[slot];
    call.read[k] = row_of(slot);
  }
  const auto slot = static_cast<size_t>(loop.out[0]);
  call.out = found_[slot];
  call.written = row_of(slot);
  return call;
}

// All places are counted on, used or not, in registers.
void RowBlocks::Call::run_each(int64_t rows, int64_t n) const {
  const char *x = in[0], *y = in[1], *z = in[2];
  char* to = out;
  for (; rows > 0; --rows) {
    run({x, y, z}, to, n);
    x += read[0];
    y += read[1];
    z += read[2];
    to += written;
  }
}

}  // namespace tensorlike
