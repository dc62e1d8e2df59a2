// Products of weights and windows, strip by strip.
#include "kernels/convolution_product.h"

#include "kernels/winograd.h"

namespace tensorlike {
namespace {

constexpr int64_t kBlockK = 192;  // rows of the operand whose tile stays in the L1 cache
constexpr int64_t kOperandBytes = 768 * 1024;  // of an operand, in the L2 cache
constexpr int64_t kOperandElements = 128 * 1024;
constexpr int64_t kFewPositions = 384;    // a strip with fewer reads the weights too often
constexpr int64_t kJointPositions = 128;  // images of fewer are put side by side
constexpr int64_t kSlack = 128;           // elements that the last tile may read beyond its columns

thread_local ScratchBuffer t_weights;
thread_local ScratchBuffer t_operand;
thread_local ScratchBuffer t_block;

template <class T>
constexpr T kZeros[detail::GemmKernels<T>::kMaxRows] = {};

// How many positions a strip has: enough to use weights often, and work for all threads. A sum is
// the same in any strip.
template <class T>
int64_t wanted_positions(const WindowProduct<T>& p) {
  const Window& w = p.window;
  const int64_t copies = std::max<int64_t>(p.in_channels * w.kernel[0] * w.kernel[2], 1);
  const int64_t fitting = std::clamp<int64_t>(kOperandElements / copies, 512, 4096);
  const int64_t share = p.images * w.out_size() / (int64_t{4} * num_threads());
  return std::clamp(share, kFewPositions, fitting);
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
PackedWeights<T>::PackedWeights(const WindowProduct<T>& product, ScratchLoan& buffer)
    : product_(product), width_(1) {
  const detail::GemmKernels<T>& kernels = gemm_kernels<T>();
  for (int wide = detail::GemmKernels<T>::kWidths - 1; wide > 1; --wide) {
    if (kernels.max_rows[wide] >= product.out_channels) {
      width_ = wide;
      break;
    }
  }
  panels_ = detail::split_at_most(product.out_channels, kernels.max_rows[width_]);
  const int64_t taps = static_cast<int64_t>(product.taps.size());
  blocks_ = detail::split_at_most(product.in_channels, std::max<int64_t>(1, kBlockK / taps));
  const int64_t count = product.groups * product.out_channels * product.depth();
  packed_ = kept_or(product, "weights of windows", buffer, count, [&](T* memory) {
    packed_ = memory;
    pack();
  });
}

template <class T>
void PackedWeights<T>::pack() const {
  const WindowProduct<T>& p = product_;
  const int64_t jobs = p.groups * blocks_.count * panels_.count;
  const double work =
      static_cast<double>(p.groups * p.out_channels) * static_cast<double>(p.depth());
  parallel_for(jobs, grain_of(4 * work, jobs), [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t block = job / panels_.count;
      pack_panel(block / blocks_.count, block % blocks_.count, job % panels_.count);
    }
  });
}

template <class T>
void PackedWeights<T>::pack_panel(int64_t group, int64_t block, int64_t panel) const {
  const WindowProduct<T>& p = product_;
  const int64_t rows = panels_.size(panel);
  const int64_t channels = blocks_.size(block);
  const int64_t taps = static_cast<int64_t>(p.taps.size());
  const T* from = p.weight + group * p.group_step + panels_.begin(panel) * p.out_step +
                  blocks_.begin(block) * p.in_step;
  T* to = at(group, block, panel);
  if (p.in_step == taps && p.taps.back() == taps - 1) {  // they lie along k without a gap
    gemm_kernels<T>().pack(to, rows, from, p.out_step, 1, rows, channels * taps);
    return;
  }
  for (int64_t channel = 0; channel < channels; ++channel, from += p.in_step) {
    for (int64_t tap = 0; tap < taps;) {
      const int64_t place = p.taps[static_cast<size_t>(tap)];
      int64_t count = 1;
      while (tap + count < taps && p.taps[static_cast<size_t>(tap + count)] == place + count) {
        ++count;
      }
      gemm_kernels<T>().pack(to, rows, from + place, p.out_step, 1, rows, count);
      to += count * rows;
      tap += count;
    }
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
  find_runs(p.window, strip_, p.is_dense(), runs_);
  if (!layout_.arrange(p.window, strip_, strips_.is_joint(),
                       p.groups * p.in_channels * p.window.in_size())) {
    return;
  }
  if (p.is_mirrored) std::reverse(layout_.taps.begin(), layout_.taps.end());
  offsets_.clear();
  const int64_t channels = weights_.blocks().size(weights_.blocks().count - 1);  // the most
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (const int64_t tap : layout_.taps) offsets_.push_back(channel * layout_.channel_size + tap);
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
  const bool is_direct = p.is_dense() && !strips_.is_joint();
  Target target{nullptr, p.y_size};
  if (is_direct) {
    const PlaceRun& place = runs_.front();
    target.data = p.y + ((place.image * p.groups + group) * p.out_channels + row) * p.y_size +
                  p.origin + place.place;
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
          depth, weights_.at(group, block, panel), operand + column, offsets_.data(), start,
          target.data + (row - weights_.row(first)) * target.row_step + column, target.row_step,
          columns, block > 0);
    }
  }
}

template <class T>
void StripProduct<T>::place(const T* block, int64_t group, int64_t row, int64_t rows) const {
  const WindowProduct<T>& p = product_;
  const Window& w = p.window;
  for (int64_t i = 0; i < rows; ++i) {
    for (const PlaceRun& run : runs_) {
      const int64_t channel = (run.image * p.groups + group) * p.out_channels + row + i;
      T* to = p.y + channel * p.y_size + p.origin;
      const T* from = block + i * strip_.size() + run.from;
      if (p.is_dense()) {
        std::copy_n(from, run.size, to + run.place);
        continue;
      }
      const int64_t line = run.place / w.out[2];
      to += line / w.out[1] * p.steps[0] + line % w.out[1] * p.steps[1] +
            run.place % w.out[2] * p.steps[2];
      for (int64_t j = 0; j < run.size; ++j) to[j * p.steps[2]] = from[j];
    }
  }
}

template <class T>
void multiply_windows(WindowProduct<T> product) {
  if (product.images * product.groups * product.out_channels * product.window.out_size() == 0) {
    return;
  }
  if (suits_winograd(product) && multiply_winograd(product)) return;
  if (product.images * product.window.out_size() >= detail::kManyProducts) product.forms = nullptr;
  ScratchLoan packed(t_weights);
  const PackedWeights<T> weights(product, packed);
  const Strips strips(product.window, product.images, wanted_positions(product), kJointPositions);
  over_strips(product, strips.count(), weights.panels(),
              [&] { return StripProduct<T>(product, weights, strips); });
}

template void multiply_windows<float>(WindowProduct<float>);
template void multiply_windows<double>(WindowProduct<double>);

}  // namespace tensorlike
