#include "cpu/row_run.h"

#include <algorithm>
#include <bit>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "cpu/scratch.h"
#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

constexpr int64_t kBlockElements = 16384;   // of a block of rows: what stays in the caches
constexpr int64_t kLineRows = 16;           // neighbouring rows that share a cache line,
constexpr int64_t kGoodRows = 64;           // that share several: memory is quick at those
constexpr int64_t kTurned = 128;            // elements of a row that are turned together
constexpr int64_t kTurnedElements = 65536;  // of a block of rows that are turned
constexpr int64_t kLeastBeside = 32;        // rows that are worth vectors of their own
constexpr int64_t kKeptElements = 65536;    // elements of rows beside each other that are kept
constexpr int64_t kRowParts = 64;           // of a sum over rows
constexpr int64_t kPartRows = 16;           // at least, so that partial sums stay small beside x

}  // namespace

RowRun::RowRun(const Dims& shape, const Dims& axes, Workspace& workspace)
    : workspace_(workspace), shape_(shape) {
  for (int64_t axis : axes) in_row_ |= Axes{1} << axis;
  for (size_t i = 0; i < shape.size(); ++i) (has(in_row_, i) ? length_ : rows_) *= shape[i];
  block_rows_ = std::clamp<int64_t>(kBlockElements / std::max<int64_t>(length_, 1), 1, 256);
}

void RowRun::set_runs(const Dims& axes) {
  for (int64_t axis : axes) {
    in_run_ |= Axes{1} << axis;
    run_ *= shape_[static_cast<size_t>(axis)];
  }
}

void RowRun::set(Operand& operand, const Array& x, Axes repeats) const {
  operand.length = 1;
  operand.data = x.data;
  operand.size = size_of(x.dtype);
  operand.is_shared = true;
  const size_t lead = shape_.size() - x.shape.size();
  for (size_t i = 0; i < shape_.size(); ++i) {
    const int64_t size = has(repeats, i) ? 1 : shape_[i];
    if (has(in_row_, i)) operand.length *= size;
    if (size == 1) continue;
    // x is broadcast to the shape.
    const int64_t stride = i < lead || x.shape[i - lead] == 1 ? 0 : x.strides[i - lead];
    Runs& runs = has(in_row_, i) ? operand.along : operand.across;
    if (!has(in_row_, i)) operand.is_shared = operand.is_shared && stride == 0;
    if (!runs.empty() && runs.back().stride == stride * size) {
      runs.back() = {runs.back().size * size, stride};
    } else {
      runs.push_back({size, stride});
    }
  }
  const Runs& along = operand.along;
  const bool is_ordered = along.empty() || (along.size() == 1 && along[0].stride == 1);
  operand.is_direct = is_ordered && operand.across.size() <= 1;
}

void RowRun::read(const Array& x) { set(in_.next(), x, 0); }
void RowRun::read_each(const Array& x) { set(in_.next(), x, in_row_); }
void RowRun::read_runs(const Array& x) { set(in_.next(), x, in_run_); }
void RowRun::write(const Array& y) { set(out_.next(), y, 0); }
void RowRun::write_each(const Array& y) { set(out_.next(), y, in_row_); }
void RowRun::write_runs(const Array& y) { set(out_.next(), y, in_run_); }

void RowRun::add_up(const Array& total) {
  Operand& sum = out_.next();
  sum.data = total.data;
  sum.size = size_of(total.dtype);
  sum.length = length_;
  sum.is_sum = true;
}

int64_t RowRun::Operand::offset(int64_t row) const {
  int64_t found = 0;
  for (size_t i = across.size(); i-- > 0;) {
    found += row % across[i].size * across[i].stride;
    row /= across[i].size;
  }
  return found;
}

// What lies in `count` rows along one dimension: `there`, rows a step apart, and in the buffer.
void RowRun::Operand::move_part(char* there, int64_t step, char* buffer, const Run& run,
                                int64_t count, bool is_back) const {
  const int64_t element = static_cast<int64_t>(size);
  const MoveKernels& moves = kernel_table().moves[std::countr_zero(size)];
  const int64_t row = step * element, along = run.stride * element, own = length * element;
  const bool is_turned = step == 1 && run.stride != 1;
  if (!is_turned) {
    is_back ? moves.rows({there, row, along, buffer, own, element, count, run.size})
            : moves.rows({buffer, own, element, there, row, along, count, run.size});
    return;
  }
  for (int64_t i = 0; i < run.size; i += kTurned) {
    const int64_t n = std::min(kTurned, run.size - i);
    char* const from = there + i * along;
    char* const here = buffer + i * element;
    is_back ? moves.transpose({from, along, element, here, element, own, n, count})
            : moves.transpose({here, own, element, from, element, along, count, n});
  }
}

