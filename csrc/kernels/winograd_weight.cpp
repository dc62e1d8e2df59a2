// The gradient by the weights in F(2x2, 3x3): the transpose of the product. Tiles of x and of dy
// are transformed, 16 products sum over them, and each kernel's 16 sums are transformed to 9. What
// is summed together follows from the problem alone.
#include "kernels/winograd_weight.h"

#include <atomic>

#include "kernels/winograd_tiles.h"

namespace tensorlike {
namespace {

constexpr int64_t kTransformedWeightBytes = 2 << 20;  // of transformed tiles
constexpr int64_t kFewTogether = 128;  // tiles; fewer read and write the sums too often
constexpr int64_t kTilesOfJob = 128;   // that are transformed together
constexpr int64_t kTilesOfSum = 256;   // after so many, sums go to memory: errors stay small

ScratchPlace t_x_tiles;
ScratchPlace t_dy_tiles;
ScratchPlace t_weight_pixels;

template <class T>
class TileDots {
 public:
  TileDots(const Convolution& c, const T* x, const T* dy)
      : c_(c),
        x_(x),
        dy_(dy),
        lanes_(winograd_kernels<T>().lanes),
        tiles_(tiles_of(c.window)),
        strips_(tiles_, c.images, together(), together()),
        x_loan_(t_x_tiles),
        dy_loan_(t_dy_tiles),
        sums_loan_(tile_weights()),
        sums_(sums_loan_, c.window.kernel[0] * c.in_channels, rounded_up(c.out_channels, lanes_)) {}

  // False: not all of it is finite.
  bool run(T* dweight) {
    for (int64_t i = 0; i < strips_.count(); ++i) {
      check_interrupt();
      strip_ = strips_[i];
      of_x_ = TilePlaces<T>(x_loan_, strip_.size(), column(planes()));
      of_dy_ = TilePlaces<T>(dy_loan_, strip_.size(), rounded_up(c_.out_channels, lanes_));
      transform();
      for (int64_t tap = 0; tap < planes(); ++tap) {
        if (i == 0 || sees(tap)) multiply(tap, i > 0);
      }
    }
    return finish(dweight);
  }

 private:
  int64_t planes() const { return c_.window.kernel[0]; }  // of the kernel
  bool sees(int64_t tap) const {
    return tensorlike::sees(c_.window, tiles_, c_.images, strip_, tap);
  }
  // Where the tiles of x that are seen through a plane of the kernel begin with a whole vector.
  int64_t column(int64_t tap) const { return tap * rounded_up(c_.in_channels, lanes_); }

  int64_t together() const {
    const int64_t channels = planes() * c_.in_channels + c_.out_channels;
    const int64_t bytes = kTilePlaces * channels * static_cast<int64_t>(sizeof(T));
    return std::max(kTransformedWeightBytes / bytes, kFewTogether);
  }

  // Jobs are vectors of channels of some lines: of x, then of dy.
  void transform() {
    const detail::Split parts =
        detail::split_at_most(strip_.lines, std::max<int64_t>(kTilesOfJob / strip_.columns, 1));
    const int64_t of_plane = detail::ceil_div(c_.in_channels, lanes_);
    const int64_t x_blocks = planes() * of_plane;
    const int64_t blocks = x_blocks + detail::ceil_div(c_.out_channels, lanes_);
    const int64_t jobs = parts.count * blocks;
    const double work = static_cast<double>(strip_.size() * kTilePlaces * blocks * lanes_);
    parallel_for(jobs, grain_of(4 * work, jobs), [&](int64_t begin, int64_t end) {
      ScratchLoan pixels(t_weight_pixels);
      for (int64_t job = begin; job < end; ++job) {
        const int64_t part = job / blocks, block = job % blocks;
        over_planes(tiles_, c_.images, strip_, parts.begin(part), parts.begin(part + 1),
                    [&](const TileLines& lines) {
                      if (block < x_blocks) {
                        transform_x(lines, block / of_plane, block % of_plane * lanes_, pixels);
                      } else {
                        transform_dy(lines, (block - x_blocks) * lanes_, pixels);
                      }
                    });
      }
    });
  }

  void transform_x(const TileLines& lines, int64_t tap, int64_t channel,
                   ScratchLoan& buffer) const {
    const Window& w = c_.window;
    const auto pixels = pixels_under<T>(buffer, w, lines, strip_);
    read_under(pixels, w, lines, tap, x_ + (lines.image * c_.in_channels + channel) * w.in_size(),
               std::min(lanes_, c_.in_channels - channel));
    transform_lines(pixels, lines, strip_.columns, of_x_, column(tap) + channel);
  }

  void transform_dy(const TileLines& lines, int64_t channel, ScratchLoan& buffer) const {
    const Window& w = c_.window;
    const PixelVectors<T> pixels(buffer, 2 * lines.line, 2 * strip_.column, 2 * lines.lines,
                                 2 * strip_.columns, w.out[1], w.out[2], w.out_size());
    pixels.read(dy_ + (lines.image * c_.out_channels + channel) * w.out_size() +
                    lines.plane * w.out[1] * w.out[2],
                std::min(lanes_, c_.out_channels - channel));
    for (int64_t i = 0; i < lines.lines; ++i) {
      winograd_kernels<T>().gradients(pixels.row(2 * i), pixels.row(2 * i + 1), strip_.columns,
                                      of_dy_.at(0, lines.first + i * strip_.columns) + channel,
                                      of_dy_.row_step, of_dy_.step);
    }
  }

