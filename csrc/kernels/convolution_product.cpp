// Products of weights and windows, strip by strip.
#include "kernels/convolution_product.h"

#include <numeric>

namespace tensorlike {
namespace {

constexpr int64_t kBlockK = 192;  // rows of the operand whose tile stays in the L1 cache
constexpr int64_t kOperandBytes = 768 * 1024;  // of an operand, in the L2 cache
constexpr int64_t kOperandElements = 128 * 1024;
constexpr int64_t kFewPositions = 384;    // a strip with fewer reads the weights too often
constexpr int64_t kJointPositions = 128;  // images of fewer are put side by side
constexpr int64_t kPanelsOfJob = 32;
constexpr int64_t kMostSpan = 1024;  // elements of taps that lie apart, and those between
constexpr int64_t kSlack = 128;      // elements that the last tile may read beyond its columns

ScratchPlace t_weights;
ScratchPlace t_operand;
ScratchPlace t_block;

template <class T>
constexpr T kZeros[detail::GemmKernels<T>::kMaxRows] = {};

// How many positions a strip has: enough to use weights often, and work for all threads. A sum is
// the same in any strip.
template <class T>
int64_t wanted_positions(const WindowProduct<T>& p, int threads) {
  const Window& w = p.window;
  const int64_t copies = std::max<int64_t>(p.in_channels * w.kernel[0] * w.kernel[2], 1);
  const int64_t fitting = std::clamp<int64_t>(kOperandElements / copies, 512, 4096);
  const int64_t share = p.images * w.out_size() / (int64_t{4} * threads);
  return std::clamp(share, kFewPositions, fitting);
}

template <class T>
Strips strips_of(const WindowProduct<T>& p, int threads) {
  return {p.window, p.images, wanted_positions(p, threads), kJointPositions};
}

// The tile for the weights' rows, as log2 of its vectors.
template <class T>
int width_of(int64_t rows) {
  const detail::GemmKernels<T>& kernels = gemm_kernels<T>();
  for (int wide = detail::GemmKernels<T>::kWidths - 1; wide > 1; --wide) {
    if (kernels.max_rows[wide] >= rows) return wide;
  }
  return 1;
}

// Blocks of channels: of as many rows of the operand as the first-level cache holds.
template <class T>
detail::Split blocks_of(const WindowProduct<T>& p) {
  return detail::split_at_most(p.in_channels, std::max<int64_t>(1, kBlockK / std::ssize(p.taps)));
}

}  // namespace

template <class T>
KeptForms::Key WindowProduct<T>::key(std::string_view kind) const {
  KeptForms::Key found{
      kind, weight, {int64_t{sizeof(T)}, gemm_kernels<T>().lanes, groups, in_channels}};
  for (int64_t number : {out_channels, group_step, out_step, in_step, int64_t{is_mirrored}}) {
    found.numbers.push_back(number);
  }
  for (int64_t tap : taps) found.numbers.push_back(tap);
  return found;
}
template struct WindowProduct<float>;
template struct WindowProduct<double>;

template <class T>
WindowProduct<T> forward_product(const Convolution& c, const T* x, const T* weight, const T* bias,
                                 T* y, KeptForms* forms) {
  WindowProduct<T> p;
  p.window = c.window;
  p.images = c.images;
  p.groups = c.groups;
  p.in_channels = c.in_channels;
  p.out_channels = c.out_channels;
  p.x = x;
  p.weight = weight;
  p.group_step = c.out_channels * c.rows();
  p.out_step = c.rows();
  p.in_step = c.window.taps();
  p.taps.resize(static_cast<size_t>(c.window.taps()));
  std::iota(p.taps.begin(), p.taps.end(), int64_t{0});
  p.bias = bias;
  p.forms = forms;
  p.y = y;
  p.y_size = c.window.out_size();
  p.steps[0] = c.window.out[1] * c.window.out[2];
  p.steps[1] = c.window.out[2];
  p.steps[2] = 1;
  return p;
}

template <class T>
PackedWeights<T>::PackedWeights(const WindowProduct<T>& product, ScratchLoan& buffer)
    : product_(product),
      width_(width_of<T>(product.out_channels)),
      panels_(detail::split_at_most(product.out_channels, gemm_kernels<T>().max_rows[width_])),
      blocks_(blocks_of(product)) {
  const int64_t count = product.groups * product.out_channels * product.depth();
  packed_ = kept_or(product, "weights of windows", buffer, count, [&](T* memory) {
    packed_ = memory;
    pack();
  });
}

template <class T>
void PackedWeights<T>::pack() const {
  const WindowProduct<T>& p = product_;
  const detail::Split shares = detail::split_at_most(panels_.count, kPanelsOfJob);
  const int64_t jobs = p.groups * blocks_.count * shares.count;
  const double work =
      static_cast<double>(p.groups * p.out_channels) * static_cast<double>(p.depth());
  parallel_for(jobs, grain_of(4 * work, jobs), [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t share = job % shares.count, block = job / shares.count;
      pack_panels(block / blocks_.count, block % blocks_.count, shares.begin(share),
                  shares.begin(share + 1));
    }
  });
}

