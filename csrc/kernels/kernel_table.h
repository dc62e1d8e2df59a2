// The kernels of one ISA level, by name and dtype. Every translation unit that is compiled per
// level exports one function that lists what it has.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/dtype.h"
#include "base/window.h"
#include "kernels/attention.h"
#include "kernels/depthwise.h"
#include "kernels/depthwise_blocks.h"
#include "kernels/fft.h"
#include "kernels/random.h"
#include "kernels/row.h"
#include "kernels/tile.h"

namespace tensorlike {

struct ReductionProgram;

// Rows that a reduction combines with each other before it adds them to its accumulators.
inline constexpr int kRowsTogether = 8;

// A reduction's loops for one input dtype. n accumulators take n * accumulator bytes, and how they
// lie in there is the kernel's own: those that were started together go together into each other
// call. They are given elements, by `row` or by `rows`, before they are joined.
struct ReductionKernel {
  static constexpr size_t kWidest = 32;
  size_t accumulator = 0;  // bytes, kWidest at most
  // acc[j] = the identity, for j < n.
  void (*start)(void* acc, int64_t n) = nullptr;
  // *acc = combine(*acc, map(x[0]), ..., map(x[n-1])): with the same bits when the elements come
  // kTile at a time.
  void (*row)(void* acc, const void* x, int64_t n) = nullptr;
  // acc[j] = combine(acc[j], map(x[0][j]), ..., map(x[count-1][j])), for j < n; `step` elements lie
  // between rows. With the same bits when the rows come a multiple of kRowsTogether at a time.
  void (*rows)(void* acc, const void* x, int64_t n, int64_t count, int64_t step) = nullptr;
  // acc[j] = combine(acc[j], other[j]): joins partial results.
  void (*join)(void* acc, const void* other, int64_t n) = nullptr;
  // out[j] = finish(acc[j], count), for j < n.
  void (*finish)(void* out, const void* acc, int64_t n, int64_t count) = nullptr;
  // Fewer columns than these are better gathered one after the other than reduced side by side.
  int64_t least_columns = 2;
  // What runs in place of the loops where there are none.
  const ReductionProgram* program = nullptr;
  // out[r] = what the steps above give for the n elements of row r < count, with the same bits;
  // `step` elements lie between rows. Null: nothing is quicker than these steps.
  void (*each)(void* out, const void* x, int64_t n, int64_t count, int64_t step) = nullptr;
  // Whether nothing more can change *acc. Null: it always can.
  bool (*is_decided)(const void* acc) = nullptr;
};

// Loops of a function whose first argument is one number, or each of whose others is: in[k] points
// to it alone.
struct NumberLoops {
  TileKernel beside[2] = {};  // null: numbers have to be repeated
};

// y[i] = x[i] * scale where element first + i stays, else 0. Which stay follows from the key and
// the element's number alone: of 2^32 equally likely cases, the first `threshold` are dropped.
using DropoutKernel = void (*)(void* y, const void* x, int64_t n, uint64_t key, int64_t first,
                               uint32_t threshold, double scale);

// out[i] = start + (first + i) * step: of floats in double, of integers modulo 2^64.
struct Ramp {
  double start, step;
  uint64_t whole_start, whole_step;
};
using RampKernel = void (*)(void* out, int64_t n, int64_t first, const Ramp& ramp);

// Two dimensions of a strided copy; all strides in bytes.
struct MoveBlock {
  char* out;
  int64_t out_row, out_step;
  const char* in;
  int64_t in_row, in_step;
  int64_t rows, columns;
};

// n words, `step` bytes from one to the next, to words that follow each other. Where they are read
// backwards, what lies `ahead` bytes of them is asked for meanwhile, whether or not anything is
// there.
using StepCopy = void (*)(char* out, const char* in, int64_t n, int64_t step, int64_t ahead);

// Copies of blocks whose elements have one size.
struct MoveKernels {
  void (*rows)(const MoveBlock& block) = nullptr;  // row after row
  void (*transpose)(const MoveBlock& block) =
      nullptr;                                // in tiles: the input is close along the rows
  StepCopy (*steps)(int64_t step) = nullptr;  // the one for this step, neither 0 nor the size
};

// Indices of one integer dtype.
struct IndexKernels {
  // The least and the greatest of n > 0 indices.
  void (*range)(const void* index, int64_t n, int64_t* least, int64_t* most) = nullptr;
  // offsets[i] = (or +=) index[i] * stride; negative indices count from `size`. Whether all are in
  // [-size, size). Each is read once: others may write to that memory meanwhile.
  bool (*offsets)(int64_t* offsets, const void* index, int64_t n, int64_t size, int64_t stride,
                  bool adds) = nullptr;
};

// Elements of one size, at offsets in bytes or where a mask is set.
struct PickKernels {
  // n elements of each of the tables, which lie in_step bytes apart, to places out_step bytes
  // apart.
  void (*take)(char* out, int64_t out_step, const char* in, int64_t in_step, int64_t tables,
               const int64_t* offsets, int64_t n) = nullptr;
  // For each i of n, out at offsets[i] = in[i]; i runs through `places` where that is not null.
  void (*put)(char* out, const int64_t* offsets, const char* in, int64_t n,
              const int32_t* places) = nullptr;
  // Both return how many elements of the mask are set. `compress` may write n elements.
  int64_t (*compress)(char* out, const char* in, const uint8_t* mask, int64_t n) = nullptr;
  int64_t (*expand)(char* out, const uint8_t* mask, const char* in, int64_t n) = nullptr;
};

struct MaskKernels {
  int64_t (*count)(const uint8_t* mask, int64_t n) = nullptr;
  // The positions, counted from `first`, where the mask is set; may write n of them.
  int64_t (*positions)(int64_t* out, int64_t first, const uint8_t* mask, int64_t n) = nullptr;
  // The places of the offsets in [begin, end); may write n of them.
  int64_t (*within)(int32_t* places, const int64_t* offsets, int64_t n, int64_t begin,
                    int64_t end) = nullptr;
};

// Additions of single elements at offsets in bytes, for one dtype.
struct AddKernels {
  // i runs through `places` where that is not null.
  void (*elements)(void* out, const int64_t* offsets, const void* values, int64_t n,
                   const int32_t* places) = nullptr;
  size_t sum_size = 0;  // bytes of an accumulator
  // The offsets are those of elements, though the sums are wider.
  void (*sums)(void* sums, const int64_t* offsets, const void* values, int64_t n) = nullptr;
  // out[i] += sums[0][i] + ... + sums[parts - 1][i].
  void (*join)(void* out, const void* const* sums, int64_t parts, int64_t begin,
               int64_t end) = nullptr;
};

// A piece of a row of an image, or of padding, on its way into an operand of a product.
struct GatherLine {
  int64_t to = 0;             // its place in the operand
  int64_t from = 0;           // the place in the image of element 0, which may be outside
  int64_t low = 0, high = 0;  // elements [low, high) are in the image; the others are 0
};

struct ConvolutionKernels {
  // For each channel and each line: to[line.to + i] = image[line.from + i * stride], for i <
  // length. Channels are image_step and to_step apart. Lines and channels go up in `to`, since up
  // to a vector beyond a line may be written.
  void (*gather)(const GatherLine* lines, int64_t count, int64_t length, int64_t stride,
                 const void* image, int64_t image_step, void* to, int64_t to_step,
                 int64_t channels) = nullptr;
  // sums[i * sums_row + r] += the sum over p < n of a[i * a_row + p] * b[offsets[r] + p], for i <
  // rows and r < count.
  void (*add_dots)(int64_t n, const void* a, int64_t a_row, int64_t rows, const void* b,
                   const int64_t* offsets, int64_t count, void* sums, int64_t sums_row) = nullptr;
  // to[i] += x[i], for i < n.
  void (*add)(void* to, const void* x, int64_t n) = nullptr;
};

// The transforms of F(2x2, 3x3), on vectors of channels: `lanes` planes side by side. Place p of a
// tile's 16 (rows of 4) lies at p * step. All memory but planes is of whole vectors.
struct WinogradKernels {
  int64_t lanes = 0;

