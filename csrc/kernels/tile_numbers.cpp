// The loops of a program, some of which read one number where others read many of it: so it is not
// written out.
#include "kernels/tile.h"

namespace tensorlike {

void run_loops(const TileLoops& program, std::span<char* const> slots, int64_t n,
               std::span<const TileKernel> kernels) {
  SmallVector<const void*, 16> in;
  SmallVector<void*, 8> to;
  for (size_t k = 0; k < program.instructions.size(); ++k) {
    const TileLoop& instruction = program.instructions[k];
    in.resize(instruction.in.size());
    to.resize(instruction.out.size());
    for (size_t i = 0; i < in.size(); ++i) {
      in[i] = slots[static_cast<size_t>(instruction.in[i])];
    }
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = slots[static_cast<size_t>(instruction.out[i])];
    }
    (kernels.empty() ? instruction.kernel : kernels[k])(to.data(), in.data(), n);
  }
}

// Whether an operand that is one number is it to every loop that reads it.
bool BoundProgram::may_be_number(size_t operand) const {
  for (const TileLoop& instruction : program_.instructions) {
    for (size_t i = 0; i < instruction.in.size(); ++i) {
      const bool reads = instruction.in[i] == static_cast<int>(operand);
      if (reads && (instruction.in.size() != 2 || instruction.beside[i] == nullptr)) return false;
    }
  }
  return true;
}

BoundProgram::Beside BoundProgram::beside_numbers(bool in_rows) const {
  Beside made;
  made.is_one.resize(static_cast<size_t>(program_.slots()), 0);  // outputs may be read, too
  for (size_t i = 0; i < access_.size(); ++i) {
    const bool is_row = in_rows && access_[i] == Access::kInRows;
    made.is_one[i] = access_[i] == Access::kFilled || (is_row && operands_[i].strides.back() == 0);
  }
  for (size_t c = 0; c < program_.constants.size(); ++c) {
    made.is_one[static_cast<size_t>(program_.first_constant()) + c] = 1;
  }
  const SmallVector<char, 12> is_number = made.is_one;
  const auto at = [&](int slot) { return is_number[static_cast<size_t>(slot)] != 0; };
  for (const TileLoop& instruction : program_.instructions) {
    const auto& in = instruction.in;
    const TileKernel kernel = instruction.loop_beside([&](size_t i) { return at(in[i]); });
    made.kernels.push_back(kernel != nullptr ? kernel : instruction.kernel);
    if (kernel != nullptr) continue;
    for (const int slot : in) made.is_one[static_cast<size_t>(slot)] = 0;
  }
  return made;
}

}  // namespace tensorlike