template <class T>
void PackedWeights<T>::pack_panels(int64_t group, int64_t block, int64_t first,
                                   int64_t last) const {
  const WindowProduct<T>& p = product_;
  const int64_t channels = blocks_.size(block);
  const int64_t taps = std::ssize(p.taps);
  const T* from = p.weight + group * p.group_step + blocks_.begin(block) * p.in_step;
  const bool is_dense = p.in_step == taps && p.taps.back() == taps - 1;
  if (is_dense || taps == 1) {  // they lie along k at equal steps
    for (int64_t panel = first; panel < last; ++panel) {
      gemm_kernels<T>().pack(at(group, block, panel), rows(panel),
                             from + row(panel) * p.out_step + p.taps.front(), p.out_step,
                             is_dense ? 1 : p.in_step, rows(panel), channels * taps);
    }
    return;
  }
  // Channel by channel, so that memory is read in long runs.
  for (int64_t channel = 0; channel < channels; ++channel, from += p.in_step) {
    for (int64_t panel = first; panel < last; ++panel) {
      pack_taps(from + row(panel) * p.out_step, rows(panel),
                at(group, block, panel) + channel * taps * rows(panel));
    }
  }
}

// Taps that lie apart are packed with those between, by vectors, and these left out.
template <class T>
void PackedWeights<T>::pack_taps(const T* from, int64_t rows, T* to) const {
  const WindowProduct<T>& p = product_;
  const auto pack = gemm_kernels<T>().pack;
  const int64_t taps = std::ssize(p.taps), first = p.taps.front();
  const int64_t span = p.taps.back() - first + 1;
  if (span == taps) return pack(to, rows, from + first, p.out_step, 1, rows, taps);
  const int64_t whole = std::min(detail::ceil_div(span, 4) * 4, p.out_step);  // squares of 4 x 4
  const int64_t begin = std::max<int64_t>(0, std::min(first, p.out_step - whole));
  T all[kMostSpan];
  const bool fits = whole * rows <= kMostSpan && begin + whole > p.taps.back();
  if (fits) pack(all, rows, from + begin, p.out_step, 1, rows, whole);
  for (const int64_t tap : p.taps) {
    if (fits) {
      std::copy_n(all + (tap - begin) * rows, rows, to);
    } else {
      pack(to, rows, from + tap, p.out_step, 1, rows, 1);
    }
    to += rows;
  }
}

template <class T>
StripProduct<T>::StripProduct(const WindowProduct<T>& product, const PackedWeights<T>& weights,
                              const Strips& strips)
    : product_(product), weights_(weights), strips_(strips), operand_(t_operand), block_(t_block) {}

template <class T>
void StripProduct<T>::arrange(int64_t strip) {
  if (strip == current_) return;
  current_ = strip;
  strip_ = strips_[strip];
  const WindowProduct<T>& p = product_;
  find_runs(p.window, strip_, strips_.is_joint() ? p.is_dense() : p.has_dense_planes(), runs_);
  if (!layout_.arrange(p.window, strip_, strips_.is_joint(),
                       p.groups * p.in_channels * p.window.in_size())) {
    return;
  }
  if (p.is_mirrored) std::reverse(layout_.taps.begin(), layout_.taps.end());
  rows_.clear();
  const int64_t channels = weights_.blocks().size(weights_.blocks().count - 1);  // the most
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t tap = 0; tap < std::ssize(p.taps); ++tap) {
      const auto i = static_cast<size_t>(tap);
      rows_.push_back({channel * layout_.channel_size + layout_.taps[i],
                       channel * weights_.taps() + (p.numbers.empty() ? tap : p.numbers[i])});
    }
  }
  const int64_t bytes = channels * layout_.channel_size * static_cast<int64_t>(sizeof(T));
  at_once_ = std::max<int64_t>(kOperandBytes / bytes, 1);
}

