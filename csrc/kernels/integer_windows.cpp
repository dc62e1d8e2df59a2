// Where images and weights lie for convolutions of bytes, and strips of positions that are
// multiplied together.
#include "kernels/integer_windows.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/pool.h"
#include "kernels/scratch.h"

namespace tensorlike {
namespace {

constexpr int64_t kWindowStripBytes = 1 << 18;  // of an image, which the cache holds
constexpr int64_t kMostWindowTiles = 64;        // of a strip
constexpr int64_t kPutting = 64;          // multiply-adds that take as long as to put a sum away
constexpr double kParallelWindows = 2e6;  // multiply-adds that are worth a thread
constexpr int64_t kParallelElements = int64_t{1} << 14;  // that are laid out

ScratchPlace t_integer_window_sums;

int64_t flat(const int64_t (&sizes)[Window::kDims], int64_t d, int64_t h, int64_t w) {
  return (d * sizes[1] + h) * sizes[2] + w;
}

int64_t grain(double work, int64_t jobs) {
  return std::max<int64_t>(
      1, static_cast<int64_t>(kParallelWindows * static_cast<double>(jobs) / (work + 1)));
}

}  // namespace

IntegerWindows::IntegerWindows(const Convolution& c)
    : c_(c),
      kernels_(detail::integer_kernels(isa())),
      quads_(detail::ceil_div(c.in_channels, kernels_.is_wide ? 2 : 4)),
      groups_(quads_ * c.window.taps()),
      tiles_(detail::split_at_most(c.out_channels, kernels_.max_rows)) {
  const Window& w = c.window;
  std::vector<int64_t> planes_of[Window::kDims];  // of places of the kernel
  for (int d = 0; d < Window::kDims; ++d) {
    for (int64_t tap = 0; tap < w.kernel[d]; ++tap) {
      const int64_t phase = tap * w.dilation[d] % w.stride[d];
      const auto known = std::find(phases_[d].begin(), phases_[d].end(), phase);
      planes_of[d].push_back(known - phases_[d].begin());
      if (known == phases_[d].end()) phases_[d].push_back(phase);
    }
    extent_[d] = w.out[d] + (w.kernel[d] - 1) * w.dilation[d] / w.stride[d];
  }
  positions_ = flat(extent_, w.out[0] - 1, w.out[1] - 1, w.out[2] - 1) + 1;
  const int64_t phases[] = {static_cast<int64_t>(phases_[0].size()),
                            static_cast<int64_t>(phases_[1].size()),
                            static_cast<int64_t>(phases_[2].size())};
  for (int64_t quad = 0; quad < quads_; ++quad) {
    for (int64_t tap = 0; tap < w.taps(); ++tap) {
      const int64_t at[] = {tap / (w.kernel[1] * w.kernel[2]), tap / w.kernel[2] % w.kernel[1],
                            tap % w.kernel[2]};
      int64_t plane[Window::kDims], cell[Window::kDims];
      for (size_t d = 0; d < Window::kDims; ++d) {
        plane[d] = planes_of[d][static_cast<size_t>(at[d])];
        cell[d] = at[d] * w.dilation[d] / w.stride[d];
      }
      const int64_t place = quad * planes() + flat(phases, plane[0], plane[1], plane[2]);
      offsets_.push_back(4 * (place * places() + flat(extent_, cell[0], cell[1], cell[2])));
    }
  }
}

int64_t IntegerWindows::planes() const {
  return static_cast<int64_t>(phases_[0].size() * phases_[1].size() * phases_[2].size());
}

// A tile reads whole vectors, beyond the last position.
size_t IntegerWindows::image_bytes() const {
  const int64_t units = c_.images * c_.groups * quads_;
  return static_cast<size_t>(4 * (units * planes() * places() + kernels_.columns));
}

KeptForms::Key IntegerWindows::key(const int8_t* weights, uint8_t flip) const {
  const Window& w = c_.window;
  return {"integer windows",
          weights,
          {c_.groups, c_.out_channels, c_.in_channels, w.taps(), flip, kernels_.is_wide ? 1 : 0}};
}

// The sums of the channels' weights; a row of ones; the weights.
size_t IntegerWindows::weight_bytes() const {
  const int64_t channels = c_.groups * c_.out_channels;
  return static_cast<size_t>(4 * (channels + groups_ * (channels + 1)));
}

const char* IntegerWindows::tile(int64_t group, int64_t row) const {
  const int64_t channels = c_.groups * c_.out_channels;
  return weights_ + 4 * (channels + groups_ * (1 + group * c_.out_channels + row));
}

void IntegerWindows::pack(char* memory, const int8_t* weights, uint8_t flip) const {
  const int64_t beside = channels_beside();
  const int64_t taps = c_.window.taps();
  const int64_t channels = c_.groups * c_.out_channels;
  std::memset(memory, 0, weight_bytes());
  const auto put = [&](char* row, int64_t step, int64_t channel, int64_t tap, int8_t value) {
    char* const to = row + 4 * step * (channel / beside * taps + tap);
    if (kernels_.is_wide) {
      reinterpret_cast<int16_t*>(to)[channel % beside] = value;
    } else {
      to[channel % beside] = static_cast<char>(value);
    }
  };
  int32_t* const sums = reinterpret_cast<int32_t*>(memory);
  char* const ones = memory + 4 * channels;
  char* const rows = ones + 4 * groups_;
  for (int64_t i = 0; i < c_.in_channels * taps; ++i) put(ones, 1, i / taps, i % taps, 1);
  const int64_t jobs = c_.groups * tiles_.count;
  parallel_for(jobs, std::max<int64_t>(1, jobs * 4096 / (channels * groups_ + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t job = begin; job < end; ++job) {
                   const int64_t size = tiles_.size(job % tiles_.count);
                   const int64_t first =
                       job / tiles_.count * c_.out_channels + tiles_.begin(job % tiles_.count);
                   for (int64_t i = 0; i < size; ++i) {
                     const int8_t* const from = weights + (first + i) * c_.in_channels * taps;
                     char* const row = rows + 4 * (first * groups_ + i);
                     for (int64_t j = 0; j < c_.in_channels * taps; ++j) {
                       const int8_t value = static_cast<int8_t>(from[j] ^ flip);
                       sums[first + i] += value;
                       put(row, size, j / taps, j % taps, value);
                     }
                   }
                 }
               });
}

// join(to, image, first channel, how many there are, place, step, n), for pieces of lines.
template <class Join>
void IntegerWindows::lay_out_all(char* to, int32_t padding, Join&& join) const {
  const Window& w = c_.window;
  const int64_t beside = channels_beside();
  const int64_t size = planes() * places();
  const auto unit = [&](int64_t number, int32_t* line) {
    const int64_t quad = number % quads_;
    const int64_t group = number / quads_;  // of all images
    const int64_t channel = group * c_.in_channels + quad * beside;
    const int64_t count = std::min(beside, c_.in_channels - quad * beside);
    const auto lines = [&](int64_t pd, int64_t ph, int64_t pw) {
      const int64_t low = std::clamp<int64_t>(
          detail::ceil_div(std::max<int64_t>(w.before[2] - pw, 0), w.stride[2]), 0, extent_[2]);
      const int64_t high = std::clamp<int64_t>(
          detail::ceil_div(std::max<int64_t>(w.in[2] + w.before[2] - pw, 0), w.stride[2]), low,
          extent_[2]);
      const int64_t from = low * w.stride[2] + pw - w.before[2];
      for (int64_t d = 0; d < extent_[0]; ++d) {
        for (int64_t h = 0; h < extent_[1]; ++h, line += extent_[2]) {
          const int64_t at_d = d * w.stride[0] + pd - w.before[0];
          const int64_t at_h = h * w.stride[1] + ph - w.before[1];
          const bool is_in = at_d >= 0 && at_d < w.in[0] && at_h >= 0 && at_h < w.in[1];
          if (!is_in || low == high) {
            std::fill_n(line, extent_[2], padding);
            continue;
          }
          std::fill_n(line, low, padding);
          join(line + low, group / c_.groups, channel, count, flat(w.in, at_d, at_h, from),
               w.stride[2], high - low);
          std::fill(line + high, line + extent_[2], padding);
        }
      }
    };
    for (int64_t pd : phases_[0]) {
      for (int64_t ph : phases_[1]) {
        for (int64_t pw : phases_[2]) lines(pd, ph, pw);
      }
    }
  };
  parallel_for(c_.images * c_.groups * quads_, std::max<int64_t>(1, kParallelElements / (size + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   unit(i, reinterpret_cast<int32_t*>(to) + i * size);
                 }
               });
}

void IntegerWindows::lay_out(char* to, const float* x, const float* inverses) const {
  static const detail::IntegerTable& loops = detail::integer_table(isa());
  const int64_t size = c_.window.in_size();
  lay_out_all(to, is_wide() ? 0 : static_cast<int32_t>(0x80808080U),
              [&](int32_t* line, int64_t image, int64_t channel, int64_t count, int64_t place,
                  int64_t step, int64_t n) {
                const float* from[4] = {x + channel * size + place};
                for (int64_t i = 1; i < 4 && count > 1; ++i) {  // no weights meet what is not there
                  from[i] = from[0] + (i < count ? i * size : 0);
                }
                loops.join_floats(line, is_wide(), from, step, inverses[image], n);
              });
}

void IntegerWindows::lay_out(char* to, const uint8_t* x, uint8_t flip, int32_t zero) const {
  static const detail::IntegerTable& loops = detail::integer_table(isa());
  const int64_t size = c_.window.in_size();
  const int32_t padding =
      is_wide() ? 0 : static_cast<int32_t>(0x01010101U * static_cast<uint32_t>(zero & 255));
  lay_out_all(to, padding,
              [&](int32_t* line, int64_t, int64_t channel, int64_t count, int64_t place,
                  int64_t step, int64_t n) {
                const uint8_t* from[4] = {x + channel * size + place};
                for (int64_t i = 1; i < 4 && count > 1; ++i) {
                  from[i] = from[0] + (i < count ? i * size : 0);
                }
                loops.join_bytes(line, is_wide(), from, step, flip, zero, n);
              });
}

// Positions beside each other, of a tile: where they are among the windows of a channel.
struct IntegerWindows::Run {
  int64_t tile, from, place, size;
};

// One thread's work.
class IntegerWindows::Worker {
 public:
  Worker(const IntegerWindows& windows, const char* images, int32_t zero,
         const int32_t* weight_zeros, char* y, const WindowSums& sums)
      : w_(windows),
        images_(images),
        zero_(windows.is_wide() ? 0 : zero),
        weight_zeros_(weight_zeros),
        y_(y),
        sums_(sums),
        size_(sums.element_bytes()),
        loan_(t_integer_window_sums) {
    const int64_t step = w_.kernels_.columns;
    block_ = loan_.reserve<int32_t>(step * (w_.kernels_.max_rows + 1 + kMostWindowTiles));
    line_ = block_ + step * w_.kernels_.max_rows;
    elements_ = line_ + step;
  }

