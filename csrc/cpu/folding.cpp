#include "cpu/folding.h"

#include <algorithm>
#include <cstring>

namespace tensorlike {
namespace {

size_t buffer_bytes(const TileLoops& program) {
  return Scratch::rounded(static_cast<size_t>(kTile) * program.widest);
}

size_t scratch_bytes(const ReductionProgram& program) {
  const size_t tile = Scratch::rounded(kTile * 16);
  return 2 * tile + FlatProgram::bytes_of(loops_of(program.map.program)) +
         FlatProgram::bytes_of(loops_of(program.combine.program)) +
         FlatProgram::bytes_of(loops_of(program.finish.program));
}

void fill(char* out, const void* value, size_t size, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + static_cast<size_t>(i) * size, value, size);
}

}  // namespace

FlatProgram::FlatProgram(const TileLoops& program, char* buffers) : program_(program) {
  slots_.resize(static_cast<size_t>(program.slots()));
  const size_t bytes = buffer_bytes(program);
  for (int s = program.operands; s < program.first_output(); ++s) {
    slots_[static_cast<size_t>(s)] = buffers;
    buffers += bytes;
  }
  for (size_t c = 0; c < program.constants.size(); ++c) {
    const TileLoops::Constant& constant = program.constants[c];
    fill(static_cast<char*>(slots_[static_cast<size_t>(program.first_constant()) + c]),
         constant.value, size_of(constant.dtype), kTile);
  }
}

size_t FlatProgram::bytes_of(const TileLoops& program) {
  return static_cast<size_t>(program.first_output() - program.operands) * buffer_bytes(program);
}

void FlatProgram::run(void* out, std::initializer_list<const void*> in, int64_t n) {
  size_t slot = 0;
  for (const void* data : in) slots_[slot++] = const_cast<void*>(data);
  slots_[static_cast<size_t>(program_.first_output())] = out;
  for (const TileLoop& instruction : program_.instructions) {
    SmallVector<const void*, 8> from;
    SmallVector<void*, 2> to;
    for (int s : instruction.in) from.push_back(slots_[static_cast<size_t>(s)]);
    for (int s : instruction.out) to.push_back(slots_[static_cast<size_t>(s)]);
    instruction.kernel(to.data(), from.data(), n);
  }
}

Folding::Programs::Programs(const ReductionProgram& reduction)
    : program(reduction),
      scratch(scratch_bytes(reduction)),
      mapped(scratch.take<char>(kTile * 16)),
      counts(scratch.take<int64_t>(kTile)),
      map(loops_of(reduction.map.program),
          scratch.take<char>(
              static_cast<int64_t>(FlatProgram::bytes_of(loops_of(reduction.map.program))))),
      combine(loops_of(reduction.combine.program),
              scratch.take<char>(static_cast<int64_t>(
                  FlatProgram::bytes_of(loops_of(reduction.combine.program))))),
      finish(loops_of(reduction.finish.program),
             scratch.take<char>(
                 static_cast<int64_t>(FlatProgram::bytes_of(loops_of(reduction.finish.program))))),
      size(size_of(reduction.accumulator)) {}

Folding::Folding(const ReductionKernel& kernel) : kernel_(kernel) {
  if (kernel.program != nullptr) programs_.emplace(*kernel.program);
}

void Folding::start(void* acc, int64_t n) {
  if (!programs_) return kernel_.start(acc, n);
  fill(static_cast<char*>(acc), programs_->program.first, programs_->size, n);
}

// Halves are combined until one element is left: a tree, whose shape depends on n alone.
void Folding::fold_mapped(char* acc, int64_t n) {
  char* const mapped = programs_->mapped;
  const size_t size = programs_->size;
  while (n > 1) {
    const int64_t kept = (n + 1) / 2;
    programs_->combine.run(mapped, {mapped, mapped + static_cast<size_t>(kept) * size}, n - kept);
    n = kept;
  }
  programs_->combine.run(acc, {acc, mapped}, 1);
}

void Folding::row(void* acc, const void* x, int64_t n) {
  if (!programs_) return kernel_.row(acc, x, n);
  const size_t size = size_of(programs_->program.element);
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t count = std::min(kTile, n - at);
    const char* from = static_cast<const char*>(x) + static_cast<size_t>(at) * size;
    programs_->map.run(programs_->mapped, {from}, count);
    fold_mapped(static_cast<char*>(acc), count);
  }
}

void Folding::rows(void* acc, const void* x, int64_t n, int64_t count, int64_t step) {
  if (!programs_) return kernel_.rows(acc, x, n, count, step);
  const int64_t size = static_cast<int64_t>(size_of(programs_->program.element));
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t width = std::min(kTile, n - at);
    char* const to = static_cast<char*>(acc) + static_cast<size_t>(at) * programs_->size;
    for (int64_t r = 0; r < count; ++r) {
      programs_->map.run(programs_->mapped, {static_cast<const char*>(x) + (r * step + at) * size},
                         width);
      programs_->combine.run(to, {to, programs_->mapped}, width);
    }
  }
}

void Folding::join(void* acc, const void* other, int64_t n) {
  if (!programs_) return kernel_.join(acc, other, n);
  for (int64_t at = 0; at < n; at += kTile) {
    const size_t skipped = static_cast<size_t>(at) * programs_->size;
    char* const to = static_cast<char*>(acc) + skipped;
    programs_->combine.run(to, {to, static_cast<const char*>(other) + skipped},
                           std::min(kTile, n - at));
  }
}

void Folding::finish(void* out, const void* acc, int64_t n, int64_t count) {
  if (!programs_) return kernel_.finish(out, acc, n, count);
  std::fill_n(programs_->counts, std::min(kTile, n), count);
  const size_t size = size_of(programs_->program.result);
  for (int64_t at = 0; at < n; at += kTile) {
    programs_->finish.run(
        static_cast<char*>(out) + static_cast<size_t>(at) * size,
        {static_cast<const char*>(acc) + static_cast<size_t>(at) * programs_->size,
         programs_->counts},
        std::min(kTile, n - at));
  }
}

}  // namespace tensorlike