template <class T>
void StripProduct<T>::run(int64_t strip, int64_t group, int64_t first, int64_t last) {
  arrange(strip);
  const WindowProduct<T>& p = product_;
  const int64_t row = weights_.row(first);
  const int64_t rows = weights_.row(last) - row;
  const bool is_direct = p.has_dense_planes() && !strips_.is_joint();
  Target target{nullptr, p.y_size};
  if (is_direct) {
    const PlaceRun& place = runs_.front();
    target.data = p.y + ((place.image * p.groups + group) * p.out_channels + row) * p.y_size +
                  p.place_of(place.place);
  } else {
    target = {block_.template reserve<T>(rows * strip_.size()), strip_.size()};
  }
  const detail::Split& blocks = weights_.blocks();
  for (int64_t begin = 0; begin < blocks.count; begin += at_once_) {
    const int64_t end = std::min(begin + at_once_, blocks.count);
    const int64_t channel = blocks.begin(begin);
    const T* operand = gather(group, channel, blocks.begin(end) - channel);
    for (int64_t block = begin; block < end; ++block) {
      multiply(operand + (blocks.begin(block) - channel) * layout_.channel_size, group, block,
               first, last, target);
    }
  }
  if (!is_direct) place(target.data, group, row, rows);
}

template <class T>
const T* StripProduct<T>::gather(int64_t group, int64_t channel, int64_t channels) {
  const WindowProduct<T>& p = product_;
  const int64_t size = p.window.in_size();
  const int64_t image = strips_.is_joint() ? 0 : runs_.front().image;
  const T* from = p.x + ((image * p.groups + group) * p.in_channels + channel) * size;
  T* operand = operand_.template reserve<T>(channels * layout_.channel_size + kSlack);
  convolution_kernels<T>().gather(layout_.lines.data(), static_cast<int64_t>(layout_.lines.size()),
                                  strip_.columns, p.window.stride[2], from, size, operand,
                                  layout_.channel_size, channels);
  return operand;
}

template <class T>
void StripProduct<T>::multiply(const T* operand, int64_t group, int64_t block, int64_t first,
                               int64_t last, const Target& target) const {
  const detail::GemmKernels<T>& kernels = gemm_kernels<T>();
  const int64_t tile = kernels.lanes << weights_.width();
  const int64_t depth = weights_.blocks().size(block) * static_cast<int64_t>(product_.taps.size());
  for (int64_t column = 0; column < strip_.size(); column += tile) {
    const int64_t columns = std::min(tile, strip_.size() - column);
    for (int64_t panel = first; panel < last; ++panel) {
      const int64_t rows = weights_.rows(panel);
      int width = 0;
      while (kernels.lanes << width < columns || kernels.max_rows[width] < rows) ++width;
      const int64_t row = weights_.row(panel);
      const T* start = product_.bias == nullptr
                           ? kZeros<T>
                           : product_.bias + group * product_.out_channels + row;
      kernels.listed[width][rows - 1](
          depth, weights_.at(group, block, panel), operand + column, rows_.data(), start,
          target.data + (row - weights_.row(first)) * target.row_step + column, target.row_step,
          columns, block > 0);
    }
  }
}

template <class T>
void StripProduct<T>::place(const T* block, int64_t group, int64_t row, int64_t rows) const {
  const WindowProduct<T>& p = product_;
  for (int64_t i = 0; i < rows; ++i) {
    for (const PlaceRun& run : runs_) {
      const int64_t channel = (run.image * p.groups + group) * p.out_channels + row + i;
      T* to = p.y + channel * p.y_size + p.place_of(run.place);
      const T* from = block + i * strip_.size() + run.from;
      if (p.steps[2] == 1) {
        std::copy_n(from, run.size, to);
        continue;
      }
      for (int64_t j = 0; j < run.size; ++j) to[j * p.steps[2]] = from[j];
    }
  }
}

template <class T>
Work gemm_work(int64_t m, int64_t n, int64_t k, int64_t times, bool makes_a) {
  const detail::GemmKernels<T>& kernels = gemm_kernels<T>();
  const int width = detail::width_for(kernels, m, n);
  const int64_t panels = detail::ceil_div(m, kernels.max_rows[width]);
  const int64_t vectors = detail::ceil_div(n, kernels.lanes), tiles = (vectors >> width) + 1;
  const auto count = static_cast<double>(times), depth = static_cast<double>(k);
  constexpr double kBytes = sizeof(T);
  Work work;
  work.calls = count * static_cast<double>(panels * tiles);
  work.loads = count * static_cast<double>(panels * vectors) * depth;
  work.products = count * static_cast<double>(m * vectors) * depth;
  work.moved = panels > 8 ? count * static_cast<double>(n) * depth * kBytes : 0;
  work.made = makes_a && tiles > 4 ? count * static_cast<double>(m) * depth * kBytes : 0;
  work.read = far_bytes(static_cast<double>(m) * depth * kBytes, count);
  return work;
}

