// The payload of metadata, which text writes as metadata_payload="…" and the wire format as OpMetadata field 20; it is
// kept in Metadata::extra_proto.
#ifndef XC_HLO_TEXT_METADATA_PAYLOAD_H_
#define XC_HLO_TEXT_METADATA_PAYLOAD_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace xc {

inline void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

// Appends field 20 (a message whose field 1 holds the bytes) to a serialized OpMetadata.
inline void AppendMetadataPayload(absl::string_view payload, std::string* proto) {
  std::string inner = "\x0A";
  AppendVarint(payload.size(), &inner);
  inner.append(payload.data(), payload.size());
  proto->append("\xA2\x01");
  AppendVarint(inner.size(), proto);
  proto->append(inner);
}

// The payload in a serialized OpMetadata that holds field 20 only; nothing if there is another form.
inline std::optional<absl::string_view> FindMetadataPayload(absl::string_view proto) {
  const auto varint = [&](size_t* at) -> std::optional<uint64_t> {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && *at < proto.size(); shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(proto[(*at)++]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  };
  size_t at = 2;
  if (proto.substr(0, 2) != "\xA2\x01") return std::nullopt;
  const auto outer = varint(&at);
  if (!outer || *outer != proto.size() - at || at >= proto.size() || proto[at] != '\x0A') return std::nullopt;
  ++at;
  const auto inner = varint(&at);
  if (!inner || *inner != proto.size() - at) return std::nullopt;
  return proto.substr(at);
}

}  // namespace xc

#endif  // XC_HLO_TEXT_METADATA_PAYLOAD_H_