void RowRun::Operand::move(int64_t row, int64_t count, char* buffer, bool is_back) const {
  if (length == 0) return;
  const int64_t element = static_cast<int64_t>(size);
  // Along the last dimension of a row; what the dimensions before it repeat.
  const Run last = along.empty() ? Run{1, 1} : along.back();
  const int64_t repeats = length / last.size;
  while (count > 0) {
    // Rows at one distance from each other.
    const Run next = across.empty() ? Run{1, 0} : across.back();
    const int64_t near = std::min(count, next.size - row % next.size);
    char* const first = data + offset(row) * element;
    for (int64_t k = 0; k < repeats; ++k) {
      int64_t position = k;
      char* there = first;
      for (size_t i = along.empty() ? 0 : along.size() - 1; i-- > 0;) {
        there += position % along[i].size * along[i].stride * element;
        position /= along[i].size;
      }
      move_part(there, next.stride, buffer + k * last.size * element, last, near, is_back);
    }
    buffer += near * length * element;
    row += near;
    count -= near;
  }
}

void RowRun::run_rows(RowProgram program, double parameter, int64_t begin, int64_t end,
                      char* sums) const {
  size_t bytes = 0;
  auto needed = [&](const Operand& x) {
    if (x.is_direct || x.is_sum) return size_t{0};
    return Scratch::rounded(static_cast<size_t>(x.length * (x.is_shared ? 1 : block_rows_)) *
                            x.size);
  };
  for (const Operand& x : in_.used()) bytes += needed(x);
  for (const Operand& y : out_.used()) bytes += needed(y);
  const Scratch memory(bytes);
  RowBlock block;
  block.n = length_;
  block.run = run_;
  block.parameter = parameter;
  for (int64_t row = begin; row < end; row += block_rows_) {
    block.rows = std::min(block_rows_, end - row);
    char* buffer = memory.data();
    char* sum = sums;
    auto place = [&](const Operand& x, auto& pointer, int64_t& step) {
      const int64_t size = static_cast<int64_t>(x.size);
      if (x.is_sum) {
        pointer = sum;
        sum += x.length * size;
      } else if (x.is_direct) {
        const int64_t stride = x.across.empty() ? 0 : x.across[0].stride;
        pointer = x.data + row * stride * size;
        step = stride * size;
      } else {
        pointer = buffer;
        step = x.is_shared ? 0 : x.length * size;
        buffer += needed(x);
      }
    };
    for (size_t i = 0; i < in_.count; ++i) {
      const Operand& in = in_.all[i];
      char* pointer = nullptr;
      place(in, pointer, block.in_step[i]);
      block.in[i] = pointer;
      if (!in.is_direct && (row == begin || !in.is_shared)) {
        in.move(row, in.is_shared ? 1 : block.rows, pointer, false);
      }
    }
    for (size_t i = 0; i < out_.count; ++i) place(out_.all[i], block.out[i], block.out_step[i]);
    program(block);
    for (size_t i = 0; i < out_.count; ++i) {
      const Operand& out = out_.all[i];
      if (out.is_direct || out.is_sum) continue;
      out.move(row, block.rows, static_cast<char*>(block.out[i]), true);
    }
  }
}

int64_t RowRun::rows_beside() const {
  int64_t found = 0;
  if (length_ < 2) return 0;
  for (const auto* operands : {&in_, &out_}) {
    for (const Operand& x : operands->used()) {
      if (x.is_sum) return 0;
      if (x.length == 1) continue;  // one a row
      const bool is_beside = !x.across.empty() && x.across.back().stride == 1;
      if (x.length != length_ || !is_beside || x.along.size() > 1) return 0;
      if (found != 0 && found != x.across.back().size) return 0;
      found = x.across.back().size;
    }
  }
  return found;
}

