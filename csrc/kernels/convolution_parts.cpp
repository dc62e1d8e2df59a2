#include "kernels/convolution_parts.h"

namespace tensorlike {
namespace {

constexpr double kMostSeen = 0.97;   // of the taps of all windows, where a cut is considered
constexpr double kLeastSaved = 5e5;  // multiply-adds
constexpr size_t kMostParts = 64;

// One dimension: the windows [first, end), and taps [low, high) that they see.
struct Stretch {
  int64_t first, end, low, high;
};

// Windows that see nothing keep a tap.
Stretch window_at(const Window& w, int dim, int64_t at) {
  int64_t low = 0, high = w.kernel[dim];
  while (low + 1 < high && w.position(dim, at, low) < 0) ++low;
  while (low + 1 < high && w.position(dim, at, high - 1) >= w.in[dim]) --high;
  return {at, at + 1, low, high};
}

// Windows beside each other that see the same taps.
std::vector<Stretch> equal_windows(const Window& w, int dim) {
  std::vector<Stretch> found;
  for (int64_t at = 0; at < w.out[dim]; ++at) {
    const Stretch next = window_at(w, dim, at);
    if (!found.empty() && found.back().low == next.low && found.back().high == next.high) {
      found.back().end = next.end;
    } else {
      found.push_back(next);
    }
  }
  return found;
}

// Taps beside each other that the same windows see; those that none sees are left out.
std::vector<Stretch> equal_taps(const Window& w, int dim) {
  std::vector<Stretch> found;
  for (int64_t tap = 0; tap < w.kernel[dim]; ++tap) {
    const Stretch next{w.first(dim, tap), w.last(dim, tap), tap, tap + 1};
    if (next.first >= next.end) continue;
    if (!found.empty() && found.back().first == next.first && found.back().end == next.end) {
      found.back().high = next.high;
    } else {
      found.push_back(next);
    }
  }
  return found;
}

// One stretch where few windows see padding.
std::vector<Stretch> stretches_of(const Window& w, int dim, Cut by) {
  const int64_t inner = w.last(dim, w.kernel[dim] - 1) - w.first(dim, 0);
  if (static_cast<double>(inner) > kMostSeen * static_cast<double>(w.out[dim])) {
    return {{0, w.out[dim], 0, w.kernel[dim]}};
  }
  return by == Cut::kWindows ? equal_windows(w, dim) : equal_taps(w, dim);
}

double seen_share(const Window& w, int dim, const std::vector<Stretch>& stretches) {
  int64_t seen = 0;
  for (const Stretch& s : stretches) seen += (s.end - s.first) * (s.high - s.low);
  return static_cast<double>(seen) / static_cast<double>(w.out[dim] * w.kernel[dim]);
}

// Appends the numbers of the taps that a part sees, in the order of its product's.
template <class T>
void number_taps(const WindowProduct<T>& whole, const int64_t* low, WindowProduct<T>& part) {
  const int64_t* const kernel = whole.window.kernel;
  for (int64_t plane = 0; plane < part.window.kernel[0]; ++plane) {
    for (int64_t above = 0; above < part.window.kernel[1]; ++above) {
      const int64_t line = ((low[0] + plane) * kernel[1] + low[1] + above) * kernel[2] + low[2];
      for (int64_t tap = 0; tap < part.window.kernel[2]; ++tap) part.numbers.push_back(line + tap);
    }
  }
  if (whole.is_mirrored) {
    std::reverse(part.numbers.begin(), part.numbers.end());
    for (int64_t& number : part.numbers) number = std::ssize(whole.taps) - 1 - number;
  }
}

template <class T>
WindowProduct<T> part_at(const WindowProduct<T>& whole, const Stretch* const* at) {
  WindowProduct<T> part = whole;
  int64_t low[Window::kDims];
  for (int dim = 0; dim < Window::kDims; ++dim) {
    const Stretch& s = *at[dim];
    low[dim] = s.low;
    part.window.out[dim] = s.end - s.first;
    part.window.kernel[dim] = s.high - s.low;
    part.window.before[dim] = -whole.window.position(dim, s.first, s.low);
    part.origin += s.first * whole.steps[dim];
  }
  number_taps(whole, low, part);
  part.taps.clear();
  for (const int64_t number : part.numbers) {
    part.taps.push_back(whole.taps[static_cast<size_t>(number)]);
  }
  return part;
}

template <class T>
Parts<T> cut(const WindowProduct<T>& whole,
             const std::vector<Stretch> (&stretches)[Window::kDims]) {
  Parts<T> parts;
  for (const Stretch& plane : stretches[0]) {
    for (const Stretch& row : stretches[1]) {
      for (const Stretch& column : stretches[2]) {
        const Stretch* const at[] = {&plane, &row, &column};
        parts.push_back(part_at(whole, at));
      }
    }
  }
  return parts;
}

}  // namespace

// Along the dimension that gains the most first, then along others, where that gains more.
template <class T>
Parts<T> parts_of(const WindowProduct<T>& product, Cut by,
                  const std::function<double(const Parts<T>&)>& time_of) {
  Parts<T> best;
  if (product.work() < kLeastSaved) return best;
  const Window& w = product.window;
  std::vector<Stretch> cuts[Window::kDims], stretches[Window::kDims];
  bool is_open[Window::kDims];
  for (int dim = 0; dim < Window::kDims; ++dim) {
    cuts[dim] = {{0, w.out[dim], 0, w.kernel[dim]}};
    stretches[dim] = stretches_of(w, dim, by);
    const double seen = seen_share(w, dim, stretches[dim]);
    is_open[dim] = seen <= kMostSeen && (1 - seen) * product.work() >= kLeastSaved;
  }
  double time = 0;
  for (int chosen = 0; chosen >= 0;) {
    chosen = -1;
    for (int dim = 0; dim < Window::kDims; ++dim) {
      if (!is_open[dim]) continue;
      std::swap(cuts[dim], stretches[dim]);
      if (cuts[0].size() * cuts[1].size() * cuts[2].size() <= kMostParts) {
        Parts<T> parts = cut(product, cuts);
        const double found = time_of(parts);
        if (best.empty() || found < time) {
          best = std::move(parts);
          time = found;
          chosen = dim;
        }
      }
      std::swap(cuts[dim], stretches[dim]);
    }
    if (chosen < 0) break;
    std::swap(cuts[chosen], stretches[chosen]);
    is_open[chosen] = false;
  }
  return best;
}

template Parts<float> parts_of(const WindowProduct<float>&, Cut,
                               const std::function<double(const Parts<float>&)>&);
template Parts<double> parts_of(const WindowProduct<double>&, Cut,
                                const std::function<double(const Parts<double>&)>&);

}  // namespace tensorlike
