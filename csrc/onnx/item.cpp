#include "onnx/item.h"

#include <cmath>

#include "base/error.h"

namespace tensorlike::onnx {
namespace {

[[noreturn]] void refuse(std::string_view what, const char* must) {
  fail(ErrorKind::kArgument, said::op("onnx"), said::argument(what), "must be ", must,
       said::got("something else"));
}

}  // namespace

bool Item::truth(std::string_view what) const {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole != 0;
  if (const auto* items = std::get_if<List>(&value)) return !(*items)->empty();
  if (const auto* real = std::get_if<double>(&value)) return *real != 0;
  if (const auto* word = std::get_if<std::string>(&value)) return !word->empty();
  if (!is_given()) return false;
  refuse(what, "a number or a flag");
}

int64_t Item::integer(std::string_view what) const {
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  refuse(what, "an integer");
}

double Item::number(std::string_view what) const {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return static_cast<double>(integer(what));
}

const std::string& Item::text(std::string_view what) const {
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  refuse(what, "a text");
}

const Tensor& Item::tensor(std::string_view what) const {
  if (const auto* found = std::get_if<Tensor>(&value)) return *found;
  refuse(what, "a tensor");
}

const Items& Item::list(std::string_view what) const {
  if (const auto* found = std::get_if<List>(&value)) return **found;
  refuse(what, "a list");
}

const Subgraph& Item::graph(std::string_view what) const {
  if (const auto* found = std::get_if<Graphs>(&value)) return **found;
  refuse(what, "a graph");
}

std::vector<int64_t> Item::integers(std::string_view what) const {
  std::vector<int64_t> found;
  for (const Item& item : list(what)) found.push_back(item.integer(what));
  return found;
}

Attr Item::attr(std::string_view what) const {
  if (!is_given()) return Nothing();
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  if (const auto* dtype = std::get_if<DType>(&value)) return *dtype;
  return integers(what);
}

Item list_of(Items items) { return Item(std::make_shared<const Items>(std::move(items))); }

Item list_of(std::span<const int64_t> integers) {
  Items items;
  for (int64_t number : integers) items.emplace_back(number);
  return list_of(std::move(items));
}

}  // namespace tensorlike::onnx
