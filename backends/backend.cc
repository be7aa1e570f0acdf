#include "backends/backend.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace xc {
namespace {

// Fills in row-major layouts where `shape` has none.
Shape Completed(Shape shape) {
  if (shape.IsTuple()) {
    for (Shape& s : shape.mutable_tuple_shapes()) s = Completed(s);
  } else if (shape.IsArray() && !shape.has_layout()) {
    shape.set_layout(Layout::Descending(shape.rank()));
  }
  return shape;
}

}  // namespace

std::string CompileOptions::KeyText() const {
  return absl::StrCat("cpu=", cpu, ";disabled=", absl::StrJoin(disabled_passes, ","), ";until=", until_pass,
                      excess_precision ? ";excess_precision" : "", emulate ? ";emulate" : "",
                      gpu_libraries ? "" : ";no_gpu_libraries");
}

Shape EntryParameterShape(const HloModule& module, int64_t i) {
  const auto& layouts = module.config().entry_parameter_layouts;
  if (module.config().has_entry_layout && i < static_cast<int64_t>(layouts.size())) return Completed(layouts[i]);
  return Completed(module.entry()->parameter(i)->shape());
}

Shape EntryResultShape(const HloModule& module) {
  if (module.config().has_entry_layout) return Completed(module.config().entry_result_layout);
  return Completed(module.entry()->root()->shape());
}

void Executable::SetLeaves(std::vector<Shape> parameters, std::vector<Shape> results) {
  parameter_leaves_ = std::move(parameters);
  result_shape_ = results.size() == 1 ? results[0] : Shape::Tuple(results);
  result_leaves_ = std::move(results);
}

const std::vector<ProfileSite>& Executable::profile_sites() const {
  static const auto* const none = new std::vector<ProfileSite>;
  return *none;
}

std::string Executable::Text(absl::string_view name) const {
  if (name != "evaluated") return "";
  return absl::StrJoin(evaluated_, "\n", [](std::string* out, const EvaluatedPart& part) {
    absl::StrAppend(out, part.what, ": ", part.reason);
  });
}

void Executable::SetSignature(const HloModule& module) {
  for (int64_t i = 0; i < module.entry()->parameter_count(); ++i) {
    const Shape shape = EntryParameterShape(module, i);
    for (const auto& [index, leaf] : Leaves(shape)) parameter_leaves_.push_back(*leaf);
  }
  result_shape_ = EntryResultShape(module);
  for (const auto& [index, leaf] : Leaves(result_shape_)) result_leaves_.push_back(*leaf);
}

}  // namespace xc
