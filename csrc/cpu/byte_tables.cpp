#include "cpu/byte_tables.h"

#include <numeric>

#include "base/pool.h"
#include "cpu/tiles.h"
#include "kernels/integer_product.h"

namespace tensorlike {
namespace {

constexpr int64_t kLeast = 8192;                   // elements that are worth a table
constexpr size_t kLeastSteps = 4;                  // of a program that takes longer than looking up
constexpr int64_t kTableGrain = int64_t{1} << 18;  // elements that are worth a thread

// Where the one operand of bytes is; all others are single numbers. Nothing: it is not so.
std::optional<size_t> bytes_among(const Dims& shape, Arrays operands) {
  std::optional<size_t> found;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Array& x = *operands[i];
    if (x.count == 1) continue;
    const bool is_byte = x.dtype == DType::kInt8 || x.dtype == DType::kUInt8;
    if (found || !is_byte || !x.is_contiguous || !(x.shape == shape)) return std::nullopt;
    found = i;
  }
  return found;
}

}  // namespace

bool run_by_table(const TileProgram& program, const Dims& shape, Arrays operands, Arrays outputs) {
  if (outputs.size() != 1 || size_of(outputs[0]->dtype) != 1) return false;
  if (program.instructions.size() < kLeastSteps || outputs[0]->count < kLeast) return false;
  const auto place = bytes_among(shape, operands);
  if (!place) return false;
  alignas(64) uint8_t all[256], table[256];
  std::iota(std::begin(all), std::end(all), uint8_t{0});
  SmallVector<Array, 8> given;
  for (const Array* x : operands) given.push_back(x->view({}, {}));
  given[*place] = Array(operands[*place]->dtype, {256}, reinterpret_cast<char*>(all));
  SmallVector<const Array*, 8> from;
  for (const Array& x : given) from.push_back(&x);
  const Array made(outputs[0]->dtype, {256}, reinterpret_cast<char*>(table));
  const Array* const to[] = {&made};
  run_program(program, {256}, {from.data(), from.size()}, to);
  static const auto look_up = detail::byte_look_up(isa());
  const uint8_t* const x = operands[*place]->as<uint8_t>();
  uint8_t* const y = outputs[0]->as<uint8_t>();
  parallel_for(outputs[0]->count, kTableGrain, [&](int64_t begin, int64_t end) {
    look_up(y + begin, x + begin, table, end - begin);
  });
  return true;
}

}  // namespace tensorlike
