#include "cpu/tiles.h"

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/byte_tables.h"
#include "cpu/loops.h"
#include "memory/layout.h"

namespace tensorlike {
namespace {

struct CompiledProgram final : Prepared::Form {
  TileLoops loops;
};

TileKernel loop_of(const TileMeaning& meaning) {
  if (meaning.scalar != nullptr) return meaning.scalar->loops->loops[meaning.dtype];
  const auto from = static_cast<size_t>(meaning.from);
  return kernel_table().casts[from][static_cast<size_t>(meaning.dtype)];
}

NumberLoops beside_numbers(const TileMeaning& meaning) {
  return meaning.scalar != nullptr ? meaning.scalar->loops->numbers[meaning.dtype] : NumberLoops();
}

std::unique_ptr<CompiledProgram> compile(const TileProgram& program) {
  auto made = std::make_unique<CompiledProgram>();
  TileLoops& loops = made->loops;
  loops.operands = program.operands;
  for (const TileProgram::Constant& constant : program.constants) {
    TileLoops::Constant& copied = loops.constants.emplace_back();
    copied.dtype = constant.dtype;
    std::copy(std::begin(constant.value), std::end(constant.value), copied.value);
  }
  loops.temporaries = program.temporaries;
  loops.outputs = program.outputs;
  loops.widest = program.widest;
  for (const TileInstruction& instruction : program.instructions) {
    const NumberLoops numbers = beside_numbers(instruction.meaning);
    loops.instructions.push_back({loop_of(instruction.meaning),
                                  instruction.in,
                                  instruction.out,
                                  {numbers.beside[0], numbers.beside[1]}});
  }
  return made;
}

constexpr size_t kWrittenOut = 1024;  // bytes of few elements that lie otherwise

bool lies_in_order_as(const Array& x, const Dims& shape) {
  return x.is_contiguous && x.shape == shape;
}

// A loop of its own over few elements, those of operands that lie otherwise written out in order
// first. False: they are too many.
bool run_few(const TileLoops& loops, const Dims& shape, Arrays operands, Arrays outputs) {
  constexpr size_t kMostOperands = 4;
  const int64_t count = outputs[0]->count;
  const TileLoop& only = loops.instructions[0];
  if (count == 0) return true;
  if (only.in.size() > kMostOperands) return false;
  alignas(64) char copies[kMostOperands][kWrittenOut];
  SmallVector<const void*, 4> from;
  SmallVector<void*, 2> to;
  for (const int slot : only.in) {
    const Array& x = *operands[static_cast<size_t>(slot)];
    if (static_cast<size_t>(count) * size_of(x.dtype) > kWrittenOut) return false;
    if (lies_in_order_as(x, shape)) {
      from.push_back(x.data);
      continue;
    }
    char* const copy = copies[from.size()];
    gather_tile(tile_operand(x, shape), shape, 0, count, copy);
    from.push_back(copy);
  }
  for (const int slot : only.out) {
    to.push_back(outputs[static_cast<size_t>(slot - loops.first_output())]->data);
  }
  only.kernel(to.data(), from.data(), count);
  return true;
}

// All in order, by one loop: called on memory as it lies. False: it is not that, or so much that it
// is better written past the caches.
bool run_in_order(const TileLoops& loops, const Dims& shape, Arrays operands, Arrays outputs) {
  constexpr int64_t kMost = int64_t{1} << 20;
  constexpr int64_t kGrain = 16384;  // worth another thread
  constexpr int64_t kLong = 65536;   // deserves a BlockingRegion
  const int64_t count = outputs[0]->count;
  const bool is_one = loops.instructions.size() == 1 && loops.constants.empty();
  if (!is_one || loops.temporaries != 0 || count > kMost) return false;
  for (const Array* x : operands) {
    if (!lies_in_order_as(*x, shape)) return run_few(loops, shape, operands, outputs);
  }
  const TileLoop& only = loops.instructions[0];
  const auto over = [&](int64_t begin, int64_t end) {
    SmallVector<const void*, 4> from;
    SmallVector<void*, 2> to;
    const auto at = [begin](const Array& x) {
      return x.data + begin * static_cast<int64_t>(size_of(x.dtype));
    };
    for (const int slot : only.in) from.push_back(at(*operands[static_cast<size_t>(slot)]));
    for (const int slot : only.out) {
      to.push_back(at(*outputs[static_cast<size_t>(slot - loops.first_output())]));
    }
    only.kernel(to.data(), from.data(), end - begin);
  };
  if (count == 0) return true;
  if (count <= kGrain) {
    over(0, count);
    return true;
  }
  BlockingRegion blocking(count > kLong);
  parallel_for(count, kGrain, over);
  return true;
}

}  // namespace

const TileLoops& loops_of(const TileProgram& program) {
  return program.prepared.form<CompiledProgram>(0, [&] { return compile(program); }).loops;
}

TileOperand tile_operand(const Array& x, const Dims& shape) {
  TileOperand operand{x.data, size_of(x.dtype), x.strides};
  if (!(x.shape == shape)) operand.strides = broadcast_to(x, shape).strides;
  return operand;
}

void run_program(const TileProgram& program, const Dims& shape, Arrays operands, Arrays outputs) {
  if (!outputs[0]->is_contiguous) {
    const SeenInOrder seen(shape, operands, outputs);
    run_program(program, seen.shape(), seen.operands(), seen.outputs());
    return;
  }
  if (run_by_table(program, shape, operands, outputs)) return;
  const TileLoops& loops = loops_of(program);
  if (run_in_order(loops, shape, operands, outputs)) return;
  SmallVector<TileOperand, 4> from;
  for (const Array* x : operands) from.push_back(tile_operand(*x, shape));
  SmallVector<TileOutput, 2> to;
  for (const Array* out : outputs) to.push_back({out->data, size_of(out->dtype)});
  run_tiles(loops, shape, {from.data(), from.size()}, {to.data(), to.size()});
}

}  // namespace tensorlike
