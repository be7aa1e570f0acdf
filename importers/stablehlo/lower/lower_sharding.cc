// How arrays lie on several devices, as HLO says it: `sharding` attributes of parameters, and calls that annotate
// values.
#include "absl/strings/str_join.h"
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {
namespace {

using A = AttrKind;

Sharding Manual() {
  Sharding sharding;
  sharding.type = Sharding::Type::kManual;
  return sharding;
}

const Attr* Source(OpLowering& op, absl::string_view name) {
  const Attr* attr = op.attrs.Require(name);
  if (attr != nullptr && attr->source.empty()) op.Fail(absl::StrCat("attribute `", name, "` says nothing"));
  return op.ok() ? attr : nullptr;
}

}  // namespace

Op Annotate(HloBuilder& b, Op value, absl::string_view target, Sharding sharding, const Shape& shape) {
  Attributes attributes;
  attributes.Set<A::kCustomCallTarget>(std::string(target));
  attributes.Set<A::kSharding>(std::move(sharding));
  return b.Make(HloOpcode::kCustomCall, {value}, std::move(attributes), {}, &shape);
}

namespace {

// Arrays of one group lie alike. It has no result: the call, which nobody uses, says it of its operand.
void LowerShardingGroup(OpLowering& op) {
  const Attr* id = op.attrs.Require("group_id");
  if (id == nullptr || !op.lowering.has_devices() || !op.in(0).shape().IsArray()) return;
  Attributes attributes;
  attributes.Set<A::kCustomCallTarget>("xla.sdy.ShardingGroup");
  attributes.Set<A::kFrontendAttributes>({{"xla.sdy.sharding_group_id", absl::StrCat(id->integer)}});
  const Shape& shape = op.in(0).shape();
  op.b.Make(HloOpcode::kCustomCall, {op.in(0)}, std::move(attributes), {}, &shape);
}

}  // namespace

// Where an array lies makes no difference on one device, nor how a scalar does.
void LowerSharding(OpLowering& op) {
  for (const auto& [name, attr] : op.op.attributes) op.attrs.Find(name);
  if (op.op.results.size() > 1) return op.Fail("should have one result at most");
  if (op.op.name == "sdy.sharding_group") return LowerShardingGroup(op);
  const Attr* attr = op.attrs.Find("sharding");
  if (!op.lowering.has_devices() || attr == nullptr || attr->source.empty() || op.op.results.empty()) {
    return op.BindEach(op.Operands());
  }
  absl::StatusOr<SdySharding> sharding = ParseSharding(attr->source, op.lowering.meshes());
  if (!sharding.ok()) return op.Fail(std::string(sharding.status().message()));
  const int64_t devices = DevicesOf(sharding->mesh);
  if (devices == 1 || (op.result().rank() == 0 && sharding->unreduced.empty())) return op.BindEach(op.Operands());
  const absl::StatusOr<DeviceTiling> tiling = TilingOf(*sharding);
  if (!tiling.ok()) return op.Fail(std::string(tiling.status().message()));
  if (tiling->rank() != op.result().rank()) return op.Fail("its sharding has another number of dimensions");
  const Op call = Annotate(op.b, op.in(0), "Sharding", tiling->ToSharding(devices), op.result());
  if (call && !sharding->open.empty()) {
    BackendConfig config;
    config.text = absl::StrCat("unspecified_dims=[", absl::StrJoin(sharding->open, ","), "]");
    call.instruction()->set_attr<A::kBackendConfig>(std::move(config));
  }
  op.Bind(call);
}

// sdy.manual_computation: its region on each device's parts of the operands, between annotations that say where whole
// arrays end and begin.
void LowerManual(OpLowering& op) {
  for (const auto& [name, attr] : op.op.attributes) op.attrs.Find(name);
  const Attr *ins = Source(op, "in_shardings"), *outs = Source(op, "out_shardings"), *axes = Source(op, "manual_axes");
  if (ins == nullptr || outs == nullptr || axes == nullptr) return;
  const Region& region = op.op.regions[0];
  const auto in = ParseShardings(ins->source, op.lowering.meshes());
  const auto out = ParseShardings(outs->source, op.lowering.meshes());
  for (const absl::Status& status : {in.status(), out.status()}) {
    if (!status.ok()) return op.Fail(std::string(status.message()));
  }
  if (in->size() != op.op.operands.size() || region.arguments.size() != in->size() ||
      out->size() != op.op.results.size()) {
    return op.Fail("should have a sharding for each operand and result, and an argument for each operand");
  }
  const std::vector<std::string> manual = ParseAxisNames(axes->source);
  // The sharding of a whole array of `whole`, and whether its parts are `part`.
  const auto tiling_of = [&](const SdySharding& sharding, const Shape& whole, const Shape& part, Sharding* result) {
    absl::StatusOr<DeviceTiling> tiling = TilingOf(sharding, &manual);
    if (!tiling.ok()) return op.Fail(std::string(tiling.status().message())), false;
    if (tiling->rank() != whole.rank()) return op.Fail("a sharding has another number of dimensions"), false;
    const absl::StatusOr<Shape> shape = tiling->ShardShape(whole);
    if (!shape.ok()) return op.Fail(std::string(shape.status().message())), false;
    if (!SameDims(*shape, part)) {
      return op.Fail(absl::StrCat("a device's part of ", whole.ToString(false), " is ", shape->ToString(false),
                                  ", not ", part.ToString(false))),
             false;
    }
    *result = tiling->ToSharding(DevicesOf(sharding.mesh));
    return true;
  };
  for (size_t i = 0; i < in->size(); ++i) {
    Op value = op.in(static_cast<int64_t>(i));
    const Shape& part = region.arguments[i]->shape;
    if (part.IsArray() && DevicesOf((*in)[i].mesh) > 1) {
      Sharding sharding;
      if (!tiling_of((*in)[i], value.shape(), part, &sharding)) return;
      value = Annotate(op.b, value, "Sharding", std::move(sharding), value.shape());
      value = Annotate(op.b, value, "SPMDFullToShardShape", Manual(), part);
    }
    op.frame.values[region.arguments[i]] = value;
  }
  std::vector<Op> results;
  if (!op.lowering.LowerInner(region, op.frame, &results) || !op.ok()) return;
  if (results.size() != out->size()) return op.Fail("its region should return a value for each result");
  for (size_t i = 0; i < results.size(); ++i) {
    const Shape& whole = op.op.results[i]->shape;
    if (!whole.IsArray() || DevicesOf((*out)[i].mesh) == 1) continue;
    Sharding sharding;
    if (!tiling_of((*out)[i], whole, results[i].shape(), &sharding)) return;
    const Op part = Annotate(op.b, results[i], "Sharding", Manual(), results[i].shape());
    results[i] = Annotate(op.b, part, "SPMDShardToFullShape", std::move(sharding), whole);
  }
  op.BindEach(results);
}

}  // namespace xc::stablehlo
