// The outer loops of the matrix multiply: which operand is packed, which tile shape is used, and
// how the result is cut into units for the threads. A unit is small enough that its part of c, with
// one block of a and b along k, stays in the second-level cache.
#include "gemm.h"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "../base/pool.h"
#include "scratch.h"

namespace tensorlike {
namespace detail {

const GemmTable& gemm_table(Isa isa) {
  switch (isa) {
#if defined(TL_HAS_v4)
    case Isa::kV4:
      return gemm_table_v4();
#endif
#if defined(TL_HAS_v3)
    case Isa::kV3:
      return gemm_table_v3();
#endif
#if defined(TL_HAS_v2)
    case Isa::kV2:
      return gemm_table_v2();
#endif
    default:
      return gemm_table(tensorlike::isa());
  }
}

namespace {

constexpr int64_t kParallelWork = 1000 * 1000;  // multiply-adds; below, waking a thread costs more
constexpr int64_t kTinyWork = 64;
constexpr int64_t kSmallB = 24 * 1024;  // bytes that stay in the first-level cache beside a and c

template <class T>
struct Operand {  // element (lane, p) is at data[lane * lane_stride + p * k_stride]
  const T* data;
  int64_t lane_stride;
  int64_t k_stride;
  const GemmSource<T>* source = nullptr;  // makes the elements instead

  const T* at(int64_t lane, int64_t p) const { return data + lane * lane_stride + p * k_stride; }
};

template <class T>
struct Problem {
  int64_t m, n, k;
  Operand<T> a;  // lanes are rows
  Operand<T> b;  // lanes are columns
  T* c;
  int64_t c_row;
  bool accumulate = false;

  // Whether the ways around packing and tiles are open to it.
  bool is_plain() const { return a.source == nullptr && b.source == nullptr && !accumulate; }
};

thread_local ScratchBuffer t_buffer_a;
thread_local ScratchBuffer t_buffer_b;

template <class T>
const GemmKernels<T>& kernels_of(const GemmTable& table) {
  if constexpr (std::is_same_v<T, float>) {
    return table.f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return table.f64;
  } else if constexpr (sizeof(T) == 4) {
    return table.u32;
  } else {
    return table.u64;
  }
}

int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

// [0, n) in `count` parts whose sizes differ by one at most.
struct Split {
  int64_t n, count;
  int64_t begin(int64_t part) const { return part * n / count; }
  int64_t size(int64_t part) const { return begin(part + 1) - begin(part); }
};

Split split_at_most(int64_t n, int64_t size) {
  return {n, std::max<int64_t>(1, ceil_div(n, size))};
}

// How much of a problem is packed at once (`super_*`) and how it is cut.
template <class T>
struct Plan {
  static constexpr int64_t kBlockK = 2048 / static_cast<int64_t>(sizeof(T));
  static constexpr int64_t kPackedA = (int64_t{2} << 20) / static_cast<int64_t>(sizeof(T));
  static constexpr int64_t kPackedB = (int64_t{4} << 20) / static_cast<int64_t>(sizeof(T));

  int width;  // log2 of the vectors of a tile
  int64_t tile_columns;
  int64_t tile_rows;
  bool packs_a, packs_b;
  int64_t super_m, super_n, super_k;

  Plan(const GemmKernels<T>& kernels, const Problem<T>& x) {
    width = 1;
    for (int wide = GemmKernels<T>::kWidths - 1; wide > 1; --wide) {
      const bool has_columns = x.n >= kernels.lanes << wide;
      if (has_columns && kernels.max_rows[wide] >= x.m) {
        width = wide;
        break;
      }
    }
    if (x.n <= kernels.lanes) width = 0;
    tile_columns = kernels.lanes << width;
    tile_rows = kernels.max_rows[width];
    packs_b = x.b.source != nullptr || !(x.b.lane_stride == 1 && ceil_div(x.m, tile_rows) <= 8);
    packs_a = x.a.source != nullptr ||
              !(ceil_div(x.n, tile_columns) <= 4 || (x.a.lane_stride == 1 && x.k <= kBlockK));
    super_k = std::min(x.k, 4 * kBlockK);
    super_m = std::max(tile_rows, kPackedA / super_k);
    super_n = std::max(tile_columns, kPackedB / super_k / tile_columns * tile_columns);
  }
};

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
        panels_(split_at_most(rows, plan.tile_rows)),
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
    if (plan.packs_a) packed_a_ = buffer_a.reserve<T>(rows * depth);
    if (packs_last_) packed_b_ = buffer_b.reserve<T>(packed_columns() * depth);
  }

