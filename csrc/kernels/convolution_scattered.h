// The gradient by the image as one matrix product, of the weights' transpose and dy, whose rows are
// then added to the places that the taps saw. Few channels, and windows that lie far apart, fill
// its vectors where strips of each phase of a stride do not.
#pragma once

#include "base/kept_forms.h"
#include "base/window.h"
#include "kernels/ways.h"

namespace tensorlike {

// Whether what the taps of one channel get is little enough to be written down.
bool has_scattered(const Convolution& c);

// Defined for float and double.
template <class T>
Work scattered_work(const Convolution& c);
// As `convolve_data_gradient`.
template <class T>
void data_gradient_scattered(const Convolution& c, const T* dy, const T* weight, const T* bias,
                             T* dx, KeptForms* forms);

}  // namespace tensorlike
