#include "onnx/windows.h"

#include <algorithm>

namespace tensorlike::onnx {
namespace {

constexpr int64_t kMostWindowPlaces = 1 << 24;

}  // namespace

Windows::Windows(const RuleCall& call, const Tensor& x, const Item& sizes) : kernel(sizes) {
  const size_t rank = x.spec.shape.size();
  if (rank < 3 || kernel.list("kernel_shape").size() != rank - 2) {
    call.refuse("x", "must have spatial axes, as many as its windows", to_string(x.spec));
  }
  count = Item(static_cast<int64_t>(rank) - 2);
  const Item spatial = list_of(std::span(x.spec.shape).subspan(2));
  strides = calculate("ones_like", {call.item("strides"), count});
  dilations = calculate("ones_like", {call.item("dilations"), count});
  pads = calculate("window_pads",
                   {call.item("auto_pad"), call.item("pads"), spatial, kernel, strides, dilations});
  is_symmetric = calculate("is_symmetric", {pads}).truth("pads");
  before = calculate("part", {pads, Item(int64_t{0}), count});
}

Item Windows::padded(const RuleCall& call, const Tensor& x, double number) const {
  const Item widths = calculate("margins", {pads});
  const Item mode(std::string("constant"));
  return call.one("pad", {Item(x)}, {{"widths", widths}, {"mode", mode}, {"value", Item(number)}});
}

bool Windows::is_narrow() const {
  const Sizes around = before.integers("pads"), sizes = kernel.integers("kernel_shape");
  bool holds = is_symmetric;
  for (size_t i = 0; i < sizes.size(); ++i) holds = holds && 2 * around[i] <= sizes[i];
  return holds;
}

Item zeros(const Item& count) { return calculate("repeated", {Item(int64_t{0}), count}); }

Places places_of(const RuleCall& call, const Windows& windows, std::span<const int64_t> sizes) {
  const Sizes kernel = windows.kernel.integers("kernel_shape"),
              pads = windows.pads.integers("pads"), strides = windows.strides.integers("strides"),
              dilations = windows.dilations.integers("dilations");
  const bool rounds_up = call.values.count("ceil_mode") > 0 && call.integer("ceil_mode") != 0;
  Places made;
  double total = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto is_odd = [](int64_t number, int64_t least) {
      return number < least || number > kMostWindowPlaces;
    };
    if (is_odd(kernel[i], 1) || is_odd(strides[i], 1) || is_odd(dilations[i], 1) ||
        is_odd(pads[i], 0) || is_odd(pads[i + sizes.size()], 0)) {
      call.refuse("kernel_shape", "and what goes with it must be sizes of windows", "others");
    }
    const int64_t wide = (kernel[i] - 1) * dilations[i] + 1;
    const int64_t room = sizes[i] + pads[i] + pads[i + sizes.size()] - wide;
    if (room < 0) call.refuse("kernel_shape", "must fit into the image", text(kernel[i]));
    int64_t out = (rounds_up ? (room + strides[i] - 1) / strides[i] : room / strides[i]) + 1;
    // A window must begin within the elements or the padding before them.
    if (rounds_up && (out - 1) * strides[i] >= sizes[i] + pads[i]) --out;
    made.outs.push_back(out);
    made.taps *= kernel[i];
    total *= static_cast<double>(out) * static_cast<double>(kernel[i]);
    if (total > kMostWindowPlaces) call.refuse("x", "must have fewer windows here", text(total));
  }
  const auto windows_count = element_count(Dims(made.outs.begin(), made.outs.end()));
  for (int64_t window = 0; window < windows_count; ++window) {
    made.elements.push_back(0);
    made.padded.push_back(0);
    for (int64_t tap = 0; tap < made.taps; ++tap) {
      int64_t flat = 0, factor = 1, rest = window, own = tap;
      bool is_in = true, is_padded = true;
      for (size_t i = sizes.size(); i-- > 0;) {
        const int64_t at =
            rest % made.outs[i] * strides[i] - pads[i] + own % kernel[i] * dilations[i];
        rest /= made.outs[i];
        own /= kernel[i];
        is_in = is_in && at >= 0 && at < sizes[i];
        is_padded = is_padded && at < sizes[i] + pads[i + sizes.size()];
        flat += at * factor;
        factor *= sizes[i];
      }
      made.flat.push_back(is_in ? flat : 0);
      made.inside.push_back(is_in);
      made.elements.back() += is_in ? 1 : 0;
      made.padded.back() += is_padded ? 1 : 0;
    }
  }
  return made;
}

}  // namespace tensorlike::onnx
