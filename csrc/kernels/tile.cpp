#include "kernels/tile.h"

#include <cstring>

#include "base/blocking.h"
#include "base/pool.h"

namespace tensorlike {
namespace {

constexpr int64_t kTile = 1024;
constexpr int64_t kGrain = 16384;  // elements: below this, another thread costs more than it gives
constexpr size_t kTileBytes = kTile * 8;
constexpr int64_t kLongWork = 32768;  // elements times instructions that deserve a BlockingRegion

enum class Access : unsigned char { kDirect, kFilled, kGathered };

// Tile buffers of this thread: aligned, grown as needed, reused by every program.
char* scratch(size_t bytes) {
  struct Buffer {
    char* data = nullptr;
    size_t bytes = 0;
    ~Buffer() { std::free(data); }
  };
  static thread_local Buffer buffer;
  if (buffer.bytes < bytes) {
    std::free(buffer.data);
    buffer.data = static_cast<char*>(std::aligned_alloc(64, (bytes + 4095) / 4096 * 4096));
    if (buffer.data == nullptr) {
      buffer.bytes = 0;
      fail(ErrorKind::kMemory, "memory: ", bytes, " bytes for tiles could not be had.");
    }
    buffer.bytes = bytes;
  }
  return buffer.data;
}

void fill(char* out, const void* value, size_t size, int64_t n) {
  if (size == 4) {
    uint32_t v;
    std::memcpy(&v, value, 4);
    std::fill_n(reinterpret_cast<uint32_t*>(out), n, v);
  } else if (size == 8) {
    uint64_t v;
    std::memcpy(&v, value, 8);
    std::fill_n(reinterpret_cast<uint64_t*>(out), n, v);
  } else {
    std::memset(out, *static_cast<const unsigned char*>(value), static_cast<size_t>(n));
  }
}

template <class Word>
void copy_strided(char* out, const char* in, int64_t stride, int64_t n) {
  Word* to = reinterpret_cast<Word*>(out);
  const Word* from = reinterpret_cast<const Word*>(in);
  for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
}

void copy_run(char* out, const char* in, size_t size, int64_t stride, int64_t n) {
  if (stride == 1) {
    std::memcpy(out, in, static_cast<size_t>(n) * size);
  } else if (stride == 0) {
    fill(out, in, size, n);
  } else if (size == 4) {
    copy_strided<uint32_t>(out, in, stride, n);
  } else if (size == 8) {
    copy_strided<uint64_t>(out, in, stride, n);
  } else {
    copy_strided<uint8_t>(out, in, stride, n);
  }
}

bool is_direct(const TileOperand& operand, std::span<const int64_t> shape) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && operand.strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

bool is_filled(const TileOperand& operand, std::span<const int64_t> shape) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && operand.strides[i] != 0) return false;
  }
  return true;
}

struct Run {
  const TileProgram& program;
  std::span<const int64_t> shape;
  std::span<const TileOperand> operands;
  std::span<const TileOutput> outputs;
  SmallVector<Access, 4> access;
  bool needs_tiles = false;  // some slot lives in a tile buffer

  void over(int64_t begin, int64_t end) const;
};

void Run::over(int64_t begin, int64_t end) const {
  const int slots = program.slots();
  SmallVector<char*, 12> slot(static_cast<size_t>(slots));
  const int64_t step = needs_tiles ? kTile : 8 * kTile;
  if (needs_tiles) {
    // One buffer per operand, constant and temporary; direct operands leave theirs unused.
    char* buffers = scratch(static_cast<size_t>(program.first_output()) * kTileBytes);
    for (int s = 0; s < program.first_output(); ++s) {
      slot[static_cast<size_t>(s)] = buffers + static_cast<size_t>(s) * kTileBytes;
    }
    const int64_t first = std::min(kTile, end - begin);
    for (int s = 0; s < program.operands; ++s) {
      const size_t i = static_cast<size_t>(s);
      if (access[i] == Access::kFilled) fill(slot[i], operands[i].data, operands[i].size, first);
    }
    for (size_t c = 0; c < program.constants.size(); ++c) {
      const auto& constant = program.constants[c];
      fill(slot[static_cast<size_t>(program.first_constant()) + c], constant.value,
           size_of(constant.dtype), first);
    }
  }
  const size_t first_output = static_cast<size_t>(program.first_output());
  for (int64_t at = begin; at < end; at += step) {
    const int64_t n = std::min(step, end - at);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (access[i] == Access::kDirect) {
        slot[i] = const_cast<char*>(operands[i].data) + static_cast<size_t>(at) * operands[i].size;
      } else if (access[i] == Access::kGathered) {
        gather_tile(operands[i], shape, at, n, slot[i]);
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      slot[first_output + i] = outputs[i].data + static_cast<size_t>(at) * outputs[i].size;
    }
    for (const TileInstruction& instruction : program.instructions) {
      const void* in[16];
      void* out[4];
      for (size_t i = 0; i < instruction.in.size(); ++i) {
        in[i] = slot[static_cast<size_t>(instruction.in[i])];
      }
      for (size_t i = 0; i < instruction.out.size(); ++i) {
        out[i] = slot[static_cast<size_t>(instruction.out[i])];
      }
      instruction.kernel(out, in, n);
    }
  }
}

}  // namespace

