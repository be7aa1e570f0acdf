// VHLO's operations have no structures as attributes and no optional ones: what StableHLO has in their place.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "importers/stablehlo/bytecode/reader.h"
#include "importers/stablehlo/lower/lowering.h"
#include "importers/stablehlo/lower/op_table.h"

namespace xc::stablehlo {
namespace {

using Kind = Attr::Kind;

// Takes an attribute out of the list; one without a kind if there is none.
bool Take(AttrList* attributes, absl::string_view name, Attr* out) {
  const auto found =
      std::find_if(attributes->begin(), attributes->end(), [&](const NamedAttr& entry) { return entry.name == name; });
  if (found == attributes->end()) return false;
  *out = std::move(found->attr);
  attributes->erase(found);
  return true;
}

void NameFunction(Attr* attr) {
  if (attr->kind == Kind::kString) attr->kind = Kind::kSymbol;
}

Attr Fields(absl::string_view name) {
  Attr attr;
  attr.kind = Kind::kDialect;
  attr.text = std::string(name);
  return attr;
}

// The channel of a collective operation is a structure, and left out where it says nothing.
void JoinChannel(AttrList* attributes) {
  Attr handle, type;
  if (!Take(attributes, "channel_id", &handle)) return;
  if (!Take(attributes, "channel_type", &type)) {
    type.kind = Kind::kInt;
    type.integer = handle.integer == 0 ? 0 : 1;  // between devices
  }
  if (handle.integer == 0 && type.integer == 0) return;
  Attr channel = Fields("stablehlo.channel_handle");
  channel.fields.push_back({"handle", std::move(handle)});
  channel.fields.push_back({"type", std::move(type)});
  attributes->push_back({"channel_handle", std::move(channel)});
}

// Types that are `none` say that no algorithm is asked for.
void JoinAlgorithm(AttrList* attributes) {
  Attr algorithm = Fields("stablehlo.dot_algorithm");
  bool none = false;
  for (absl::string_view name : {"lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count",
                                 "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"}) {
    Attr field;
    if (!Take(attributes, name, &field)) return;
    none |= field.kind == Kind::kType && field.source == "none";
    algorithm.fields.push_back({std::string(name), std::move(field)});
  }
  if (!none) attributes->push_back({"algorithm", std::move(algorithm)});
}

// The message of what is wrong, or nothing.
std::string JoinConvDims(AttrList* attributes) {
  AttrReader reader(*attributes);
  ConvDims dims;
  dims.input_batch = reader.Int("input_batch_dimension");
  dims.input_feature = reader.Int("input_feature_dimension");
  dims.input_spatial = reader.Ints("input_spatial_dimensions");
  dims.kernel_input_feature = reader.Int("kernel_input_feature_dimension");
  dims.kernel_output_feature = reader.Int("kernel_output_feature_dimension");
  dims.kernel_spatial = reader.Ints("kernel_spatial_dimensions");
  dims.output_batch = reader.Int("output_batch_dimension");
  dims.output_feature = reader.Int("output_feature_dimension");
  dims.output_spatial = reader.Ints("output_spatial_dimensions");
  if (!reader.ok()) return reader.error();
  std::string wrong = WrongConvDims(dims);
  if (!wrong.empty()) return wrong;
  attributes->erase(std::remove_if(attributes->begin(), attributes->end(),
                                   [&](const NamedAttr& entry) { return reader.Used(entry.name); }),
                    attributes->end());
  Attr joined;
  joined.kind = Kind::kConvDims;
  joined.conv_dims = std::make_shared<const ConvDims>(std::move(dims));
  attributes->push_back({"dimension_numbers", std::move(joined)});
  return "";
}

void DropEmptyList(AttrList* attributes, absl::string_view name) {
  Attr list;
  if (!Take(attributes, name, &list)) return;
  if (list.items.empty() && list.ints.empty()) return;
  attributes->push_back({std::string(name), std::move(list)});
}

}  // namespace

bool BytecodeReader::FromVhlo(OpHeader* op, Cursor* in) {
  if (op->known->row == nullptr) return true;
  const absl::string_view name = op->known->row->name;
  JoinChannel(&op->attributes);
  if (name == "stablehlo.dot_general") JoinAlgorithm(&op->attributes);
  if (name == "stablehlo.convolution" || name == "stablehlo.dynamic_conv") {
    const std::string wrong = JoinConvDims(&op->attributes);
    if (!wrong.empty()) return in->FailAt(op->at, absl::StrCat(name, ": ", wrong));
  }
  if (name == "stablehlo.custom_call") {
    for (absl::string_view list : {"operand_layouts", "result_layouts"}) DropEmptyList(&op->attributes, list);
    // The first version, which is the default, is not to be told from none.
    Attr version;
    if (Take(&op->attributes, "api_version", &version) && version.integer != 1) {
      op->attributes.push_back({"api_version", std::move(version)});
    }
  }
  for (auto& [key, attr] : op->attributes) {
    if (key == "callee" || key == "decomposition") NameFunction(&attr);
    if (key == "called_computations") {
      for (Attr& item : attr.items) NameFunction(&item);
    }
  }
  return true;
}

}  // namespace xc::stablehlo
