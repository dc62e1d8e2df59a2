// Windows over spatial axes: those of convolutions and of pools.
#pragma once

#include "onnx/rules.h"

namespace tensorlike::onnx {

// The windows of a node: their sizes, and what is added around.
struct Windows {
  Windows(const RuleCall& call, const Tensor& x, const Item& sizes);

  // With margins of a number.
  Item padded(const RuleCall& call, const Tensor& x, double number) const;
  // Whether our ops of pooling pad so: by at most half of the window.
  bool is_narrow() const;

  Item kernel, count, strides, dilations, pads, before;
  bool is_symmetric = false;
};

Item zeros(const Item& count);

// Where windows read: for each result as many places as a window has.
struct Places {
  std::vector<int64_t> outs;  // the sizes of what comes out
  int64_t taps = 1;
  std::vector<int64_t> flat;      // among the spatial elements; 0 outside
  std::vector<bool> inside;       // whether it is an element
  std::vector<int64_t> elements;  // of each window, those that are elements,
  std::vector<int64_t> padded;    // and those that are elements or padding, and not beyond both
};
Places places_of(const RuleCall& call, const Windows& windows, std::span<const int64_t> sizes);

}  // namespace tensorlike::onnx