  // Tiles of channels [first, last) of a part of the positions.
  void multiply(int64_t image, int64_t group, const Part& part, int64_t first, int64_t last) {
    find_runs(part);
    if (runs_.empty()) return;
    const int64_t unit = (image * w_.c_.groups + group) * w_.quads_;
    const char* const from =
        images_ + 4 * (unit * w_.planes() * w_.places() + part.from * w_.kernels_.columns);
    if (weight_zeros_ != nullptr) add_elements(from, part.size);
    for (int64_t t = first; t < last; ++t) multiply_rows(image, group, t, from, part.size);
  }

 private:
  void find_runs(const Part& part) {
    const Window& w = w_.c_.window;
    if (part.from == found_.from && part.size == found_.size) return;
    const int64_t step = w_.kernels_.columns;
    found_ = part;
    runs_.clear();
    const int64_t end = std::min((part.from + part.size) * step, w_.positions_);
    for (int64_t at = part.from * step; at < end;) {
      const int64_t line = at / w_.extent_[2];
      const int64_t column = at % w_.extent_[2];
      const int64_t row = line % w_.extent_[1];
      const int64_t tile = at / step;
      const int64_t next = std::min({end, (tile + 1) * step, (line + 1) * w_.extent_[2]});
      const int64_t size = std::min(w.out[2] - column, next - at);
      if (row < w.out[1] && size > 0) {
        const int64_t place = flat(w.out, line / w_.extent_[1], row, column);
        runs_.push_back({tile - part.from, at - tile * step, place, size});
      }
      at = next;
    }
  }

