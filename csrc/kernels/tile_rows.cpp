// One loop over rows: it is called on memory as it lies, and all that is done between rows is to
// count their places on. A number that is a row's alone is read once by a loop made for that. What
// lies in steps is carried into a buffer first, a few vectors at a time: the loop finds them in the
// nearest cache, and memory is read and written by turns.
#include "kernels/tile_rows.h"

#include <algorithm>
#include <cstdlib>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

constexpr int64_t kWorthACall = 128;   // elements of a row
constexpr int64_t kWorthACarry = 256;  // of one that is carried: shorter ones together
constexpr int64_t kRowsGrain = 16384;  // elements that are worth another thread
constexpr int64_t kLongRows = 32768;   // that deserve a BlockingRegion
// Bytes of an operand that are carried at a time, about. What comes from further away than the
// second-level cache is fetched a piece ahead, and in short ones: reading and writing take turns.
constexpr int64_t kNearPiece = 4096;
constexpr int64_t kFarPiece = 512;
constexpr int64_t kNearReads = int64_t{1} << 20;  // bytes
constexpr int64_t kFarReads = int64_t{5} << 20;
constexpr int64_t kLine = 64;
constexpr int64_t kEven = 64;          // elements: pieces are multiples of these
constexpr int64_t kApartBytes = 1536;  // between buffers: see tile.cpp
constexpr size_t kMostCarried = 3;

// A loop over rows some of whose operands lie in steps: these are carried, a piece of them at a
// time.
class Pieces {
 public:
  Pieces(TileKernel kernel, std::span<const TileOperand> inputs,
         std::span<const TileOutput> outputs, int64_t piece, bool is_far)
      : kernel_(kernel), is_far_(is_far), piece_(piece), near_(inputs.size()), to_(outputs.size()) {
    char* buffer = buffers_;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto size = static_cast<int64_t>(inputs[k].size);
      const int64_t step = inputs[k].strides.back() * size;
      in_place_.push_back(is_in_steps(inputs[k]) ? -1 : step);
      if (in_place_[k] >= 0) continue;
      const size_t ndim = inputs[k].strides.size();
      const int64_t row = ndim > 1 ? inputs[k].strides[ndim - 2] * size : 0;
      carried_.push_back({buffer, 0, size, nullptr, row, step, 1, 0});
      near_[k] = buffer;
      buffer += (piece * size + 63) / 64 * 64 + kApartBytes;
    }
    for (const TileOutput& out : outputs) written_.push_back(static_cast<int64_t>(out.size));
  }

  // n elements of a row, from these places on.
  void run(void* const* out, const void* const* in, int64_t n) {
    size_t c = 0;
    for (size_t k = 0; k < near_.size(); ++k) {
      if (in_place_[k] >= 0) {
        near_[k] = in[k];
      } else {
        carried_[c++].in = static_cast<const char*>(in[k]);
      }
    }
    std::copy_n(out, to_.size(), to_.begin());
    for (int64_t left = n; left > 0; left -= piece_) {
      run_piece(std::min(piece_, left), std::clamp<int64_t>(left - piece_, 0, piece_));
    }
  }

 private:
  void run_piece(int64_t n, int64_t next) {
    for (MoveBlock& block : carried_) {
      const char* const end = block.in + n * block.in_step;
      if (is_far_) fetch(end, next, block.in_step);
      block.columns = n;
      move_kernels(block.out_step).rows(block);
      block.in = end;
    }
    kernel_(to_.data(), near_.data(), n);
    for (size_t k = 0; k < to_.size(); ++k) to_[k] = static_cast<char*>(to_[k]) + n * written_[k];
    for (size_t k = 0; k < near_.size(); ++k) {
      if (in_place_[k] > 0) near_[k] = static_cast<const char*>(near_[k]) + n * in_place_[k];
    }
  }

  static void fetch(const char* first, int64_t n, int64_t step) {
    const int64_t by = std::max<int64_t>(1, kLine / std::abs(step));
    for (int64_t i = 0; i < n; i += by) __builtin_prefetch(first + i * step);
  }

  TileKernel kernel_;
  bool is_far_;
  int64_t piece_;                     // elements
  SmallVector<const void*, 4> near_;  // what the loop reads
  SmallVector<void*, 2> to_;
  SmallVector<int64_t, 4> in_place_;  // bytes from element to element; -1: it is carried
  SmallVector<int64_t, 2> written_;   // the same of outputs
  SmallVector<MoveBlock, kMostCarried> carried_;
  alignas(64) char buffers_[kMostCarried * (2 * kNearPiece + kApartBytes)];
};

// The loop, and where its inputs and outputs are.
class Rows {
 public:
  Rows(const TileLoops& program, std::span<const int64_t> shape,
       std::span<const TileOperand> operands, std::span<const TileOutput> outputs)
      : shape_(shape), only_(program.instructions[0]) {
    SmallVector<TileOperand, 4> lying(operands.begin(), operands.end());
    collapse(shape_, {lying.data(), lying.size()});
    for (const int slot : only_.in) {
      const auto at = static_cast<size_t>(slot);
      if (slot < program.operands) {
        inputs_.push_back(lying[at]);
      } else {
        const auto& constant = program.constants[at - operands.size()];
        TileOperand number{reinterpret_cast<const char*>(constant.value), size_of(constant.dtype),
                           Dims(shape_.size())};
        std::fill(number.strides.begin(), number.strides.end(), 0);
        inputs_.push_back(number);
      }
    }
    for (const int slot : only_.out) {
      outputs_.push_back(outputs[static_cast<size_t>(slot - program.first_output())]);
    }
  }

