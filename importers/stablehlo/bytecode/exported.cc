#include "importers/stablehlo/bytecode/exported.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "importers/stablehlo/bytecode/bytecode.h"
#include "importers/stablehlo/lower/op_table.h"
#include "importers/stablehlo/stablehlo.h"

namespace xc::stablehlo {
namespace {

// Where the fields of the root table stand in its list of fields.
constexpr uint64_t kDevicesShort = 16, kPlatforms = 22, kOrderedEffects = 24, kModule = 30, kCallingConvention = 32,
                   kDevices = 40;

// The versions of how modules are called that agree with what is done here: those that JAX itself takes.
constexpr uint64_t kOldestConvention = 9, kNewestConvention = 10;

// Reads numbers and follows references; any that lead outside give nothing.
class Flatbuffer {
 public:
  explicit Flatbuffer(absl::string_view bytes) : bytes_(bytes) {}

  std::optional<uint64_t> Number(uint64_t at, uint64_t width) const {
    if (at > bytes_.size() || bytes_.size() - at < width) return std::nullopt;
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + at, width);
    return value;
  }
  // Where the reference at a place leads.
  std::optional<uint64_t> Follow(uint64_t at) const {
    const std::optional<uint64_t> offset = Number(at, 4);
    if (!offset || *offset == 0 || at + *offset >= bytes_.size()) return std::nullopt;
    return at + *offset;
  }
  // Where a field of the table lies; nothing if the table does not have it.
  std::optional<uint64_t> Field(uint64_t table, uint64_t field) const {
    const std::optional<uint64_t> back = Number(table, 4);
    if (!back) return std::nullopt;
    const int64_t fields = static_cast<int64_t>(table) - static_cast<int32_t>(*back);
    if (fields < 0) return std::nullopt;
    const std::optional<uint64_t> size = Number(static_cast<uint64_t>(fields), 2);
    if (!size || field + 2 > *size) return std::nullopt;
    const std::optional<uint64_t> offset = Number(static_cast<uint64_t>(fields) + field, 2);
    if (!offset || *offset == 0) return std::nullopt;
    return table + *offset;
  }
  std::optional<uint64_t> FieldNumber(uint64_t table, uint64_t field, uint64_t width) const {
    const std::optional<uint64_t> at = Field(table, field);
    return at ? Number(*at, width) : std::nullopt;
  }
  // The elements of the vector that a place refers to.
  struct Vector {
    uint64_t at = 0, count = 0;
  };
  std::optional<Vector> FollowVector(uint64_t at, uint64_t width) const {
    const std::optional<uint64_t> vector = Follow(at);
    if (!vector) return std::nullopt;
    const std::optional<uint64_t> count = Number(*vector, 4);
    if (!count || *count > (bytes_.size() - *vector) / width || !Number(*vector + 4 + *count * width, 0)) {
      return std::nullopt;
    }
    return Vector{*vector + 4, *count};
  }
  absl::string_view Bytes(const Vector& vector) const { return bytes_.substr(vector.at, vector.count); }

 private:
  absl::string_view bytes_;
};

// The first argument, an integer, becomes a constant.
void BindFirst(int64_t number, Function* function) {
  Value* argument = function->body.arguments[0];
  Literal literal{Shape::Scalar(argument->shape.type())};
  literal.SetInt(0, number);
  auto constant = std::make_unique<Operation>();
  constant->row = FindOp("stablehlo.constant");
  constant->name = constant->row->name;
  constant->at = function->at;
  constant->results = {argument};
  Attr value;
  value.kind = Attr::Kind::kElements;
  value.shape = argument->shape;
  value.elements = std::make_shared<const Literal>(std::move(literal));
  constant->attributes.push_back({"value", std::move(value)});
  argument->definition = constant.get();
  argument->index = 0;
  function->body.operations.insert(function->body.operations.begin(), std::move(constant));
  function->body.arguments.erase(function->body.arguments.begin());
  std::vector<AttrList>& attributes = function->argument_attributes;
  if (!attributes.empty()) attributes.erase(attributes.begin());
  for (size_t i = 0; i < function->body.arguments.size(); ++i)
    function->body.arguments[i]->index = static_cast<int64_t>(i);
}

}  // namespace

