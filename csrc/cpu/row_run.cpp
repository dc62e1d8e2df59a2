#include "cpu/row_run.h"

#include <algorithm>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "cpu/scratch.h"

namespace tensorlike {
namespace {

constexpr int64_t kBlockElements = 16384;  // of a block of rows: what stays in the caches
constexpr int64_t kLineRows = 16;          // neighbouring rows that share a cache line
constexpr int64_t kParts = 64;             // of a sum over rows
constexpr int64_t kPartRows = 16;          // at least, so that partial sums stay small beside x

}  // namespace

RowRun::RowRun(const Dims& shape, const Dims& axes, Workspace& workspace)
    : workspace_(workspace), shape_(shape), in_row_(shape.size()), in_run_(shape.size()) {
  for (int64_t axis : axes) in_row_[static_cast<size_t>(axis)] = true;
  for (size_t i = 0; i < shape.size(); ++i) (in_row_[i] ? length_ : rows_) *= shape[i];
  block_rows_ = std::clamp<int64_t>(kBlockElements / std::max<int64_t>(length_, 1), 1, 256);
}

void RowRun::set_runs(const Dims& axes) {
  for (int64_t axis : axes) {
    in_run_[static_cast<size_t>(axis)] = true;
    run_ *= shape_[static_cast<size_t>(axis)];
  }
}

RowRun::Operand RowRun::operand(const Array& x, const std::vector<bool>& repeats) const {
  Operand found;
  Dims shape = shape_;
  found.length = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i]) shape[i] = 1;
    if (in_row_[i]) found.length *= shape[i];
  }
  const Array whole = broadcast_to(x, shape);
  found.data = whole.data;
  found.size = size_of(x.dtype);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    Runs& runs = in_row_[i] ? found.along : found.across;
    const int64_t stride = whole.strides[i];
    if (!runs.empty() && runs.back().stride == stride * shape[i]) {
      runs.back() = {runs.back().size * shape[i], stride};
    } else {
      runs.push_back({shape[i], stride});
    }
  }
  const bool is_ordered =
      found.along.empty() || (found.along.size() == 1 && found.along[0].stride == 1);
  found.is_direct = is_ordered && found.across.size() <= 1;
  found.is_shared = std::all_of(found.across.begin(), found.across.end(),
                                [](const Run& run) { return run.stride == 0; });
  return found;
}

void RowRun::read(const Array& x) { in_.push_back(operand(x, std::vector<bool>(shape_.size()))); }
void RowRun::read_each(const Array& x) { in_.push_back(operand(x, in_row_)); }
void RowRun::read_runs(const Array& x) { in_.push_back(operand(x, in_run_)); }
void RowRun::write(const Array& y) { out_.push_back(operand(y, std::vector<bool>(shape_.size()))); }
void RowRun::write_each(const Array& y) { out_.push_back(operand(y, in_row_)); }
void RowRun::write_runs(const Array& y) { out_.push_back(operand(y, in_run_)); }

void RowRun::add_up(const Array& total) {
  Operand sum;
  sum.data = total.data;
  sum.size = size_of(total.dtype);
  sum.length = length_;
  sum.is_sum = true;
  out_.push_back(std::move(sum));
}

int64_t RowRun::Operand::offset(int64_t row) const {
  int64_t found = 0;
  for (size_t i = across.size(); i-- > 0;) {
    found += row % across[i].size * across[i].stride;
    row /= across[i].size;
  }
  return found;
}

