// F(2x2, 3x3). Channels lie side by side: in a tile's transform, in the products (rows: tiles;
// columns: channels of the result) and in the transform back; planes are turned on their way in and
// out. Of the two operands the larger one is transformed piece by piece, by the thread that then
// multiplies it, so that the piece is still in its second-level cache: strips of tiles, or panels
// of the weights where these are more than the tiles.
#include "kernels/winograd.h"

#include <atomic>

#include "kernels/winograd_panels.h"

namespace tensorlike {
namespace {

constexpr int64_t kManyForKept = 256;    // as many hide what transforming the weights takes
constexpr int64_t kManyForPanels = 128;  // the same where that is done panel by panel
constexpr int64_t kTransformedBytes = 768 * 1024;  // of transformed tiles, in the L2 cache
constexpr int64_t kFewTiles = 64;                  // a strip with fewer reads the weights too often
constexpr int64_t kMostTiles = 128;                // of a strip
constexpr int64_t kProductBytes = 1024 * 1024;     // of products that are transformed back together
constexpr int64_t kTileBytes = 8 << 20;            // of transformed tiles, in the L3 cache
constexpr int64_t kPanelBytes = 512 * 1024;        // of panels that are transformed together
constexpr int64_t kSummed = 128;  // channels; after so many, sums go to memory: errors stay small

ScratchPlace t_transformed_weights;
ScratchPlace t_panels;
ScratchPlace t_tiles;
ScratchPlace t_products;
ScratchPlace t_seen;    // pixels of x
ScratchPlace t_pixels;  // and of y

// The tiles of a product, in strips.
template <class T>
struct Tiles {
  const WindowProduct<T>& product;
  Window window;
  Strips strips;

  Tiles(const WindowProduct<T>& product, const Window& window, int64_t wanted)
      : product(product), window(window), strips(window, product.images, wanted, kMostTiles) {}

  int64_t planes() const { return product.window.kernel[0]; }  // of the kernel
  bool sees(const Strip& strip, int64_t tap) const {
    return tensorlike::sees(product.window, window, product.images, strip, tap);
  }
  // Of an operand, where a plane's channels begin with a whole vector, and of all planes.
  int64_t column(int64_t tap) const {
    return tap * rounded_up(product.in_channels, winograd_kernels<T>().lanes);
  }
  int64_t columns() const { return column(planes()); }

  // Channels from `channel` on that are one vector, as they are seen through planes of the kernel.
  void transform(const Strip& strip, int64_t group, int64_t channel, ScratchLoan& buffer,
                 const TilePlaces<T>& to) const {
    const WindowProduct<T>& p = product;
    const int64_t channels = std::min(winograd_kernels<T>().lanes, p.in_channels - channel);
    for (int64_t tap = 0; tap < planes(); ++tap) {
      if (!sees(strip, tap)) continue;
      over_planes(window, p.images, strip, 0, strip.lines, [&](const TileLines& lines) {
        const auto pixels = pixels_under<T>(buffer, p.window, lines, strip);
        const int64_t from = (lines.image * p.groups + group) * p.in_channels + channel;
        read_under(pixels, p.window, lines, tap, p.x + from * p.window.in_size(), channels);
        transform_lines(pixels, lines, strip.columns, to, column(tap) + channel);
      });
    }
  }
};

// One thread's products of transformed tiles and weights.
template <class T>
class TileProduct {
 public:
  // is_finite: set to false where a result is not.
  TileProduct(const Tiles<T>& tiles, const Weights<T>& weights, std::atomic<bool>& is_finite)
      : product_(tiles.product),
        tiles_(tiles),
        weights_(weights),
        is_finite_(is_finite),
        lanes_(winograd_kernels<T>().lanes),
        products_loan_(t_products),
        pixels_loan_(t_pixels) {}

  // Panels [first, last) of a group's channels.
  void run(const Strip& strip, const TilePlaces<T>& operand, int64_t group, int64_t first,
           int64_t last, const WeightPanels<T>& weights) {
    const int64_t bytes = kTilePlaces * strip.size() * static_cast<int64_t>(sizeof(T));
    const int64_t at_once = std::max<int64_t>(kProductBytes / (bytes * weights_.columns(0)), 1);
    for (int64_t panel = first; panel < last; panel += at_once) {
      const int64_t end = std::min(panel + at_once, last);
      const int64_t columns = weights_.column(end) - weights_.column(panel);
      const TilePlaces<T> products(products_loan_, strip.size(), columns);
      for (int64_t place = 0; place < kTilePlaces; ++place) {
        multiply(strip, operand, weights, place, panel, end, products);
      }
      over_planes(
          tiles_.window, product_.images, strip, 0, strip.lines, [&](const TileLines& lines) {
            if (!transform(strip, lines, products, group, weights_.column(panel), columns)) {
              is_finite_ = false;
            }
          });
    }
  }

