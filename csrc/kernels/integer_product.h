// Products of 8-bit integers with 32-bit sums, exact on every processor: the engine behind
// quantised layers. The right operand is packed; what is done to a block of sums is the caller's.
#pragma once

#include <cstdint>

#include "base/isa.h"
#include "base/kept_forms.h"

namespace tensorlike {
namespace detail {

// How one instruction multiplies. All of them take four bytes of either operand for each sum: four
// numbers of 8 bits, of which the left ones are unsigned, or two of 16 bits.
struct IntegerKernels {
  static constexpr int kMaxRows = 14;
  // sums[rows, columns] = start + a @ panel, for rows of a that lie `a_row` bytes apart, and rows
  // of sums that lie `sums_row` numbers apart.
  using Tile = void (*)(int64_t groups, const char* a, int64_t a_row, const char* panel,
                        const int32_t* start, int32_t* sums, int64_t sums_row);

  // The same of one row and kRowPanels panels that follow each other: the sums of one panel alone
  // would wait for each other.
  static constexpr int kRowPanels = 4;

  // The same of kMaxRows channels and positions of images (kernels/integer_windows.h): weights lie
  // in the order in which they are used, positions for each group at an offset in bytes, and sums
  // begin with a number for each row.
  using WindowTile = void (*)(int64_t groups, const char* weights, const char* image,
                              const int64_t* offsets, const int32_t* start, int32_t* sums);

  const char* name;
  int64_t columns;  // of a panel
  int max_rows;     // of a tile
  bool is_wide;     // 16 bits, signed; else bytes, the left ones with 128 added
  Tile tile[kMaxRows];
  WindowTile window_tile[kMaxRows];
  Tile row_tile;
};

struct Extremes {
  float low, high;
};

// to[i] = table[from[i]]; the two may be the same memory.
using ByteLookUp = void (*)(uint8_t* to, const uint8_t* from, const uint8_t* table, int64_t n);

// The loops of one instruction set level: plain ones, and those for what some of its processors
// have beside.
struct IntegerTable {
  IntegerKernels plain;
  IntegerKernels dot;  // with dot products of bytes: AVX512-VNNI, AVX-VNNI; columns == 0: none

  // The largest absolute value; NaN where there is one.
  float (*largest)(const float* x, int64_t n);
  // Rounded multiples of 1 / inverse, ties to even, from -127 to 127; then zeros up to `padded`.
  void (*quantise)(char* to, bool is_wide, const float* x, float inverse, int64_t n,
                   int64_t padded);
  // The same of bytes, with their highest bit flipped where `flip` is 128. Gives their sum.
  int32_t (*lay_bytes)(char* to, bool is_wide, const uint8_t* x, uint8_t flip, int64_t n,
                       int64_t padded);
  // y[j] = sums[j] * (row_scale * column_scales[j]) + bias[j].
  void (*dequantise)(float* y, const int32_t* sums, float row_scale, const float* column_scales,
                     const float* bias, int64_t n);

  // to[i] = what channels have at from[c][i * step], side by side: of floats, quantised as above;
  // of bytes, with their highest bit flipped where `flip` is 128, and less a zero point where they
  // become wide. Four channels, or two where they are wide; or one, where the second is null.
  void (*join_floats)(int32_t* to, bool is_wide, const float* const* from, int64_t step,
                      float inverse, int64_t n);
  void (*join_bytes)(int32_t* to, bool is_wide, const uint8_t* const* from, int64_t step,
                     uint8_t flip, int32_t zero, int64_t n);
  // y[j] = sums[j] * scale + bias.
  void (*scale_row)(float* y, const int32_t* sums, float scale, float bias, int64_t n);
  // y[j] = rounded (sums[j] + bias) * factor, ties to even, plus zero, within 8 bits.
  void (*requantise)(void* y, bool is_signed, const int32_t* sums, int32_t bias, float factor,
                     float zero, int64_t n);
  // y[j] = sums[j] - factor * numbers[j], which wraps.
  void (*take_off)(int32_t* y, const int32_t* sums, const int32_t* numbers, int32_t factor,
                   int64_t n);
  // Of n > 0 elements.
  Extremes (*extremes)(const float* x, int64_t n);
  // Rounded x / scale, ties to even, plus zero, from 0 to 255.
  void (*to_bytes)(uint8_t* to, const float* x, float scale, float zero, int64_t n);
  ByteLookUp look_up;
  ByteLookUp permute;  // the same with AVX512-VBMI; null: not at this level
};

const IntegerTable& integer_table_v2();
const IntegerTable& integer_table_v3();
const IntegerTable& integer_table_v4();
const IntegerTable& integer_table(Isa isa);
// The fastest of a level that this processor has.
const IntegerKernels& integer_kernels(Isa isa);
ByteLookUp byte_look_up(Isa isa);

}  // namespace detail

// b[k, n] of bytes in panels of columns, with the sum of each column. `flip`: 0 of signed ones; 128
// takes 128 off unsigned ones.
class IntegerPanels {
 public:
  // Takes the form kept with b, or packs into `make(bytes)`.
  template <class Allocate>
  IntegerPanels(const int8_t* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride,
                uint8_t flip, KeptForms* forms, Allocate&& allocate)
      : IntegerPanels(k, n) {
    const auto pack = [&](char* memory) { this->pack(memory, b, row_stride, column_stride, flip); };
    if (forms != nullptr) {
      data_ = forms->get({"integer panels", b, {k, n, row_stride, column_stride, flip, is_dot()}},
                         bytes(), pack);
    }
    if (data_ != nullptr) return;
    char* const memory = allocate(bytes());
    pack(memory);
    data_ = memory;
  }

  int64_t columns() const { return kernels_.columns; }  // of a panel
  int64_t padded_columns() const { return panels_ * kernels_.columns; }
  int64_t row_bytes() const { return row_bytes_; }  // of the left operand
  int64_t row_numbers() const { return is_wide() ? row_bytes_ / 2 : row_bytes_; }
  bool is_wide() const { return kernels_.is_wide; }
  // Sums of columns, which the left operand's offset is taken off with.
  const int32_t* sums() const { return reinterpret_cast<const int32_t*>(data_); }

  // For blocks of the product: block(row, rows, column, columns, sums, sums_row), on any thread.
  // `start` is what the sums of padded_columns() columns begin with.
  template <class Block>
  void multiply(int64_t rows, const char* a, const int32_t* start, Block&& block) const {
    using Body = std::remove_reference_t<Block>;
    run(rows, a, start, &block,
        [](void* context, int64_t row, int64_t count, int64_t column, int64_t columns,
           const int32_t* sums, int64_t sums_row) {
          (*static_cast<Body*>(context))(row, count, column, columns, sums, sums_row);
        });
  }

 private:
  using Run = void (*)(void* context, int64_t row, int64_t rows, int64_t column, int64_t columns,
                       const int32_t* sums, int64_t sums_row);

  IntegerPanels(int64_t k, int64_t n);
  bool is_dot() const { return !kernels_.is_wide; }
  size_t bytes() const;
  void pack(char* memory, const int8_t* b, int64_t row_stride, int64_t column_stride,
            uint8_t flip) const;
  void run(int64_t rows, const char* a, const int32_t* start, void* context, Run block) const;
  const char* panel(int64_t i) const;

  const detail::IntegerKernels& kernels_;
  int64_t k_, n_;
  int64_t groups_;  // of four bytes, along k
  int64_t panels_;
  int64_t row_bytes_;
  const char* data_ = nullptr;
};

}  // namespace tensorlike
