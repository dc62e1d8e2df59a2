// The programs in a file that ops hold, and those ops.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "program/holder.h"

namespace tensorlike {

class HeldPrograms {
 public:
  // `bytes`: of the file, to which all that is planned for its programs stays in proportion.
  explicit HeldPrograms(size_t bytes);
  // The next one. Its ops hold programs before it alone, so that none holds itself.
  void add(Ref<Program> program);
  // The op of a line that holds programs. ErrorKind::kArgument where it is none.
  Ref<const Op> read_op(const Program& around, const JsonFields& line);

 private:
  using Key = std::tuple<int64_t, std::vector<int>, std::vector<int>>;

  Ref<Stretch> read_call(const Json::Value& value, size_t& depth);

  size_t budget_;
  std::vector<Ref<Program>> programs_;
  std::map<const Program*, size_t> depths_;  // how many programs lie in each other
  std::map<Key, Ref<Stretch>> calls_;
};

}  // namespace tensorlike