 private:
  void multiply(const Strip& strip, const TilePlaces<T>& operand, const WeightPanels<T>& weights,
                int64_t place, int64_t first, int64_t last, const TilePlaces<T>& products) const {
    const detail::GemmKernels<T>& kernels = gemm_kernels<T>();
    for (int64_t panel = first; panel < last; ++panel) {
      const int width = weights_.width(panel);
      const int64_t columns = weights_.columns(panel), column = weights_.column(panel);
      const detail::Split tiles = detail::split_at_most(products.rows, kernels.max_rows[width]);
      for (int64_t part = 0; part < tiles.count; ++part) {
        const int64_t tile = tiles.begin(part), rows = tiles.size(part);
        T* const to = products.at(place, tile) + column - weights_.column(first);
        bool is_begun = false;
        over_blocks(strip, [&](int64_t tap, int64_t from, int64_t channels) {
          const int64_t row = tap * product_.in_channels + from;
          const T* const weight = weights.at(place, column) + row * columns;
          kernels.tile[width][1][rows - 1](
              channels, operand.at(place, tile) + tiles_.column(tap) + from, operand.row_step, 1,
              weight, columns, detail::rows_ahead(weight, columns, rows), to, products.row_step,
              columns, is_begun);
          is_begun = true;
        });
      }
    }
  }

  // f(plane of the kernel, first channel, channels) for what is summed together.
  template <class F>
  void over_blocks(const Strip& strip, F&& f) const {
    const detail::Split summed = detail::split_at_most(product_.in_channels, kSummed);
    for (int64_t tap = 0; tap < tiles_.planes(); ++tap) {
      if (!tiles_.sees(strip, tap)) continue;
      for (int64_t block = 0; block < summed.count; ++block) {
        f(tap, summed.begin(block), summed.size(block));
      }
    }
  }

  // False: not all results are finite.
  bool transform(const Strip& strip, const TileLines& lines, const TilePlaces<T>& products,
                 int64_t group, int64_t first, int64_t count) {
    const WindowProduct<T>& p = product_;
    const Window& w = p.window;
    const WinogradKernels& kernels = winograd_kernels<T>();
    const int64_t left = 2 * strip.column, row = 2 * lines.line;
    const int64_t columns = std::min(2 * strip.columns, w.out[2] - left);
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
            products.at(0, lines.first + i * strip.columns) + c, products.step, products.row_step,
            p.bias == nullptr ? nullptr : p.bias + channel, channels, strip.columns, columns, upper,
            2 * i + 1 < rows ? upper + columns * lanes_ : nullptr);
      }
      T* const to = p.y + (lines.image * p.groups * p.out_channels + channel) * p.y_size +
                    (lines.plane * w.out[1] + row) * w.out[2] + left;
      for (int64_t i = 0; i < pieces; ++i) {
        kernels.scatter(pixels + i * columns * lanes_, channels, p.y_size, rows / pieces * columns,
                        to + i * w.out[2]);
      }
    }
    return is_finite;
  }

  const WindowProduct<T>& product_;
  const Tiles<T>& tiles_;
  const Weights<T>& weights_;
  std::atomic<bool>& is_finite_;
  const int64_t lanes_;
  ScratchLoan products_loan_;
  ScratchLoan pixels_loan_;
};

// One thread's work on strips of tiles: all weights are transformed.
template <class T>
class ByStrips {
 public:
  ByStrips(const Tiles<T>& tiles, const Weights<T>& weights, T* transformed,
           std::atomic<bool>& is_finite)
      : tiles_(tiles),
        weights_(weights),
        transformed_(transformed),
        is_finite_(is_finite),
        operand_loan_(t_tiles),
        product_(tiles, weights, is_finite) {}