  // Elements [0, count) of planes `plane` apart to rows of `columns` vectors, `length` apart.
  void (*gather)(const void* from, int64_t channels, int64_t plane, int64_t count, void* to,
                 int64_t columns, int64_t length) = nullptr;
  // `count` tiles beside each other, of the four rows that they see; tile_step apart in `to`.
  void (*tiles)(const void* const* rows, int64_t count, void* to, int64_t tile_step,
                int64_t step) = nullptr;
  // Of 3x3 kernels, `lanes` rows of them at most; channels lie to_step apart in `to`. is_mirrored:
  // the last of a kernel's 9 elements comes first.
  void (*weights)(const void* from, int64_t row_step, int64_t rows, int64_t channel_step,
                  int64_t channels, bool is_mirrored, void* to, int64_t to_step,
                  int64_t step) = nullptr;
  // The first `columns` elements of the upper row and, if it is not null, the lower that `count`
  // tiles give, and the bias. False: they are not all finite.
  bool (*products)(const void* products, int64_t step, int64_t tile_step, const void* bias,
                   int64_t channels, int64_t count, int64_t columns, void* upper,
                   void* lower) = nullptr;
  // For the gradient by the weights: the transpose of `products`, of two rows of whole tiles.
  void (*gradients)(const void* upper, const void* lower, int64_t count, void* to,
                    int64_t tile_step, int64_t step) = nullptr;
  // The transpose of `weights`, without a mirror: the channels of `rows` kernels from vectors
  // that are from_step apart. False: some are not finite.
  bool (*kernels)(const void* from, int64_t from_step, int64_t step, int64_t rows, int64_t channels,
                  void* to, int64_t row_step) = nullptr;
  // `count` vectors to planes.
  void (*scatter)(const void* from, int64_t channels, int64_t plane, int64_t count,
                  void* to) = nullptr;
};

// Pooling of one plane. Gradients are added to what is there.
struct PoolKernels {
  void (*max)(const PoolWindow& w, const void* x, void* y) = nullptr;
  // dx at the place of each window's first maximum in x, += dy; y = values there.
  void (*max_spread)(const PoolWindow& w, const void* x, const void* dy, void* dx) = nullptr;
  void (*max_select)(const PoolWindow& w, const void* x, const void* values, void* y) = nullptr;
  void (*mean)(const PoolWindow& w, const void* x, void* y) = nullptr;
  void (*mean_spread)(const PoolWindow& w, const void* dy, void* dx) = nullptr;
};

// Sorting unsigned keys by comparing them; null at levels where sorting by digits is faster.
struct SortKernels {
  // Moves the smaller of n >= 128 keys to the front, and returns how many those are; `is_done`:
  // they are all equal.
  int64_t (*part)(void* keys, int64_t n, bool& is_done) = nullptr;
  void (*sort)(void* keys, int64_t n) = nullptr;
  // Writes those of n keys that are in [*low, *high], in their order, and up to a vector beyond;
  // returns how many there are, and adds to *below how many are smaller.
  int64_t (*within)(void* out, const void* keys, int64_t n, const void* low, const void* high,
                    int64_t* below) = nullptr;
  // Copies those of n elements, floats as wide as keys, that are zeros of either sign, in order.
  void (*zeros)(void* out, const void* x, int64_t n) = nullptr;
  // Copies those of n elements, as wide as keys, whose bits are none of `count` others'; returns
  // how many there are.
  int64_t (*others)(void* out, const void* x, int64_t n, const void* known,
                    int64_t count) = nullptr;
};

// Between elements and their keys (sort_key.h), which are as wide. `flips` reverses the order.
struct KeyKernels {
  void (*encode)(void* keys, const void* x, int64_t n, bool flips) = nullptr;
  // In place.
  void (*decode)(void* keys, int64_t n, bool flips) = nullptr;
  // words[i] = the key of x[i], zeros alike, above the position i; for elements of 4 bytes.
  void (*rank)(uint64_t* words, const void* x, int64_t n, bool flips) = nullptr;
  // As `encode`, zeros alike.
  void (*ranks)(void* keys, const void* x, int64_t n, bool flips) = nullptr;
  // The places of elements whose keys, zeros alike, are below *bound; returns how many there are.
  int64_t (*below)(int32_t* places, const void* x, int64_t n, const void* bound,
                   bool flips) = nullptr;
  // The place of the element whose key, zeros alike, is *key, after `skipped` others that have it;
  // n: there is none.
  int64_t (*find_equal)(const void* x, int64_t n, const void* key, int64_t skipped,
                        bool flips) = nullptr;
  // Of each of `rows` rows of n <= kFewRanked elements, the places of those that stand at
  // [skip, skip + k) once it is in order, the earlier of equal ones first.
  void (*places)(int64_t* out, const void* x, int64_t rows, int64_t n, int64_t skip, int64_t k,
                 bool flips) = nullptr;
  // The last of each run of equal elements, in place; returns how many there are.
  int64_t (*distinct)(void* x, int64_t n) = nullptr;
};
constexpr int64_t kFewRanked = 16;

// Running combinations along an axis. Accumulators take 8 bytes (double for floats, else integers),
// 16 for complex numbers.
struct ScanKernels {
  // acc[j] = the identity, for j < width.
  void (*start)(void* acc, int64_t width) = nullptr;
  // acc[j] = combine(acc[j], x[0][j], ..., x[rows-1][j]); `step` elements lie between rows.
  void (*total)(void* acc, const void* x, int64_t rows, int64_t width, int64_t step) = nullptr;
  // The same, every step kept: y[r][j] = acc[j].
  void (*run)(void* acc, void* y, const void* x, int64_t rows, int64_t width,
              int64_t step) = nullptr;
  // acc[j] = combine(acc[j], other[j]), for j < width.
  void (*join)(void* acc, const void* other, int64_t width) = nullptr;
  // Whole lines of n elements each, which lie x_line and y_line elements apart: what the steps
  // above give, with the same bits. `step` is 1, or -1 where x and y point to the lines' ends.
  void (*lines)(void* y, int64_t y_line, const void* x, int64_t x_line, int64_t n, int64_t count,
                int64_t step) = nullptr;
};

// One sequence of log_probs, whose steps lie `stride` elements apart, and the path of its states:
// the class of each, and 0, or minus infinity, for whether it may be reached over its neighbour.
struct CtcSequence {
  const void* log_probs;
  int64_t stride;
  const int64_t* path;
  const void* hop;  // kCtcMargin more than states
  int64_t steps, states;
  bool keeps_all;  // a row of the table for each step; else two take turns
};
constexpr int64_t kCtcMargin = 2;  // elements of a row beyond its states

struct CtcKernels {
  // table[step][kCtcMargin + state] = the logarithm of the probability of all paths up to there.
  void (*forward)(const CtcSequence& sequence, void* table, void* scratch) = nullptr;
  // Adds to `gradient`, which lies as the log_probs do, what flows back from the last step: that is
  // in scratch, behind two rows.
  void (*backward)(const CtcSequence& sequence, const void* table, void* gradient,
                   void* scratch) = nullptr;
};

struct KernelTable {
  std::map<std::string, ByDType<TileKernel>, std::less<>> scalars;
  std::map<std::string, ByDType<NumberLoops>, std::less<>> numbers;  // beside the same scalars
  std::map<std::string, ByDType<ReductionKernel>, std::less<>> reductions;
  ByDType<ReductionKernel> square_deviations;  // from the mean; their sum, as a double
  ByDType<ReductionKernel> log_sum_exp;
  ByDType<RowPrograms> rows;
  ByDType<ColumnPrograms> columns;
  ByDType<NormPrograms> norms;
  ByDType<DropoutKernel> dropout;
  ByDType<RampKernel> ramps;
  ByDType<AttentionKernels> attention;
  MoveKernels moves[5];  // by log2 of the size: 1, 2, 4, 8, 16 bytes
  // Copies past the caches, if `out` begins a cache line; meanwhile the cache lines from ahead[0],
  // ..., ahead[count - 1] on are fetched. Others see what was written after stream_end().
  void (*stream)(char* out, const char* in, int64_t bytes, const char* const* ahead,
                 int64_t count) = nullptr;
  void (*stream_end)() = nullptr;
  IndexKernels index32, index64;
  PickKernels picks[5];  // by log2 of the size
  MaskKernels masks;
  ByDType<AddKernels> adds;  // of the dtypes that are computed in
  ByDType<ConvolutionKernels> convolutions;
  ByDType<WinogradKernels> winograd;
  ByDType<DepthwiseKernel> depthwise;
  ByDType<BlockKernels> blocks;  // of depthwise convolutions
  ByDType<PoolKernels> pools;
  SortKernels sort32;
  SortKernels sort64;
  ByDType<KeyKernels> keys;
  std::map<std::string, ByDType<ScanKernels>, std::less<>> scans;  // by mode
  ByDType<CtcKernels> ctc;
  ByDType<FftKernels> ffts;                         // by the dtype of the real numbers
  ByDType<RandomKernels> random;                    // by what comes out
  TileKernel casts[kDTypeCount][kDTypeCount] = {};  // [from][to]
};

// The table of the level that this process runs at.
const KernelTable& kernel_table();
// Those of elements of so many bytes: a power of two, up to 16.
const MoveKernels& move_kernels(int64_t size);

}  // namespace tensorlike
