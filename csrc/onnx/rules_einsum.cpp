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

// Labels of the axes that "..." stands for: digits, up to this one.
constexpr const char* kRest = "...";
constexpr char kRestEnd = '8';
constexpr size_t kMostRest = 8;

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
      result_ = spelt(text.substr(arrow + 2), most_rest_);
    } else {  // labels that are there once, in their order
      result_ = spelt(kRest, most_rest_);
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
    call_.refuse("equation", "must name each axis by a letter, in the result once",
                 call_.item("equation").text("equation"));
  }

  static bool is_label(char label) {
    const bool is_letter = (label >= 'a' && label <= 'z') || (label >= 'A' && label <= 'Z');
    return is_letter || (label >= '0' && label < kRestEnd);
  }
  void check(const std::string& labels) const {
    for (char label : labels) {
      if (!is_label(label) || std::count(labels.begin(), labels.end(), label) != 1) refuse();
    }
  }

  // With the axes that "..." stands for as labels of their own, the last one always the same.
  std::string spelt(const std::string& part, size_t rest) const {
    const bool has_digits =
        std::any_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    const size_t at = part.find(kRest);
    if (has_digits || (rest > 0 && at == std::string::npos) || rest > kMostRest) refuse();
    if (at == std::string::npos) return part;
    std::string labels;
    for (size_t i = 0; i < rest; ++i) labels += static_cast<char>(kRestEnd - rest + i);
    return part.substr(0, at) + labels + part.substr(at + std::string_view(kRest).size());
  }

  // Without a label that is there twice: the elements that have the same place along both axes.
  Labelled diagonal(Labelled one) const {
    for (size_t i = 0; i < one.labels.size(); ++i) {
      const char label = one.labels[i];
      const size_t other = one.labels.find(label, i + 1);
      if (other == std::string::npos) continue;
      const Dims& shape = one.x.spec.shape;
      if (shape[i] != shape[other]) {
        call_.refuse("xs", "must have one size for each letter", to_string(one.x.spec));
      }
      const Item places =
          call_.one("arange", {}, {{"start", Item(int64_t{0})}, {"stop", Item(int64_t{shape[i]})}});
      const std::vector<int64_t> axes{static_cast<int64_t>(i), static_cast<int64_t>(other)};
      one.x = call_.calls.one("gather", {Item(one.x), places, places}, {{"axes", list_of(axes)}});
      one.labels.erase(other, 1);
      one.labels.erase(i, 1);
      one.labels.insert(one.labels.begin(), label);
      return diagonal(std::move(one));
    }
    return one;
  }

  void split(const std::string& left) {
    const Items& given = call_.item("xs").list("xs");
    size_t begin = 0;
    for (const Item& item : given) {
      if (begin > left.size()) refuse();
      const size_t end = std::min(left.find(',', begin), left.size());
      const std::string part = left.substr(begin, end - begin);
      const size_t rank = item.tensor("xs").spec.shape.size();
      const bool has_rest = part.find(kRest) != std::string::npos;
      const size_t named = part.size() - (has_rest ? std::string_view(kRest).size() : 0);
      if (rank < named) refuse();
      Labelled one{item.tensor("xs"), spelt(part, rank - named)};
      most_rest_ = std::max(most_rest_, rank - named);
      if (!std::all_of(one.labels.begin(), one.labels.end(), is_label)) refuse();
      one = diagonal(std::move(one));
      const Dims& shape = one.x.spec.shape;
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
  size_t most_rest_ = 0;  // axes that "..." stands for, of the tensor that has most
  std::map<char, int64_t> sizes_;
};

Items einsum(const RuleCall& call) {
  return {Einsum(call, call.item("equation").text("equation")).run()};
}

constexpr NamedRule kEinsumRules[] = {{"einsum", einsum}};

}  // namespace

std::span<const NamedRule> einsum_rules() { return kEinsumRules; }

}  // namespace tensorlike::onnx
