#include "onnx/subgraph.h"

#include <algorithm>

namespace tensorlike::onnx {

Item Recording::parameter(const Spec& spec) {
  const Tensor made = calls_.input(spec);
  parameters_.push_back(made.variable);
  return Item(made);
}

Items Recording::parameters(const Items& like) {
  Items found;
  for (const Item& item : like) found.push_back(parameter(item.tensor("a value").spec));
  return found;
}

void Recording::give(const Items& results) {
  for (const Item& item : results) results_.push_back(calls_.variable(item.tensor("a result")));
}

void Recording::join(Recording& other) {
  for (const Tensor& x : other.outside()) calls_.variable(x);
  for (const Tensor& x : outside()) other.calls_.variable(x);
}

// In an order that hangs on nothing but what they are.
std::vector<Calls::Given> Recording::sorted() const {
  std::vector<Calls::Given> found = calls_.given();
  std::sort(found.begin(), found.end(), [](const Calls::Given& a, const Calls::Given& b) {
    const Tensor &x = a.outside, &y = b.outside;
    return x.home == y.home ? x.variable < y.variable : std::less<>()(x.home, y.home);
  });
  return found;
}

std::vector<Tensor> Recording::outside() const {
  std::vector<Tensor> found;
  for (const Calls::Given& given : sorted()) found.push_back(given.outside);
  return found;
}

Ref<Stretch> Recording::finish() {
  std::vector<int> given = parameters_;
  for (const Calls::Given& one : sorted()) given.push_back(one.variable);
  return make_ref<Stretch>(program_, std::move(given), results_);
}

std::vector<Tensor> add_holder(Calls& calls, Holder::Kind kind, std::vector<Ref<Stretch>> programs,
                               std::vector<Attr> params, std::vector<Tensor> given,
                               const std::vector<Tensor>& outside) {
  given.insert(given.end(), outside.begin(), outside.end());
  const auto holder = make_ref<Holder>(kind, std::move(programs), std::move(params));
  return calls.add(*op_around(holder), given);
}

}  // namespace tensorlike::onnx