void gather_tile(const TileOperand& operand, std::span<const int64_t> shape, int64_t begin,
                 int64_t n, char* out) {
  const size_t ndim = shape.size();
  if (ndim == 0) {
    std::memcpy(out, operand.data, operand.size);
    return;
  }
  SmallVector<int64_t, 8> index(ndim);
  int64_t rest = begin;
  const char* at = operand.data;
  const int64_t size = static_cast<int64_t>(operand.size);
  for (size_t i = ndim; i-- > 0;) {
    index[i] = rest % shape[i];
    rest /= shape[i];
    at += index[i] * operand.strides[i] * size;
  }
  const int64_t inner = shape[ndim - 1];
  const int64_t stride = operand.strides[ndim - 1];
  int64_t position = index[ndim - 1];
  while (n > 0) {
    const int64_t run = std::min(n, inner - position);
    copy_run(out, at, operand.size, stride, run);
    out += run * size;
    n -= run;
    if (n == 0) return;
    at -= position * stride * size;
    position = 0;
    for (size_t i = ndim - 1; i-- > 0;) {
      at += operand.strides[i] * size;
      if (++index[i] < shape[i]) break;
      at -= shape[i] * operand.strides[i] * size;
      index[i] = 0;
    }
  }
}

void collapse(Dims& shape, std::span<TileOperand> operands) {
  size_t last = 0;  // the dimension that is being grown
  bool started = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    bool merges = started;
    for (const TileOperand& o : operands) {
      merges = merges && o.strides[last] == o.strides[i] * shape[i];
    }
    if (merges) {
      shape[last] *= shape[i];
    } else {
      if (started) ++last;
      shape[last] = shape[i];
    }
    for (TileOperand& o : operands) o.strides[last] = o.strides[i];
    started = true;
  }
  const size_t ndim = started ? last + 1 : 0;
  shape.resize(ndim);
  for (TileOperand& o : operands) o.strides.resize(ndim);
}

void run_tiles(const TileProgram& program, std::span<const int64_t> shape,
               std::span<const TileOperand> operands, std::span<const TileOutput> outputs) {
  const int64_t n = element_count(shape);
  if (n == 0) return;
  Run run{program, shape, operands, outputs, {}, false};
  run.access.resize(operands.size());
  run.needs_tiles = program.temporaries > 0 || !program.constants.empty();
  bool gathers = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    run.access[i] = is_direct(operands[i], shape)   ? Access::kDirect
                    : is_filled(operands[i], shape) ? Access::kFilled
                                                    : Access::kGathered;
    gathers = gathers || run.access[i] == Access::kGathered;
    run.needs_tiles = run.needs_tiles || run.access[i] != Access::kDirect;
  }
  Dims collapsed;
  SmallVector<TileOperand, 4> walked;
  if (gathers) {
    collapsed = Dims(shape);
    walked = SmallVector<TileOperand, 4>(operands.begin(), operands.end());
    collapse(collapsed, {walked.data(), walked.size()});
    run.shape = collapsed;
    run.operands = walked;
  }
  const int64_t work = n * static_cast<int64_t>(program.instructions.size());
  if (work <= kGrain) {
    run.over(0, n);
    return;
  }
  BlockingRegion blocking(work > kLongWork);
  const int64_t grain = std::max(kTile, kGrain / static_cast<int64_t>(program.instructions.size()));
  parallel_for(n, grain, [&run](int64_t begin, int64_t end) { run.over(begin, end); });
}

}  // namespace tensorlike