  // The sums of what each position sees, which a number that is taken off weights goes with.
  void add_elements(const char* from, int64_t tiles) {
    const char* const ones = w_.tile(0, 0) - 4 * w_.groups_;
    const int32_t start = 0;
    for (int64_t i = 0; i < tiles; ++i) {
      w_.kernels_.window_tile[0](w_.groups_, ones, from + 4 * i * w_.kernels_.columns,
                                 w_.offsets_.data(), &start, elements_ + i * w_.kernels_.columns);
    }
  }

  void multiply_rows(int64_t image, int64_t group, int64_t t, const char* from, int64_t tiles) {
    const int64_t rows = w_.tiles_.size(t);
    const int64_t first = group * w_.c_.out_channels + w_.tiles_.begin(t);
    int32_t start[detail::IntegerKernels::kMaxRows];
    const uint32_t count = static_cast<uint32_t>(w_.c_.rows());
    for (int64_t i = 0; i < rows; ++i) {
      const uint32_t sum = reinterpret_cast<const uint32_t*>(w_.weights_)[first + i];
      const uint32_t off =
          weight_zeros_ == nullptr ? 0U : static_cast<uint32_t>(weight_zeros_[first + i]) * count;
      start[i] = static_cast<int32_t>(static_cast<uint32_t>(zero_) * (off - sum));
    }
    const char* const weights = w_.tile(group, w_.tiles_.begin(t));
    const auto tile = w_.kernels_.window_tile[rows - 1];
    auto run = runs_.begin();
    for (int64_t i = 0; i < tiles; ++i) {
      auto end = run;
      while (end != runs_.end() && end->tile == i) ++end;
      if (run == end) continue;
      tile(w_.groups_, weights, from + 4 * i * w_.kernels_.columns, w_.offsets_.data(), start,
           block_);
      for (int64_t row = 0; row < rows; ++row) put(image, first, row, {run, end});
      run = end;
    }
    const int64_t begin = runs_.front().place;
    const int64_t size = runs_.back().place + runs_.back().size - begin;
    for (int64_t row = 0; row < rows; ++row) sums_.finish(image, first + row, begin, size);
  }

