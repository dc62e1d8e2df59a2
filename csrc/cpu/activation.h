// The scalar function that a layer names and applies to its results: while they are in the cache,
// where it is one loop that keeps the dtype, else afterwards, as a call.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/small_vector.h"
#include "cpu/arrays.h"
#include "cpu/scalar_calls.h"
#include "op/named_scalar.h"

namespace tensorlike {

class Activation {
 public:
  Activation() = default;
  // One loop of this dtype.
  Activation(const Scalar& scalar, DType dtype, Workspace& workspace)
      : loop_(scalar.loops->whole[dtype].loop), size_(static_cast<int64_t>(size_of(dtype))) {
    for (size_t i = 1; i < scalar.spec.args.size(); ++i) {
      defaults_.push_back(repeated(dtype, fallback(scalar, i), {kTogether}, workspace).data);
    }
  }

  // In place, of n elements.
  void apply(void* elements, int64_t n) const {
    if (loop_ == nullptr) return;
    for (int64_t done = 0; done < n; done += kTogether) {
      void* out = static_cast<char*>(elements) + done * size_;
      SmallVector<const void*, 4> args;
      args.push_back(out);
      for (const void* one : defaults_) args.push_back(one);
      loop_(&out, args.data(), std::min(kTogether, n - done));
    }
  }

 private:
  static constexpr int64_t kTogether = 1024;
  TileKernel loop_ = nullptr;
  int64_t size_ = 0;
  SmallVector<const void*, 2> defaults_ = {};
};

// `make(activation, out)` writes what is computed in a dtype under the scalar function that the op
// names, or without any, where that is then applied to the whole.
template <class Make>
void with_activation(const Op& op, DType dtype, const Array& out, Workspace& workspace,
                     Make&& make) {
  const Scalar& named = named_scalar(op, "activation");
  const bool is_none = named.spec.name == "positive";
  const bool is_one = is_none || is_one_loop(named, dtype);
  const bool is_direct = is_one && out.dtype == dtype && out.is_contiguous;
  const Array made = is_direct ? out : workspace.array(dtype, out.shape);
  make(is_one && !is_none ? Activation(named, dtype, workspace) : Activation(), made);
  if (is_direct) return;
  if (is_one) return assign(out, made);
  SmallVector<Array, 4> args;
  args.push_back(made);
  for (size_t i = 1; i < named.spec.args.size(); ++i) {
    const Literal value = fallback(named, i);
    args.push_back(repeated(literal_dtype(kind_of(value), dtype), value, {}, workspace));
  }
  call(named, args, out);
}

// The same, computed in float or double as the operands' dtype is: make(tag, activation, out). An
// operand may be null: it is not given.
template <class Make>
void with_real_activation(const Op& op, std::span<const Array* const> operands, const Array& out,
                          Workspace& workspace, Make&& make) {
  DType dtype = operands[0]->dtype;
  for (const Array* operand : operands) {
    if (operand != nullptr) dtype = promote(dtype, operand->dtype);
  }
  dtype = compute_of(kind_of(dtype) == Kind::kFloating ? dtype : DType::kFloat32);
  with_activation(op, dtype, out, workspace, [&](const Activation& activation, const Array& made) {
    if (dtype == DType::kFloat64) {
      make(TypeTag<double>{}, activation, made);
    } else {
      make(TypeTag<float>{}, activation, made);
    }
  });
}

}  // namespace tensorlike
