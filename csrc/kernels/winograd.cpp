// F(2x2, 3x3), strip by strip: tiles are transformed by the thread that then multiplies them, so
// that all 16 operands and products are still in its second-level cache.
#include "kernels/winograd.h"

#include <atomic>

namespace tensorlike {
namespace {

constexpr int64_t kPlaces = 16;  // of a tile
constexpr size_t kTaps = 9;
constexpr int64_t kFewChannels = 24;            // fewer don't pay for the transforms of the tiles
constexpr int64_t kFewAtAll = 192;              // tiles; fewer don't pay for those of the weights
constexpr int64_t kFewForKept = 12;             // the same where these are made once
constexpr int64_t kOperandBytes = 768 * 1024;   // of transformed tiles, in the L2 cache
constexpr int64_t kFewTiles = 64;               // a strip with fewer reads the weights too often
constexpr int64_t kProductBytes = 1024 * 1024;  // of products that are transformed back together

template <class T>
const WinogradKernels& winograd_kernels() {
  return kernel_table().winograd[dtype_of<T>];
}

thread_local ScratchBuffer t_weights;
thread_local ScratchBuffer t_tiles;
thread_local ScratchBuffer t_products;

// A line of tiles gives two rows of the result, which are as far apart as the rows that a window
// sees: next to each other, unless windows are dilated.
int64_t lines_of(const Window& w) {
  const int64_t apart = w.dilation[1];
  return w.out[1] / (2 * apart) * apart + std::min(w.out[1] % (2 * apart), apart);
}
int64_t first_row(const Window& w, int64_t line) {
  const int64_t apart = w.dilation[1];
  return line / apart * 2 * apart + line % apart;
}

// Tiles as the windows that strips are made of.
Window tiles_of(const Window& w) {
  Window tiles;
  tiles.out[1] = lines_of(w);
  tiles.out[2] = detail::ceil_div(w.out[2], 2);
  return tiles;
}

template <class T>
int64_t wanted_tiles(const WindowProduct<T>& p, const Window& tiles) {
  const int64_t bytes = kPlaces * p.in_channels * static_cast<int64_t>(sizeof(T));
  const int64_t fitting =
      std::clamp<int64_t>(kOperandBytes / bytes, kFewTiles, WinogradKernels::kMostTiles);
  const int64_t share = p.images * tiles.out_size() / (int64_t{4} * num_threads());
  return std::clamp(share, kFewTiles, fitting);
}

// The weights' transforms: for each group and place, panels of rows, each along the channels.
template <class T>
class TransformedWeights {
 public:
  TransformedWeights(const WindowProduct<T>& product, ScratchLoan& buffer)
      : product_(product),
        panels_(detail::split_at_most(product.out_channels, gemm_kernels<T>().max_rows[kWidth])),
        panel_size_(detail::ceil_div(product.out_channels, panels_.count) * product.in_channels +
                    WinogradKernels::kSpill),
        place_size_(odd_lines(panels_.count * panel_size_)) {
    const int64_t count = product.groups * kPlaces * place_size_;
    transformed_ = kept_or(product, "transformed weights", buffer, count, [&](T* memory) {
      transformed_ = memory;
      transform();
    });
  }

  static constexpr int kWidth = 1;  // log2 of the vectors of a tile of the product
  const detail::Split& panels() const { return panels_; }
  T* at(int64_t group, int64_t place, int64_t panel) const {
    return transformed_ + (group * kPlaces + place) * place_size_ + panel * panel_size_;
  }

 private:
  void transform() const {
    const WindowProduct<T>& product = product_;
    int64_t taps[kTaps];
    for (size_t i = 0; i < kTaps; ++i) {
      taps[i] = product.taps[product.is_mirrored ? kTaps - 1 - i : i];
    }
    const int64_t jobs = product.groups * panels_.count;
    const double work = static_cast<double>(product.groups * place_size_ * kPlaces);
    parallel_for(jobs, grain_of(4 * work, jobs), [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t group = job / panels_.count;
        const int64_t panel = job % panels_.count;
        winograd_kernels<T>().weights(
            product.weight + group * product.group_step + panels_.begin(panel) * product.out_step,
            taps, product.out_step, panels_.size(panel), product.in_step, product.in_channels,
            at(group, 0, panel), place_size_);
      }
    });
  }

  const WindowProduct<T>& product_;
  detail::Split panels_;
  int64_t panel_size_;
  int64_t place_size_;
  T* transformed_ = nullptr;
};

// A matrix for each place of a tile: rows of `columns` elements, and room for what they spill.
template <class T>
struct Places {
  T* data;
  int64_t row_step, step;

  Places(ScratchLoan& buffer, int64_t rows, int64_t columns)
      : row_step(odd_lines(columns + WinogradKernels::kSpill)), step(odd_lines(rows * row_step)) {
    data = buffer.reserve<T>(kPlaces * step);
  }
  T* at(int64_t place, int64_t row) const { return data + place * step + row * row_step; }
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
        operand_(t_tiles),
        products_(t_products) {}

  // Panels [first, last) of a group's rows.
  void run(int64_t index, int64_t group, int64_t first, int64_t last) {
    if (!is_finite_) return;
    const Strip strip = strips_[index];
    const Places<T> operand(operand_, product_.in_channels, strip.size());
    transform_tiles(strip, group, operand);
    const int64_t bytes = operand.row_step * kPlaces * static_cast<int64_t>(sizeof(T));
    const int64_t at_once =
        std::max<int64_t>(kProductBytes / (bytes * weights_.panels().size(0)), 1);
    for (int64_t panel = first; panel < last; panel += at_once) {
      const int64_t end = std::min(panel + at_once, last);
      const int64_t rows = weights_.panels().begin(end) - weights_.panels().begin(panel);
      const Places<T> products(products_, rows, strip.size());
      for (int64_t place = 0; place < kPlaces; ++place) {
        multiply(operand, strip.size(), group, place, panel, end, products);
      }
      if (!transform_products(products, strip, group, panel, rows)) is_finite_ = false;
    }
  }

