// Convolutions over memory in C order: the product with the weights, and its two gradients. Work is
// cut by the problem alone, so that results have the same bits for any number of threads.
#pragma once

#include "base/kept_forms.h"
#include "base/window.h"

namespace tensorlike {

// Defined for float and double. Sizes may be 0. A bias has one element per channel of the result;
// null stands for zeros. `forms`: of weights that never change.
template <class T>
void convolve(const Convolution& c, const T* x, const T* weight, const T* bias, T* y,
              KeptForms* forms = nullptr);

// dx: what reaches x from dy.
template <class T>
void convolve_data_gradient(const Convolution& c, const T* dy, const T* weight, const T* bias,
                            T* dx, KeptForms* forms = nullptr);

template <class T>
void convolve_weight_gradient(const Convolution& c, const T* x, const T* dy, T* dweight);

}  // namespace tensorlike
