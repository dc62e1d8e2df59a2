#include "kernels/tile.h"

#include <cstring>

#include "base/blocking.h"
#include "base/pool.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrain = 16384;  // elements: below this, another thread costs more than it gives
constexpr int64_t kLongWork = 32768;  // elements times instructions that deserve a BlockingRegion

// Apart by a cache line more than a power of two, so that slots do not share cache sets.
size_t tile_bytes(const TileProgram& program) {
  return static_cast<size_t>(kTile) * program.widest + 64;
}

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

struct Word16 {
  uint64_t low, high;
};

// Calls f with a type of this many bytes: moving does not look at elements.
template <class F>
void visit_word(size_t size, F&& f) {
  switch (size) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Word16{});
  }
}

void fill(char* out, const void* value, size_t size, int64_t n) {
  visit_word(size, [&](auto word) {
    std::memcpy(&word, value, sizeof(word));
    std::fill_n(reinterpret_cast<decltype(word)*>(out), n, word);
  });
}

void copy_run(char* out, const char* in, size_t size, int64_t stride, int64_t n) {
  if (stride == 1) {
    std::memcpy(out, in, static_cast<size_t>(n) * size);
  } else if (stride == 0) {
    fill(out, in, size, n);
  } else {
    visit_word(size, [&](auto word) {
      auto* to = reinterpret_cast<decltype(word)*>(out);
      const auto* from = reinterpret_cast<const decltype(word)*>(in);
      for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
    });
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

}  // namespace

BoundProgram::BoundProgram(const TileProgram& program, std::span<const int64_t> shape,
                           std::span<const TileOperand> operands)
    : program_(program), operands_(operands.begin(), operands.end()) {
  needs_tiles_ = program.temporaries > 0 || !program.constants.empty();
  access_.resize(operands.size());
  bool gathers = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    access_[i] = is_direct(operands[i], shape)   ? Access::kDirect
                 : is_filled(operands[i], shape) ? Access::kFilled
                                                 : Access::kGathered;
    gathers = gathers || access_[i] == Access::kGathered;
    needs_tiles_ = needs_tiles_ || access_[i] != Access::kDirect;
  }
  if (!gathers) return;
  shape_ = Dims(shape);
  collapse(shape_, {operands_.data(), operands_.size()});
}

TileRunner::TileRunner(const BoundProgram& bound, int64_t longest) : bound_(bound) {
  longest = std::min(longest, kTile);
  const TileProgram& program = bound.program_;
  slot_.resize(static_cast<size_t>(program.slots()));
  if (!bound.needs_tiles_) return;
  // One buffer per operand, constant and temporary; direct operands leave theirs unused.
  const size_t bytes = tile_bytes(program);
  char* buffers = scratch(static_cast<size_t>(program.first_output()) * bytes);
  for (int s = 0; s < program.first_output(); ++s) {
    slot_[static_cast<size_t>(s)] = buffers + static_cast<size_t>(s) * bytes;
  }
  for (size_t i = 0; i < bound.operands_.size(); ++i) {
    const TileOperand& operand = bound.operands_[i];
    if (bound.access_[i] == BoundProgram::Access::kFilled) {
      fill(slot_[i], operand.data, operand.size, longest);
    }
  }
  for (size_t c = 0; c < program.constants.size(); ++c) {
    const auto& constant = program.constants[c];
    fill(slot_[static_cast<size_t>(program.first_constant()) + c], constant.value,
         size_of(constant.dtype), longest);
  }
}

void TileRunner::run(int64_t begin, int64_t n, char* const* out) {
  using Access = BoundProgram::Access;
  const TileProgram& program = bound_.program_;
  const size_t first_output = static_cast<size_t>(program.first_output());
  for (size_t i = 0; i < bound_.operands_.size(); ++i) {
    const TileOperand& operand = bound_.operands_[i];
    if (bound_.access_[i] == Access::kDirect) {
      slot_[i] = const_cast<char*>(operand.data) + static_cast<size_t>(begin) * operand.size;
    } else if (bound_.access_[i] == Access::kGathered) {
      gather_tile(operand, bound_.shape_, begin, n, slot_[i]);
    }
  }
  for (size_t i = 0; i < static_cast<size_t>(program.outputs); ++i)
    slot_[first_output + i] = out[i];
  for (const TileInstruction& instruction : program.instructions) {
    const void* in[16];
    void* to[4];
    for (size_t i = 0; i < instruction.in.size(); ++i) {
      in[i] = slot_[static_cast<size_t>(instruction.in[i])];
    }
    for (size_t i = 0; i < instruction.out.size(); ++i) {
      to[i] = slot_[static_cast<size_t>(instruction.out[i])];
    }
    instruction.kernel(to, in, n);
  }
}

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
  const BoundProgram bound(program, shape, operands);
  // Without tile buffers the loops may be longer.
  const int64_t step = bound.needs_tiles() ? kTile : 8 * kTile;
  auto over = [&](int64_t begin, int64_t end) {
    TileRunner runner(bound, end - begin);
    SmallVector<char*, 4> out(outputs.size());
    for (int64_t at = begin; at < end; at += step) {
      for (size_t i = 0; i < outputs.size(); ++i) {
        out[i] = outputs[i].data + static_cast<size_t>(at) * outputs[i].size;
      }
      runner.run(at, std::min(step, end - at), out.data());
    }
  };
  const int64_t work = n * static_cast<int64_t>(program.instructions.size());
  if (work <= kGrain) {
    over(0, n);
    return;
  }
  BlockingRegion blocking(work > kLongWork);
  const int64_t grain = std::max(kTile, kGrain / static_cast<int64_t>(program.instructions.size()));
  parallel_for(n, grain, over);
}

}  // namespace tensorlike
