// The packed way through a matrix multiply. The result is cut into units for the threads: a unit is
// small enough that its part of c, with one block of a and b along k, stays in the second-level
// cache.
#pragma once

#include "base/pool.h"
#include "kernels/gemm_plan.h"
#include "kernels/scratch.h"

namespace tensorlike::detail {

constexpr int64_t kNearB = 320 * 1024;  // bytes that stay in the second-level cache beside a and c
constexpr int64_t kPanelsAtOnce = 4;    // that are packed together
constexpr int64_t kStepsAtOnce = 8;

// The panels of a and the tile of b that a unit packs for itself.
inline ScratchPlace t_panels;
inline ScratchPlace t_tile;

// One packed part of the problem: c[rows, columns] += a[rows, depth] @ b[depth, columns].
template <class T>
class Part {
 public:
  Part(const GemmKernels<T>& kernels, const Plan<T>& plan, const Problem<T>& problem,
       ScratchLoan& buffer_a, ScratchLoan& buffer_b, int64_t row, int64_t rows, int64_t column,
       int64_t columns, int64_t depth_begin, int64_t depth)
      : kernels_(kernels),
        plan_(plan),
        x_(problem),
        row_(row),
        column_(column),
        columns_(columns),
        depth_begin_(depth_begin),
        panels_(plan.panels_of(rows)),
        tiles_(ceil_div(columns, plan.tile_columns)),
        blocks_(split_at_most(depth, Plan<T>::kBlockK)) {
    for (int w = 0; w <= plan.width; ++w) {
      if (last_columns() <= kernels.lanes << w && kernels.max_rows[w] >= plan.tile_rows) {
        last_width_ = w;
        break;
      }
      last_width_ = plan.width;
    }
    packs_last_ = plan.packs_b ||
                  (!kernels.reads_partial_b && last_columns() != kernels.lanes << last_width_);
    if (plan.packs_a) packed_a_ = kept_a(rows, depth);
    if (packs_last_) packed_b_ = kept_b(columns, depth);
    packs_a_now_ = plan.packs_a && packed_a_ == nullptr;
    packs_b_now_ = packs_last_ && packed_b_ == nullptr && !plan.packs_b_in_units;
    if (packs_a_now_) packed_a_ = buffer_a.reserve<T>(rows * depth);
    if (packs_b_now_) packed_b_ = buffer_b.reserve<T>(packed_columns() * depth);
  }

  // What is not kept; b only if `fresh_b`, else it is still in the buffer.
  void pack(bool fresh_b, bool in_parallel) const {
    pack_operands(packs_a_now_, packs_b_now_ && fresh_b, in_parallel);
  }

  // `is_last`: the sums are complete after it.
  void multiply(bool accumulate, bool is_last, bool in_parallel) {
    int64_t unit_panels = std::min(panels_.count, plan_.unit_panels());
    int64_t unit_tiles = std::min(tiles_, plan_.unit_tiles());
    if (in_parallel) {
      const int64_t wanted = int64_t{4} * num_threads();
      while (ceil_div(panels_.count, unit_panels) * ceil_div(tiles_, unit_tiles) < wanted) {
        const bool is_wide = unit_tiles * plan_.tile_columns >= unit_panels * plan_.tile_rows;
        // Units side by side would pack the same panels.
        if (is_wide && unit_tiles > 1 && !(plan_.packs_a_in_units && unit_panels > 2)) {
          unit_tiles = ceil_div(unit_tiles, 2);
        } else if (unit_panels > 1 && !plan_.packs_b_in_units) {  // nor the same tiles
          unit_panels = ceil_div(unit_panels, 2);
        } else if (unit_tiles > 1) {
          unit_tiles = ceil_div(unit_tiles, 2);
        } else {
          break;
        }
      }
    }
    const Split across = split_at_most(panels_.count, unit_panels);
    const Split along = split_at_most(tiles_, unit_tiles);
    const int64_t units = across.count * along.count;
    // A thread's units share rows, which the thread that wrote them reads again; or columns, where
    // these are more to read.
    const bool by_columns = columns_ > 2 * panels_.n;
    parallel_for(units, in_parallel ? 1 : units, [&](int64_t begin, int64_t end) {
      ScratchLoan buffer_a(t_panels), buffer_b(t_tile);
      const int64_t depth = ceil_div(blocks_.n, blocks_.count);
      Own own;
      if (plan_.packs_a_in_units) {
        own.a = buffer_a.reserve<T>(unit_panels * plan_.tile_rows * depth);
      }
      if (plan_.packs_b_in_units) own.b = buffer_b.reserve<T>(plan_.tile_columns * depth);
      for (int64_t unit = begin; unit < end; ++unit) {
        if (unit > begin) check_interrupt();
        const int64_t i = by_columns ? unit % across.count : unit / along.count;
        const int64_t j = by_columns ? unit / across.count : unit % along.count;
        multiply_unit(across.begin(i), across.begin(i + 1), along.begin(j), along.begin(j + 1),
                      accumulate, own);
        if (is_last) {
          finish_unit(across.begin(i), across.begin(i + 1), along.begin(j), along.begin(j + 1));
        }
      }
    });
  }