  // Panels [first, last) of a group's channels.
  void run(int64_t index, int64_t group, int64_t first, int64_t last) {
    if (!is_finite_) return;
    if (index != current_ || group != current_group_) arrange(index, group);
    const int64_t size = kTilePlaces * weights_.step(0, weights_.panels());
    product_.run(strip_, operand_, group, first, last,
                 weights_.place(0, weights_.panels(), transformed_ + group * size));
  }

 private:
  void arrange(int64_t index, int64_t group) {
    const int64_t lanes = winograd_kernels<T>().lanes, channels = tiles_.product.in_channels;
    current_ = index;
    current_group_ = group;
    strip_ = tiles_.strips[index];
    operand_ = TilePlaces<T>(operand_loan_, strip_.size(), tiles_.columns());
    ScratchLoan pixels(t_seen);
    for (int64_t c = 0; c < channels; c += lanes)
      tiles_.transform(strip_, group, c, pixels, operand_);
  }

  const Tiles<T>& tiles_;
  const Weights<T>& weights_;
  T* const transformed_;
  std::atomic<bool>& is_finite_;
  ScratchLoan operand_loan_;
  TileProduct<T> product_;
  int64_t current_ = -1, current_group_ = -1;
  Strip strip_{};
  TilePlaces<T> operand_;
};

// A group's product where all tiles are transformed at first, and panels of the weights then.
template <class T>
class ByPanels {
 public:
  ByPanels(const Tiles<T>& tiles, const Weights<T>& weights, std::atomic<bool>& is_finite)
      : tiles_(tiles), weights_(weights), is_finite_(is_finite), operand_loan_(tile_weights()) {
    int64_t most = 0;
    for (int64_t i = 0; i < tiles.strips.count(); ++i) {
      most = std::max(most, tiles.strips[i].size());
    }
    const TilePlaces<T> one(nullptr, most, tiles.columns());
    T* memory = operand_loan_.template reserve<T>(tiles.strips.count() * kTilePlaces * one.step);
    for (int64_t i = 0; i < tiles.strips.count(); ++i, memory += kTilePlaces * one.step) {
      operands_.emplace_back(memory, tiles.strips[i].size(), tiles.columns());
    }
  }

  void run(int64_t group) const {
    transform(group);
    multiply(group);
  }

 private:
  double work() const { return tiles_.product.work() / static_cast<double>(tiles_.product.groups); }

  void transform(int64_t group) const {
    const int64_t lanes = winograd_kernels<T>().lanes;
    const int64_t blocks = detail::ceil_div(tiles_.product.in_channels, lanes);
    const int64_t jobs = tiles_.strips.count() * blocks;
    parallel_for(jobs, grain_of(work() / 32, jobs), [&](int64_t begin, int64_t end) {
      ScratchLoan pixels(t_seen);
      for (int64_t job = begin; job < end; ++job) {
        const int64_t index = job / blocks;
        tiles_.transform(tiles_.strips[index], group, job % blocks * lanes, pixels,
                         operands_[static_cast<size_t>(index)]);
      }
    });
  }

  // Jobs are some panels, of which each thread goes through all strips, or through some of them
  // where panels are few.
  void multiply(int64_t group) const {
    const int64_t bytes = kTilePlaces * weights_.step(0, 1) * static_cast<int64_t>(sizeof(T));
    const detail::Split pieces =
        detail::split_at_most(weights_.panels(), std::max<int64_t>(kPanelBytes / bytes, 1));
    const int64_t strips = tiles_.strips.count();
    const detail::Split shares{strips, pieces.count < int64_t{4} * num_threads() ? strips : 1};
    const int64_t jobs = pieces.count * shares.count;
    parallel_for(jobs, grain_of(work(), jobs), [&](int64_t begin, int64_t end) {
      ScratchLoan buffer(t_panels);
      TileProduct<T> product(tiles_, weights_, is_finite_);
      WeightPanels<T> panels;
      for (int64_t job = begin; job < end && is_finite_; ++job) {
        if (job > begin) check_interrupt();
        const int64_t piece = job / shares.count, share = job % shares.count;
        const int64_t first = pieces.begin(piece), last = pieces.begin(piece + 1);
        if (job == begin || share == 0) {
          T* const memory = buffer.reserve<T>(kTilePlaces * weights_.step(first, last));
          panels = weights_.place(first, last, memory);
          weights_.transform(group, first, last, panels);
        }
        for (int64_t i = shares.begin(share); i < shares.begin(share + 1); ++i) {
          product.run(tiles_.strips[i], operands_[static_cast<size_t>(i)], group, first, last,
                      panels);
        }
      }
    });
  }

