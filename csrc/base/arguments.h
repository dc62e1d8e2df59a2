// Sets of a call's arguments as bits. Of those behind the 32nd no set says anything: they are in
// none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorlike {

constexpr size_t kMostInSet = 32;

constexpr uint32_t argument_bit(size_t argument) {
  return argument < kMostInSet ? uint32_t{1} << argument : 0;
}
constexpr bool has_argument(uint32_t set, size_t argument) {
  return (set & argument_bit(argument)) != 0;
}

}  // namespace tensorlike