  // Of a only if `fresh_a`, else it is still in the buffer; the same for b.
  void pack(bool fresh_a, bool fresh_b, bool in_parallel) {
    const int64_t a_jobs = plan_.packs_a && fresh_a ? panels_.count : 0;
    const int64_t b_first = plan_.packs_b ? 0 : tiles_ - 1;
    const int64_t b_jobs = packs_last_ && fresh_b ? tiles_ - b_first : 0;
    const int64_t jobs = (a_jobs + b_jobs) * blocks_.count;
    if (jobs == 0) return;
    const int64_t grain =
        in_parallel ? std::max<int64_t>(1, 16384 / (plan_.tile_columns * blocks_.size(0))) : jobs;
    parallel_for(jobs, grain, [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t block = job % blocks_.count;
        const int64_t which = job / blocks_.count;
        if (which < a_jobs) {
          pack_panel(which, block);
        } else {
          pack_tile(b_first + which - a_jobs, block);
        }
      }
    });
  }

  void multiply(bool accumulate, bool in_parallel) {
    // Units of about 128 x 512 elements of c; smaller if that leaves threads without work.
    int64_t unit_panels = std::min(panels_.count, std::max<int64_t>(1, 144 / plan_.tile_rows));
    int64_t unit_tiles = std::min(tiles_, std::max<int64_t>(1, 512 / plan_.tile_columns));
    if (in_parallel) {
      const int64_t wanted = int64_t{4} * num_threads();
      while (ceil_div(panels_.count, unit_panels) * ceil_div(tiles_, unit_tiles) < wanted) {
        if (unit_tiles * plan_.tile_columns >= unit_panels * plan_.tile_rows && unit_tiles > 1) {
          unit_tiles = ceil_div(unit_tiles, 2);
        } else if (unit_panels > 1) {
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
    parallel_for(units, in_parallel ? 1 : units, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        if (unit > begin) check_interrupt();
        const int64_t i = unit % across.count;
        const int64_t j = unit / across.count;
        multiply_unit(across.begin(i), across.begin(i + 1), along.begin(j), along.begin(j + 1),
                      accumulate);
      }
    });
  }

 private:
  int64_t last_columns() const { return columns_ - (tiles_ - 1) * plan_.tile_columns; }
  int64_t packed_columns() const {
    return (plan_.packs_b ? tiles_ - 1 : 0) * plan_.tile_columns + (kernels_.lanes << last_width_);
  }

  // Packed data lies block after block along k, and in a block panel after panel.
  T* packed_panel(int64_t panel, int64_t block) const {
    return packed_a_ + blocks_.begin(block) * panels_.n +
           panels_.begin(panel) * blocks_.size(block);
  }
  T* packed_tile(int64_t tile, int64_t block) const {
    const int64_t before = plan_.packs_b ? tile * plan_.tile_columns : 0;
    return packed_b_ + blocks_.begin(block) * packed_columns() + before * blocks_.size(block);
  }

  void pack_operand(const Operand<T>& x, T* to, int64_t step, int64_t lane, int64_t p,
                    int64_t count, int64_t k) const {
    if (x.source != nullptr) {
      x.source->pack(to, step, lane, p, count, k);
    } else {
      kernels_.pack(to, step, x.at(lane, p), x.lane_stride, x.k_stride, count, k);
    }
  }

  void pack_panel(int64_t panel, int64_t block) const {
    pack_operand(x_.a, packed_panel(panel, block), panels_.size(panel), row_ + panels_.begin(panel),
                 depth_begin_ + blocks_.begin(block), panels_.size(panel), blocks_.size(block));
  }

  void pack_tile(int64_t tile, int64_t block) const {
    const bool is_last = tile == tiles_ - 1;
    pack_operand(x_.b, packed_tile(tile, block),
                 is_last ? kernels_.lanes << last_width_ : plan_.tile_columns,
                 column_ + tile * plan_.tile_columns, depth_begin_ + blocks_.begin(block),
                 is_last ? last_columns() : plan_.tile_columns, blocks_.size(block));
  }

  void multiply_unit(int64_t panel_begin, int64_t panel_end, int64_t tile_begin, int64_t tile_end,
                     bool accumulate) const {
    const int64_t panels = panel_end - panel_begin;
    const int64_t tiles = tile_end - tile_begin;
    const int64_t bytes_b = tiles * plan_.tile_columns * blocks_.size(0) * int64_t{sizeof(T)};
    const bool is_row_wise = bytes_b <= kSmallB;  // else one tile of b is used by all panels
    for (int64_t block = 0; block < blocks_.count; ++block) {
      for (int64_t outer = 0; outer < (is_row_wise ? panels : tiles); ++outer) {
        for (int64_t inner = 0; inner < (is_row_wise ? tiles : panels); ++inner) {
          multiply_tile(block, panel_begin + (is_row_wise ? outer : inner),
                        tile_begin + (is_row_wise ? inner : outer), accumulate || block > 0);
        }
      }
    }
  }

  void multiply_tile(int64_t block, int64_t panel, int64_t tile, bool accumulate) const {
    const int64_t from = depth_begin_ + blocks_.begin(block);
    const bool is_last = tile == tiles_ - 1;
    const int width = is_last ? last_width_ : plan_.width;
    const bool is_packed = plan_.packs_b || (is_last && packs_last_);
    const int64_t column = column_ + tile * plan_.tile_columns;
    const T* b = is_packed ? packed_tile(tile, block) : x_.b.at(column, from);
    const int64_t b_k = is_packed ? kernels_.lanes << width : x_.b.k_stride;

    const int64_t row = row_ + panels_.begin(panel);
    const int64_t rows = panels_.size(panel);
    const T* a = plan_.packs_a ? packed_panel(panel, block) : x_.a.at(row, from);
    const int64_t a_row = plan_.packs_a ? 1 : x_.a.lane_stride;
    const int64_t a_k = plan_.packs_a ? rows : x_.a.k_stride;
    const bool is_strided = a_row != 1 && rows > 1;
    kernels_.tile[width][is_strided][rows - 1](
        blocks_.size(block), a, a_row, a_k, b, b_k, x_.c + row * x_.c_row + column, x_.c_row,
        is_last ? last_columns() : plan_.tile_columns, accumulate);
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
};

template <class T>
void multiply_tiny(const Problem<T>& x) {
  for (int64_t i = 0; i < x.m; ++i) {
    for (int64_t j = 0; j < x.n; ++j) {
      T sum = 0;
      for (int64_t p = 0; p < x.k; ++p) sum += *x.a.at(i, p) * *x.b.at(j, p);
      x.c[i * x.c_row + j] = sum;
    }
  }
}

// Calls f(first, last) on ranges of at most `piece` columns that begin at a multiple of it, a whole
// number of cache lines, so that a column's place in a vector does not depend on the threads.
template <class F>
void for_columns(int64_t columns, int64_t piece, bool in_parallel, F&& f) {
  const int64_t pieces = ceil_div(columns, piece);
  parallel_for(pieces, in_parallel ? 1 : pieces, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i > begin) check_interrupt();
      f(i * piece, std::min((i + 1) * piece, columns));
    }
  });
}

