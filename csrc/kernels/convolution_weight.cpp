// The gradient of a convolution by its weights: dot products of dy's channels with what windows
// see through each tap. Both lie along the positions of a strip, so neither is transposed.
#include <algorithm>
#include <vector>

#include "base/pool.h"
#include "kernels/convolution.h"
#include "kernels/convolution_apart.h"
#include "kernels/convolution_parts.h"
#include "kernels/convolution_product.h"
#include "kernels/depthwise_blocks.h"
#include "kernels/winograd_weight.h"

namespace tensorlike {
namespace {

constexpr int64_t kPositions = 1024;  // long dots whose rows of dy stay in the L1 cache
constexpr int64_t kGatheredBytes = 1024 * 1024;
constexpr int64_t kGatherSlack = 16;  // elements that gathering may write beyond the end
// The least number of jobs. It does not depend on the number of threads, because the order in which
// elements are added up depends on it: results are the same on any machine.
constexpr int64_t kWeightJobs = 32;
constexpr int64_t kSumsBytes = 4 << 20;  // the most memory that sums of jobs may take together

ScratchPlace t_gathered;
ScratchPlace t_gradient;
ScratchPlace t_dots;
ScratchPlace t_weight_sums;

// The strips of a part of the windows and taps, which are `first` and on among all.
template <class T>
struct Piece {
  const WindowProduct<T>& windows;  // whose y is dy
  Strips strips;
  int64_t first;
};

// dy of the strip's positions is read where it lies, or put side by side.
template <class T>
bool is_in_place(const WindowProduct<T>& windows, const Strips& strips) {
  return windows.has_dense_planes() && !strips.is_joint();
}

// One thread's work: some of the strips, some of the channels of x.
template <class T>
class WeightDots {
 public:
  WeightDots(const Convolution& c, const Piece<T>& piece)
      : c_(c),
        p_(piece.windows),
        strips_(piece.strips),
        operand_(t_gathered),
        gradient_(t_gradient),
        dots_(t_dots) {}

  // Adds the dots of strips [first, last) in the order of places to sums[out_channels, rows].
  void add(int64_t first, int64_t last, int64_t group, int64_t channel, int64_t channels, T* sums) {
    const int64_t columns = channels * std::ssize(p_.taps);
    T* const whole = sums + channel * c_.window.taps();
    const bool is_part = !p_.numbers.empty();
    T* const dots = is_part ? dots_.template reserve<T>(c_.out_channels * columns) : whole;
    if (is_part) std::fill_n(dots, c_.out_channels * columns, T{0});
    for (int64_t i = first; i < last; ++i) {
      check_interrupt();
      add_strip(strips_.by_place(i), group, channel, channels, dots, is_part ? columns : c_.rows());
    }
    if (is_part) add_part(dots, channels, whole);
  }

 private:
  void add_strip(int64_t strip, int64_t group, int64_t channel, int64_t channels, T* sums,
                 int64_t sums_row) {
    arrange(strip, channels);
    const int64_t size = c_.window.in_size();
    T* operand = operand_.template reserve<T>(channels * layout_.channel_size + kGatherSlack);
    const PlaceRun& first = runs_.front();
    const int64_t image = strips_.is_joint() ? 0 : first.image;
    const T* from = p_.x + ((image * c_.groups + group) * c_.in_channels + channel) * size;
    convolution_kernels<T>().gather(layout_.lines.data(), std::ssize(layout_.lines), strip_.columns,
                                    c_.window.stride[2], from, size, operand, layout_.channel_size,
                                    channels);
    int64_t step = c_.window.out_size();
    const T* gradient =
        is_in_place(p_, strips_)
            ? p_.y + (first.image * c_.groups + group) * c_.y_size() + p_.place_of(first.place)
            : side_by_side(group, step);
    convolution_kernels<T>().add_dots(strip_.size(), gradient, step, c_.out_channels, operand,
                                      offsets_.data(), channels * std::ssize(p_.taps), sums,
                                      sums_row);
  }

  void arrange(int64_t strip, int64_t channels) {
    if (strip != current_) {
      current_ = strip;
      strip_ = strips_[strip];
      find_runs(p_.window, strip_, strips_.is_joint() ? p_.is_dense() : p_.has_dense_planes(),
                runs_);
      if (layout_.arrange(p_.window, strip_, strips_.is_joint(), c_.groups * c_.x_size())) {
        offsets_.clear();
      }
    }
    for (int64_t i = std::ssize(offsets_) / std::ssize(p_.taps); i < channels; ++i) {
      for (const int64_t tap : layout_.taps) offsets_.push_back(i * layout_.channel_size + tap);
    }
  }

  // dy of the strip's positions, channel by channel.
  const T* side_by_side(int64_t group, int64_t& step) {
    step = strip_.size();
    T* to = gradient_.template reserve<T>(c_.out_channels * step);
    for (int64_t channel = 0; channel < c_.out_channels; ++channel) {
      for (const PlaceRun& run : runs_) {
        const int64_t plane = (run.image * c_.groups + group) * c_.out_channels + channel;
        std::copy_n(p_.y + plane * p_.y_size + p_.place_of(run.place), run.size,
                    to + channel * step + run.from);
      }
    }
    return to;
  }

