// What ops that hold programs compute: the branch that is taken, so many steps as there are.
#include <algorithm>

#include "base/blocking.h"
#include "base/pool.h"
#include "op/index.h"
#include "op/registry.h"
#include "program/holder.h"
#include "tape/tape.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr int64_t kStepsBetweenRests = 256;

// The elements under a value, which decide what runs.
Ref<RawTensor> elements_of(const char* who, Value& value) {
  Ref<Value> under(&value);
  if (under->tag == Value::kOther && embedded_elements_of != nullptr) {
    under = embedded_elements_of(value);
  }
  while (under && under->tag == Value::kTracer) under = static_cast<Tracer&>(*under).primal;
  if (!under || under->tag != Value::kRaw) {
    fail(ErrorKind::kDispatch, said::op(who), "what decides the way must have elements",
         said::got(value.type->name()));
  }
  const RawTensor& raw = static_cast<RawTensor&>(*under).ready(who);
  return raw.device == Device() ? Ref<RawTensor>(const_cast<RawTensor*>(&raw))
                                : moved(raw, Device());
}

bool truth_of(const char* who, Value& predicate) {
  const Ref<RawTensor> x = elements_of(who, predicate);
  if (x->dtype != DType::kBool || x->size() != 1) {
    fail(ErrorKind::kDType, said::op(who), said::argument("predicate"), "must be one boolean",
         said::got(to_string(x->spec())), said::fix("compare it, x != 0, or select by where"));
  }
  return *x->as<bool>();
}

Values applied(const char* op, std::vector<std::pair<std::string, Attr>> attrs,
               std::span<const Ref<Value>> xs) {
  SmallVector<Value*, 8> args;
  for (const Ref<Value>& x : xs) args.push_back(x.get());
  const Ref<Op> made = make_op(*registry().find_op(op), std::move(attrs));
  return apply(*made, {args.data(), args.size()});
}

Ref<Value> row_of(Value* x, int64_t row) {
  std::vector<int64_t> items{static_cast<int64_t>(ItemKind::kInteger), row, 0, 0};
  const Ref<Value> xs[] = {Ref<Value>(x)};
  return applied("Subtensor", {{"items", std::move(items)}}, xs)[0];
}

Ref<Value> gathered(const Ref<Value>& x, const Ref<Value>& places) {
  const Ref<Value> xs[] = {x, places};
  return applied("Gather", {{"axes", std::vector<int64_t>{0}}}, xs)[0];
}

Ref<Value> zeros_of(const Spec& spec) {
  return applied("Fill",
                 {{"shape", std::vector<int64_t>(spec.shape.begin(), spec.shape.end())},
                  {"fill_value", int64_t{0}},
                  {"dtype", spec.dtype},
                  {"device", spec.device == Device() ? Attr() : Attr(to_string(spec.device))}},
                 {})[0];
}

Ref<RawTensor> as_places(const std::vector<int64_t>& places, Device device) {
  Ref<RawTensor> made = RawTensor::empty(DType::kInt64, Dims{static_cast<int64_t>(places.size())});
  std::copy(places.begin(), places.end(), made->as<int64_t>());
  return device == Device() ? made : moved(*made, device);
}

// A long loop lets others have their turn, and can be interrupted.
void rest(int64_t step) {
  if (step % kStepsBetweenRests != 0 || step == 0) return;
  check_interrupt();
  const BlockingRegion others_run(true);
}

}  // namespace

class Holder::Runner {
 public:
  Runner(const Holder& holder, std::span<const Ref<Op>> ops)
      : holder_(holder), who_(holder.form().who.data()), ops_(ops) {}

  Values run(Args given) const {
    if (given.size() != holder_.inputs()) {
      fail(ErrorKind::kShape, said::op(who_), "one value for each of ", holder_.inputs(),
           " inputs is needed", said::got(given.size()));
    }
    switch (holder_.kind) {
      case Kind::kCall:
        return call(0, given);
      case Kind::kCond:
        return call(truth_of(who_, *given[0]) ? 0 : 1, given.subspan(1));
      case Kind::kWhileLoop:
        return run_while(given);
      case Kind::kScanLoop:
        return run_scan(given);
      case Kind::kRowBranch:
        break;
    }
    return run_rows(given);
  }

 private:
  Values call(size_t which, Args given) const {
    return ops_.empty() ? holder_.calls[which]->run(given) : tensorlike::apply(*ops_[which], given);
  }

  Values run_while(Args given) const {
    const size_t count = holder_.carries();
    const auto* limit = std::get_if<int64_t>(&holder_.params[0]);
    Values carries;
    for (size_t i = 0; i < count; ++i) carries.push_back(Ref<Value>(given[i]));
    SmallVector<Value*, 8> args(given.begin(), given.end());
    for (int64_t step = 0; limit == nullptr || step < *limit; ++step) {
      rest(step);
      const Values again = call(0, {args.data(), args.size()});
      if (!truth_of(who_, *again[0])) break;
      carries = call(1, {args.data(), args.size()});
      for (size_t i = 0; i < count; ++i) args[i] = carries[i].get();
    }
    return carries;
  }