template <class T>
void RowRun::Operand::move_as(int64_t row, int64_t count, T* buffer, bool is_back) const {
  T* const memory = reinterpret_cast<T*>(data);
  if (length == 0) return;
  // Along the last dimension of a row; what the dimensions before it repeat.
  const Run last = along.empty() ? Run{1, 1} : along.back();
  const int64_t repeats = length / last.size;
  while (count > 0) {
    // Rows at one distance from each other.
    const Run next = across.empty() ? Run{1, 0} : across.back();
    const int64_t near = std::min(count, next.size - row % next.size);
    T* const first = memory + offset(row);
    for (int64_t k = 0; k < repeats; ++k) {
      int64_t position = k;
      T* from = first;
      for (size_t i = along.empty() ? 0 : along.size() - 1; i-- > 0;) {
        from += position % along[i].size * along[i].stride;
        position /= along[i].size;
      }
      T* to = buffer + k * last.size;
      // A few elements of each row in turn, so that a cache line which rows share is used up.
      const int64_t piece = last.stride == 1 ? last.size : kLineRows;
      for (int64_t begin = 0; begin < last.size; begin += piece) {
        const int64_t end = std::min(last.size, begin + piece);
        for (int64_t r = 0; r < near; ++r) {
          T* there = from + r * next.stride;
          T* here = to + r * length;
          if (last.stride == 1) {
            const size_t bytes = static_cast<size_t>(end - begin) * sizeof(T);
            std::memcpy(is_back ? there + begin : here + begin,
                        is_back ? here + begin : there + begin, bytes);
          } else if (is_back) {
            for (int64_t i = begin; i < end; ++i) there[i * last.stride] = here[i];
          } else {
            for (int64_t i = begin; i < end; ++i) here[i] = there[i * last.stride];
          }
        }
      }
    }
    buffer += near * length;
    row += near;
    count -= near;
  }
}

// Elements are moved by their size.
void RowRun::Operand::move(int64_t row, int64_t count, char* buffer, bool is_back) const {
  if (size == 4) {
    move_as(row, count, reinterpret_cast<uint32_t*>(buffer), is_back);
  } else {
    move_as(row, count, reinterpret_cast<uint64_t*>(buffer), is_back);
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
  for (const Operand& x : in_) bytes += needed(x);
  for (const Operand& y : out_) bytes += needed(y);
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
    for (size_t i = 0; i < in_.size(); ++i) {
      char* pointer = nullptr;
      place(in_[i], pointer, block.in_step[i]);
      block.in[i] = pointer;
      if (!in_[i].is_direct && (row == begin || !in_[i].is_shared)) {
        in_[i].move(row, in_[i].is_shared ? 1 : block.rows, pointer, false);
      }
    }
    for (size_t i = 0; i < out_.size(); ++i) place(out_[i], block.out[i], block.out_step[i]);
    program(block);
    for (size_t i = 0; i < out_.size(); ++i) {
      if (out_[i].is_direct || out_[i].is_sum) continue;
      out_[i].move(row, block.rows, static_cast<char*>(block.out[i]), true);
    }
  }
}

// Adds up the parts in their order, in double.
void RowRun::join(const char* partial, int64_t parts) const {
  size_t before = 0;
  size_t whole = 0;
  for (const Operand& y : out_) whole += y.is_sum ? static_cast<size_t>(length_) * y.size : 0;
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
  for (const Operand& y : out_) {
    if (!y.is_sum) continue;
    y.size == 4 ? add(float{}, y) : add(double{}, y);
    before += static_cast<size_t>(length_) * y.size;
  }
}

void RowRun::run(RowProgram program, double parameter) {
  size_t sum_bytes = 0;
  for (const Operand& y : out_) sum_bytes += y.is_sum ? static_cast<size_t>(length_) * y.size : 0;
  for (const auto* operands : {&in_, &out_}) {
    for (const Operand& x : *operands) {
      // Neighbouring rows share cache lines.
      if (!x.is_direct && !x.is_sum && !x.is_shared) block_rows_ = std::max(block_rows_, kLineRows);
    }
  }
  // The parts of a sum depend on the shape alone, never on the threads.
  int64_t unit = block_rows_;
  if (sum_bytes > 0) unit = std::max(kPartRows, (rows_ + kParts - 1) / kParts);
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