  // Of the taps that a part sees to those of all.
  void add_part(const T* dots, int64_t channels, T* sums) const {
    for (int64_t row = 0; row < c_.out_channels; ++row) {
      T* to = sums + row * c_.rows();
      for (int64_t i = 0; i < channels; ++i, to += c_.window.taps()) {
        for (const int64_t number : p_.numbers) to[number] += *dots++;
      }
    }
  }

  const Convolution& c_;
  const WindowProduct<T>& p_;
  const Strips& strips_;
  ScratchLoan operand_;
  ScratchLoan gradient_;
  ScratchLoan dots_;
  int64_t current_ = -1;
  Strip strip_{};
  StripLayout layout_;
  std::vector<int64_t> offsets_;
  std::vector<PlaceRun> runs_;
};

template <class T>
Strips weight_strips(const WindowProduct<T>& p) {
  return {p.window, p.images, kPositions, kPositions / 2};
}

template <class T>
std::vector<Piece<T>> pieces_of(const Parts<T>& parts) {
  std::vector<Piece<T>> pieces;
  int64_t first = 0;
  for (const WindowProduct<T>& part : parts) {
    pieces.push_back({part, weight_strips(part), first});
    first += pieces.back().strips.count();
  }
  return pieces;
}

// Elements of a channel that are gathered at once, at most.
template <class T>
int64_t most_gathered(const std::vector<Piece<T>>& pieces) {
  int64_t most = 1;
  for (const Piece<T>& piece : pieces) {
    StripLayout layout;
    layout.arrange(piece.windows.window, piece.strips[0], piece.strips.is_joint(), 0);
    most = std::max(most, layout.channel_size);
  }
  return most;
}

// `windows`: those of c, or parts of them, each with taps of its own.
template <class T>
void sum_products(const Convolution& c, const Parts<T>& windows, T* dweight) {
  const std::vector<Piece<T>> pieces = pieces_of(windows);
  const int64_t strips = pieces.back().first + pieces.back().strips.count();
  const int64_t bytes = most_gathered(pieces) * static_cast<int64_t>(sizeof(T));
  const detail::Split blocks =
      detail::split_at_most(c.in_channels, std::max<int64_t>(1, kGatheredBytes / bytes));
  // Strips are cut into parts with sums of their own where there are few channels.
  const int64_t size = c.groups * c.out_channels * c.rows();
  const int64_t most = std::max<int64_t>(1, kSumsBytes / (size * int64_t{sizeof(T)}));
  const detail::Split parts{
      strips, std::clamp<int64_t>(detail::ceil_div(kWeightJobs, c.groups * blocks.count), 1,
                                  std::min(most, strips))};
  ScratchLoan loan(t_weight_sums);
  T* sums = parts.count > 1 ? loan.reserve<T>(size * parts.count) : dweight;
  std::fill_n(sums, size * parts.count, T{0});
  const int64_t jobs = parts.count * c.groups * blocks.count;
  parallel_for(jobs, 1, [&](int64_t begin, int64_t end) {
    for (const Piece<T>& piece : pieces) {
      WeightDots<T> worker(c, piece);
      for (int64_t job = begin; job < end; ++job) {
        const int64_t block = job % blocks.count;
        const int64_t group = job / blocks.count % c.groups;
        const int64_t part = job / blocks.count / c.groups;
        const int64_t first = std::max<int64_t>(parts.begin(part) - piece.first, 0);
        const int64_t last = std::min(parts.begin(part + 1) - piece.first, piece.strips.count());
        if (first >= last) continue;
        worker.add(first, last, group, blocks.begin(block), blocks.size(block),
                   sums + part * size + group * c.out_channels * c.rows());
      }
    }
  });
  if (parts.count > 1) sum_parts(sums, parts.count, size, dweight);
}

// The sum goes over the pixels of all images; lanes are the channels of a tensor as it lies in
// memory.
template <class T>
class Pixels final : public GemmSource<T> {
 public:
  Pixels(int64_t pixels, const T* images, int64_t image_stride)
      : pixels_(pixels), images_(images), image_stride_(image_stride) {}

  void pack(T* to, int64_t step, int64_t lane, int64_t from, int64_t count,
            int64_t k) const override {
    while (k > 0) {
      const int64_t pixel = from % pixels_;
      const int64_t n = std::min(k, pixels_ - pixel);
      const T* image = images_ + from / pixels_ * image_stride_;
      gemm_kernels<T>().pack(to, step, image + lane * pixels_ + pixel, pixels_, 1, count, n);
      to += n * step;
      from += n;
      k -= n;
    }
  }