// Few rows, and a b that is contiguous along k (as the weights of a linear layer are): transposing
// b would cost more than the sums.
template <class T>
void multiply_dots(const GemmKernels<T>& kernels, const Problem<T>& x, bool in_parallel) {
  const T* rows = x.a.data;
  int64_t row_stride = x.a.lane_stride;
  ScratchLoan buffer(t_buffer_a);
  if (x.a.k_stride != 1) {
    T* copy = buffer.reserve<T>(x.m * x.k);
    for (int64_t i = 0; i < x.m; ++i) {
      kernels.pack(copy + i * x.k, 1, x.a.at(i, 0), 0, x.a.k_stride, 1, x.k);
    }
    rows = copy;
    row_stride = x.k;
  }
  for_columns(x.n, 64, in_parallel, [&](int64_t first, int64_t last) {
    kernels.dot_rows(last - first, x.k, x.b.at(first, 0), x.b.lane_stride, rows, x.m, row_stride,
                     x.c + first, x.c_row);
  });
}

template <class T>
void multiply_row(const GemmKernels<T>& kernels, const Problem<T>& x, bool in_parallel) {
  // Long runs of memory, but work for all threads; c stays in the first-level cache.
  const int64_t share = ceil_div(x.n, 2 * num_threads() * int64_t{64}) * 64;
  const int64_t piece = in_parallel ? std::clamp<int64_t>(share, 256, 4096) : 4096;
  for_columns(x.n, piece, in_parallel, [&](int64_t first, int64_t last) {
    kernels.sum_rows(last - first, x.k, x.a.data, x.a.k_stride, x.b.at(first, 0), x.b.k_stride,
                     x.c + first);
  });
}

