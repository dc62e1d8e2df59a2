// Blocks of two dimensions: what lies along the runs of the loops is read and written in place,
// what lies across them is turned in a buffer that stays in cache, as copies of transposed arrays
// do it. Runs follow the outputs, unless more operands lie the other way: then the outputs are
// turned.
#include "kernels/tile_blocks.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/kernel_table.h"
#include "kernels/scratch.h"

namespace tensorlike {
namespace {

constexpr int64_t kLeastAlong = 256;       // elements that are worth a run; memory likes long ones
constexpr int64_t kBlockBytes = 262144;    // of what is turned, so that it stays in cache
constexpr int64_t kRound = 16;             // elements: parts of dimensions are multiples of these
constexpr int64_t kBlockGrain = 16384;     // elements times instructions that are worth a thread
constexpr int64_t kLongBlockWork = 32768;  // that deserve a BlockingRegion
constexpr int64_t kApart = 1536;           // bytes between buffers: see tile.cpp

ScratchPlace t_blocks;

// A dimension in about equal parts.
struct Parts {
  int64_t size = 1, step = 1, count = 1;
  Parts() = default;
  Parts(int64_t all, int64_t most) : size(all) {
    const int64_t least = (all + most - 1) / most;
    step = std::min(all, ((all + least - 1) / least + kRound - 1) / kRound * kRound);
    count = (all + step - 1) / step;
  }
  int64_t length(int64_t i) const { return std::min(step, size - i * step); }
};

// An operand or an output as blocks see it; strides in bytes.
struct Side {
  enum class Way : unsigned char { kInPlace, kRepeated, kTurned };
  char* data = nullptr;
  int64_t size = 0;
  Dims outer;
  int64_t along = 0, across = 0;
  Way way = Way::kInPlace;
  int64_t buffer = 0;  // bytes into those of the thread

  Side() = default;
  Side(const char* at, size_t bytes, const Dims& strides, size_t along_dim, size_t across_dim)
      : data(const_cast<char*>(at)), size(static_cast<int64_t>(bytes)), outer(strides) {
    for (int64_t& stride : outer) stride *= size;
    along = outer[along_dim];
    across = outer[across_dim];
    way = along == size ? Way::kInPlace : along == 0 ? Way::kRepeated : Way::kTurned;
  }
};

// The dimension along which the operand's elements are neighbours, where that is not the last.
size_t nearest(const TileOperand& operand, const Dims& shape) {
  const size_t last = shape.size() - 1;
  if (operand.strides[last] == 0) return last;
  for (size_t i = 0; i < last; ++i) {
    if (operand.strides[i] == 1 && std::abs(operand.strides[last]) > 1) return i;
  }
  return last;
}

class Blocks {
 public:
  Blocks(const TileLoops& program, const Dims& shape, std::span<const TileOperand> operands,
         std::span<const TileOutput> outputs, size_t along, size_t across)
      : program_(program), shape_(shape), along_dim_(along), across_dim_(across) {
    for (const TileOperand& o : operands) {
      sides_.push_back(Side(o.data, o.size, o.strides, along, across));
    }
    Dims order(shape.size());
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) order[i] = stride;
    for (const TileOutput& o : outputs)
      sides_.push_back(Side(o.data, o.size, order, along, across));
    along_ = Parts(shape[along], kTile);
    int64_t turned_bytes = 0;
    for (const Side& side : sides_) turned_bytes += side.way == Side::Way::kTurned ? side.size : 0;
    const int64_t rows = kBlockBytes / (along_.step * std::max<int64_t>(turned_bytes, 1));
    across_ = Parts(shape[across], std::max(rows, kRound));
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i != along && i != across) outer_count_ *= shape[i];
    }
    plan_buffers();
  }

  // How many operands and outputs lie across the runs.
  int64_t turned() const {
    return std::count_if(sides_.begin(), sides_.end(),
                         [](const Side& side) { return side.way == Side::Way::kTurned; });
  }
  int64_t count() const { return outer_count_ * across_.count * along_.count; }
  int64_t elements() const { return across_.step * along_.step; }

  void run(int64_t begin, int64_t end) const {
    ScratchLoan loan(t_blocks);
    Runner runner{*this, loan.reserve<char>(bytes_)};
    runner.start();
    for (int64_t at = begin; at < end; ++at) runner.block(at);
  }

 private:
  struct Runner {
    const Blocks& blocks;
    char* buffers;
    SmallVector<char*, 12> slots = {};
    SmallVector<const char*, 6> repeated = {};  // what the buffers of repeated operands hold
    SmallVector<char*, 6> corners = {};

    char* buffer(int64_t offset) const { return buffers + offset; }
    void start();
    void block(int64_t at);
    void runs(int64_t across, int64_t along);
    void find_run(size_t i, int64_t row, int64_t along);
  };

  int64_t take(int64_t bytes) {
    const int64_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64 + kApart;
    return offset;
  }
  void plan_buffers() {
    for (Side& side : sides_) {
      if (side.way == Side::Way::kTurned) side.buffer = take(elements() * side.size);
      if (side.way == Side::Way::kRepeated) side.buffer = take(kTile * side.size);
    }
    const int slots = static_cast<int>(program_.constants.size()) + program_.temporaries;
    for (int i = 0; i < slots; ++i) {
      tiles_.push_back(take(kTile * static_cast<int64_t>(program_.widest)));
    }
  }
  size_t slot_of(size_t side) const {
    const auto operands = static_cast<size_t>(program_.operands);
    return side < operands ? side : static_cast<size_t>(program_.first_output()) + side - operands;
  }

  const TileLoops& program_;
  const Dims& shape_;
  size_t along_dim_, across_dim_;
  SmallVector<Side, 6> sides_;     // the operands, then the outputs
  SmallVector<int64_t, 8> tiles_;  // of the constants, then the temporaries
  Parts across_, along_;
  int64_t outer_count_ = 1;
  int64_t bytes_ = 0;
};