  // Whether the loop can be called on rows, and does more in them than it costs to be called.
  bool find_loop() {
    if (shape_.empty()) return false;
    const auto step = [&](size_t i) { return inputs_[i].strides.back(); };
    size_t widest = 1;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const bool is_carried = is_in_steps(inputs_[i]);
      if (!is_carried && step(i) != 0 && step(i) != 1) return false;
      carried_ += is_carried ? 1 : 0;
      widest = std::max(widest, inputs_[i].size);
    }
    const int64_t least = carried_ == 0 || has_numbers() ? kWorthACall : kWorthACarry;
    if (carried_ > kMostCarried || (shape_.size() > 1 && shape_.back() < least)) return false;
    piece_ = carried_ > 0 ? even_piece(static_cast<int64_t>(widest)) : shape_.back();
    kernel_ = only_.loop_beside([&](size_t i) { return step(i) == 0; });
    return kernel_ != nullptr;
  }

  // Elements [begin, end).
  void run(int64_t begin, int64_t end) const {
    if (carried_ == 0) return run_each(begin, end, kernel_);
    Pieces pieces(kernel_, all(inputs_), all(outputs_), piece_, reads() > kNearReads);
    run_each(begin, end,
             [&](void* const* out, const void* const* in, int64_t n) { pieces.run(out, in, n); });
  }

 private:
  // `loop` on each row of elements [begin, end).
  template <class Loop>
  void run_each(int64_t begin, int64_t end, const Loop& loop) const {
    const size_t last = shape_.size() - 1;
    const int64_t columns = shape_[last];
    int64_t column = begin % columns;
    SmallVector<int64_t, 6> row(last);
    int64_t rest = begin / columns;
    for (size_t d = last; d-- > 0; rest /= shape_[d]) row[d] = rest % shape_[d];
    SmallVector<const void*, 4> in;
    for (const TileOperand& x : inputs_) {
      int64_t offset = column * x.strides[last];
      for (size_t d = 0; d < last; ++d) offset += row[d] * x.strides[d];
      in.push_back(x.data + offset * static_cast<int64_t>(x.size));
    }
    SmallVector<void*, 2> out;
    for (const TileOutput& y : outputs_) {
      out.push_back(y.data + begin * static_cast<int64_t>(y.size));
    }
    while (true) {
      const int64_t n = std::min(columns - column, end - begin);
      loop(out.data(), in.data(), n);
      begin += n;
      if (begin == end) return;
      for (size_t k = 0; k < outputs_.size(); ++k) move(out[k], n, outputs_[k].size);
      next_row(row, in, column);
      column = 0;
    }
  }

  template <class T, size_t N>
  static std::span<const T> all(const SmallVector<T, N>& some) {
    return {some.data(), some.size()};
  }

  bool has_numbers() const {
    return std::any_of(inputs_.begin(), inputs_.end(),
                       [](const TileOperand& x) { return x.strides.back() == 0; });
  }

  // Bytes from the first element to the last of all operands.
  int64_t reads() const {
    int64_t bytes = 0;  // between elements
    for (const TileOperand& x : inputs_) {
      bytes += std::abs(x.strides.back()) * static_cast<int64_t>(x.size);
    }
    return bytes * element_count(shape_);
  }

  // Of a row whose elements are carried in so many bytes each.
  int64_t even_piece(int64_t bytes) const {
    const int64_t most = reads() > kFarReads ? kFarPiece : kNearPiece;
    const int64_t columns = shape_.back();
    const int64_t pieces = (columns * bytes + most / 2) / most;
    return pieces <= 1 ? columns : (columns / pieces + kEven - 1) / kEven * kEven;
  }

  template <class Place>
  static void move(Place& place, int64_t elements, size_t size) {
    using Byte = std::conditional_t<std::is_same_v<Place, void*>, char, const char>;
    place = static_cast<Byte*>(place) + elements * static_cast<int64_t>(size);
  }

  // From element `column` of a row to the begin of the next one.
  void next_row(SmallVector<int64_t, 6>& row, SmallVector<const void*, 4>& in,
                int64_t column) const {
    const size_t last = shape_.size() - 1;
    size_t d = last - 1;  // there is a next row, and so this dimension
    for (; row[d] + 1 == shape_[d]; --d) row[d] = 0;
    ++row[d];
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const Dims& strides = inputs_[k].strides;
      int64_t step = strides[d] - column * strides[last];
      for (size_t inner = d + 1; inner < last; ++inner) {
        step -= (shape_[inner] - 1) * strides[inner];
      }
      move(in[k], step, inputs_[k].size);
    }
  }

  Dims shape_;
  const TileLoop& only_;
  TileKernel kernel_ = nullptr;
  size_t carried_ = 0;  // operands in steps
  int64_t piece_ = 0;   // elements that they are carried at a time
  SmallVector<TileOperand, 4> inputs_;
  SmallVector<TileOutput, 2> outputs_;
};

}  // namespace

bool is_in_steps(const TileOperand& x) {
  if (x.strides.empty()) return false;
  const int64_t step = x.strides.back();
  return step != 0 && step != 1 &&
         std::all_of(x.strides.begin(), x.strides.end(), [step](int64_t stride) {
           return stride == 0 || std::abs(stride) >= std::abs(step);
         });
}

bool run_rows(const TileLoops& program, std::span<const int64_t> shape,
              std::span<const TileOperand> operands, std::span<const TileOutput> outputs) {
  if (program.instructions.size() != 1 || program.temporaries != 0) return false;
  Rows rows(program, shape, operands, outputs);
  if (!rows.find_loop()) return false;
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
