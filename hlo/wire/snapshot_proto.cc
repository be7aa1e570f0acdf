#include "hlo/wire/snapshot_proto.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "hlo/base/status.h"
#include "hlo/wire/shape_proto.h"

namespace xc {
namespace {

absl::Status InArgument(size_t number, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("argument ", number, " of the snapshot: ", status.message()));
}

void TakeApart(Literal literal, std::vector<Literal>* arrays) {
  if (!literal.IsTuple()) return arrays->push_back(std::move(literal));
  for (Literal& element : literal.mutable_tuple()) TakeApart(std::move(element), arrays);
}

// An argument in XLA's own form: 8 bytes with the length of its shape's message, that message, the arrays' bytes.
absl::Status ReadArgument(absl::string_view bytes, std::vector<Literal>* arrays) {
  int64_t shape_size = 0;
  if (bytes.size() < sizeof(shape_size)) return absl::InvalidArgumentError("it is too short");
  std::memcpy(&shape_size, bytes.data(), sizeof(shape_size));
  bytes.remove_prefix(sizeof(shape_size));
  pb::ShapeProto proto;
  if (shape_size < 0 || shape_size > static_cast<int64_t>(bytes.size()) ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(shape_size))) {
    return absl::InvalidArgumentError("its shape cannot be read");
  }
  bytes.remove_prefix(shape_size);
  XC_ASSIGN_OR_RETURN(const Shape shape, ShapeFromProto(proto));
  for (const auto& [index, leaf] : Leaves(shape)) {
    if (!leaf->IsArray()) continue;
    if (IsSubByte(leaf->type()) || leaf->is_dynamic()) {
      return absl::UnimplementedError(absl::StrCat("arrays of ", leaf->ToString(false), " are not read in this form"));
    }
    const int64_t size = leaf->ByteSize();
    if (size > static_cast<int64_t>(bytes.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("it has ", bytes.size(), " bytes for ", leaf->ToString(false), ", which has ", size));
    }
    Literal array(*leaf);
    const std::vector<uint8_t> aligned(bytes.begin(), bytes.begin() + size);
    array.FromLayout(aligned.data());
    arrays->push_back(std::move(array));
    bytes.remove_prefix(size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Literal>> ArgumentsFromProto(
    const google::protobuf::RepeatedPtrField<pb::LiteralProto>& literals) {
  std::vector<Literal> arrays;
  for (int i = 0; i < literals.size(); ++i) {
    absl::StatusOr<Literal> literal = LiteralFromProto(literals[i]);
    if (!literal.ok()) return InArgument(i, literal.status());
    TakeApart(*std::move(literal), &arrays);
  }
  return arrays;
}

absl::StatusOr<bool> ReadDelimitedSnapshot(absl::string_view bytes, pb::HloModuleProto* module,
                                           std::vector<Literal>* arguments) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  uint32_t length = 0;
  if (!stream.ReadVarint32(&length)) return false;
  bytes.remove_prefix(stream.CurrentPosition());
  pb::HloUnoptimizedSnapshot snapshot;
  if (length > bytes.size() || !snapshot.ParsePartialFromArray(bytes.data(), static_cast<int>(length)) ||
      snapshot.hlo_module().computations_size() == 0) {
    return false;
  }
  bytes.remove_prefix(length);
  *module = std::move(*snapshot.mutable_hlo_module());
  if (arguments == nullptr || snapshot.partitions_size() == 0) return true;
  const auto& sizes = snapshot.partitions(0).arguments_descriptors();
  for (int i = 0; i < sizes.size(); ++i) {
    const uint64_t size = sizes[i].argument_size_bytes();
    absl::Status status = size > bytes.size() ? absl::InvalidArgumentError("the file ends before it")
                                              : ReadArgument(bytes.substr(0, size), arguments);
    if (!status.ok()) return InArgument(i, status);
    bytes.remove_prefix(size);
  }
  return true;
}

}  // namespace xc
