// Convolutions of few windows: each is a row of a product with the weights, whose time is that of
// reading them. Strips of so few positions would fill a part of a vector.
#pragma once

#include "base/kept_forms.h"
#include "base/window.h"

namespace tensorlike {

// Whether the windows are so few, and the channels enough to fill vectors.
bool is_by_rows(const Convolution& c);

// As `convolve`. Defined for float and double.
template <class T>
void convolve_rows(const Convolution& c, const T* x, const T* weight, const T* bias, T* y,
                   KeptForms* forms);

}  // namespace tensorlike
