// Programs over rows: how each operand lies in them, which loops read it as it lies, and the walk
// from block to block.
#include "kernels/tile_rows.h"

#include <algorithm>
#include <cstdlib>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/row_blocks.h"

namespace tensorlike {
namespace {

constexpr int64_t kWorthACall = 48;  // bytes of a row
// Bytes of a row that is the same everywhere: many of shorter ones are written out, but not beside
// operands that come from further away than the second-level cache.
constexpr int64_t kWorthRepeating = 256;
constexpr int64_t kFarRepeats = int64_t{4} << 20;
constexpr int64_t kRowsGrain = 16384;  // elements that are worth another thread
constexpr int64_t kLongRows = 32768;   // that deserve a BlockingRegion
// Bytes of a block in a slot, about. What comes from further away than the second-level cache does
// so in short pieces: the processor waits for it and for the outputs' lines at once, as far as it
// sees ahead. Rows that fit a block are enough of turns themselves, unless they come from memory.
// To ask for lines ahead is in the way of what the processor fetches by itself.
constexpr int64_t kNearPiece = 4096;
constexpr int64_t kFarPiece = 512;
constexpr int64_t kFarReads = int64_t{5} << 20;
constexpr int64_t kMemoryReads = int64_t{16} << 20;
constexpr int64_t kEven = 32;          // elements: pieces are multiples of these
constexpr int64_t kApartBytes = 1536;  // between buffers: see tile.cpp

// Whether the elements of a row are neither neighbours nor one number, and none along another
// dimension lie closer together.
bool is_in_steps(const TileOperand& x) {
  if (x.strides.empty()) return false;
  const int64_t step = x.strides.back();
  return step != 0 && step != 1 &&
         std::all_of(x.strides.begin(), x.strides.end(), [step](int64_t stride) {
           return stride == 0 || std::abs(stride) >= std::abs(step);
         });
}

class Rows {
 public:
  Rows(const TileLoops& program, std::span<const int64_t> shape,
       std::span<const TileOperand> operands, std::span<const TileOutput> outputs)
      : shape_(shape), operands_(operands.begin(), operands.end()), plan_(program) {
    collapse(shape_, {operands_.data(), operands_.size()});
    if (shape_.empty()) return;
    plan_.columns = shape_.back();
    for (const TileOperand& x : operands_) add(x);
    for (const auto& constant : program.constants) {
      plan_.slots.push_back(
          {RowSlot::Way::kNumber, static_cast<int64_t>(size_of(constant.dtype)), 0, 0});
      data_.push_back(const_cast<char*>(reinterpret_cast<const char*>(constant.value)));
    }
    for (int t = 0; t < program.temporaries; ++t) {
      plan_.slots.push_back({RowSlot::Way::kMade, widest(), 0, 0});
      data_.push_back(nullptr);
    }
    for (const TileOutput& out : outputs) {
      const auto size = static_cast<int64_t>(out.size);
      plan_.slots.push_back({RowSlot::Way::kInPlace, size, size, plan_.columns * size});
      data_.push_back(out.data);
    }
  }

  // Whether the loops can be called on rows, and do more in them than it costs to be called.
  bool find_loops() {
    if (shape_.empty() || !lies_in_rows()) return false;
    const auto is_number = [this](int slot) {
      return plan_.slots[static_cast<size_t>(slot)].way == RowSlot::Way::kNumber;
    };
    for (const TileLoop& loop : plan_.program.instructions) {
      if (loop.in.size() > RowPlan::kMostInputs || loop.out.size() != 1) {
        return false;
      }
      plan_.kernels.push_back(loop.loop_beside([&](size_t i) { return is_number(loop.in[i]); }));
      if (plan_.kernels.back() == nullptr) return false;
    }
    for (const RowSlot& s : plan_.slots) {
      const int64_t flat = s.way == RowSlot::Way::kNumber ? 0 : row_bytes(s);
      plan_.is_flat = plan_.is_flat && (s.has_buffer() || s.row == flat);
    }
    plan_buffers();
    return true;
  }

  // Elements [begin, end).
  void run(int64_t begin, int64_t end) const {
    RowBlocks blocks(plan_);
    const size_t last = shape_.size() - 1;
    const int64_t columns = plan_.columns;
    const int64_t rows = last > 0 ? shape_[last - 1] : 1;  // that follow each other in steps
    SmallVector<char*, 12> at(data_.size());
    while (begin < end) {
      const int64_t column = begin % columns;
      const int64_t row = begin / columns % rows;
      find(begin, at);
      const bool is_part = column > 0 || end - begin < columns;
      const int64_t n = is_part ? std::min(columns - column, end - begin) : columns;
      const int64_t count = is_part ? 1 : std::min((end - begin) / columns, rows - row);
      blocks.run(at.data(), count, n);
      begin += count * n;
    }
  }

