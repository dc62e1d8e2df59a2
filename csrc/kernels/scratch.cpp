#include "kernels/scratch.h"

#include <array>

namespace tensorlike {
namespace {

using Buffers = std::array<ScratchBuffer, 128>;
thread_local std::unique_ptr<Buffers> t_buffers;

size_t next_number() {
  static size_t count = 0;
  if (count == std::tuple_size_v<Buffers>) std::abort();  // more places than were thought of
  return count++;
}

}  // namespace

ScratchPlace::ScratchPlace() : number_(next_number()) {}

ScratchBuffer& ScratchPlace::here() const {
  if (t_buffers == nullptr) t_buffers = std::make_unique<Buffers>();
  return (*t_buffers)[number_];
}

void* ScratchPlace::reserve(size_t bytes) const { return here().reserve(bytes); }

const ScratchPlace kept_short_rows[4];

}  // namespace tensorlike
