// Which loops a processor gets for products of 8-bit integers; packing; blocks and threads.
#include "kernels/integer_product.h"

#include <algorithm>
#include <cstring>

#include "base/pool.h"
#include "kernels/gemm_plan.h"
#include "kernels/levels.h"
#include "kernels/scratch.h"

namespace tensorlike {
namespace detail {

TL_TABLE_BY_LEVEL(IntegerTable, integer_table)

const IntegerKernels& integer_kernels(Isa isa) {
  const IntegerTable& table = integer_table(isa);
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (isa == Isa::kV4 && __builtin_cpu_supports("avx512vnni")) return table.dot;
  if (isa == Isa::kV3 && __builtin_cpu_supports("avxvnni")) return table.dot;
#endif
  return table.plain;
}

ByteLookUp byte_look_up(Isa isa) {
  const IntegerTable& table = integer_table(isa);
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (table.permute != nullptr && __builtin_cpu_supports("avx512vbmi")) return table.permute;
#endif
  return table.look_up;
}

}  // namespace detail

namespace {

// Of a unit of work, which reads them for all its rows.
constexpr int64_t kPanelsTogether = detail::IntegerKernels::kRowPanels;
constexpr int64_t kProductRowsTogether = 70;
constexpr int64_t kParallelProduct = 2 * 1000 * 1000;  // multiply-adds that are worth a thread

ScratchPlace t_product_sums;

const detail::IntegerKernels& chosen() {
  static const detail::IntegerKernels& kernels = detail::integer_kernels(isa());
  return kernels;
}

}  // namespace

IntegerPanels::IntegerPanels(int64_t k, int64_t n)
    : kernels_(chosen()),
      k_(k),
      n_(n),
      groups_(detail::ceil_div(k, kernels_.is_wide ? 2 : 4)),
      panels_(detail::ceil_div(n, kernels_.columns)),
      row_bytes_(4 * groups_) {
  // Rows a power of 2 apart would push each other out of the cache.
  if (row_bytes_ % 512 == 0) row_bytes_ += 64;
}

size_t IntegerPanels::bytes() const {
  return static_cast<size_t>(4 * padded_columns() * (groups_ + 1));
}

const char* IntegerPanels::panel(int64_t i) const {
  return data_ + 4 * (padded_columns() + i * kernels_.columns * groups_);
}

void IntegerPanels::pack(char* memory, const int8_t* b, int64_t row_stride, int64_t column_stride,
                         uint8_t flip) const {
  const int64_t step = kernels_.columns;
  int32_t* const sums = reinterpret_cast<int32_t*>(memory);
  char* const panels = memory + 4 * padded_columns();
  const int64_t together = kernels_.is_wide ? 2 : 4;
  parallel_for(panels_, std::max<int64_t>(1, 65536 / (step * groups_ + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   char* const to = panels + 4 * i * step * groups_;
                   std::memset(to, 0, static_cast<size_t>(4 * step * groups_));
                   std::fill_n(sums + i * step, step, 0);
                   const int64_t count = std::min(step, n_ - i * step);
                   for (int64_t p = 0; p < k_; ++p) {
                     const int8_t* const row = b + p * row_stride + i * step * column_stride;
                     const int64_t at = p / together * step * together + p % together;
                     for (int64_t j = 0; j < count; ++j) {
                       const int8_t value = static_cast<int8_t>(row[j * column_stride] ^ flip);
                       sums[i * step + j] += value;
                       if (kernels_.is_wide) {
                         reinterpret_cast<int16_t*>(to)[at + j * together] = value;
                       } else {
                         reinterpret_cast<int8_t*>(to)[at + j * together] = value;
                       }
                     }
                   }
                 }
               });
}

void IntegerPanels::run(int64_t rows, const char* a, const int32_t* start, void* context,
                        Run block) const {
  const int64_t step = kernels_.columns;
  const int64_t row_blocks = detail::ceil_div(rows, kProductRowsTogether);
  const int64_t column_blocks = detail::ceil_div(panels_, kPanelsTogether);
  const int64_t work = std::min(rows, kProductRowsTogether) * kPanelsTogether * step * k_ + 1;
  const auto one = [&](int64_t unit) {
    // Blocks that follow each other share their columns: panels are more to read than rows.
    const int64_t first = unit / row_blocks * kPanelsTogether;
    const int64_t last = std::min(panels_, first + kPanelsTogether);
    const detail::Split blocks{rows, row_blocks};
    const int64_t row = blocks.begin(unit % row_blocks);
    const int64_t count = blocks.size(unit % row_blocks);
    const detail::Split tiles = detail::split_at_most(count, kernels_.max_rows);
    ScratchLoan loan(t_product_sums);
    const int64_t width = kPanelsTogether * step;
    int32_t* const sums = loan.reserve<int32_t>(kernels_.max_rows * width);
    for (int64_t t = 0; t < tiles.count; ++t) {
      const int64_t at = row + tiles.begin(t), rows_of = tiles.size(t);
      const auto tile = [&](auto run, int64_t i) {
        run(groups_, a + at * row_bytes_, row_bytes_, panel(i), start + i * step,
            sums + (i - first) * step, width);
      };
      if (rows_of == 1 && last - first == kPanelsTogether) {
        tile(kernels_.row_tile, first);
      } else {
        for (int64_t i = first; i < last; ++i) tile(kernels_.tile[rows_of - 1], i);
      }
      block(context, at, rows_of, first * step, std::min(width, n_ - first * step), sums, width);
    }
  };
  parallel_for(row_blocks * column_blocks, std::max<int64_t>(1, kParallelProduct / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t unit = begin; unit < end; ++unit) one(unit);
               });
}

}  // namespace tensorlike
