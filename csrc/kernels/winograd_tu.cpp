// The transforms of F(2x2, 3x3), for one ISA level: sums and differences of lines of tiles. Lines
// are computed to a whole number of vectors.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

constexpr int64_t kMostTiles = WinogradKernels::kMostTiles;
constexpr int64_t kRound = WinogradKernels::kSpill + 1;
constexpr int64_t kMostPixels = 2 * kMostTiles + 2;

int64_t between(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x < high ? x : high;
}

int64_t rounded(int64_t tiles) { return (tiles + kRound - 1) / kRound * kRound; }

// B' d for B' = (1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1) and the elements [low, high) of rows.
template <class T>
void add_rows(const T* const* rows, int64_t low, int64_t high,
              T (*__restrict__ lines)[kMostPixels]) {
  for (int64_t x = low; x < high; ++x) {
    lines[0][x] = rows[0][x] - rows[2][x];
    lines[1][x] = rows[1][x] + rows[2][x];
    lines[2][x] = rows[2][x] - rows[1][x];
    lines[3][x] = rows[1][x] - rows[3][x];
  }
}

// The lines times B: four windows of columns, two apart.
template <class T>
void add_columns(const T (*__restrict__ lines)[kMostPixels], int64_t count, T* to, int64_t step) {
  for (int r = 0; r < 4; ++r, to += 4 * step) {
    T* __restrict__ v0 = to;
    T* __restrict__ v1 = to + step;
    T* __restrict__ v2 = to + 2 * step;
    T* __restrict__ v3 = to + 3 * step;
    for (int64_t j = 0; j < count; ++j) {
      const T* x = lines[r] + 2 * j;
      v0[j] = x[0] - x[2];
      v1[j] = x[1] + x[2];
      v2[j] = x[2] - x[1];
      v3[j] = x[1] - x[3];
    }
  }
}

// A channel's columns are added while the rows of the next are: what was just written is not yet
// ready to be read in other pieces.
template <class T>
void transform_tiles(const WinogradLine& line, const void* const* rows, int64_t channels,
                     int64_t channel_step, void* to, int64_t to_step, int64_t step) {
  static constexpr T kZeros[kMostPixels] = {};
  T lines[2][4][kMostPixels];
  const int64_t count = rounded(line.tiles);
  const int64_t pixels = 2 * count + 2;
  const int64_t low = between(-line.first, 0, pixels);
  const int64_t high = between(line.width - line.first, low, pixels);
  for (auto& buffer : lines) {
    for (auto& row : buffer) {
      for (int64_t x = 0; x < low; ++x) row[x] = 0;
      for (int64_t x = high; x < pixels; ++x) row[x] = 0;
    }
  }
  const T* d[4];
  int64_t d_step[4];
  for (int r = 0; r < 4; ++r) {
    d[r] = rows[r] == nullptr ? kZeros : static_cast<const T*>(rows[r]) + line.first;
    d_step[r] = rows[r] == nullptr ? 0 : channel_step;
  }
  T* out = static_cast<T*>(to);
  for (int64_t c = 0; c <= channels; ++c) {
    if (c < channels) {
      add_rows(d, low, high, lines[c & 1]);
      for (int r = 0; r < 4; ++r) d[r] += d_step[r];
    }
    if (c > 0) add_columns(lines[(c - 1) & 1], count, out + (c - 1) * to_step, step);
  }
}

// G g G' for G = (1 0 0; 1/2 1/2 1/2; 1/2 -1/2 1/2; 0 0 1).
template <class T>
void transform_weights(const void* from, const int64_t* taps, int64_t row_step, int64_t rows,
                       int64_t channel_step, int64_t channels, void* to, int64_t step) {
  constexpr T kHalf = 0.5;
  T g[9][kRound] = {};
  T* __restrict__ u = static_cast<T*>(to);
  for (int64_t c = 0; c < channels; ++c, u += rows) {
    const T* weight = static_cast<const T*>(from) + c * channel_step;
    for (int64_t i = 0; i < rows; ++i, weight += row_step) {
      for (int t = 0; t < 9; ++t) g[t][i] = weight[taps[t]];
    }
    for (int i = 0; i < kRound; ++i) {
      T lines[4][3];
      for (int column = 0; column < 3; ++column) {
        const T middle = g[3 + column][i];
        const T both = g[column][i] + g[6 + column][i];
        lines[0][column] = g[column][i];
        lines[1][column] = kHalf * (both + middle);
        lines[2][column] = kHalf * (both - middle);
        lines[3][column] = g[6 + column][i];
      }
      for (int r = 0; r < 4; ++r) {
        const T both = lines[r][0] + lines[r][2];
        u[(4 * r + 0) * step + i] = lines[r][0];
        u[(4 * r + 1) * step + i] = kHalf * (both + lines[r][1]);
        u[(4 * r + 2) * step + i] = kHalf * (both - lines[r][1]);
        u[(4 * r + 3) * step + i] = lines[r][2];
      }
    }
  }
}

// The bits of a number's exponent: all set if it is not finite.
template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <class T>
constexpr Bits<T> kExponent = sizeof(T) == 4 ? Bits<T>{0xff} << 23 : Bits<T>{0x7ff} << 52;

template <class T>
Bits<T> exponent(T value) {
  return __builtin_bit_cast(Bits<T>, value) & kExponent<T>;
}

// A' m A for A' = (1 1 1 0; 0 1 -1 -1).
template <class T>
bool transform_products(const void* products, int64_t step, const void* bias, int64_t tiles,
                        int64_t columns, void* upper, void* lower) {
  const T* __restrict__ m = static_cast<const T*>(products);
  const T start = bias == nullptr ? T{0} : *static_cast<const T*>(bias);
  T lines[2][2 * kMostTiles];
  const int64_t count = rounded(tiles);
  for (int64_t j = 0; j < count; ++j) {
    T top[4];
    T bottom[4];
    for (int c = 0; c < 4; ++c) {
      const T* place = m + c * step + j;
      const T sum = place[4 * step] + place[8 * step];
      const T difference = place[4 * step] - place[8 * step];
      top[c] = place[0] + sum;
      bottom[c] = difference - place[12 * step];
    }
    lines[0][2 * j] = start + (top[0] + (top[1] + top[2]));
    lines[0][2 * j + 1] = start + ((top[1] - top[2]) - top[3]);
    lines[1][2 * j] = start + (bottom[0] + (bottom[1] + bottom[2]));
    lines[1][2 * j + 1] = start + ((bottom[1] - bottom[2]) - bottom[3]);
  }
  Bits<T> most = 0;
  T* const out[] = {static_cast<T*>(upper), static_cast<T*>(lower)};
  for (int r = 0; r < 2 && out[r] != nullptr; ++r) {
    for (int64_t x = 0; x < columns; ++x) {
      const T value = lines[r][x];
      out[r][x] = value;
      most = most > exponent(value) ? most : exponent(value);
    }
  }
  return most != kExponent<T>;
}

template <class T>
constexpr WinogradKernels kernels() {
  return {transform_tiles<T>, transform_weights<T>, transform_products<T>};
}

}  // namespace

void TL_FILL(winograd)(KernelTable& table);
void TL_FILL(winograd)(KernelTable& table) {
  table.winograd[DType::kFloat32] = kernels<float>();
  table.winograd[DType::kFloat64] = kernels<double>();
}

}  // namespace tensorlike
