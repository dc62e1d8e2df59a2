// A node in the class hierarchy that dispatch looks at: classes of ops and kinds of tensor-likes.
// The core's own have one parent each; the binding derives nodes for Python's classes.
#pragma once

#include <string>
#include <utility>

namespace tensorlike {

class Type {
 public:
  explicit Type(std::string name, const Type* parent = nullptr)
      : name_(std::move(name)), parent_(parent) {}
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  virtual ~Type() = default;

  const std::string& name() const { return name_; }
  // Whether this is `other` or derives from it.
  virtual bool is_a(const Type& other) const {
    for (const Type* type = this; type != nullptr; type = type->parent_) {
      if (type == &other) return true;
    }
    return false;
  }

 private:
  std::string name_;
  const Type* parent_;
};

}  // namespace tensorlike
