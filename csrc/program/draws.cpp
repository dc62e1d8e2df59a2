#include "program/draws.h"

#include <atomic>

namespace tensorlike {
namespace {

Draw take(bool is_key_alone) {
  if (next_draw != nullptr) return next_draw(is_key_alone);
  static std::atomic<int64_t> taken = 0;
  const int64_t number = taken++;
  return is_key_alone ? Draw{number, 0} : Draw{0, number};
}

int find(const OpClass& cls, std::string_view name) {
  const auto& attrs = cls.spec.attrs;
  for (size_t i = 0; i < attrs.size(); ++i) {
    if (attrs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

Ref<const Op> Draws::anew(Ref<const Op> op) {
  if (recorded_.empty() || !is_random(*op)) return op;
  // An op that draws says by `key` and `counter` which draw it is, or by `seed` alone.
  const int seed = find(op->cls, "seed");
  const int key = seed >= 0 ? seed : find(op->cls, "key");
  const int counter = find(op->cls, "counter");
  if (key < 0) return op;
  const auto whole = [&](int attr) {
    return std::get<int64_t>(op->attrs[static_cast<size_t>(attr)]);
  };
  const std::pair<Draw, bool> recorded{{whole(key), counter < 0 ? 0 : whole(counter)}, counter < 0};
  if (recorded_.count(recorded) == 0) return op;
  const auto [at, is_new] = taken_.try_emplace(recorded);
  if (is_new) at->second = take(counter < 0);
  std::vector<std::pair<std::string, Attr>> attrs;
  for (size_t i = 0; i < op->attrs.size(); ++i) {
    attrs.emplace_back(op->cls.spec.attrs[i].name, op->attrs[i]);
    if (static_cast<int>(i) == key) attrs.back().second = at->second.first;
    if (static_cast<int>(i) == counter) attrs.back().second = at->second.second;
  }
  return make_op(op->cls, std::move(attrs));
}

}  // namespace tensorlike