  // Jobs are some channels of x, at a place.
  void multiply(int64_t tap, bool accumulate) const {
    const detail::GemmKernels<T>& kernels = gemm_kernels<T>();
    const detail::Split panels = detail::split_at_most(c_.in_channels, kernels.max_rows[1]);
    const int64_t jobs = kTilePlaces * panels.count;
    const int64_t columns = rounded_up(c_.out_channels, lanes_), first = column(tap);
    const double work = static_cast<double>(kTilePlaces * c_.in_channels * columns) *
                        static_cast<double>(strip_.size());
    parallel_for(jobs, grain_of(work, jobs), [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t place = job / panels.count, row = panels.begin(job % panels.count);
        const int64_t rows = panels.size(job % panels.count);
        for (int64_t tile = 0; tile < strip_.size(); tile += kTilesOfSum) {
          const int64_t count = std::min(kTilesOfSum, strip_.size() - tile);
          for (int64_t column = 0; column < columns; column += 2 * lanes_) {
            const int width = columns - column > lanes_ ? 1 : 0;
            const T* const dy = of_dy_.at(place, tile) + column;
            kernels.tile[width][1][rows - 1](
                count, of_x_.at(place, tile) + first + row, 1, of_x_.row_step, dy, of_dy_.row_step,
                detail::rows_ahead(dy, of_dy_.row_step, rows),
                sums_.at(place, tap * c_.in_channels + row) + column, sums_.row_step,
                lanes_ << width, accumulate || tile > 0);
          }
        }
      }
    });
  }

  bool finish(T* dweight) const {
    const int64_t jobs = detail::ceil_div(c_.out_channels, lanes_);
    const double work = static_cast<double>(kTilePlaces * sums_.rows * c_.out_channels);
    std::atomic<bool> is_finite = true;
    parallel_for(jobs, grain_of(4 * work, jobs), [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        if (!finish(job * lanes_, dweight + job * lanes_ * c_.rows())) is_finite = false;
      }
    });
    return is_finite;
  }

  // Of the kernels of some channels of dy, which follow each other in all channels of x where they
  // are flat.
  bool finish(int64_t channel, T* to) const {
    const bool is_flat = planes() == 1;
    bool is_finite = true;
    for (int64_t row = 0; row < sums_.rows; row += is_flat ? sums_.rows : 1) {
      const int64_t tap = row / c_.in_channels, from = row % c_.in_channels;
      is_finite &= winograd_kernels<T>().kernels(
          sums_.at(0, row) + channel, sums_.row_step, sums_.step,
          std::min(lanes_, c_.out_channels - channel), is_flat ? sums_.rows : 1,
          to + (from * planes() + tap) * kTileTaps, c_.rows());
    }
    return is_finite;
  }

  const Convolution& c_;
  const T* x_;
  const T* dy_;
  int64_t lanes_;
  Window tiles_;
  Strips strips_;
  Strip strip_{};
  ScratchLoan x_loan_, dy_loan_, sums_loan_;
  TilePlaces<T> sums_;  // rows: channels of x; columns: those of dy
  TilePlaces<T> of_x_, of_dy_;
};

}  // namespace

bool has_tile_dots(const Convolution& c) { return c.groups == 1 && has_tiles(c.window); }

template <class T>
Work tile_dots_work(const Convolution& c) {
  const detail::GemmKernels<T>& kernels = gemm_kernels<T>();
  const int64_t deep = c.window.kernel[0], rows = deep * rounded_up(c.in_channels, kernels.lanes);
  const int64_t columns = rounded_up(c.out_channels, kernels.lanes);
  const int64_t tiles = c.images * tiles_of(c.window).out_size();
  const int64_t panels = deep * detail::ceil_div(c.in_channels, kernels.max_rows[1]);
  const int64_t sums = detail::ceil_div(tiles, kTilesOfSum);
  const auto vectors = static_cast<double>(columns / kernels.lanes);
  const auto places = static_cast<double>(kTilePlaces);
  const auto depth = static_cast<double>(tiles);
  constexpr double kBytes = sizeof(T);
  Work work;
  work.calls = places * static_cast<double>(panels * sums) * vectors / 2;
  work.loads = places * static_cast<double>(panels) * vectors * depth;
  work.products = places * static_cast<double>(deep * c.in_channels) * vectors * depth;
  work.moved = places * depth * static_cast<double>(rows + columns) * kBytes;
  work.made = places * static_cast<double>(deep * c.in_channels * columns) * kBytes;
  work.read = far_bytes(work.made, static_cast<double>(sums));
  return work;
}

template <class T>
bool add_tile_dots(const Convolution& c, const T* x, const T* dy, T* dweight) {
  return TileDots<T>(c, x, dy).run(dweight);
}

template Work tile_dots_work<float>(const Convolution&);
template Work tile_dots_work<double>(const Convolution&);
template bool add_tile_dots<float>(const Convolution&, const float*, const float*, float*);
template bool add_tile_dots<double>(const Convolution&, const double*, const double*, double*);

}  // namespace tensorlike
