// At the edges of an image windows see padding: zeros that would be multiplied. A product is cut
// into parts without them, along the dimensions where that pays: windows that see the same taps,
// where sums go over taps, or taps that the same windows see, where they go over windows.
#pragma once

#include <functional>
#include <vector>

#include "kernels/convolution_product.h"

namespace tensorlike {

enum class Cut { kWindows, kTaps };

// The parts of a product, the same for any number of threads; none where too little is padding.
// `time_of` predicts what parts take. Defined for float and double.
template <class T>
using Parts = std::vector<WindowProduct<T>>;
template <class T>
Parts<T> parts_of(const WindowProduct<T>& product, Cut by,
                  const std::function<double(const Parts<T>&)>& time_of);

// For strips.
template <class T>
Parts<T> parts_of(const WindowProduct<T>& product) {
  return parts_of<T>(product, Cut::kWindows, [&](const Parts<T>& parts) {
    return predicted_time(Way::kParts, strips_work(product, parts));
  });
}

}  // namespace tensorlike