// Bytes of weights that are packed, in time: with those that lie between taps, and of single taps
// by elements that lie apart.
template <class T>
double packed_bytes(const WindowProduct<T>& p) {
  constexpr int64_t kApart = 5;
  const int64_t taps = std::ssize(p.taps), span = p.taps.back() - p.taps.front() + 1;
  const int64_t single = p.out_step > 1 && p.in_step > 1 ? kApart : 1;
  const int64_t packed = taps == 1 ? single : span == taps ? taps : detail::ceil_div(span, 4) * 4;
  return static_cast<double>(p.groups * p.out_channels * p.in_channels * packed) *
         double{sizeof(T)};
}

template <class T>
Work strips_work(const WindowProduct<T>& p) {
  const detail::GemmKernels<T>& kernels = gemm_kernels<T>();
  const int width = width_of<T>(p.out_channels);
  const int64_t panels = detail::ceil_div(p.out_channels, kernels.max_rows[width]);
  const Strips strips = strips_of(p, 1);
  const Strip strip = strips[0];
  const auto count = static_cast<double>(p.groups * strips.count());
  const auto depth = static_cast<double>(p.depth());
  const int64_t vectors = detail::ceil_div(strip.size(), kernels.lanes);
  const int64_t tiles = detail::ceil_div(vectors, int64_t{1} << width);
  constexpr double kBytes = sizeof(T);
  Work work;
  work.calls = count * static_cast<double>(tiles * panels * blocks_of(p).count);
  work.loads = count * static_cast<double>(vectors * panels) * depth;
  work.products = count * static_cast<double>(vectors * p.out_channels) * depth;
  const int64_t gathered =
      p.in_channels * StripLayout::written(p.window, strip, strips.is_joint(), kernels.lanes);
  const bool is_direct = p.has_dense_planes() && !strips.is_joint();
  const bool is_by_lines = !p.is_dense() && p.steps[2] == 1;  // a vector at least for each
  const int64_t line = detail::ceil_div(strip.columns, kernels.lanes) * kernels.lanes;
  const int64_t sums = is_by_lines ? strip.lines * line : strip.size();
  const int64_t placed = is_direct ? 0 : 2 * p.out_channels * sums;
  // Lines that are cut are so short that each takes as long again.
  const double turns = p.steps[2] == 1 && !p.has_dense_planes() ? 2 : 1;
  work.moved = turns * count * static_cast<double>(gathered + placed) * kBytes;
  work.made = packed_bytes(p);
  const double weights = static_cast<double>(p.groups * p.out_channels) * depth * kBytes;
  work.read = far_bytes(weights, static_cast<double>(strips.count()));
  return work;
}

// The weights are made ready once.
template <class T>
Work strips_work(const WindowProduct<T>& product, const std::vector<WindowProduct<T>>& parts) {
  Work sum;
  for (const WindowProduct<T>& part : parts) sum += strips_work(part);
  sum.made = packed_bytes(product);
  return sum;
}

template <class T>
void multiply_strips(WindowProduct<T> product, const std::vector<WindowProduct<T>>& parts) {
  const int64_t positions = product.images * product.window.out_size();
  if (positions * product.groups * product.out_channels == 0) return;
  if (positions >= detail::kManyProducts) product.forms = nullptr;
  ScratchLoan packed(t_weights);
  const PackedWeights<T> weights(product, packed);
  for (const WindowProduct<T>& part : parts) {
    const Strips strips = strips_of(part, num_threads());
    over_strips(part, strips.count(), weights.panels(),
                [&] { return StripProduct<T>(part, weights, strips); });
  }
}

#define TL_INSTANTIATE(T)                                                                        \
  template WindowProduct<T> forward_product<T>(const Convolution&, const T*, const T*, const T*, \
                                               T*, KeptForms*);                                  \
  template Work gemm_work<T>(int64_t, int64_t, int64_t, int64_t, bool);                          \
  template Work strips_work(const WindowProduct<T>&);                                            \
  template Work strips_work(const WindowProduct<T>&, const std::vector<WindowProduct<T>>&);      \
  template void multiply_strips<T>(WindowProduct<T>, const std::vector<WindowProduct<T>>&);
TL_INSTANTIATE(float)
TL_INSTANTIATE(double)
#undef TL_INSTANTIATE

}  // namespace tensorlike
