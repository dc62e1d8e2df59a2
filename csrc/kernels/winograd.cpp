// F(2x2, 3x3), strip by strip: tiles are transformed by the thread that then multiplies them, so
// that all 16 operands and products are still in its second-level cache. Channels lie side by side:
// in a tile's transform, in the products (rows: tiles; columns: channels of the result) and in the
// transform back; planes are turned on their way in and out.
#include "kernels/winograd.h"

#include <atomic>

#include "kernels/winograd_tiles.h"

namespace tensorlike {
namespace {

constexpr int64_t kOperandBytes = 768 * 1024;   // of transformed tiles, in the L2 cache
constexpr int64_t kFewTiles = 64;               // a strip with fewer reads the weights too often
constexpr int64_t kMostTiles = 128;             // of a strip
constexpr int64_t kProductBytes = 1024 * 1024;  // of products that are transformed back together
constexpr int64_t kSummed = 128;  // channels; after so many, sums go to memory: errors stay small

thread_local ScratchBuffer t_weights;
thread_local ScratchBuffer t_tiles;
thread_local ScratchBuffer t_products;
thread_local ScratchBuffer t_pixels;

template <class T>
Strips strips_of(const WindowProduct<T>& p, const Window& tiles, int threads) {
  const int64_t bytes = kTilePlaces * p.in_channels * static_cast<int64_t>(sizeof(T));
  const int64_t fitting = std::clamp<int64_t>(kOperandBytes / bytes, kFewTiles, kMostTiles);
  const int64_t share = p.images * tiles.out_size() / (int64_t{4} * threads);
  return {tiles, p.images, std::clamp(share, kFewTiles, fitting), kMostTiles};
}

// The weights' transforms: for each group and place, panels of columns (channels of the result),
// each along the channels that are summed.
template <class T>
class TransformedWeights {
 public:
  TransformedWeights(const WindowProduct<T>& product, ScratchLoan& buffer)
      : product_(product),
        lanes_(gemm_kernels<T>().lanes),
        wide_(lanes_ << 1),
        columns_(rounded_up(product.out_channels, lanes_)),
        place_size_(odd_lines(columns_ * product.in_channels)) {
    const int64_t count = product.groups * kTilePlaces * place_size_;
    transformed_ = kept_or(product, "transformed weights", buffer, count, [&](T* memory) {
      transformed_ = memory;
      transform();
    });
  }

  int64_t panels() const { return detail::ceil_div(columns_, wide_); }
  int64_t column(int64_t panel) const { return std::min(panel * wide_, columns_); }
  int64_t columns(int64_t panel) const { return column(panel + 1) - column(panel); }
  int width(int64_t panel) const { return columns(panel) > lanes_ ? 1 : 0; }
  T* at(int64_t group, int64_t place, int64_t panel) const {
    return transformed_ + (group * kTilePlaces + place) * place_size_ +
           column(panel) * product_.in_channels;
  }

 private:
  void transform() const {
    const WindowProduct<T>& p = product_;
    const int64_t blocks = columns_ / lanes_;
    const int64_t jobs = p.groups * blocks;
    const double work = static_cast<double>(p.groups * place_size_ * kTilePlaces);
    parallel_for(jobs, grain_of(4 * work, jobs), [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t group = job / blocks, column = job % blocks * lanes_;
        const int64_t panel = column / wide_;
        winograd_kernels<T>().weights(
            p.weight + group * p.group_step + column * p.out_step, p.out_step,
            std::min(lanes_, p.out_channels - column), p.in_step, p.in_channels, p.is_mirrored,
            at(group, 0, panel) + column % wide_, columns(panel), place_size_);
      }
    });
  }

  const WindowProduct<T>& product_;
  int64_t lanes_, wide_;
  int64_t columns_;
  int64_t place_size_;
  T* transformed_ = nullptr;
};

// One thread's work on strips of tiles.
template <class T>
class TileProduct {
 public:
  // is_finite: set to false where a result is not.
  TileProduct(const WindowProduct<T>& product, const TransformedWeights<T>& weights,
              const Window& tiles, const Strips& strips, std::atomic<bool>& is_finite)
      : product_(product),
        weights_(weights),
        tiles_(tiles),
        strips_(strips),
        is_finite_(is_finite),
        lanes_(winograd_kernels<T>().lanes),
        operand_loan_(t_tiles),
        products_loan_(t_products),
        pixels_loan_(t_pixels) {}

