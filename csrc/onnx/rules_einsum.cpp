// Einsum as products of matrices: of two tensors at a time, with the labels that are needed later.
#include <algorithm>
#include <map>

#include "onnx/rules.h"

namespace tensorlike::onnx {
namespace {

struct Labelled {
  Tensor x;
  std::string labels;  // one for each axis
};

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

class Einsum {
 public:
  Einsum(const RuleCall& call, const std::string& equation) : call_(call) {
    std::string text;
    std::copy_if(equation.begin(), equation.end(), std::back_inserter(text),
                 [](char c) { return c != ' '; });
    const size_t arrow = text.find("->");
    const std::string left = text.substr(0, arrow);
    split(left);
    if (arrow != std::string::npos) {
      result_ = text.substr(arrow + 2);
    } else {  // labels that are there once, in their order
      for (char label = 'A'; label <= 'z'; ++label) {
        if (std::count(left.begin(), left.end(), label) == 1) result_ += label;
      }
    }
    check(result_);
    for (char label : result_) {
      if (sizes_.count(label) == 0) refuse();
    }
  }

  Item run() {
    Labelled total = operands_[0];
    for (size_t i = 1; i < operands_.size(); ++i) {
      std::string later = result_;
      for (size_t k = i + 1; k < operands_.size(); ++k) later += operands_[k].labels;
      total = product(total, operands_[i], later);
    }
    return Item(arranged(summed(total, result_), result_));
  }

 private:
  [[noreturn]] void refuse() const {
    call_.refuse("equation", "must name each axis by a letter, once in each tensor, here",
                 call_.item("equation").text("equation"));
  }

  void check(const std::string& labels) const {
    for (char label : labels) {
      const bool is_letter = (label >= 'a' && label <= 'z') || (label >= 'A' && label <= 'Z');
      if (!is_letter || std::count(labels.begin(), labels.end(), label) != 1) refuse();
    }
  }

  void split(const std::string& left) {
    const Items& given = call_.item("xs").list("xs");
    size_t begin = 0;
    for (const Item& item : given) {
      if (begin > left.size()) refuse();
      const size_t end = std::min(left.find(',', begin), left.size());
      Labelled one{item.tensor("xs"), left.substr(begin, end - begin)};
      check(one.labels);
      const Dims& shape = one.x.spec.shape;
      if (shape.size() != one.labels.size()) refuse();
      for (size_t i = 0; i < shape.size(); ++i) {
        const auto [known, is_new] = sizes_.emplace(one.labels[i], shape[i]);
        if (known->second != shape[i]) {
          call_.refuse("xs", "must have one size for each letter", to_string(one.x.spec));
        }
      }
      operands_.push_back(std::move(one));
      begin = end + 1;
    }
    if (given.empty() || begin != left.size() + 1) refuse();
  }

  // Without the axes that nobody needs.
  Labelled summed(const Labelled& one, const std::string& needed) const {
    std::vector<int64_t> axes;
    std::string kept;
    for (size_t i = 0; i < one.labels.size(); ++i) {
      if (has(needed, one.labels[i])) {
        kept += one.labels[i];
      } else {
        axes.push_back(static_cast<int64_t>(i));
      }
    }
    if (axes.empty()) return one;
    return {call_.calls.one("sum", {Item(one.x)},
                            {{"axis", list_of(axes)}, {"dtype", Item(one.x.spec.dtype)}}),
            kept};
  }

  // With its axes in the order of labels, which are its own.
  Tensor arranged(const Labelled& one, const std::string& labels) const {
    std::vector<int64_t> order;
    for (char label : labels) order.push_back(static_cast<int64_t>(one.labels.find(label)));
    if (std::is_sorted(order.begin(), order.end())) return one.x;
    return call_.calls.one("permute_dims", {Item(one.x)}, {{"axes", list_of(order)}});
  }

  int64_t count(const std::string& labels) const {
    Dims sizes;
    for (char label : labels) sizes.push_back(sizes_.at(label));
    return element_count(sizes);
  }

  Labelled product(const Labelled& first, const Labelled& second, const std::string& later) const {
    const Labelled a = summed(first, later + second.labels);
    const Labelled b = summed(second, later + first.labels);
    std::string both, inner, left, right;
    for (char label : a.labels) {
      (!has(b.labels, label) ? left : has(later, label) ? both : inner) += label;
    }
    for (char label : b.labels) {
      if (!has(a.labels, label)) right += label;
    }
    const auto matrices = [&](const Labelled& one, const std::string& rows,
                              const std::string& columns) {
      const std::vector<int64_t> shape{count(both), count(rows), count(columns)};
      return call_.reshaped(arranged(one, both + rows + columns), shape);
    };
    const Item made = call_.one("matmul", {matrices(a, left, inner), matrices(b, inner, right)});
    const std::string labels = both + left + right;
    std::vector<int64_t> shape;
    for (char label : labels) shape.push_back(sizes_.at(label));
    return {call_.reshaped(made.tensor("a product"), shape).tensor("a product"), labels};
  }

  const RuleCall& call_;
  std::vector<Labelled> operands_;
  std::string result_;
  std::map<char, int64_t> sizes_;
};

Items einsum(const RuleCall& call) {
  return {Einsum(call, call.item("equation").text("equation")).run()};
}

constexpr NamedRule kRules[] = {{"einsum", einsum}};

}  // namespace

std::span<const NamedRule> einsum_rules() { return kRules; }

}  // namespace tensorlike::onnx
