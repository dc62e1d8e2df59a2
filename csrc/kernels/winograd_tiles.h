// What the products of windows and their gradient by the weights share in F(2x2, 3x3): tiles as
// windows that strips are made of, a matrix for each place of a tile, and planes on their way into
// vectors of channels.
#pragma once

#include "kernels/convolution_product.h"

namespace tensorlike {

constexpr int64_t kTilePlaces = 16;
constexpr int64_t kTileTaps = 9;

template <class T>
const WinogradKernels& winograd_kernels() {
  return kernel_table().winograd[dtype_of<T>];
}

// Planes of them; which see as many planes of the image as the kernel is deep.
inline Window tiles_of(const Window& w) {
  Window tiles;
  tiles.out[0] = w.out[0];
  tiles.out[1] = detail::ceil_div(w.out[1], 2);
  tiles.out[2] = detail::ceil_div(w.out[2], 2);
  return tiles;
}

// Whether windows of a plane see the image, not padding alone.
inline bool is_seen(const Window& w, int64_t plane) {
  for (int64_t tap = 0; tap < w.kernel[0]; ++tap) {
    if (plane >= w.first(0, tap) && plane < w.last(0, tap)) return true;
  }
  return false;
}

// Whether windows have the form.
inline bool has_tiles(const Window& w) {
  const bool is_dense =
      w.stride[1] == 1 && w.stride[2] == 1 && w.dilation[1] == 1 && w.dilation[2] == 1;
  if (!is_dense || w.kernel[1] != 3 || w.kernel[2] != 3) return false;
  for (int64_t plane = 0; plane < w.out[0]; ++plane) {
    if (!is_seen(w, plane)) return false;
  }
  return true;
}
inline bool is_flat(const Window& w) {
  return w.kernel[0] == 1 && w.in[0] == 1 && w.out[0] == 1 && w.before[0] == 0;
}

inline int64_t rounded_up(int64_t n, int64_t step) { return detail::ceil_div(n, step) * step; }

// For transformed weights, and for their gradient, which is as large and never there with them.
const ScratchPlace& tile_weights();

// Whole vectors of rows.
template <class T>
struct TilePlaces {
  T* data = nullptr;
  int64_t rows = 0, row_step = 0, step = 0;

  TilePlaces() = default;
  TilePlaces(T* data, int64_t rows, int64_t columns)
      : data(data), rows(rows), row_step(odd_lines(columns)), step(odd_lines(rows * row_step)) {}
  TilePlaces(ScratchLoan& buffer, int64_t rows, int64_t columns)
      : TilePlaces(nullptr, rows, columns) {
    data = buffer.reserve<T>(kTilePlaces * step);
  }
  T* at(int64_t place, int64_t row) const { return data + place * step + row * row_step; }
};

// Lines of tiles of a strip that belong to one plane of an image's tiles.
struct TileLines {
  int64_t image, plane, line, lines;
  int64_t first;  // of the strip's tiles
};

// f(lines) for all planes that the lines [from, to) of a strip belong to: the first planes of all
// images come first, so that most planes of a strip see the same taps.
template <class F>
void over_planes(const Window& tiles, int64_t images, const Strip& strip, int64_t from, int64_t to,
                 F&& f) {
  for (int64_t i = from; i < to;) {
    const int64_t line = (strip.line + i) % tiles.out[1], plane = (strip.line + i) / tiles.out[1];
    const int64_t lines = std::min(to - i, tiles.out[1] - line);
    f(TileLines{plane % images, plane / images, line, lines, i * strip.columns});
    i += lines;
  }
}

// Whether a plane of the strip's tiles sees the image through planes of the kernel.
inline bool sees(const Window& w, const Window& tiles, int64_t images, const Strip& strip,
                 int64_t tap) {
  const int64_t planes = images * tiles.out[1];  // lines of tiles
  const int64_t first = strip.line / planes, last = (strip.line + strip.lines - 1) / planes;
  return std::max(first, w.first(0, tap)) < std::min(last + 1, w.last(0, tap));
}

// A rectangle of planes' elements as vectors of channels; zeros where it leaves the planes.
template <class T>
class PixelVectors {
 public:
  PixelVectors(ScratchLoan& buffer, int64_t top, int64_t left, int64_t height, int64_t width,
               int64_t plane_rows, int64_t plane_columns, int64_t channel_size)
      : lanes_(winograd_kernels<T>().lanes),
        width_(width),
        plane_columns_(plane_columns),
        channel_size_(channel_size),
        row_(std::clamp<int64_t>(top, 0, plane_rows)),
        rows_(std::clamp<int64_t>(top + height, row_, plane_rows) - row_),
        column_(std::clamp<int64_t>(left, 0, plane_columns)),
        columns_(std::clamp<int64_t>(left + width, column_, plane_columns) - column_),
        pixels_(buffer.reserve<T>(width * height * lanes_)),
        inside_(row(row_ - top) + (column_ - left) * lanes_) {
    std::fill_n(pixels_, width * height * lanes_, T{0});
  }

  T* row(int64_t i) const { return pixels_ + i * width_ * lanes_; }
  void read(const T* planes, int64_t channels) const {
    if (rows_ * columns_ == 0) return;
    const T* from = planes + row_ * plane_columns_ + column_;
    const int64_t pieces = columns_ == plane_columns_ ? 1 : rows_;  // whole rows are one
    for (int64_t i = 0; i < pieces; ++i) {
      winograd_kernels<T>().gather(from + i * plane_columns_, channels, channel_size_,
                                   rows_ / pieces * columns_, inside_ + i * width_ * lanes_,
                                   columns_, width_);
    }
  }

 private:
  int64_t lanes_, width_, plane_columns_, channel_size_;
  int64_t row_, rows_, column_, columns_;  // what is seen of a plane
  T* pixels_;
  T* inside_;
};

// What lines of tiles see of an image, to be read plane by plane.
template <class T>
PixelVectors<T> pixels_under(ScratchLoan& buffer, const Window& w, const TileLines& lines,
                             const Strip& strip) {
  return {buffer,
          2 * lines.line - w.before[1],
          2 * strip.column - w.before[2],
          2 * lines.lines + 2,
          2 * strip.columns + 2,
          w.in[1],
          w.in[2],
          w.in_size()};
}

// Channels of an image as vectors, those of the plane that is seen through a plane of the kernel.
template <class T>
void read_under(const PixelVectors<T>& pixels, const Window& w, const TileLines& lines, int64_t tap,
                const T* image, int64_t channels) {
  const int64_t plane = w.position(0, lines.plane, tap);
  if (plane < 0 || plane >= w.in[0]) return;
  pixels.read(image + plane * w.in[1] * w.in[2], channels);
}

// The transforms of these tiles, into rows from `channel` on.
template <class T>
void transform_lines(const PixelVectors<T>& pixels, const TileLines& lines, int64_t columns,
                     const TilePlaces<T>& to, int64_t channel) {
  for (int64_t i = 0; i < lines.lines; ++i) {
    const void* seen[4];
    for (int64_t r = 0; r < 4; ++r) seen[r] = pixels.row(2 * i + r);
    winograd_kernels<T>().tiles(seen, columns, to.at(0, lines.first + i * columns) + channel,
                                to.row_step, to.step);
  }
}

}  // namespace tensorlike
