// Element types have the names and the wire values of the messages.
#include "hlo/element_type.h"

#include <string>

#include "absl/strings/ascii.h"
#include "gtest/gtest.h"
#include "proto/shape.pb.h"

namespace xc {
namespace {

TEST(ElementType, NamesAndValuesAreThoseOfTheMessages) {
  struct Row {
    ElementType type;
    std::string name;
    int value;
  };
#define XC_X(e, name, value, bits) {ElementType::e, name, value},
  const Row rows[] = {XC_ELEMENT_TYPES(XC_X)};
#undef XC_X
  int count = 0;
  for (const Row& row : rows) {
    ++count;
    EXPECT_EQ(static_cast<int>(row.type), row.value) << row.name;
    std::string wire = absl::AsciiStrToLower(pb::PrimitiveType_Name(static_cast<pb::PrimitiveType>(row.value)));
    if (wire == "primitive_type_invalid") wire = "invalid";
    if (wire == "opaque_type") wire = "opaque";
    EXPECT_EQ(row.name, wire);
  }
  EXPECT_EQ(count, pb::PrimitiveType_descriptor()->value_count());
}

}  // namespace
}  // namespace xc
