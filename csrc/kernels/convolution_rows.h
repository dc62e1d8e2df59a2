// Convolutions of few windows: each is a row of a product with the weights, whose time is that of
// reading them. Strips of so few positions would fill a part of a vector.
#pragma once

#include "base/kept_forms.h"
#include "base/window.h"
#include "kernels/ways.h"

namespace tensorlike {

// Whether what all windows see is little enough to be written down.
bool has_rows(const Convolution& c);

// Defined for float and double.
template <class T>
Work rows_work(const Convolution& c);
// As `convolve`.
template <class T>
void convolve_rows(const Convolution& c, const T* x, const T* weight, const T* bias, T* y,
                   KeptForms* forms);

}  // namespace tensorlike
