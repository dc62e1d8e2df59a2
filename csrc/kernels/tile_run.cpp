// A tile program over whole outputs: by all threads, and past the caches where they are large.
#include <algorithm>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/kernel_table.h"
#include "kernels/scratch.h"
#include "kernels/tile.h"
#include "kernels/tile_blocks.h"
#include "kernels/tile_rows.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrain = 16384;  // elements: below this, another thread costs more than it gives
// Bytes of operands and outputs from which on these are written past the caches: little of them
// would be found there by who reads them next, and their lines need not be read first.
constexpr size_t kPastCaches = size_t{128} << 20;
constexpr int64_t kStreamedTile = 512;
constexpr size_t kNear = size_t{32} << 10;  // bytes of a tile in all slots: the nearest cache's
constexpr size_t kFar = size_t{16} << 20;   // bytes of all slots that come from memory
constexpr int64_t kShortest = 256;          // elements of a tile: loops have to be worth it
constexpr int64_t kLongWork = 32768;  // elements times instructions that deserve a BlockingRegion

ScratchPlace t_streamed;

// Whether the output lies in memory that is read: its lines are in the cache anyway.
bool is_read(const TileOutput& output, std::span<const TileOperand> operands) {
  return std::any_of(operands.begin(), operands.end(),
                     [&](const TileOperand& operand) { return operand.data == output.data; });
}

bool pass_caches(int64_t n, std::span<const TileOperand> operands,
                 std::span<const TileOutput> outputs) {
  size_t bytes = 0;
  for (const TileOperand& operand : operands) bytes += operand.size;
  for (const TileOutput& output : outputs) bytes += output.size;
  return static_cast<size_t>(n) * bytes >= kPastCaches &&
         !std::all_of(outputs.begin(), outputs.end(),
                      [&](const TileOutput& output) { return is_read(output, operands); });
}

// Elements of a tile. Where many slots are read and written, as an update of Adam has fifteen,
// tiles are shorter: what is repeated in tiles would else be read from further away each time. Not
// where all of it comes from memory, which is quicker in long pieces.
int64_t tile_length(int64_t n, const TileLoops& program, std::span<const TileOperand> operands,
                    std::span<const TileOutput> outputs) {
  size_t bytes = 0, widest = 1;
  for (const TileOperand& operand : operands) {
    bytes += operand.size;
    widest = std::max(widest, operand.size);
  }
  for (const TileOutput& output : outputs) bytes += output.size;
  bytes += widest * (static_cast<size_t>(program.temporaries) + program.constants.size());
  int64_t length = kTile;
  if (static_cast<size_t>(n) * bytes > kFar) return length;
  while (length > kShortest && static_cast<size_t>(length) * bytes > kNear) length /= 2;
  return length;
}

// Outputs that are made tile by tile in a buffer, and written past the caches from there, while
// what the next tile reads is fetched. An output in memory that is read is made in place: its lines
// are in the cache already.
class Streams {
 public:
  Streams(const BoundProgram& bound, std::span<const TileOperand> operands,
          std::span<const TileOutput> outputs)
      : bound_(bound), operands_(operands), outputs_(outputs), loan_(t_streamed) {
    char* buffer = loan_.reserve<char>(static_cast<int64_t>(outputs.size()) * kBufferBytes);
    for (const TileOutput& output : outputs) {
      buffers_.push_back(is_read(output, operands) ? nullptr : buffer);
      buffer += kBufferBytes;
    }
  }
  ~Streams() { kernel_table().stream_end(); }

  void make(TileRunner& runner, int64_t begin, int64_t n) {
    SmallVector<char*, 4> places;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      places.push_back(buffers_[i] == nullptr ? at(outputs_[i], begin) : buffers_[i]);
    }
    runner.run(begin, n, places.data());
    SmallVector<const char*, 4> next;
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (bound_.lies_in_order(i)) next.push_back(at(operands_[i], begin + n));
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (buffers_[i] == nullptr) continue;
      kernel_table().stream(at(outputs_[i], begin), buffers_[i],
                            n * static_cast<int64_t>(outputs_[i].size), next.data(),
                            static_cast<int64_t>(next.size()));
      next.clear();  // once is enough
    }
  }

 private:
  static constexpr int64_t kBufferBytes = kStreamedTile * 16 + 64;  // of the widest dtype
  static const char* at(const TileOperand& operand, int64_t element) {
    return operand.data + element * static_cast<int64_t>(operand.size);
  }
  static char* at(const TileOutput& output, int64_t element) {
    return output.data + element * static_cast<int64_t>(output.size);
  }

  const BoundProgram& bound_;
  std::span<const TileOperand> operands_;
  std::span<const TileOutput> outputs_;
  SmallVector<char*, 4> buffers_;
  ScratchLoan loan_;
};

}  // namespace

void run_tiles(const TileLoops& program, std::span<const int64_t> shape,
               std::span<const TileOperand> operands, std::span<const TileOutput> outputs) {
  const int64_t n = element_count(shape);
  if (n == 0) return;
  const int64_t work = n * static_cast<int64_t>(program.instructions.size());
  const bool passes_caches = pass_caches(n, operands, outputs);
  if (!passes_caches && run_rows(program, shape, operands, outputs)) return;
  if (run_blocks(program, shape, operands, outputs)) return;
  const BoundProgram bound(program, shape, operands);
  // Without tile buffers the loops may be longer.
  const int64_t step = bound.needs_tiles() ? tile_length(n, program, operands, outputs) : 8 * kTile;
  auto over = [&](int64_t begin, int64_t end) {
    TileRunner runner(bound, end - begin);
    SmallVector<char*, 4> out(outputs.size());
    for (int64_t at = begin; at < end;) {
      const int64_t n = std::min(runner.run_length(at, step), end - at);
      for (size_t i = 0; i < outputs.size(); ++i) {
        out[i] = outputs[i].data + static_cast<size_t>(at) * outputs[i].size;
      }
      runner.run(at, n, out.data());
      at += n;
    }
  };
  auto stream_over = [&](int64_t begin, int64_t end) {
    TileRunner runner(bound, end - begin);
    Streams streams(bound, operands, outputs);
    for (int64_t at = begin; at < end;) {  // whole tiles begin at whole cache lines
      const int64_t count = std::min(kStreamedTile - at % kStreamedTile, end - at);
      streams.make(runner, at, count);
      at += count;
    }
  };
  if (work <= kGrain) {
    over(0, n);
    return;
  }
  BlockingRegion blocking(work > kLongWork);
  const int64_t grain = std::max(kTile, kGrain / static_cast<int64_t>(program.instructions.size()));
  if (passes_caches) {
    parallel_for(n, grain, stream_over);
  } else {
    parallel_for(n, grain, over);
  }
}

}  // namespace tensorlike