  const Tiles<T>& tiles_;
  const Weights<T>& weights_;
  std::atomic<bool>& is_finite_;
  ScratchLoan operand_loan_;
  std::vector<TilePlaces<T>> operands_;  // of the strips
};

template <class T>
int64_t count_tiles(const WindowProduct<T>& p) {
  return p.images * tiles_of(p.window).out_size();
}

// Bytes of the operand for one tile.
template <class T>
int64_t bytes_of_tile(const WindowProduct<T>& p) {
  return kTilePlaces * p.window.kernel[0] * p.in_channels * static_cast<int64_t>(sizeof(T));
}

// Whether the tiles are less than the weights, and stay in a cache while panels go by.
template <class T>
bool has_few_tiles(const WindowProduct<T>& p) {
  const int64_t bytes = count_tiles(p) * bytes_of_tile(p);
  return count_tiles(p) <= p.out_channels && bytes <= kTileBytes;
}

// Tiles of a strip where the weights are all transformed.
template <class T>
int64_t wanted_tiles(const WindowProduct<T>& p, int threads) {
  const int64_t fitting =
      std::clamp<int64_t>(kTransformedBytes / bytes_of_tile(p), kFewTiles, kMostTiles);
  return std::clamp(count_tiles(p) / (int64_t{4} * threads), kFewTiles, fitting);
}

}  // namespace

const ScratchPlace& tile_weights() { return t_transformed_weights; }

template <class T>
bool has_winograd(const WindowProduct<T>& p) {
  const int64_t taps = kTileTaps * p.window.kernel[0];
  return has_tiles(p.window) && std::ssize(p.taps) == taps && p.taps.back() == taps - 1 &&
         p.origin == 0 && p.is_dense();
}

template <class T>
Work tiles_work(const WindowProduct<T>& p) {
  const detail::GemmKernels<T>& kernels = gemm_kernels<T>();
  const Tiles<T> tiles(p, tiles_of(p.window), wanted_tiles(p, 1));
  const int64_t size = tiles.strips[0].size();
  const int64_t columns = rounded_up(p.out_channels, kernels.lanes);
  const int64_t panels = detail::ceil_div(columns, 2 * kernels.lanes);
  const int64_t parts = detail::ceil_div(size, kernels.max_rows[1]);
  const auto count = static_cast<double>(p.groups * kTilePlaces * tiles.strips.count());
  const auto vectors = static_cast<double>(columns / kernels.lanes);
  const auto depth = static_cast<double>(p.in_channels * tiles.planes());
  constexpr double kBytes = sizeof(T);
  Work work;
  work.calls = count * static_cast<double>(panels * parts);
  work.loads = count * static_cast<double>(parts) * vectors * depth;
  work.products = count * static_cast<double>(size) * vectors * depth;
  work.moved =
      count * static_cast<double>(size) * kBytes * static_cast<double>(tiles.columns() + columns);
  work.made = static_cast<double>(p.groups * kTilePlaces * columns) * depth * kBytes;
  work.read = far_bytes(work.made, static_cast<double>(tiles.strips.count()));
  return work;
}

template <class T>
bool multiply_winograd(const WindowProduct<T>& given) {
  std::atomic<bool> is_finite = true;
  WindowProduct<T> product = given;
  const bool is_wide = has_few_tiles(product);
  if (count_tiles(product) >= (is_wide ? kManyForPanels : kManyForKept)) product.forms = nullptr;
  const bool by_panels = is_wide && product.forms == nullptr;
  const Weights<T> weights(product);
  const Tiles<T> tiles(product, tiles_of(product.window),
                       by_panels ? kFewTiles : wanted_tiles(product, num_threads()));
  if (by_panels) {
    const ByPanels<T> way(tiles, weights, is_finite);
    for (int64_t group = 0; group < product.groups && is_finite; ++group) way.run(group);
    return is_finite;
  }
  ScratchLoan buffer(tile_weights());
  T* const transformed = weights.all(buffer);
  over_strips(product, tiles.strips.count(), weights.panels(),
              [&] { return ByStrips<T>(tiles, weights, transformed, is_finite); });
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
