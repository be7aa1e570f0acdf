// Element types have the names and the wire values of the messages.
#include "hlo/element_type.h"

#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "gtest/gtest.h"
#include "hlo/float_types.h"
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

TEST(FloatTypes, PowersOfTwoHaveNoZero) {
  const auto bits = [](double x) { return static_cast<int>(F8E8M0FNU(x).bits); };
  EXPECT_EQ(bits(1), 127);
  EXPECT_EQ(bits(1.49), 127);
  EXPECT_EQ(bits(1.5), 128);  // ties to the larger power
  EXPECT_EQ(bits(3), 129);
  EXPECT_EQ(bits(0x1p-140), 0);
  EXPECT_EQ(bits(0x1.8p-127), 1);
  EXPECT_EQ(bits(0x1p127), 254);
  for (double x : {0.0, -0.0, -1.0, 0x1.8p127, HUGE_VAL, std::nan("")}) EXPECT_EQ(bits(x), 0xFF) << x;
}

}  // namespace
}  // namespace xc
