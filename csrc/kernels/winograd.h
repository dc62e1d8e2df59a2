// Products of weights and windows by F(2x2, 3x3) of Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015: four windows of 3x3 beside each other see a tile of 4x4,
// and take 16 multiplications for each channel instead of 36. Tiles and weights are transformed,
// multiplied place by place (16 matrix products over the channels), and transformed back.
#pragma once

#include "kernels/convolution_product.h"

namespace tensorlike {

// Whether there is such a form.
template <class T>
bool has_winograd(const WindowProduct<T>& product);
template <class T>
Work tiles_work(const WindowProduct<T>& product);

// False: some results are not finite, so that what they are is for the plain sum to say. An
// infinite element would become NaN in the differences of the transform.
template <class T>
bool multiply_winograd(const WindowProduct<T>& product);

}  // namespace tensorlike