void Blocks::Runner::start() {
  const TileLoops& program = blocks.program_;
  slots.resize(static_cast<size_t>(program.slots()));
  repeated.resize(blocks.sides_.size());
  corners.resize(blocks.sides_.size());
  for (size_t i = 0; i < blocks.tiles_.size(); ++i) {
    char* tile = buffer(blocks.tiles_[i]);
    slots[static_cast<size_t>(program.first_constant()) + i] = tile;
    if (i >= program.constants.size()) continue;
    const auto& constant = program.constants[i];
    fill_tile(tile, constant.value, size_of(constant.dtype), kTile);
  }
}

// Blocks along the runs come first, then those across, then what is outside.
void Blocks::Runner::block(int64_t at) {
  const int64_t a = at % blocks.along_.count;
  at /= blocks.along_.count;
  const int64_t c = at % blocks.across_.count;
  int64_t rest = at / blocks.across_.count;
  const size_t count = blocks.sides_.size();
  for (size_t i = 0; i < count; ++i) {
    const Side& side = blocks.sides_[i];
    corners[i] =
        side.data + a * blocks.along_.step * side.along + c * blocks.across_.step * side.across;
  }
  for (size_t d = blocks.shape_.size(); d-- > 0;) {
    if (d == blocks.along_dim_ || d == blocks.across_dim_) continue;
    const int64_t index = rest % blocks.shape_[d];
    rest /= blocks.shape_[d];
    for (size_t i = 0; i < count; ++i) corners[i] += index * blocks.sides_[i].outer[d];
  }
  runs(blocks.across_.length(c), blocks.along_.length(a));
}

void Blocks::Runner::runs(int64_t across, int64_t along) {
  const auto operands = static_cast<size_t>(blocks.program_.operands);
  for (size_t i = 0; i < operands; ++i) {
    const Side& side = blocks.sides_[i];
    if (side.way != Side::Way::kTurned) continue;
    const MoveBlock move{buffer(side.buffer), along * side.size, side.size, corners[i],
                         side.across,         side.along,        across,    along};
    const bool is_close = side.across == side.size;
    is_close ? move_kernels(side.size).transpose(move) : move_kernels(side.size).rows(move);
  }
  for (int64_t row = 0; row < across; ++row) {
    for (size_t i = 0; i < blocks.sides_.size(); ++i) find_run(i, row, along);
    run_loops(blocks.program_, {slots.data(), slots.size()}, along);
  }
  for (size_t i = operands; i < blocks.sides_.size(); ++i) {
    const Side& side = blocks.sides_[i];
    if (side.way != Side::Way::kTurned) continue;
    move_kernels(side.size).transpose({corners[i], side.along, side.across, buffer(side.buffer),
                                       side.size, along * side.size, along, across});
  }
}

// Where a run finds an operand or an output.
void Blocks::Runner::find_run(size_t i, int64_t row, int64_t along) {
  const Side& side = blocks.sides_[i];
  char*& slot = slots[blocks.slot_of(i)];
  if (side.way == Side::Way::kTurned) {
    slot = buffer(side.buffer) + row * along * side.size;
    return;
  }
  char* const place = corners[i] + row * side.across;
  if (side.way == Side::Way::kInPlace) {
    slot = place;
    return;
  }
  slot = buffer(side.buffer);
  if (repeated[i] == place) return;
  fill_tile(slot, place, static_cast<size_t>(side.size), blocks.along_.step);
  repeated[i] = place;
}

}  // namespace

bool run_blocks(const TileLoops& program, std::span<const int64_t> shape,
                std::span<const TileOperand> operands, std::span<const TileOutput> outputs) {
  const int64_t n = element_count(shape);
  if (n < kTile || shape.size() < 2) return false;
  SmallVector<TileOperand, 4> collapsed(operands.begin(), operands.end());
  Dims dims(shape);
  collapse(dims, {collapsed.data(), collapsed.size()});
  if (dims.size() < 2) return false;
  const size_t last = dims.size() - 1;
  size_t other = last;
  for (const TileOperand& operand : collapsed) {
    if (const size_t found = nearest(operand, dims); found != last) other = found;
  }
  if (other == last) return false;
  const std::span<const TileOperand> from{collapsed.data(), collapsed.size()};
  const Blocks straight(program, dims, from, outputs, last, other);
  const Blocks turned(program, dims, from, outputs, other, last);
  const bool turns = dims[other] >= kLeastAlong && turned.turned() < straight.turned();
  if (!turns && dims[last] < kLeastAlong) return false;
  const Blocks& blocks = turns ? turned : straight;
  const int64_t instructions = static_cast<int64_t>(program.instructions.size());
  BlockingRegion blocking(n * instructions > kLongBlockWork);
  parallel_for(blocks.count(),
               std::max<int64_t>(1, kBlockGrain / (blocks.elements() * instructions)),
               [&](int64_t begin, int64_t end) { blocks.run(begin, end); });
  return true;
}

}  // namespace tensorlike
