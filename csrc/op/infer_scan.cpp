// Inference of running combinations along an axis.
#include "op/counts.h"
#include "op/families.h"
#include "op/infer.h"

namespace tensorlike {
namespace {

using Inputs = std::span<const Spec>;

// The dtype of the result where none is asked for.
DType scan_dtype(const std::string& mode, DType dtype) {
  if (kind_of(dtype) >= Kind::kFloating) return dtype;
  if (mode == "logcumsumexp") return DType::kFloat32;
  if (mode == "cumulative_max" || mode == "cumulative_min") return dtype;
  return is_unsigned(dtype) ? DType::kUInt64 : DType::kInt64;
}

Specs infer_scan(const Op& op, Inputs inputs) {
  const std::string& mode = op.get<std::string>("mode");
  const bool takes_complex = mode == "cumulative_sum" || mode == "cumulative_prod";
  if (!takes_complex) check_real(op, inputs);
  Dims shape = inputs[0].shape;
  const Attr& named = op.attr("axis");
  if (std::holds_alternative<std::vector<int64_t>>(named) ||
      (std::holds_alternative<Nothing>(named) && shape.size() != 1)) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("axis"),
         "must be one integer, or None for one dimension",
         said::got("axis=", to_string(named), " for ", shape.size(), " dimensions"));
  }
  const auto* axis = std::get_if<int64_t>(&named);
  const size_t at = static_cast<size_t>(
      normalize_axis(op.name(), axis != nullptr ? *axis : 0, static_cast<int64_t>(shape.size())));
  if (op.get<bool>("include_initial")) ++shape[at];
  inferred_count(shape);
  const auto* dtype = std::get_if<DType>(&op.attr("dtype"));
  const bool is_complex = dtype != nullptr && kind_of(*dtype) == Kind::kComplex;
  if (dtype != nullptr && (*dtype == DType::kBool || (is_complex && !takes_complex))) {
    fail(ErrorKind::kDType, said::op(op.name()), said::argument("dtype"), "must be ",
         takes_complex ? "" : "real and ", "numeric", said::got(name_of(*dtype)),
         said::fix("leave it out"));
  }
  if (dtype != nullptr) check_converts(op, inputs[0].dtype, *dtype);
  if (dtype != nullptr && mode == "logcumsumexp" && kind_of(*dtype) != Kind::kFloating) {
    fail(ErrorKind::kDType, said::op(op.name()), said::argument("dtype"),
         "must be floating-point for ", mode, said::got(name_of(*dtype)),
         said::fix("leave it out"));
  }
  return Specs(1, Spec{dtype != nullptr ? *dtype : scan_dtype(mode, inputs[0].dtype), shape});
}

constexpr std::pair<std::string_view, InferRule> kScanRules[] = {
    {"scan", infer_scan},
};

}  // namespace

RuleTable<InferRule> scan_rules() { return kScanRules; }

}  // namespace tensorlike
