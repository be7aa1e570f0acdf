// Messages keep what they do not know, and the bytes on the wire are those that the field numbers promise.
#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "proto/graph.pb.h"
#include "proto/hlo.pb.h"
#include "proto/saved_model.pb.h"

namespace xc {
namespace {

using namespace pb;  // NOLINT: the messages under test
using namespace tf;  // NOLINT: the messages under test

// A varint field with a number that no message of ours has, and one with a number of five bytes.
const char kUnknown[] =
    "\xf8\x3e\x2a"
    "\xf8\xff\xff\xff\x0f\x01";

template <typename Message>
void ExpectUnknownFieldsSurvive(Message message) {
  std::string bytes = message.SerializeAsString() + std::string(kUnknown, sizeof(kUnknown) - 1);
  Message parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes)) << message.GetTypeName();
  EXPECT_EQ(parsed.SerializeAsString(), bytes) << message.GetTypeName();
}

TEST(RoundTrip, UnknownFieldsSurviveInEveryMessage) {
  HloModuleProto module;
  module.set_name("m");
  ExpectUnknownFieldsSurvive(module);
  HloProto hlo;
  *hlo.mutable_hlo_module() = module;
  ExpectUnknownFieldsSurvive(hlo);
  HloInstructionProto instruction;
  instruction.set_opcode("add");
  ExpectUnknownFieldsSurvive(instruction);
  ShapeProto shape;
  shape.add_dimensions(3);
  ExpectUnknownFieldsSurvive(shape);
  LiteralProto literal;
  literal.add_f32s(1);
  ExpectUnknownFieldsSurvive(literal);
  GraphDef graph;
  graph.add_node()->set_name("n");
  ExpectUnknownFieldsSurvive(graph);
  ExpectUnknownFieldsSurvive(GraphDebugInfo());
  ExpectUnknownFieldsSurvive(FunctionDef());
  AttrValue attr;
  attr.set_i(-1);
  ExpectUnknownFieldsSurvive(attr);
  ExpectUnknownFieldsSurvive(TensorProto());
  ExpectUnknownFieldsSurvive(SavedModel());
}

TEST(RoundTrip, UnknownFieldsSurviveInsideNestedMessages) {
  HloModuleProto module;
  HloInstructionProto* instruction = module.add_computations()->add_instructions();
  ASSERT_TRUE(instruction->ParseFromString(std::string(kUnknown, sizeof(kUnknown) - 1)));
  HloModuleProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(module.SerializeAsString()));
  EXPECT_EQ(parsed.computations(0)
                .instructions(0)
                .GetReflection()
                ->GetUnknownFields(parsed.computations(0).instructions(0))
                .field_count(),
            2);
}

TEST(RoundTrip, UnknownEnumValuesSurvive) {
  ShapeProto shape;
  shape.set_element_type(static_cast<PrimitiveType>(99));
  ShapeProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(shape.SerializeAsString()));
  EXPECT_EQ(static_cast<int>(parsed.element_type()), 99);
}

TEST(Wire, ShapeBytes) {
  ShapeProto shape;
  shape.set_element_type(F32);
  shape.add_dimensions(2);
  shape.add_dimensions(300);
  shape.mutable_layout()->add_minor_to_major(1);
  shape.mutable_layout()->add_minor_to_major(0);
  EXPECT_EQ(shape.SerializeAsString(), std::string("\x10\x0b\x1a\x03\x02\xac\x02\x2a\x04\x0a\x02\x01\x00", 13));
}

TEST(Wire, MapEntriesAreMessages) {
  NodeDef node;
  (*node.mutable_attr())["T"].set_type(DT_FLOAT);
  EXPECT_EQ(node.SerializeAsString(), std::string("\x2a\x07\x0a\x01T\x12\x02\x30\x01", 9));
}

TEST(Wire, UnpackedRepeatedScalarsAreAccepted) {
  ShapeProto shape;
  ASSERT_TRUE(shape.ParseFromString("\x18\x02\x18\x03"));
  ASSERT_EQ(shape.dimensions_size(), 2);
  EXPECT_EQ(shape.dimensions(1), 3);
}

TEST(Presence, PrefetchIndexZeroDiffersFromNone) {
  HloInstructionProto instruction;
  EXPECT_EQ(instruction.optional_cross_program_prefetch_index_case(),
            HloInstructionProto::OPTIONAL_CROSS_PROGRAM_PREFETCH_INDEX_NOT_SET);
  instruction.set_cross_program_prefetch_index(0);
  HloInstructionProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(instruction.SerializeAsString()));
  EXPECT_EQ(parsed.optional_cross_program_prefetch_index_case(), HloInstructionProto::kCrossProgramPrefetchIndex);
}

TEST(BadInput, TruncatedAndDeeplyNestedBytesAreRefused) {
  HloModuleProto module;
  module.add_computations()->add_instructions()->set_name("a long name");
  std::string bytes = module.SerializeAsString();
  for (size_t n = 1; n < bytes.size(); ++n) {
    HloModuleProto parsed;
    EXPECT_FALSE(parsed.ParseFromString(bytes.substr(0, n)) && parsed.SerializeAsString() == bytes);
  }
  ShapeProto deep;
  for (int i = 0; i < 200; ++i) {
    ShapeProto outer;
    outer.add_tuple_shapes()->Swap(&deep);
    deep.Swap(&outer);
  }
  ShapeProto parsed;
  EXPECT_FALSE(parsed.ParseFromString(deep.SerializeAsString()));
}

TEST(Text, FieldNamesAreThoseOfTheDumps) {
  HloProto hlo;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(hlo_module { name: "m" entry_computation_id: 2
           computations { id: 2 root_id: 1 instructions { id: 1 opcode: "constant" shape { element_type: S32 }
             literal { shape { element_type: S32 } s32s: 7 } } } })",
      &hlo));
  EXPECT_EQ(hlo.hlo_module().computations(0).instructions(0).literal().s32s(0), 7);
}

}  // namespace
}  // namespace xc
