// Elementwise programs: straight-line instructions, each a scalar function of one dtype or a
// conversion. They name what is computed and no device; a backend makes of them what it runs.
//
// From a scalar function to a program: one instruction where it was compiled ahead of time, else
// those of its expansion; casts are inserted where the arguments' dtypes differ.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "op/op.h"

namespace tensorlike {

// What an instruction computes.
struct TileMeaning {
  const Scalar* scalar = nullptr;  // null: a conversion
  DType from = DType::kBool;       // of a conversion
  DType dtype = DType::kBool;      // in which it computes, or to which it converts
  bool operator==(const TileMeaning&) const = default;
};

struct TileInstruction {
  TileMeaning meaning;
  SmallVector<int, 4> in;
  SmallVector<int, 2> out;
};

// What backends have made of a program, kept with it. A copy begins without.
class Prepared {
 public:
  struct Form {
    virtual ~Form() = default;
  };
  Prepared() = default;
  Prepared(const Prepared&) noexcept {}
  Prepared& operator=(const Prepared&) noexcept { return *this; }
  ~Prepared() {
    for (auto& form : forms_) delete form.load();
  }

  // The form for a kind of device; `make` gives a new one where there is none yet.
  template <class T, class Make>
  const T& form(uint8_t kind, Make&& make) const {
    auto& place = forms_[kind];
    if (const Form* known = place.load(std::memory_order_acquire)) {
      return static_cast<const T&>(*known);
    }
    std::unique_ptr<T> made = make();
    const Form* expected = nullptr;
    if (place.compare_exchange_strong(expected, made.get())) return *made.release();
    return static_cast<const T&>(*expected);
  }

 private:
  mutable std::array<std::atomic<const Form*>, kMostKinds> forms_{};
};

// Slots: the operands, the constants, the temporaries, and last the outputs.
struct TileProgram {
  struct Constant {
    DType dtype;
    alignas(16) unsigned char value[16];
  };
  int operands = 0;
  std::vector<Constant> constants;
  int temporaries = 0;
  int outputs = 0;
  size_t widest = 8;  // bytes of the largest element in any slot
  std::vector<TileInstruction> instructions;
  Prepared prepared;

  int first_constant() const { return operands; }
  int first_temporary() const { return operands + static_cast<int>(constants.size()); }
  int first_output() const { return first_temporary() + temporaries; }
  int slots() const { return first_output() + outputs; }
};

struct PreparedProgram {
  TileProgram program;
  SmallVector<DType, 2> results;
};

// Programs by argument dtypes, newest first; a list that only grows, so that readers take no lock.
struct TileProgramCache {
  struct Node {
    uint64_t key;
    PreparedProgram prepared;
    const Node* next;
  };
  std::atomic<const Node*> head{nullptr};
  ~TileProgramCache();
};

// A conversion as a program; ErrorKind::kDType where a complex number would lose its imaginary
// part.
const PreparedProgram& prepare_cast(DType from, DType to);

// The dtype to which an op converts its argument; nothing: it is no conversion.
std::optional<DType> conversion_of(const Op& op);
// Whether it may be part of a chain.
inline bool is_elementwise(const Op& op) {
  return op.scalar != nullptr || conversion_of(op).has_value();
}

// One call of a scalar function in a chain, or a conversion: slots are the operands, then all
// results in order.
struct ChainStep {
  const Scalar* scalar = nullptr;  // null: a conversion
  SmallVector<int, 3> args;
  DType to = DType::kBool;  // of a conversion
};

// The program of a chain of calls: the instructions that the calls would run one by one, rounding
// to each call's dtype included, so that the bits are the same. `converted` (may be empty) says the
// dtypes in which the results are wanted.
PreparedProgram prepare_chain(std::span<const DType> operands, std::span<const ChainStep> steps,
                              std::span<const int> results, std::span<const DType> converted = {});

// Whether an output may be written to an operand's memory: nothing reads the operand after the
// output is there.
bool may_write_over(const TileProgram& program, int operand, int output);

// The program of a body of scalar functions, its results converted to these dtypes (empty: as they
// come).
PreparedProgram prepare_body(const CompiledBody& body, std::span<const DType> operands,
                             std::span<const DType> converted);

const PreparedProgram& prepare(const Scalar& scalar, std::span<const DType> args);

// A function of numbers alone: computed in the widest dtype of their kind, so that it is right in
// the dtype of whatever it meets. Nothing where there is more than one result.
std::optional<Literal> fold(const Scalar& scalar, std::span<const Literal> args);

}  // namespace tensorlike