 private:
  int64_t last_columns() const { return columns_ - (tiles_ - 1) * plan_.tile_columns; }
  int64_t packed_columns() const {
    return (plan_.packs_b ? tiles_ - 1 : 0) * plan_.tile_columns + (kernels_.lanes << last_width_);
  }

  // An operand of which the caller keeps forms, as this part needs it; null: it is not kept.
  T* kept_a(int64_t rows, int64_t depth) {
    if (x_.a.forms == nullptr) return nullptr;
    return kept(x_.a, "rows of a product", {row_, rows, panels_.count}, rows * depth, depth,
                [&](T* memory) {
                  packed_a_ = memory;
                  pack_operands(true, false, plan_.threads > 1);
                });
  }
  T* kept_b(int64_t columns, int64_t depth) {
    if (x_.b.forms == nullptr) return nullptr;
    return kept(x_.b, "columns of a product",
                {column_, columns, plan_.packs_b, plan_.tile_columns, last_width_},
                packed_columns() * depth, depth, [&](T* memory) {
                  packed_b_ = memory;
                  pack_operands(false, true, plan_.threads > 1);
                });
  }
  template <class Make>
  T* kept(const Operand<T>& x, std::string_view kind, SmallVector<int64_t, 16> numbers,
          int64_t count, int64_t depth, Make&& make) {
    for (int64_t number : {int64_t{sizeof(T)}, kernels_.lanes, x.lane_stride, x.k_stride,
                           depth_begin_, depth, blocks_.count}) {
      numbers.push_back(number);
    }
    const auto make_in = [&](char* memory) { make(reinterpret_cast<T*>(memory)); };
    return reinterpret_cast<T*>(x.forms->get({kind, x.data, std::move(numbers)},
                                             static_cast<size_t>(count) * sizeof(T), make_in));
  }

  // A block along k.
  struct Block {
    int64_t from, depth;
  };
  Block block_at(int64_t i) const { return {blocks_.begin(i), blocks_.size(i)}; }

  // Packed data lies block after block along k, and in a block panel after panel.
  T* packed_panel(int64_t row, Block block) const {
    return packed_a_ + block.from * panels_.n + row * block.depth;
  }
  T* packed_tile(int64_t tile, Block block) const {
    const int64_t before = plan_.packs_b ? tile * plan_.tile_columns : 0;
    return packed_b_ + block.from * packed_columns() + before * block.depth;
  }

