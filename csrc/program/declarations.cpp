#include "program/declarations.h"

#include <algorithm>

#include "op/declaration_fields.h"

namespace tensorlike {
namespace {

// What a declaration speaks of by name.
class Mentions {
 public:
  explicit Mentions(std::set<std::string>& out) : out_(out) {}

  template <class T>
  void operator()(const char*, T& value, const std::remove_const_t<T>& = {}) {
    look(value);
  }
  template <class... T>
  void local(const T&...) {}

 private:
  void look(const std::string& word) { out_.insert(word); }
  void look(const Attr& attr) {
    if (const auto* word = std::get_if<std::string>(&attr)) out_.insert(*word);
  }
  template <class T>
  void look(const std::vector<T>& values) {
    for (const T& value : values) look(value);
  }
  template <class T>
  void look(const Late<T>& value) {
    look(*value);
  }
  template <class T>
  void look(const std::pair<std::string, T>& pair) {
    look(pair.second);
  }
  template <class T>
  void look(const T& value) {
    if constexpr (requires { fields(*this, value); }) fields(*this, value);
  }

  std::set<std::string>& out_;
};

std::set<std::string> mentions(const Registry::Entry& entry) {
  std::set<std::string> found;
  Mentions look(found);
  std::visit([&](const auto* each) { fields(look, each->spec); }, entry);
  return found;
}

}  // namespace

std::vector<Registry::Entry> declarations_of(std::set<std::string> names) {
  const std::vector<Registry::Entry>& added = registry().added();
  std::vector<bool> is_needed(added.size(), false);
  std::set<std::string> made;  // ops and functions of numbers that are needed: so are calls of them
  const auto is_call_of_them = [&](const FunctionSpec& spec) {
    return made.count(spec.op) > 0 ||
           std::any_of(spec.fixed.begin(), spec.fixed.end(), [&](const auto& fixed) {
             const auto* word = std::get_if<std::string>(&fixed.second);
             return word != nullptr && made.count(*word) > 0;
           });
  };
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (size_t i = 0; i < added.size(); ++i) {
      const auto* call = std::get_if<const Function*>(&added[i]);
      const std::string name =
          std::visit([](const auto* each) { return each->spec.name; }, added[i]);
      const bool is_named =
          names.count(name) > 0 || (call != nullptr && is_call_of_them((*call)->spec));
      if (is_needed[i] || !is_named) continue;
      is_needed[i] = has_grown = true;
      if (call == nullptr) made.insert(name);
      names.merge(mentions(added[i]));
    }
  }
  std::vector<Registry::Entry> found;
  for (size_t i = 0; i < added.size(); ++i) {
    if (is_needed[i]) found.push_back(added[i]);
  }
  return found;
}

bool brings_code(const AnySpec& spec) {
  const auto* op = std::get_if<OpSpec>(&spec);
  return op != nullptr && !op->kernel.empty();
}

}  // namespace tensorlike