 private:
  void transform_tiles(const Strip& strip, int64_t group, const Places<T>& operand) const {
    const WindowProduct<T>& p = product_;
    const Window& w = p.window;
    for (int64_t i = 0; i < strip.lines; ++i) {
      const int64_t image = (strip.line + i) / tiles_.out[1];
      const int64_t line = (strip.line + i) % tiles_.out[1];
      const T* plane = p.x + (image * p.groups + group) * p.in_channels * w.in_size();
      const void* rows[4];
      for (int64_t r = 0; r < 4; ++r) {
        const int64_t row = first_row(w, line) + r * w.dilation[1] - w.before[1];
        rows[r] = row < 0 || row >= w.in[1] ? nullptr : plane + row * w.in[2];
      }
      winograd_kernels<T>().tiles({2 * strip.column - w.before[2], w.in[2], strip.columns}, rows,
                                  p.in_channels, w.in_size(), operand.data + i * strip.columns,
                                  operand.row_step, operand.step);
    }
  }

  void multiply(const Places<T>& operand, int64_t size, int64_t group, int64_t place, int64_t first,
                int64_t last, const Places<T>& products) const {
    const detail::GemmKernels<T>& kernels = gemm_kernels<T>();
    const detail::Split& panels = weights_.panels();
    const int64_t tile = kernels.lanes << TransformedWeights<T>::kWidth;
    for (int64_t column = 0; column < size; column += tile) {
      const int64_t columns = std::min(tile, size - column);
      const int width = columns <= kernels.lanes ? 0 : TransformedWeights<T>::kWidth;
      for (int64_t panel = first; panel < last; ++panel) {
        const int64_t rows = panels.size(panel);
        const int64_t row = panels.begin(panel) - panels.begin(first);
        kernels.tile[width][0][rows - 1](product_.in_channels, weights_.at(group, place, panel), 1,
                                         rows, operand.at(place, 0) + column, operand.row_step,
                                         products.at(place, row) + column, products.row_step,
                                         columns, false);
      }
    }
  }

  // False: not all results are finite.
  bool transform_products(const Places<T>& products, const Strip& strip, int64_t group,
                          int64_t panel, int64_t rows) const {
    const WindowProduct<T>& p = product_;
    const Window& w = p.window;
    const int64_t columns = std::min(2 * strip.columns, w.out[2] - 2 * strip.column);
    bool is_finite = true;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t channel = group * p.out_channels + weights_.panels().begin(panel) + r;
      const T* bias = p.bias == nullptr ? nullptr : p.bias + channel;
      for (int64_t i = 0; i < strip.lines; ++i) {
        const int64_t image = (strip.line + i) / tiles_.out[1];
        const int64_t row = first_row(w, (strip.line + i) % tiles_.out[1]);
        const int64_t next = row + w.dilation[1];
        T* to = p.y + (image * p.groups * p.out_channels + channel) * p.y_size + row * w.out[2] +
                2 * strip.column;
        is_finite &= winograd_kernels<T>().products(
            products.at(0, r) + i * strip.columns, products.step, bias, strip.columns, columns, to,
            next < w.out[1] ? to + (next - row) * w.out[2] : nullptr);
      }
    }
    return is_finite;
  }

  const WindowProduct<T>& product_;
  const TransformedWeights<T>& weights_;
  const Window& tiles_;
  const Strips& strips_;
  std::atomic<bool>& is_finite_;
  ScratchLoan operand_;
  ScratchLoan products_;
};

}  // namespace

template <class T>
bool suits_winograd(const WindowProduct<T>& p) {
  const Window& w = p.window;
  const bool is_form = w.kernel[0] == 1 && w.kernel[1] == 3 && w.kernel[2] == 3 && w.in[0] == 1 &&
                       w.out[0] == 1 && w.before[0] == 0 && w.stride[1] == 1 && w.stride[2] == 1 &&
                       w.dilation[2] == 1 && p.taps.size() == kTaps && p.origin == 0 &&
                       p.is_dense();
  const int64_t tiles = tiles_of(w).out_size();
  return is_form && std::min(p.in_channels, p.out_channels) >= kFewChannels &&
         p.images * tiles >= (p.forms == nullptr ? kFewAtAll : kFewForKept) &&
         2 * w.out_size() >= 5 * tiles;
}

template <class T>
bool multiply_winograd(const WindowProduct<T>& product) {
  const Window tiles = tiles_of(product.window);
  ScratchLoan buffer(t_weights);
  const TransformedWeights<T> weights(product, buffer);
  const Strips strips(tiles, product.images, wanted_tiles(product, tiles),
                      WinogradKernels::kMostTiles);
  std::atomic<bool> is_finite = true;
  over_strips(product, strips.count(), weights.panels().count,
              [&] { return TileProduct<T>(product, weights, tiles, strips, is_finite); });
  return is_finite;
}

#define TL_INSTANTIATE(T)                                \
  template bool suits_winograd(const WindowProduct<T>&); \
  template bool multiply_winograd(const WindowProduct<T>&);
TL_INSTANTIATE(float)
TL_INSTANTIATE(double)
#undef TL_INSTANTIATE

}  // namespace tensorlike
