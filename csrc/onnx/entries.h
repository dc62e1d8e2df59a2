// What ONNX's ops mean: the entries of export/onnx/ops/*.yaml, as the build has put them in here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "onnx/item.h"

namespace tensorlike::onnx {

struct Input {
  std::string name;
  std::string kind;  // empty: a tensor; else what it becomes, whose numbers must be known
  bool is_optional, is_variadic;
};

struct Entry {
  enum class Meaning : uint8_t { kBody, kFold, kRule };
  std::string op, domain;
  int64_t since = 1;
  std::vector<Input> inputs;
  std::vector<std::pair<std::string, Item>> attrs;   // with their defaults
  std::vector<std::pair<std::string, Items>> among;  // of attributes with few values: which
  Meaning meaning = Meaning::kBody;
  std::string text = {};                // the function that is folded, or the rule
  std::vector<Json::Value> nodes = {};  // of the body, each after what it reads
  std::vector<int64_t> results = {};

  // Where several inputs are many, each has as many: the body is run for the first of all, then for
  // the second, and its results come one kind after the other. 1 where one is.
  size_t groups() const;

  // Refuses a value that an attribute cannot have.
  void check(const std::string& attribute, const Item& value) const;
};

// The entry of an op in an opset; null: there is none.
const Entry* find_entry(const std::string& domain, const std::string& op, int64_t opset);
const std::vector<std::unique_ptr<const Entry>>& all_entries();

}  // namespace tensorlike::onnx