 private:
  void add(const TileOperand& x) {
    const auto size = static_cast<int64_t>(x.size);
    const size_t ndim = shape_.size();
    const int64_t step = x.strides[ndim - 1];
    const auto way = step == 0   ? RowSlot::Way::kNumber
                     : step == 1 ? RowSlot::Way::kInPlace
                                 : RowSlot::Way::kCarried;
    plan_.slots.push_back(
        {way, size, step * size, ndim > 1 ? x.strides[ndim - 2] * size : plan_.columns * size});
    data_.push_back(const_cast<char*>(x.data));
  }

  int64_t widest() const { return static_cast<int64_t>(plan_.program.widest); }
  int64_t row_bytes(const RowSlot& slot) const { return plan_.columns * slot.size; }

  // Whether operands lie in rows that are worth it; where none does, several loops take tiles.
  bool lies_in_rows() const {
    const bool is_one_row = shape_.size() == 1;
    const int64_t bytes = plan_.columns * widest();
    const bool is_far = element_count(shape_) * widest() > kFarRepeats;
    bool is_any = is_one_row && plan_.program.instructions.size() == 1;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const RowSlot& s = plan_.slots[i];
      const bool is_carried = s.way == RowSlot::Way::kCarried;
      if (is_carried && !is_in_steps(operands_[i])) return false;
      const bool is_repeated = !is_one_row && s.way == RowSlot::Way::kInPlace && s.row == 0;
      if (is_repeated && !is_far && bytes < kWorthRepeating) return false;
      is_any = is_any || is_carried || (!is_one_row && s.row != row_bytes(s));
    }
    return is_any && (is_one_row || bytes >= kWorthACall);
  }

  // Bytes from the first element to the last of all operands but rows that come again.
  int64_t reads() const {
    int64_t bytes = 0;  // between elements
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (plan_.slots[i].row != 0) bytes += std::abs(plan_.slots[i].step);
    }
    return bytes * element_count(shape_);
  }

  // About `most` elements, so that a row has pieces of one length.
  int64_t even_piece(int64_t most) const {
    const int64_t parts = (plan_.columns + most / 2) / most;
    if (parts <= 1) return std::max(most, plan_.columns);
    return (plan_.columns / parts + kEven - 1) / kEven * kEven;
  }

  // Blocks of one loop that reads and writes memory alone are as long as they come.
  void plan_buffers() {
    int64_t widest = 1;
    bool carries = false;
    for (const RowSlot& s : plan_.slots) {
      widest = std::max(widest, s.size);
      carries = carries || s.way == RowSlot::Way::kCarried;
    }
    if (!carries && plan_.kernels.size() == 1) return;
    const int64_t bytes = carries ? reads() : 0;
    const bool fits = plan_.columns * widest <= kNearPiece;
    const int64_t far = fits ? kMemoryReads : kFarReads;
    plan_.piece = even_piece((bytes > far ? kFarPiece : kNearPiece) / widest);
    for (RowSlot& s : plan_.slots) {
      if (!s.has_buffer()) continue;
      s.buffer = plan_.buffer_bytes;
      plan_.buffer_bytes += (plan_.piece * s.size + 63) / 64 * 64 + kApartBytes;
    }
  }

  // Where slots have an element.
  void find(int64_t element, SmallVector<char*, 12>& at) const {
    const size_t first_output = static_cast<size_t>(plan_.program.first_output());
    for (size_t s = 0; s < at.size(); ++s) {
      at[s] = data_[s] + (s >= first_output ? element * plan_.slots[s].size : 0);
    }
    int64_t rest = element;
    for (size_t d = shape_.size(); d-- > 0; rest /= shape_[d]) {
      const int64_t index = rest % shape_[d];
      for (size_t k = 0; k < operands_.size(); ++k) {
        at[k] += index * operands_[k].strides[d] * plan_.slots[k].size;
      }
    }
  }

  Dims shape_;
  SmallVector<TileOperand, 4> operands_;
  SmallVector<char*, 12> data_;  // of the slots
  RowPlan plan_;
};

}  // namespace

bool run_rows(const TileLoops& program, std::span<const int64_t> shape,
              std::span<const TileOperand> operands, std::span<const TileOutput> outputs) {
  Rows rows(program, shape, operands, outputs);
  if (!rows.find_loops()) return false;
  const int64_t n = element_count(shape);
  if (n <= kRowsGrain) {
    rows.run(0, n);
    return true;
  }
  BlockingRegion blocking(n > kLongRows);
  parallel_for(n, kRowsGrain, [&](int64_t begin, int64_t end) { rows.run(begin, end); });
  return true;
}

}  // namespace tensorlike
