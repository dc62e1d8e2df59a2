// Convolutions whose taps lie apart: what windows see that begin a multiple of the dilation apart
// is an image of its own, with taps side by side. So they are convolutions of more and smaller
// images, which tiles can serve.
#pragma once

#include <functional>

#include "base/window.h"
#include "kernels/ways.h"

namespace tensorlike {

// Whether there is such a form, and it has tiles.
bool has_apart(const Convolution& c);

// That convolution, of the images that `images` become.
Convolution side_by_side(const Convolution& c, int64_t images);

// What it takes to write down images and results, forth or back, beside the work of that one.
template <class T>
Work apart_work(const Convolution& c, Work work);

// What computes that one: from x to y, from dy to dx, or from x and dy to the weights' gradient.
template <class T>
using OwnProduct = std::function<void(const Convolution& own, const T* from, T* to)>;
template <class T>
using OwnDots = std::function<void(const Convolution& own, const T* x, const T* dy, T* dweight)>;

// As the functions of convolution.h. Defined for float and double.
template <class T>
void convolve_apart(const Convolution& c, const T* x, T* y, const OwnProduct<T>& multiply);
// Elements of dx that no window sees stay as they are.
template <class T>
void data_gradient_apart(const Convolution& c, const T* dy, T* dx, const OwnProduct<T>& multiply);
template <class T>
void weight_gradient_apart(const Convolution& c, const T* x, const T* dy, T* dweight,
                           const OwnDots<T>& multiply);

}  // namespace tensorlike
