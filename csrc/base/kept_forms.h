// What kernels have made of elements that never change, kept with them: weights that are packed or
// transformed for a product once, and not at each call.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/small_vector.h"

namespace tensorlike {

class KeptForms {
 public:
  // Whose form it is, of which elements, and all numbers on which it depends.
  struct Key {
    std::string_view kind;  // a literal
    const void* elements;
    SmallVector<int64_t, 16> numbers;
    bool operator==(const Key&) const = default;
  };

  virtual ~KeptForms() = default;
  // So many bytes as `make(memory)` fills them, which is called once. Null: there are many forms
  // already; then the caller makes one for itself. May be called from several threads.
  template <class Make>
  char* get(const Key& key, size_t bytes, Make&& make) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (char* known = find(key)) return known;
      if (known_.size() >= kMost) return nullptr;
    }
    // Not under the lock: it may run on all threads, and an interrupt hook may come back here.
    Memory memory = allocate(bytes);
    make(memory.get());
    const std::lock_guard<std::mutex> lock(mutex_);
    if (char* known = find(key)) return known;
    known_.push_back({key, std::move(memory)});
    return known_.back().memory.get();
  }

 protected:
  struct Free {
    void (*run)(char* memory, uint32_t size_class) = nullptr;
    uint32_t size_class = 0;
    void operator()(char* memory) const { run(memory, size_class); }
  };
  using Memory = std::unique_ptr<char, Free>;

 private:
  static constexpr size_t kMost = 32;  // a handful of layouts for a handful of sizes of the batch
  struct Form {
    Key key;
    Memory memory;
  };

  virtual Memory allocate(size_t bytes) = 0;
  char* find(const Key& key) const {
    for (const Form& form : known_) {
      if (form.key == key) return form.memory.get();
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::vector<Form> known_;
};

}  // namespace tensorlike
