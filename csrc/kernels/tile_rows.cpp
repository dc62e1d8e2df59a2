// One loop over rows: it is called on memory as it lies, and all that is done between rows is to
// count their places on. A number that is a row's alone is read once by a loop made for that.
#include "kernels/tile_rows.h"

#include <algorithm>

#include "base/blocking.h"
#include "base/pool.h"

namespace tensorlike {
namespace {

constexpr int64_t kWorthACall = 128;   // elements of a row
constexpr int64_t kRowsGrain = 16384;  // elements that are worth another thread
constexpr int64_t kLongRows = 32768;   // that deserve a BlockingRegion

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
    if (shape_.empty() || (shape_.size() > 1 && shape_.back() < kWorthACall)) return false;
    const auto step = [&](size_t i) { return inputs_[i].strides.back(); };
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (step(i) != 0 && step(i) != 1) return false;
    }
    kernel_ = only_.loop_beside([&](size_t i) { return step(i) == 0; });
    return kernel_ != nullptr;
  }

  // Elements [begin, end).
  void run(int64_t begin, int64_t end) const {
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
      kernel_(out.data(), in.data(), n);
      begin += n;
      if (begin == end) return;
      for (size_t k = 0; k < outputs_.size(); ++k) move(out[k], n, outputs_[k].size);
      next_row(row, in, column);
      column = 0;
    }
  }

 private:
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
  SmallVector<TileOperand, 4> inputs_;
  SmallVector<TileOutput, 2> outputs_;
};

}  // namespace

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