  void pack_operands(bool packs_a, bool packs_b, bool in_parallel) const {
    const Split groups = split_at_most(panels_.count, is_transposed(x_.a) ? kPanelsAtOnce : 1);
    const int64_t a_jobs = packs_a ? groups.count : 0;
    const int64_t b_first = plan_.packs_b ? 0 : tiles_ - 1;
    const int64_t b_jobs = packs_b ? tiles_ - b_first : 0;
    const int64_t jobs = (a_jobs + b_jobs) * blocks_.count;
    if (jobs == 0) return;
    const int64_t grain =
        in_parallel ? std::max<int64_t>(1, 16384 / (plan_.tile_columns * blocks_.size(0))) : jobs;
    parallel_for(jobs, grain, [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const Block block = block_at(job % blocks_.count);
        const int64_t which = job / blocks_.count;
        if (which < a_jobs) {
          pack_panels(groups.begin(which), groups.begin(which + 1), block);
        } else {
          const int64_t tile = b_first + which - a_jobs;
          pack_tile(packed_tile(tile, block), tile, block);
        }
      }
    });
  }

  void pack_operand(const Operand<T>& x, T* to, int64_t step, int64_t lane, int64_t p,
                    int64_t count, int64_t k) const {
    if (x.source != nullptr) {
      x.source->pack(to, step, lane, p, count, k);
    } else {
      kernels_.pack(to, step, x.at(lane, p), x.lane_stride, x.k_stride, count, k);
    }
  }

  static bool is_transposed(const Operand<T>& a) { return a.lane_stride == 1; }