  // Panels [first, last) of a group's channels.
  void run(int64_t index, int64_t group, int64_t first, int64_t last) {
    if (!is_finite_) return;
    if (index != current_ || group != current_group_) arrange(index, group);
    const int64_t bytes = kTilePlaces * strip_.size() * static_cast<int64_t>(sizeof(T));
    const int64_t at_once = std::max<int64_t>(kProductBytes / (bytes * weights_.columns(0)), 1);
    for (int64_t panel = first; panel < last; panel += at_once) {
      const int64_t end = std::min(panel + at_once, last);
      const int64_t columns = weights_.column(end) - weights_.column(panel);
      const TilePlaces<T> products(products_loan_, strip_.size(), columns);
      for (int64_t place = 0; place < kTilePlaces; ++place) {
        multiply(group, place, panel, end, products);
      }
      over_images(tiles_, strip_, 0, strip_.lines, [&](const TileLines& lines) {
        if (!transform_products(lines, products, group, weights_.column(panel), columns)) {
          is_finite_ = false;
        }
      });
    }
  }

 private:
  void arrange(int64_t index, int64_t group) {
    current_ = index;
    current_group_ = group;
    strip_ = strips_[index];
    operand_ =
        TilePlaces<T>(operand_loan_, strip_.size(), rounded_up(product_.in_channels, lanes_));
    over_images(tiles_, strip_, 0, strip_.lines,
                [&](const TileLines& lines) { transform_tiles(lines, group); });
  }

  void transform_tiles(const TileLines& lines, int64_t group) {
    const WindowProduct<T>& p = product_;
    const Window& w = p.window;
    const auto pixels = pixels_under<T>(pixels_loan_, w, lines, strip_);
    const T* from = p.x + (lines.image * p.groups + group) * p.in_channels * w.in_size();
    for (int64_t c = 0; c < p.in_channels; c += lanes_, from += lanes_ * w.in_size()) {
      pixels.read(from, std::min(lanes_, p.in_channels - c));
      transform_lines(pixels, lines, strip_.columns, operand_, c);
    }
  }

  void multiply(int64_t group, int64_t place, int64_t first, int64_t last,
                const TilePlaces<T>& products) const {
    const detail::GemmKernels<T>& kernels = gemm_kernels<T>();
    for (int64_t panel = first; panel < last; ++panel) {
      const int width = weights_.width(panel);
      const int64_t columns = weights_.columns(panel);
      const int64_t column = weights_.column(panel) - weights_.column(first);
      const detail::Split tiles = detail::split_at_most(strip_.size(), kernels.max_rows[width]);
      const detail::Split summed = detail::split_at_most(product_.in_channels, kSummed);
      for (int64_t part = 0; part < tiles.count; ++part) {
        const int64_t tile = tiles.begin(part);
        for (int64_t block = 0; block < summed.count; ++block) {
          const int64_t from = summed.begin(block);
          kernels.tile[width][1][tiles.size(part) - 1](
              summed.size(block), operand_.at(place, tile) + from, operand_.row_step, 1,
              weights_.at(group, place, panel) + from * columns, columns,
              products.at(place, tile) + column, products.row_step, columns, block > 0);
        }
      }
    }
  }