  Values run_scan(Args given) const {
    const size_t n = holder_.carries(), rows = holder_.count_of(1);
    const bool is_reverse = std::get<bool>(holder_.params[2]);
    const int64_t length = length_of(given.subspan(n, rows));
    Values carries;
    for (size_t i = 0; i < n; ++i) carries.push_back(Ref<Value>(given[i]));
    SmallVector<Value*, 8> args(given.begin(), given.end());
    std::vector<std::vector<Ref<Value>>> made(holder_.calls[0]->results.size() - n);
    for (int64_t turn = 0; turn < length; ++turn) {
      rest(turn);
      const int64_t step = is_reverse ? length - 1 - turn : turn;
      Values along;
      for (size_t i = 0; i < rows; ++i) {
        along.push_back(row_of(given[n + i], step));
        args[n + i] = along[i].get();
      }
      Values found = call(0, {args.data(), args.size()});
      for (size_t i = 0; i < made.size(); ++i) made[i].push_back(std::move(found[n + i]));
      for (size_t i = 0; i < n; ++i) {
        carries[i] = std::move(found[i]);
        args[i] = carries[i].get();
      }
    }
    if (length == 0) return without_steps(given, std::move(carries));
    for (auto& each : made) {
      if (is_reverse) std::reverse(each.begin(), each.end());
      carries.push_back(applied("Stack", {{"axis", int64_t{0}}}, each)[0]);
    }
    return carries;
  }

  int64_t length_of(Args rows) const {
    int64_t length = -1;
    for (Value* x : rows) {
      const Spec spec = spec_of(who_, *x);
      if (spec.shape.empty() || (length >= 0 && spec.shape[0] != length)) {
        fail(ErrorKind::kShape, said::op(who_), said::argument("xs"), "all rows must be as many",
             said::got("shape ", to_string(spec.shape)));
      }
      length = spec.shape[0];
    }
    return length;
  }

  Specs shapes_for(Args given) const {
    std::vector<Spec> specs;
    for (Value* x : given) specs.push_back(spec_of(who_, *x));
    return holder_.infer(specs);
  }

  Values without_steps(Args given, Values carries) const {
    const Specs shapes = shapes_for(given);
    for (size_t i = holder_.carries(); i < shapes.size(); ++i) {
      carries.push_back(zeros_of(shapes[i]));
    }
    return carries;
  }

  // A program without rows does not run.
  Values run_rows(Args given) const {
    const Ref<RawTensor> mask = contiguous(*elements_of(who_, *given[0]));
    std::vector<int64_t> places[2];
    for (int64_t i = 0; i < mask->size(); ++i) places[mask->as<bool>()[i] ? 0 : 1].push_back(i);
    const Args xs = given.subspan(1);
    const Device device = spec_of(who_, *given[0]).device;
    if (mask->size() == 0) {
      Values nothing;
      for (const Spec& spec : shapes_for(given)) nothing.push_back(zeros_of(spec));
      return nothing;
    }
    Values found[2];
    for (size_t which = 0; which < 2; ++which) {
      if (!places[which].empty()) found[which] = part(which, as_places(places[which], device), xs);
    }
    if (places[1].empty()) return std::move(found[0]);
    if (places[0].empty()) return std::move(found[1]);
    return merged(places, device, found);
  }

  Values part(size_t which, const Ref<Value>& places, Args xs) const {
    Values rows;
    SmallVector<Value*, 8> args(xs.begin(), xs.end());
    for (size_t i = 0; i < holder_.count_of(0); ++i) {
      rows.push_back(gathered(Ref<Value>(xs[i]), places));
      args[i] = rows[i].get();
    }
    return call(which, {args.data(), args.size()});
  }

  Values merged(const std::vector<int64_t> (&places)[2], Device device,
                const Values (&found)[2]) const {
    std::vector<int64_t> order(places[0].size() + places[1].size());
    int64_t at = 0;
    for (const std::vector<int64_t>& each : places) {
      for (int64_t place : each) order[static_cast<size_t>(place)] = at++;
    }
    const Ref<Value> back = as_places(order, device);
    Values out;
    for (size_t i = 0; i < found[0].size(); ++i) {
      const Ref<Value> both[] = {found[0][i], found[1][i]};
      if (i < holder_.count_of(1)) {
        out.push_back(gathered(applied("Concat", {{"axis", int64_t{0}}}, both)[0], back));
      } else {
        out.push_back(tensorlike::call("add", {both[0].get(), both[1].get()}));
      }
    }
    return out;
  }

  const Holder& holder_;
  const char* const who_;
  const std::span<const Ref<Op>> ops_;
};

Values Holder::run(Args given, std::span<const Ref<Op>> ops) const {
  return Runner(*this, ops).run(given);
}

}  // namespace tensorlike
