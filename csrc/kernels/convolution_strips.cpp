// The geometry of strips.
#include "kernels/convolution_strips.h"

#include <algorithm>
#include <numeric>

namespace tensorlike {

Strips::Strips(const Window& window, int64_t images, int64_t wanted, int64_t joint) {
  const int64_t width = window.out[2];
  is_joint_ = window.out[1] * width <= joint;
  planes_ = is_joint_ ? 1 : images * window.out[0];
  const int64_t lines = is_joint_ ? images * window.out[0] * window.out[1] : window.out[1];
  lines_ = detail::split_at_most(lines, std::max<int64_t>(1, wanted / width));
  columns_ = detail::split_at_most(width, wanted);
}

Strip Strips::operator[](int64_t i) const {
  const int64_t column = i % columns_.count;
  const int64_t line = i / columns_.count % lines_.count;
  const int64_t plane = i / columns_.count / lines_.count;
  return {plane * lines_.n + lines_.begin(line), lines_.size(line), columns_.begin(column),
          columns_.size(column)};
}

void StripLayout::place_rows(const Window& w, const Strip& strip, bool is_joint) {
  const int64_t kernel = w.kernel[1];
  // Rows of the kernel see the same input rows if they are a multiple of the stride apart.
  step_ = w.stride[1] / std::gcd(w.stride[1], w.dilation[1]);
  for (const bool is_shared : {!is_joint, false}) {
    if (!is_shared) step_ = kernel;
    copies_.clear();
    rows_ = 0;
    for (int64_t first = 0; first < std::min(step_, kernel); ++first) {
      const int64_t last = first + (kernel - 1 - first) / step_ * step_;
      const int64_t count = strip.lines + (last - first) * w.dilation[1] / w.stride[1];
      copies_.push_back({first, rows_, count});
      rows_ += count;
    }
    if (rows_ <= kernel * strip.lines) break;
  }
  copy_size_ = odd_lines(rows_ * strip.columns);
}

void StripLayout::add_lines(const Window& w, const Strip& strip, bool is_joint,
                            int64_t image_step) {
  const int64_t plane = strip.line / w.out[1];
  for (int64_t copy = 0; copy < w.kernel[0] * w.kernel[2]; ++copy) {
    const int64_t tap = copy % w.kernel[2];
    const int64_t low = std::clamp<int64_t>(w.first(2, tap) - strip.column, 0, strip.columns);
    const int64_t high = std::clamp<int64_t>(w.last(2, tap) - strip.column, low, strip.columns);
    const int64_t column = w.position(2, strip.column, tap);
    for (const RowCopies& rows : copies_) {
      for (int64_t r = 0; r < rows.count; ++r) {
        const int64_t at = is_joint ? (strip.line + r) / w.out[1] : plane;
        const int64_t line = strip.line + r - at * w.out[1];
        const int64_t d = w.position(0, at % w.out[0], copy / w.kernel[2]);
        const int64_t h = w.position(1, line, rows.first);
        GatherLine added;
        added.to = copy * copy_size_ + (rows.start + r) * strip.columns;
        if (d >= 0 && d < w.in[0] && h >= 0 && h < w.in[1] && low < high) {
          added.from = at / w.out[0] * image_step + (d * w.in[1] + h) * w.in[2] + column;
          added.low = low;
          added.high = high;
        }
        lines.push_back(added);
      }
    }
  }
}

int64_t StripLayout::written(const Window& w, const Strip& strip, bool is_joint, int64_t lanes) {
  StripLayout layout;
  layout.place_rows(w, strip, is_joint);
  const int64_t lines = w.kernel[0] * w.kernel[2] * layout.rows_;
  return lines * detail::ceil_div(strip.columns, lanes) * lanes;
}

bool StripLayout::arrange(const Window& w, const Strip& wanted, bool is_joint, int64_t image_step) {
  Strip strip = wanted;
  if (!is_joint) strip.line %= w.out[0] * w.out[1];
  if (strip == arranged_) return false;
  arranged_ = strip;
  place_rows(w, strip, is_joint);
  channel_size = w.kernel[0] * w.kernel[2] * copy_size_;
  lines.clear();
  add_lines(w, strip, is_joint, image_step);
  taps.clear();
  for (int64_t plane = 0; plane < w.kernel[0]; ++plane) {
    for (int64_t above = 0; above < w.kernel[1]; ++above) {
      const RowCopies& rows = copies_[static_cast<size_t>(above % step_)];
      const int64_t row = rows.start + (above - rows.first) * w.dilation[1] / w.stride[1];
      for (int64_t tap = 0; tap < w.kernel[2]; ++tap) {
        taps.push_back((plane * w.kernel[2] + tap) * copy_size_ + row * strip.columns);
      }
    }
  }
  return true;
}

void find_runs(const Window& w, const Strip& strip, bool is_dense, std::vector<PlaceRun>& runs) {
  const int64_t lines = w.out[0] * w.out[1];  // of an image
  runs.clear();
  for (int64_t i = 0; i < strip.lines;) {
    const int64_t line = strip.line + i;
    const int64_t count = is_dense ? std::min(strip.lines - i, lines - line % lines) : 1;
    runs.push_back({line / lines, i * strip.columns, line % lines * w.out[2] + strip.column,
                    count * strip.columns});
    i += count;
  }
}

}  // namespace tensorlike
