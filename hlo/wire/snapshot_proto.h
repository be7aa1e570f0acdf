// The arguments that snapshots of runs hold beside their module.
#ifndef XC_HLO_WIRE_SNAPSHOT_PROTO_H_
#define XC_HLO_WIRE_SNAPSHOT_PROTO_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/literal.h"
#include "proto/hlo.pb.h"

namespace xc {

// The arrays of the literals, tuples taken apart. Errors name the argument.
absl::StatusOr<std::vector<Literal>> ArgumentsFromProto(
    const google::protobuf::RepeatedPtrField<pb::LiteralProto>& literals);

// XLA's binary form of an HloUnoptimizedSnapshot: the message, its length before it, which has the sizes of the
// arguments only; then these, each a shape (its length, of 8 bytes, before it) and the bytes of its arrays. False if
// `bytes` do not begin with such a message. `arguments` may be null; those of the first partition go there.
absl::StatusOr<bool> ReadDelimitedSnapshot(absl::string_view bytes, pb::HloModuleProto* module,
                                           std::vector<Literal>* arguments);

}  // namespace xc

#endif  // XC_HLO_WIRE_SNAPSHOT_PROTO_H_