void RowRun::run_columns(ColumnProgram program, double parameter, int64_t beside) const {
  constexpr int64_t kUnit = 16;
  // All that is read lies together, if there are no other rows in between.
  const auto lies_together = [&](const Operand& x) {
    return x.length == 1 || x.along.empty() || x.along[0].stride == beside;
  };
  const bool is_together = beside <= ColumnBlock::kMostRows &&
                           std::all_of(in_.used().begin(), in_.used().end(), lies_together);
  const int64_t most = is_together
                           ? ColumnBlock::kMostRows
                           : std::clamp(kKeptElements / length_, 2 * kUnit, ColumnBlock::kMostRows);
  const int64_t pieces = (beside + most - 1) / most;
  const int64_t piece = ((beside + pieces - 1) / pieces + kUnit - 1) / kUnit * kUnit;
  const int64_t jobs = rows_ / beside * pieces;
  const auto own_bytes = [&](const Operand& x) {
    return Scratch::rounded(static_cast<size_t>(piece) * x.size);
  };
  const size_t kept = Scratch::rounded(static_cast<size_t>(piece * length_) * in_.all[0].size);
  size_t bytes = kept;
  for (const auto* operands : {&in_, &out_}) {
    for (const Operand& x : operands->used()) bytes += x.length == 1 ? own_bytes(x) : 0;
  }
  const int64_t grain = std::max<int64_t>(1, kBlockElements / (piece * length_));
  BlockingRegion blocking(rows_ * length_ > kBlockElements);
  parallel_for(jobs, grain, [&](int64_t begin, int64_t end) {
    const Scratch memory(bytes);
    ColumnBlock block;
    block.n = length_;
    block.parameter = parameter;
    block.kept = memory.data();
    block.keeps = !is_together;
    for (int64_t job = begin; job < end; ++job) {
      const int64_t first = job % pieces * piece;
      const int64_t row = job / pieces * beside + first;
      block.rows = std::min(piece, beside - first);
      if (block.rows <= 0) continue;
      char* own = memory.data() + kept;
      const auto place = [&](const Operand& x, auto& pointer, int64_t& step) {
        pointer = x.length == 1 ? std::exchange(own, own + own_bytes(x))
                                : x.data + x.offset(row) * static_cast<int64_t>(x.size);
        step =
            x.length == 1 || x.along.empty() ? 0 : x.along[0].stride * static_cast<int64_t>(x.size);
      };
      for (size_t i = 0; i < in_.count; ++i) {
        place(in_.all[i], block.in[i], block.in_step[i]);
        if (in_.all[i].length > 1) continue;
        in_.all[i].move(row, block.rows, const_cast<char*>(static_cast<const char*>(block.in[i])),
                        false);
      }
      for (size_t i = 0; i < out_.count; ++i) place(out_.all[i], block.out[i], block.out_step[i]);
      program(block);
      for (size_t i = 0; i < out_.count; ++i) {
        if (out_.all[i].length > 1) continue;
        out_.all[i].move(row, block.rows, static_cast<char*>(block.out[i]), true);
      }
    }
  });
}

// Adds up the parts in their order, in double.
void RowRun::join(const char* partial, int64_t parts) const {
  size_t before = 0;
  size_t whole = 0;
  for (const Operand& y : out_.used())
    whole += y.is_sum ? static_cast<size_t>(length_) * y.size : 0;
  auto add = [&](auto tag, const Operand& y) {
    using T = decltype(tag);
    std::vector<double> total(static_cast<size_t>(length_));
    for (int64_t p = 0; p < parts; ++p) {
      const char* part = partial + static_cast<size_t>(p) * whole + before;
      const T* from = reinterpret_cast<const T*>(part);
      for (size_t j = 0; j < total.size(); ++j) total[j] += static_cast<double>(from[j]);
    }
    std::transform(total.begin(), total.end(), reinterpret_cast<T*>(y.data),
                   [](double value) { return static_cast<T>(value); });
  };
  for (const Operand& y : out_.used()) {
    if (!y.is_sum) continue;
    y.size == 4 ? add(float{}, y) : add(double{}, y);
    before += static_cast<size_t>(length_) * y.size;
  }
}

void RowRun::run(RowProgram program, double parameter, ColumnProgram columns) {
  const int64_t beside = columns == nullptr ? 0 : rows_beside();
  if (beside >= kLeastBeside) return run_columns(columns, parameter, beside);
  size_t sum_bytes = 0;
  for (const Operand& y : out_.used())
    sum_bytes += y.is_sum ? static_cast<size_t>(length_) * y.size : 0;
  for (const auto* operands : {&in_, &out_}) {
    for (const Operand& x : operands->used()) {
      if (x.is_direct || x.is_sum || x.is_shared) continue;
      // Neighbouring rows share cache lines.
      const int64_t most = kTurnedElements / std::max<int64_t>(length_, 1);
      block_rows_ = std::max(block_rows_, std::clamp(most, kLineRows, kGoodRows));
    }
  }
  // The parts of a sum depend on the shape alone, never on the threads.
  int64_t unit = block_rows_;
  if (sum_bytes > 0) unit = std::max(kPartRows, (rows_ + kRowParts - 1) / kRowParts);
  const int64_t units = (rows_ + unit - 1) / unit;
  const int64_t parts = sum_bytes > 0 ? units : 0;
  const size_t partial_bytes = static_cast<size_t>(parts) * sum_bytes;
  char* const partial = partial_bytes > 0 ? workspace_.bytes(partial_bytes) : nullptr;
  std::fill_n(partial, partial_bytes, '\0');
  BlockingRegion blocking(rows_ * length_ > kBlockElements);
  const int64_t grain = std::max<int64_t>(1, kBlockElements / std::max<int64_t>(1, unit * length_));
  parallel_for(units, grain, [&](int64_t begin, int64_t end) {
    if (sum_bytes == 0) {
      run_rows(program, parameter, begin * unit, std::min(rows_, end * unit), nullptr);
      return;
    }
    for (int64_t u = begin; u < end; ++u) {
      run_rows(program, parameter, u * unit, std::min(rows_, (u + 1) * unit),
               partial + static_cast<size_t>(u) * sum_bytes);
    }
  });
  if (sum_bytes > 0) join(partial, parts);
}

}  // namespace tensorlike
