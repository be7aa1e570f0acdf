// Locations. They refer to each other by name, as aliases do in assembly text, so that no chain of them makes the tree
// deep.
#include "absl/strings/str_cat.h"
#include "importers/stablehlo/bytecode/reader.h"

namespace xc::stablehlo {

// The name under which a location can be found, once everything has been read.
Location BytecodeReader::AliasOf(uint64_t index) {
  Location location;
  if (!location_seen_[index]) {
    location_seen_[index] = true;
    locations_to_read_.push_back(index);
  }
  location.alias = Keep(absl::StrCat("loc", index));
  return location;
}

bool BytecodeReader::LocationRef(Cursor* in, Location* out) {
  uint64_t index = 0;
  if (!in->Index("attribute", attributes_.size(), &index)) return false;
  *out = AliasOf(index);
  return true;
}

bool BytecodeReader::ReadLocations() {
  while (!locations_to_read_.empty()) {
    const uint64_t index = locations_to_read_.back();
    locations_to_read_.pop_back();
    Location location;
    if (!DecodeLocation(index, &location)) return false;
    program_.locations.emplace(absl::StrCat("loc", index), std::move(location));
  }
  return true;
}

bool BytecodeReader::DecodeLocation(uint64_t index, Location* out) {
  const Encoded& encoded = sections_.attributes[index];
  // What other dialects have as locations says nothing here.
  if (!encoded.custom || encoded.dialect != "builtin") return true;
  Cursor in(encoded.bytes, "location", &errors_);
  Parent parent;
  uint64_t code = 0;
  if (!in.VarInt(&code)) return false;
  const auto place = [&](int count, int64_t* const* places) {
    for (int i = 0; i < count; ++i) {
      uint64_t value = 0;
      if (!in.VarInt(&value)) return false;
      if (value > INT32_MAX) return in.Fail("a line or column is out of range");
      *places[i] = static_cast<int64_t>(value);
    }
    return true;
  };
  switch (code) {
    case 10:  // a call's callee and caller
      out->inside.resize(2);
      return LocationRef(&in, &out->inside[0]) && LocationRef(&in, &out->inside[1]);
    case 11: {
      int64_t* const places[] = {&out->line, &out->column};
      return ReadStringRef(&parent, &in, &out->file) && place(2, places);
    }
    case 12:
    case 13: {  // the second has an attribute behind the list, which is not looked at
      uint64_t count = 0;
      if (!in.Count("locations", &count)) return false;
      out->inside.resize(count);
      for (Location& inner : out->inside) {
        if (!LocationRef(&in, &inner)) return false;
      }
      return true;
    }
    case 14:
      out->inside.resize(1);
      return ReadStringRef(&parent, &in, &out->name) && LocationRef(&in, &out->inside[0]);
    case 15:
      return true;
    case 22: {  // a range: its line, column, end column, or with the end's line before that
      uint64_t count = 0;
      if (!ReadStringRef(&parent, &in, &out->file) || !in.VarInt(&count)) return false;
      if (count > 4) return in.Fail("a range of a file has more than four numbers");
      int64_t* const same_line[] = {&out->line, &out->column, &out->end_column};
      int64_t* const lines[] = {&out->line, &out->column, &out->end_line, &out->end_column};
      if (count == 4) return place(4, lines);
      if (!place(static_cast<int>(count), same_line)) return false;
      if (count == 3) out->end_line = out->line;
      return true;
    }
    default:
      return in.Fail(absl::StrCat("the attribute with the code ", code, " is no location"));
  }
}

}  // namespace xc::stablehlo