std::optional<Exported> FindExported(absl::string_view bytes) {
  const Flatbuffer file(bytes);
  const std::optional<uint64_t> root = file.Follow(0);
  if (!root) return std::nullopt;
  const std::optional<uint64_t> module_field = file.Field(*root, kModule);
  if (!module_field) return std::nullopt;
  const auto module = file.FollowVector(*module_field, 1);
  if (!module || !IsBytecode(file.Bytes(*module))) return std::nullopt;
  Exported exported;
  exported.module = file.Bytes(*module);
  if (const auto field = file.Field(*root, kPlatforms)) {
    const auto platforms = file.FollowVector(*field, 4);
    constexpr uint64_t kMaxPlatforms = 100;
    for (uint64_t i = 0; platforms && i < std::min(platforms->count, kMaxPlatforms); ++i) {
      const auto name = file.FollowVector(platforms->at + 4 * i, 1);
      exported.platforms.push_back(name ? std::string(file.Bytes(*name).substr(0, 100)) : "");
    }
  }
  exported.devices = file.FieldNumber(*root, kDevices, 4).value_or(0);
  if (exported.devices == 0) exported.devices = file.FieldNumber(*root, kDevicesShort, 2).value_or(1);
  exported.calling_convention = file.FieldNumber(*root, kCallingConvention, 2).value_or(0);
  if (const auto field = file.Field(*root, kOrderedEffects)) {
    const auto effects = file.FollowVector(*field, 4);
    exported.ordered_effects = effects && effects->count > 0;
  }
  return exported;
}

absl::Status CheckExported(const Exported& exported) {
  const auto refuse = [](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("this file of jax.export cannot be run: ", why));
  };
  if (exported.calling_convention < kOldestConvention || exported.calling_convention > kNewestConvention) {
    return refuse(absl::StrCat("its calling convention has version ", exported.calling_convention, ", not ",
                               kOldestConvention, " or ", kNewestConvention));
  }
  if (std::find(exported.platforms.begin(), exported.platforms.end(), kLoweringPlatform) == exported.platforms.end()) {
    return refuse(
        absl::StrCat("it is for ", absl::StrJoin(exported.platforms, ", "), "; export it with platforms=[\"cpu\"]"));
  }
  if (exported.devices > 1)
    return refuse(absl::StrCat("it is for ", exported.devices, " devices; programs run on one"));
  if (exported.ordered_effects) return refuse("it has ordered effects, which take tokens; these are not supported");
  return absl::OkStatus();
}

absl::Status BindPlatform(const std::vector<std::string>& platforms, Program* program) {
  const auto found = program->by_name.find("main");
  if (found == program->by_name.end()) return absl::OkStatus();
  Function& main = *found->second;
  if (!main.has_body || main.argument_attributes.empty() || main.body.arguments.empty()) return absl::OkStatus();
  const Attr* role = FindAttr(main.argument_attributes[0], "jax.global_constant");
  if (role == nullptr || role->text != "_platform_index") return absl::OkStatus();
  const auto cpu = std::find(platforms.begin(), platforms.end(), kLoweringPlatform);
  Value* argument = main.body.arguments[0];
  if (cpu == platforms.end() || !argument->shape.IsScalar() || !IsIntegral(argument->shape.type())) {
    return absl::InvalidArgumentError(
        "the platform that the program runs on should be the number of `cpu` among those "
        "that it is for");
  }
  BindFirst(cpu - platforms.begin(), &main);
  return absl::OkStatus();
}

absl::Status BindSizes(const std::vector<int64_t>& sizes, Program* program) {
  if (sizes.empty()) return absl::OkStatus();
  const auto found = program->by_name.find("main");
  const size_t arguments = found == program->by_name.end() ? 0 : found->second->body.arguments.size();
  if (sizes.size() > arguments || !found->second->has_body) {
    return absl::InvalidArgumentError(
        absl::StrCat("the module should take ", sizes.size(), " sizes as arguments, but it takes ", arguments));
  }
  for (int64_t size : sizes) {
    const Shape& type = found->second->body.arguments[0]->shape;
    if (!type.IsScalar() || !IsIntegral(type.type())) {
      return absl::InvalidArgumentError(absl::StrCat("the first ", sizes.size(),
                                                     " arguments of the module, which are "
                                                     "sizes, should be integers, found ",
                                                     type.ToString(false)));
    }
    BindFirst(size, found->second);
  }
  return absl::OkStatus();
}

}  // namespace xc::stablehlo
