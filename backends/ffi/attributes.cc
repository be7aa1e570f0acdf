// Attributes in the form that handlers take.
#include "absl/strings/str_cat.h"
#include "backends/ffi/internal.h"
#include "backends/runtime/attribute_text.h"
#include "hlo/base/status.h"

namespace xc::ffi {

// Moves what was read into a frame.
class AttributeReader {
 public:
  explicit AttributeReader(AttributeFrame* frame) : frame_(frame) {}

  absl::StatusOr<Attributes*> Dictionary(TypedAttribute& from) {
    AttributeFrame::Dictionary& to = frame_->dictionaries_.emplace_back();
    for (auto& [name, value] : from.entries) {
      to.names.push_back(&frame_->spans_.emplace_back());
      *to.names.back() = {frame_->Keep(name), name.size()};
      XC_ASSIGN_OR_RETURN(to.values.emplace_back(), Value(name, value, &to.types.emplace_back()));
    }
    to.attributes = {sizeof(Attributes), nullptr,         static_cast<int64_t>(to.names.size()),
                     to.types.data(),    to.names.data(), to.values.data()};
    return &to.attributes;
  }

 private:
  absl::StatusOr<void*> Value(const std::string& name, TypedAttribute& from, AttributeType* type) {
    using Kind = TypedAttribute::Kind;
    const int32_t element = static_cast<int32_t>(from.type);
    switch (from.kind) {
      case Kind::kScalar:
        *type = AttributeType::kScalar;
        return &frame_->scalars_.emplace_back(Scalar{element, const_cast<char*>(frame_->Keep(std::move(from.bytes)))});
      case Kind::kArray: {
        *type = AttributeType::kArray;
        return &frame_->arrays_.emplace_back(
            Array{element, static_cast<size_t>(from.count), const_cast<char*>(frame_->Keep(std::move(from.bytes)))});
      }
      case Kind::kString: {
        *type = AttributeType::kString;
        const size_t size = from.bytes.size();
        return &frame_->spans_.emplace_back(ByteSpan{frame_->Keep(std::move(from.bytes)), size});
      }
      case Kind::kDictionary: {
        *type = AttributeType::kDictionary;
        XC_ASSIGN_OR_RETURN(Attributes * inner, Dictionary(from));
        return inner;
      }
      case Kind::kOther:
        break;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("attribute ", name, " = ", from.bytes, " is of a kind that foreign functions cannot be given"));
  }

  AttributeFrame* frame_;
};

absl::StatusOr<std::unique_ptr<AttributeFrame>> AttributeFrame::Parse(absl::string_view text) {
  XC_ASSIGN_OR_RETURN(TypedAttribute read, ReadAttributeDictionary(text));
  std::unique_ptr<AttributeFrame> frame(new AttributeFrame);
  XC_ASSIGN_OR_RETURN(frame->root_, AttributeReader(frame.get()).Dictionary(read));
  return frame;
}

}  // namespace xc::ffi