  // False: not all results are finite.
  bool transform_products(const TileLines& lines, const TilePlaces<T>& products, int64_t group,
                          int64_t first, int64_t count) {
    const WindowProduct<T>& p = product_;
    const Window& w = p.window;
    const WinogradKernels& kernels = winograd_kernels<T>();
    const int64_t left = 2 * strip_.column, row = 2 * lines.line;
    const int64_t columns = std::min(2 * strip_.columns, w.out[2] - left);
    const int64_t rows = std::min(2 * lines.lines, w.out[1] - row);
    T* const pixels = pixels_loan_.template reserve<T>(2 * lines.lines * columns * lanes_);
    const int64_t pieces = columns == w.out[2] ? 1 : rows;
    bool is_finite = true;
    for (int64_t c = 0; c < count && first + c < p.out_channels; c += lanes_) {
      const int64_t channels = std::min(lanes_, p.out_channels - first - c);
      const int64_t channel = group * p.out_channels + first + c;
      for (int64_t i = 0; i < lines.lines; ++i) {
        T* const upper = pixels + 2 * i * columns * lanes_;
        is_finite &= kernels.products(
            products.at(0, lines.first + i * strip_.columns) + c, products.step, products.row_step,
            p.bias == nullptr ? nullptr : p.bias + channel, channels, strip_.columns, columns,
            upper, 2 * i + 1 < rows ? upper + columns * lanes_ : nullptr);
      }
      T* const to = p.y + (lines.image * p.groups * p.out_channels + channel) * p.y_size +
                    row * w.out[2] + left;
      for (int64_t i = 0; i < pieces; ++i) {
        kernels.scatter(pixels + i * columns * lanes_, channels, p.y_size, rows / pieces * columns,
                        to + i * w.out[2]);
      }
    }
    return is_finite;
  }

  const WindowProduct<T>& product_;
  const TransformedWeights<T>& weights_;
  const Window& tiles_;
  const Strips& strips_;
  std::atomic<bool>& is_finite_;
  const int64_t lanes_;
  ScratchLoan operand_loan_;
  ScratchLoan products_loan_;
  ScratchLoan pixels_loan_;
  int64_t current_ = -1, current_group_ = -1;
  Strip strip_{};
  TilePlaces<T> operand_;
};

}  // namespace

ScratchBuffer& tile_weights() { return t_weights; }

template <class T>
bool has_winograd(const WindowProduct<T>& p) {
  return has_tiles(p.window) && p.taps.size() == kTileTaps && p.taps.back() == kTileTaps - 1 &&
         p.origin == 0 && p.is_dense();
}

template <class T>
Work tiles_work(const WindowProduct<T>& p) {
  const detail::GemmKernels<T>& kernels = gemm_kernels<T>();
  const Window tiles = tiles_of(p.window);
  const Strips strips = strips_of(p, tiles, 1);
  const int64_t columns = rounded_up(p.out_channels, kernels.lanes);
  const int64_t panels = detail::ceil_div(columns, 2 * kernels.lanes);
  const int64_t parts = detail::ceil_div(strips[0].size(), kernels.max_rows[1]);
  const auto count = static_cast<double>(p.groups * kTilePlaces * strips.count());
  const auto vectors = static_cast<double>(columns / kernels.lanes);
  const auto depth = static_cast<double>(p.in_channels);
  const auto size = static_cast<double>(strips[0].size());
  constexpr double kBytes = sizeof(T);
  Work work;
  work.calls = count * static_cast<double>(panels * parts);
  work.loads = count * static_cast<double>(parts) * vectors * depth;
  work.products = count * size * vectors * depth;
  work.moved = count * size * kBytes *
               static_cast<double>(rounded_up(p.in_channels, kernels.lanes) + columns);
  work.made = static_cast<double>(p.groups * kTilePlaces * columns) * depth * kBytes;
  work.read = far_bytes(work.made, static_cast<double>(strips.count()));
  return work;
}

template <class T>
bool multiply_winograd(const WindowProduct<T>& product) {
  const Window tiles = tiles_of(product.window);
  ScratchLoan buffer(tile_weights());
  const TransformedWeights<T> weights(product, buffer);
  const Strips strips = strips_of(product, tiles, num_threads());
  std::atomic<bool> is_finite = true;
  over_strips(product, strips.count(), weights.panels(),
              [&] { return TileProduct<T>(product, weights, tiles, strips, is_finite); });
  return is_finite;
}

#define TL_INSTANTIATE(T)                              \
  template bool has_winograd(const WindowProduct<T>&); \
  template Work tiles_work(const WindowProduct<T>&);   \
  template bool multiply_winograd(const WindowProduct<T>&);
TL_INSTANTIATE(float)
TL_INSTANTIATE(double)
#undef TL_INSTANTIATE

}  // namespace tensorlike