 private:
  int64_t pixels_;
  const T* images_;
  int64_t image_stride_;
};

// The windows of a convolution and dy, which nobody writes to.
template <class T>
WindowProduct<T> windows_of(const Convolution& c, const T* x, const T* dy) {
  return forward_product<T>(c, x, nullptr, nullptr, const_cast<T*>(dy), nullptr);
}

// Tiles, but for what is not finite.
template <class T>
void multiply_tile_dots(const Convolution& c, const T* x, const T* dy, T* dweight) {
  if (!add_tile_dots(c, x, dy, dweight)) sum_products<T>(c, {windows_of(c, x, dy)}, dweight);
}

template <class T>
void multiply_all_pixels(const Convolution& c, const T* x, const T* dy, T* dweight) {
  const int64_t pixels = c.window.out_size();
  const bool is_many = c.groups >= int64_t{4} * num_threads();
  parallel_for(c.groups, is_many ? 1 : c.groups, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      const Pixels<T> a(pixels, dy + g * c.y_size(), c.groups * c.y_size());
      const Pixels<T> b(pixels, x + g * c.x_size(), c.groups * c.x_size());
      gemm<T>(c.out_channels, c.rows(), c.images * pixels, {nullptr, 0, 0, &a}, {nullptr, 0, 0, &b},
              dweight + g * c.out_channels * c.rows(), c.rows(), false);
    }
  });
}

// A job's sums are a number of their own for each weight, and then folded.
template <class T>
Work dots_work(const WindowProduct<T>& p) {
  const Strips strips = weight_strips(p);
  const Strip strip = strips[0];
  const auto count = static_cast<double>(p.groups * strips.count());
  const int64_t vectors = detail::ceil_div(strip.size(), gemm_kernels<T>().lanes);
  constexpr double kBytes = sizeof(T);
  Work work;
  work.calls = count * static_cast<double>(detail::ceil_div(p.out_channels, 6) *
                                           detail::ceil_div(p.depth(), 4));
  work.products = count * static_cast<double>(p.out_channels * vectors * p.depth());
  work.loads =
      count * static_cast<double>(detail::ceil_div(p.out_channels, 6) * vectors * p.depth());
  const int64_t gathered = p.in_channels * StripLayout::written(p.window, strip, strips.is_joint(),
                                                                gemm_kernels<T>().lanes);
  const int64_t beside = is_in_place(p, strips) ? 0 : p.out_channels * strip.size();
  const int64_t added = p.numbers.empty() ? 0 : p.out_channels * p.depth();
  work.moved = count * static_cast<double>(gathered + beside + added) * kBytes;
  work.made = static_cast<double>(p.groups * p.out_channels * p.depth()) * kBytes;
  work.read = far_bytes(work.made, static_cast<double>(strips.count()));
  return work;
}

template <class T>
Work dots_work(const Parts<T>& parts) {
  Work sum;
  for (const WindowProduct<T>& part : parts) sum += dots_work(part);
  return sum;
}

template <class T>
Way weight_way(const Convolution& c, const WindowProduct<T>& windows, const Parts<T>& parts) {
  Choice choice;
  choice.offer(Way::kDots, [&] { return dots_work(windows); });
  if (!parts.empty()) choice.offer(Way::kPartDots, [&] { return dots_work(parts); });
  if (has_blocks<T>(c)) choice.offer(Way::kBlocks, [&] { return blocks_work<T>(c); });
  if (has_tile_dots(c)) choice.offer(Way::kTileDots, [&] { return tile_dots_work<T>(c); });
  if (c.groups == 1 && has_apart(c)) {
    choice.offer(Way::kApartDots,
                 [&] { return apart_work<T>(c, tile_dots_work<T>(side_by_side(c, c.images))); });
  }
  if (c.window.is_identity()) {
    choice.offer(Way::kPixelDots, [&] {
      return gemm_work<T>(c.out_channels, c.rows(), c.images * c.window.out_size(), c.groups, true);
    });
  }
  return choice.best();
}

}  // namespace

template <class T>
void convolve_weight_gradient(const Convolution& c, const T* x, const T* dy, T* dweight) {
  const int64_t size = c.groups * c.out_channels * c.rows();
  if (size == 0) return;
  if (c.images * c.window.out_size() == 0) {
    std::fill_n(dweight, size, T{0});
    return;
  }
  const WindowProduct<T> windows = windows_of(c, x, dy);
  const Parts<T> parts = parts_of<T>(windows, Cut::kTaps, [](const Parts<T>& all) {
    return predicted_time(Way::kPartDots, dots_work(all));
  });
  switch (weight_way(c, windows, parts)) {
    case Way::kPartDots:
      return sum_products(c, parts, dweight);
    case Way::kBlocks:
      return weight_gradient_by_blocks(c, x, dy, dweight);
    case Way::kApartDots:
      return weight_gradient_apart<T>(c, x, dy, dweight, multiply_tile_dots<T>);
    case Way::kPixelDots:
      return multiply_all_pixels(c, x, dy, dweight);
    case Way::kTileDots:
      return multiply_tile_dots(c, x, dy, dweight);
    default:
      sum_products(c, {windows}, dweight);
  }
}

template void convolve_weight_gradient<float>(const Convolution&, const float*, const float*,
                                              float*);
template void convolve_weight_gradient<double>(const Convolution&, const double*, const double*,
                                               double*);

}  // namespace tensorlike
