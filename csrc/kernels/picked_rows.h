// Rows and words that indices pick: moved and added at once, by one level of the instruction set.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/isa.h"

namespace tensorlike {

// Rows of `bytes` each, at offsets in bytes.
struct PickedRows {
  const int64_t* offsets;
  int64_t count;          // of the offsets, or of the places
  const int32_t* places;  // which offsets are meant; null: all
  int64_t bytes;
};

// On the other side row i lies i * step bytes from the first, where i is the place of its offset.
struct RowPicks {
  void (*take)(char* out, int64_t step, const char* in, const PickedRows& rows) = nullptr;
  void (*put)(char* out, const char* in, int64_t step, const PickedRows& rows) = nullptr;
  // The rows at offsets in `out` += those of `in`; of numbers that are computed in.
  ByDType<void (*)(char* out, const char* in, int64_t step, const PickedRows& rows)> add;
};

// out[i] = table[index[i]], of n words; negative indices count from `size`, that of the table.
// False, and nothing of use: one is not in [-size, size). Each index is read once: others may write
// to that memory meanwhile.
using TakeWords = bool (*)(char* out, const char* table, int64_t size, const void* index,
                           int64_t n);

struct PickTable {
  RowPicks rows;
  TakeWords take32[5] = {};  // by log2 of the bytes of a word, by indices of int32
  TakeWords take64[5] = {};
};

// The table of the level that this process runs at.
const PickTable& pick_table();

namespace detail {
const PickTable& pick_table_v2();
const PickTable& pick_table_v3();
const PickTable& pick_table_v4();
}  // namespace detail

}  // namespace tensorlike