template <class T>
void multiply(const GemmKernels<T>& kernels, const Problem<T>& x) {
  if (x.m == 0 || x.n == 0) return;
  if (x.k == 0) {
    if (x.accumulate) return;
    for (int64_t i = 0; i < x.m; ++i) std::fill_n(x.c + i * x.c_row, x.n, T{0});
    return;
  }
  if (x.is_plain() && x.n == 1 &&
      x.m > 1) {  // c' = b' @ a', if need be through a contiguous result
    if (x.c_row == 1) {
      multiply<T>(kernels, {1, x.m, x.k, x.b, x.a, x.c, x.m});
      return;
    }
    const auto result = std::make_unique<T[]>(static_cast<size_t>(x.m));
    multiply<T>(kernels, {1, x.m, x.k, x.b, x.a, result.get(), x.m});
    for (int64_t i = 0; i < x.m; ++i) x.c[i * x.c_row] = result[static_cast<size_t>(i)];
    return;
  }
  const double work =
      static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.k);
  if (x.is_plain() && work <= kTinyWork) {
    multiply_tiny(x);
    return;
  }
  const bool in_parallel = work >= kParallelWork;
  if (x.is_plain() && x.b.k_stride == 1 && (x.m == 1 || (x.m <= 8 && x.k >= 512))) {
    multiply_dots(kernels, x, in_parallel);
    return;
  }
  if (x.is_plain() && x.m == 1 && x.b.lane_stride == 1 && x.n >= 256) {
    multiply_row(kernels, x, in_parallel);
    return;
  }
  const Plan<T> plan(kernels, x);
  ScratchLoan buffer_a(t_buffer_a);
  ScratchLoan buffer_b(t_buffer_b);
  for (int64_t column = 0; column < x.n; column += plan.super_n) {
    const int64_t columns = std::min(plan.super_n, x.n - column);
    for (int64_t from = 0; from < x.k; from += plan.super_k) {
      const int64_t depth = std::min(plan.super_k, x.k - from);
      for (int64_t row = 0; row < x.m; row += plan.super_m) {
        check_interrupt();
        const int64_t rows = std::min(plan.super_m, x.m - row);
        Part<T> part(kernels, plan, x, buffer_a, buffer_b, row, rows, column, columns, from, depth);
        part.pack(true, row == 0, in_parallel);
        part.multiply(x.accumulate || from > 0, in_parallel);
      }
    }
  }
}

}  // namespace

template <class T>
void gemm_with(const GemmTable& table, int64_t m, int64_t n, int64_t k, const T* a,
               int64_t a_row_stride, int64_t a_col_stride, const T* b, int64_t b_row_stride,
               int64_t b_col_stride, T* c, int64_t c_row_stride) {
  if constexpr (std::is_floating_point_v<T>) {
    multiply<T>(kernels_of<T>(table), {m,
                                       n,
                                       k,
                                       {a, a_row_stride, a_col_stride},
                                       {b, b_col_stride, b_row_stride},
                                       c,
                                       c_row_stride});
  } else {  // a signed type may be read and written as its unsigned one
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    multiply<U>(kernels_of<U>(table), {m,
                                       n,
                                       k,
                                       {reinterpret_cast<const U*>(a), a_row_stride, a_col_stride},
                                       {reinterpret_cast<const U*>(b), b_col_stride, b_row_stride},
                                       reinterpret_cast<U*>(c),
                                       c_row_stride});
  }
}

}  // namespace detail

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row_stride, int64_t a_col_stride,
          const T* b, int64_t b_row_stride, int64_t b_col_stride, T* c, int64_t c_row_stride) {
  static const detail::GemmTable& table = detail::gemm_table(isa());
  detail::gemm_with<T>(table, m, n, k, a, a_row_stride, a_col_stride, b, b_row_stride, b_col_stride,
                       c, c_row_stride);
}

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, const GemmOperand<T>& a, const GemmOperand<T>& b, T* c,
          int64_t c_row_stride, bool accumulate) {
  static const detail::GemmTable& table = detail::gemm_table(isa());
  detail::multiply<T>(detail::kernels_of<T>(table), {m,
                                                     n,
                                                     k,
                                                     {a.data, a.lane_stride, a.k_stride, a.source},
                                                     {b.data, b.lane_stride, b.k_stride, b.source},
                                                     c,
                                                     c_row_stride,
                                                     accumulate});
}

template void gemm<float>(int64_t, int64_t, int64_t, const GemmOperand<float>&,
                          const GemmOperand<float>&, float*, int64_t, bool);
template void gemm<double>(int64_t, int64_t, int64_t, const GemmOperand<double>&,
                           const GemmOperand<double>&, double*, int64_t, bool);

#define TL_INSTANTIATE(T)                                                                         \
  template void detail::gemm_with<T>(const GemmTable&, int64_t, int64_t, int64_t, const T*,       \
                                     int64_t, int64_t, const T*, int64_t, int64_t, T*, int64_t);  \
  template void gemm<T>(int64_t, int64_t, int64_t, const T*, int64_t, int64_t, const T*, int64_t, \
                        int64_t, T*, int64_t);
TL_INSTANTIATE(float)
TL_INSTANTIATE(double)
TL_INSTANTIATE(int32_t)
TL_INSTANTIATE(int64_t)
#undef TL_INSTANTIATE

}  // namespace tensorlike
