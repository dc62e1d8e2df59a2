// The programs that ops of a program hold, numbered so that each comes behind those that it holds.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "program/holder.h"

namespace tensorlike {

class HeldInFile {
 public:
  struct Entry {
    const Program* program;
    size_t number = 0;
    bool is_complete = false;
    std::vector<int> variables = {};  // that calls are given, and give
    std::vector<int> places = {};     // where each is in the file

    int place_of(int variable) const {
      const auto at = std::find(variables.begin(), variables.end(), variable);
      return places[static_cast<size_t>(at - variables.begin())];
    }
  };

  // Takes the program of a call; `visit` is called for each once, to meet those inside of it.
  template <class Visit>
  void meet(const Stretch& call, Visit&& visit) {
    const auto [known, is_new] =
        entries_.try_emplace(call.program.get(), Entry{call.program.get()});
    Entry& entry = known->second;
    if (is_new) {
      visit(*call.program);
      entry.is_complete = true;
      entry.number = order_.size();
      order_.push_back(&entry);
    }
    if (!entry.is_complete) {
      fail(ErrorKind::kArgument, said::op("save"), "a program must not hold itself");
    }
    for (const std::vector<int>* numbers : {&call.given, &call.results}) {
      for (int number : *numbers) {
        const auto at = std::find(entry.variables.begin(), entry.variables.end(), number);
        if (at == entry.variables.end()) entry.variables.push_back(number);
      }
    }
  }

  const std::vector<Entry*>& programs() const { return order_; }
  const Entry& of(const Program& program) const { return entries_.at(&program); }

 private:
  std::map<const Program*, Entry> entries_;
  std::vector<Entry*> order_;
};

}  // namespace tensorlike
