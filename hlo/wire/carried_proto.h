// What is carried for tools and other devices, to and from its messages: metadata, shardings, replica groups, frontend
// attributes, statistics, origins, accuracy, sparsity. Reading functions clear what they took, so that the rest can be
// kept as it is.
#ifndef XC_HLO_WIRE_CARRIED_PROTO_H_
#define XC_HLO_WIRE_CARRIED_PROTO_H_

#include <string>

#include "absl/status/statusor.h"
#include "hlo/attributes.h"
#include "proto/attributes.pb.h"
#include "proto/hlo.pb.h"

namespace xc {

void MetadataToProto(const Metadata& metadata, pb::OpMetadata* proto);
Metadata MetadataFromProto(pb::OpMetadata proto);

void ShardingToProto(const Sharding& sharding, pb::OpSharding* proto);
// Unimplemented for named shardings, which only the message can hold.
absl::StatusOr<Sharding> ShardingFromProto(const pb::OpSharding& proto);

void FrontendAttributesToProto(const FrontendAttributes& attributes, pb::FrontendAttributes* proto);
// In the order of keys.
FrontendAttributes FrontendAttributesFromProto(const pb::FrontendAttributes& proto);

void StatisticsToProto(const Statistics& statistics, pb::StatisticsViz* proto);
Statistics StatisticsFromProto(const pb::StatisticsViz& proto);

// Text such as {({"a" {0}}, {"b"})} or {[synthetic_call]}.
absl::Status OriginToProto(const std::string& text, pb::OriginalValueProto* proto);
std::string OriginFromProto(const pb::OriginalValueProto& proto, const Shape& shape);

// {mode=highest} or {tolerance={atol=0.1,rtol=0.2,ulps=3}}
absl::Status ResultAccuracyToProto(const std::string& text, pb::ResultAccuracy* proto);
std::string ResultAccuracyFromProto(const pb::ResultAccuracy& proto);

// L.1@2:4 (operand, dimension, non-zeros, block), joined by `_`; a stride follows as `/3`.
absl::Status SparsityToProto(const std::string& text, pb::SparsityConfig* proto);
std::string SparsityFromProto(const pb::SparsityConfig& proto);

}  // namespace xc

#endif  // XC_HLO_WIRE_CARRIED_PROTO_H_
