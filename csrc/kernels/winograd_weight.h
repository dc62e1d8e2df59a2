// The gradient of a convolution by its weights in F(2x2, 3x3), which winograd.h tells of.
#pragma once

#include "base/window.h"
#include "kernels/ways.h"

namespace tensorlike {

// Whether there is such a form.
bool has_tile_dots(const Convolution& c);
// Both are defined for float and double.
template <class T>
Work tile_dots_work(const Convolution& c);

// False: not all of it is finite, so that what it is is for the plain sum to say.
template <class T>
bool add_tile_dots(const Convolution& c, const T* x, const T* dy, T* dweight);

}  // namespace tensorlike