  void put(int64_t image, int64_t first, int64_t row, std::span<const Run> runs) {
    static const detail::IntegerTable& loops = detail::integer_table(isa());
    const int64_t step = w_.kernels_.columns;
    const int64_t channel = first + row;
    int32_t* const sums = block_ + row * step;
    if (weight_zeros_ != nullptr && weight_zeros_[channel] != 0) {
      loops.take_off(sums, sums, elements_ + runs[0].tile * step, weight_zeros_[channel], step);
    }
    const int64_t plane = image * w_.c_.groups * w_.c_.out_channels + channel;
    char* const y = y_ + size_ * plane * w_.c_.window.out_size();
    if (runs[0].size == step) {
      return sums_.convert(y + size_ * runs[0].place, sums, image, channel, step);
    }
    char* const line = reinterpret_cast<char*>(line_);
    sums_.convert(line, sums, image, channel, step);
    for (const Run& run : runs) {
      std::memcpy(y + size_ * run.place, line + size_ * run.from,
                  static_cast<size_t>(size_ * run.size));
    }
  }

  const IntegerWindows& w_;
  const char* const images_;
  const int32_t zero_;
  const int32_t* const weight_zeros_;
  char* const y_;
  const WindowSums& sums_;
  const int64_t size_;  // bytes of an element of y
  ScratchLoan loan_;
  int32_t* block_;
  int32_t* line_;
  int32_t* elements_;
  std::vector<Run> runs_;  // of the part that was found last
  Part found_{-1, 0};
};

void IntegerWindows::run(const char* images, int32_t zero, const int32_t* weight_zeros, char* y,
                         const WindowSums& sums) const {
  const int64_t tiles = detail::ceil_div(positions_, kernels_.columns);
  const int64_t seen = 4 * quads_ * planes() * kernels_.columns + 1;
  const detail::Split strips = detail::split_at_most(
      tiles, std::clamp<int64_t>(kWindowStripBytes / seen, 1, kMostWindowTiles));
  const int64_t pieces = c_.images * c_.groups * strips.count;
  // Where strips are few, their channels are shared out.
  const detail::Split shares{
      tiles_.count,
      std::clamp<int64_t>(detail::ceil_div(2 * num_threads(), pieces), 1, tiles_.count)};
  const int64_t jobs = pieces * shares.count;
  const double made = static_cast<double>(c_.images * c_.groups * c_.out_channels * positions_);
  const double work = made * static_cast<double>(4 * groups_ + kPutting);
  parallel_for(jobs, grain(work, jobs), [&](int64_t begin, int64_t end) {
    Worker worker(*this, images, zero, weight_zeros, y, sums);
    for (int64_t job = begin; job < end; ++job) {
      if (job > begin) check_interrupt();
      const int64_t share = job % shares.count;
      const int64_t piece = job / shares.count;
      const int64_t strip = piece / (c_.images * c_.groups);  // the same for many jobs
      const int64_t group = piece % (c_.images * c_.groups);
      worker.multiply(group / c_.groups, group % c_.groups,
                      {strips.begin(strip), strips.size(strip)}, shares.begin(share),
                      shares.begin(share + 1));
    }
  });
}

}  // namespace tensorlike