  // Panels side by side, a few steps along k at a time: where a is transposed, they share cache
  // lines, which lie so far apart along k that few of them stay.
  void pack_panels(int64_t begin, int64_t end, Block block) const {
    const int64_t steps = is_transposed(x_.a) ? kStepsAtOnce : block.depth;
    for (int64_t from = 0; from < block.depth; from += steps) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t row = panels_.begin(panel), rows = panels_.size(panel);
        pack_operand(x_.a, packed_panel(row, block) + from * rows, rows, row_ + row,
                     depth_begin_ + block.from + from, rows, std::min(steps, block.depth - from));
      }
    }
  }

  void pack_tile(T* to, int64_t tile, Block block) const {
    pack_operand(x_.b, to, kernels_.lanes << width(tile), column_ + tile * plan_.tile_columns,
                 depth_begin_ + block.from, columns(tile), block.depth);
  }

  int width(int64_t tile) const { return tile == tiles_ - 1 ? last_width_ : plan_.width; }
  int64_t columns(int64_t tile) const {
    return tile == tiles_ - 1 ? last_columns() : plan_.tile_columns;
  }

  // Where a unit packs panels of a for itself, each right before its first tile, and a tile of b.
  struct Own {
    T* a = nullptr;
    T* b = nullptr;
  };
  // A panel of a or a tile of b, packed or where it lies.
  struct Piece {
    const T* at;
    int64_t lane_stride, k_stride;
  };

  void multiply_unit(int64_t panel_begin, int64_t panel_end, int64_t tile_begin, int64_t tile_end,
                     bool accumulate, Own own) const {
    const int64_t panels = panel_end - panel_begin;
    const int64_t tiles = tile_end - tile_begin;
    const int64_t first_row = panels_.begin(panel_begin);
    const int64_t bytes_b = tiles * plan_.tile_columns * blocks_.size(0) * int64_t{sizeof(T)};
    // All tiles for one panel, so that rows of c are written in order; else one tile of b is used
    // by all panels.
    const bool is_row_wise = own.b == nullptr && bytes_b <= kNearB;
    for (int64_t i = 0; i < blocks_.count; ++i) {
      const Block block = block_at(i);
      for (int64_t outer = 0; outer < (is_row_wise ? panels : tiles); ++outer) {
        for (int64_t inner = 0; inner < (is_row_wise ? tiles : panels); ++inner) {
          const int64_t panel = panel_begin + (is_row_wise ? outer : inner);
          const int64_t tile = tile_begin + (is_row_wise ? inner : outer);
          const int64_t row = panels_.begin(panel), rows = panels_.begin(panel + 1) - row;
          if (own.a != nullptr && tile == tile_begin) {
            pack_panel(own.a + (row - first_row) * block.depth, row, rows, block);
          }
          if (own.b != nullptr && inner == 0) pack_tile(own.b, tile, block);
          const Piece a = panel_of(row, rows, block, own, first_row);
          const Piece b = tile_of(tile, block, own);
          const bool is_done = !is_row_wise && inner + 1 == panels;  // with the tile
          const bool is_end = tile + 1 == tile_end && i + 1 == blocks_.count;
          Ahead<T> ahead;
          if (!is_done || is_end) {
            ahead = rows_ahead(b.at, b.k_stride, rows);
          } else if (tile + 1 < tile_end) {
            ahead = tile_ahead(tile + 1, block, b, rows, block.depth);
          } else {
            ahead = tile_ahead(tile_begin, block_at(i + 1), b, rows, block.depth);
          }
          kernels_.tile[width(tile)][a.lane_stride != 1 && rows > 1][rows - 1](
              block.depth, a.at, a.lane_stride, a.k_stride, b.at, b.k_stride, ahead,
              x_.c + (row_ + row) * x_.c_row + column_ + tile * plan_.tile_columns, x_.c_row,
              columns(tile), accumulate || i > 0);
        }
      }
    }
  }

  Piece panel_of(int64_t row, int64_t rows, Block block, Own own, int64_t first_row) const {
    if (own.a != nullptr) return {own.a + (row - first_row) * block.depth, 1, rows};
    if (plan_.packs_a) return {packed_panel(row, block), 1, rows};
    return {x_.a.at(row_ + row, depth_begin_ + block.from), x_.a.lane_stride, x_.a.k_stride};
  }
  Piece tile_of(int64_t tile, Block block, Own own) const {
    if (is_packed(tile)) {
      return {own.b != nullptr ? own.b : packed_tile(tile, block), 1,
              kernels_.lanes << width(tile)};
    }
    return {x_.b.at(column_ + tile * plan_.tile_columns, depth_begin_ + block.from), 1,
            x_.b.k_stride};
  }
  bool is_packed(int64_t tile) const {
    return plan_.packs_b || (packs_last_ && tile == tiles_ - 1);
  }
  // A tile of b that is multiplied next, or packed for that; it follows `depth` rows at `b`.
  Ahead<T> tile_ahead(int64_t tile, Block block, Piece b, int64_t rows, int64_t depth) const {
    if (!plan_.packs_b_in_units) {
      return rows_ahead(b.at, b.k_stride, rows, depth, tile_of(tile, block, {}).at);
    }
    const T* const from = x_.b.at(column_ + tile * plan_.tile_columns, depth_begin_ + block.from);
    if (x_.b.k_stride != 1) return {from, x_.b.k_stride};
    const int64_t run = ceil_div(block.depth, plan_.tile_columns);
    return {from, plan_.tile_columns, run, x_.b.lane_stride - run * plan_.tile_columns};
  }

  void finish_unit(int64_t panel_begin, int64_t panel_end, int64_t tile_begin,
                   int64_t tile_end) const {
    const int64_t row = panels_.begin(panel_begin);
    const int64_t column = tile_begin * plan_.tile_columns;
    x_.epilogue(row_ + row, panels_.begin(panel_end) - row, column_ + column,
                std::min(tile_end * plan_.tile_columns, columns_) - column);
  }

  void pack_panel(T* to, int64_t row, int64_t rows, Block block) const {
    kernels_.pack(to, rows, x_.a.at(row_ + row, depth_begin_ + block.from), x_.a.lane_stride,
                  x_.a.k_stride, rows, block.depth);
  }

  const GemmKernels<T>& kernels_;
  const Plan<T>& plan_;
  const Problem<T>& x_;
  int64_t row_, column_, columns_, depth_begin_;
  Split panels_;
  int64_t tiles_;
  Split blocks_;
  int last_width_ = 0;
  bool packs_last_ = false;
  T* packed_a_ = nullptr;
  T* packed_b_ = nullptr;
  bool packs_a_now_ = false;  // what nobody keeps
  bool packs_b_now_ = false;
};

}  // namespace tensorlike::detail
