// Programs as bytes: what is written is read, and what does not fit together is refused.
#include "backends/program/program.h"

#include <limits>

#include "gtest/gtest.h"
#include "proto/program.pb.h"

namespace xc {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

absl::StatusOr<Program> Read(const pb::ProgramProto& proto) {
  std::vector<std::string> objects;
  return ReadProgram(proto.SerializeAsString(), &objects);
}

// One parameter of 16 bytes, whose last eight are the result, and a call.
pb::ProgramProto Good() {
  pb::ProgramProto proto;
  proto.set_entry("main");
  proto.add_objects("code");
  proto.set_arena_bytes(64);
  proto.add_parameters()->set_bytes(16);
  proto.add_constants("abc");
  auto* output = proto.add_outputs();
  output->set_bytes(8);
  output->set_in_parameter(true);
  output->set_offset(8);
  auto* call = proto.add_calls();
  call->set_target("TopK");
  auto* input = call->add_inputs();
  input->set_element_type(pb::F32);
  input->add_dimensions(4);
  input->mutable_layout()->add_minor_to_major(0);
  return proto;
}

TEST(Program, IsReadAsItWasWritten) {
  std::vector<std::string> objects;
  const auto program = ReadProgram(Good().SerializeAsString(), &objects);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(objects, std::vector<std::string>{"code"});
  EXPECT_EQ(program->entry, "main");
  EXPECT_EQ(program->arena_bytes, 64);
  EXPECT_EQ(program->outputs.at(0).offset, 8);
  EXPECT_EQ(program->constant_bytes, 3);
  ASSERT_EQ(program->calls.calls.size(), 1);
  EXPECT_EQ(program->calls.calls[0].args().inputs[0].elements(), 4);
  // Constants are written from the literals that a compiled program has.
  const auto bytes = WriteProgram(*program, objects);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  pb::ProgramProto written, expected = Good();
  ASSERT_TRUE(written.ParseFromString(*bytes));
  expected.clear_constants();
  const auto again = ReadProgram(*bytes, &objects);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->calls.calls[0].args().inputs[0].elements(), 4);
  EXPECT_EQ(written.outputs(0).SerializeAsString(), expected.outputs(0).SerializeAsString());
}

TEST(Program, OutputsLieInsideOfTheirParameters) {
  struct Range {
    int64_t parameter, bytes, offset;
  };
  for (const Range& range : {Range{1, 8, 0}, Range{-1, 8, 0}, Range{kLargest, 8, 0}, Range{0, 8, 9}, Range{0, 17, 0},
                             Range{0, -1, 0}, Range{0, 8, -1}, Range{0, kLargest, kLargest}, Range{0, 8, kLargest},
                             Range{0, kLargest, 8}, Range{0, std::numeric_limits<int64_t>::min(), 8}}) {
    pb::ProgramProto proto = Good();
    proto.mutable_outputs(0)->set_parameter(range.parameter);
    proto.mutable_outputs(0)->set_bytes(range.bytes);
    proto.mutable_outputs(0)->set_offset(range.offset);
    EXPECT_EQ(Read(proto).status().message(), "an output lies outside of its parameter") << proto.ShortDebugString();
  }
  pb::ProgramProto proto = Good();
  proto.mutable_parameters(0)->set_bytes(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Read(proto).status().message(), "an output lies outside of its parameter");
}

TEST(Program, CallsTakeArraysThatCanBe) {
  const auto error = [](auto change) {
    pb::ProgramProto proto = Good();
    change(*proto.mutable_calls(0)->mutable_inputs(0));
    return std::string(Read(proto).status().message());
  };
  EXPECT_NE(error([](pb::ShapeProto& s) { s.set_dimensions(0, -3); }).find("negative"), std::string::npos);
  EXPECT_NE(error([](pb::ShapeProto& s) { s.set_dimensions(0, kLargest); }).find("does not fit"), std::string::npos);
  EXPECT_NE(error([](pb::ShapeProto& s) { s.mutable_layout()->set_minor_to_major(0, 1); }).find("permutation"),
            std::string::npos);
  EXPECT_NE(error([](pb::ShapeProto& s) { s.mutable_layout()->clear_minor_to_major(); }).find("permutation"),
            std::string::npos);
  EXPECT_NE(error([](pb::ShapeProto& s) { s.set_element_type(static_cast<pb::PrimitiveType>(1000)); }).find("1000"),
            std::string::npos);
  for (const std::string& message : {
           error([](pb::ShapeProto& s) { s.clear_layout(); }),
           error([](pb::ShapeProto& s) {
             s.set_dimensions(0, -1);
             s.add_is_dynamic_dimension(true);
           }),
           error([](pb::ShapeProto& s) {
             s.Clear();
             s.set_element_type(pb::TUPLE);
           }),
       }) {
    EXPECT_NE(message.find("neither a token nor an array with sizes and a layout"), std::string::npos) << message;
  }
}

TEST(Program, CallsTakeScalars) {
  pb::ProgramProto proto = Good();
  pb::ShapeProto* output = proto.mutable_calls(0)->add_outputs();
  output->set_element_type(pb::S32);
  output->mutable_layout();
  const auto program = Read(proto);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->calls.calls[0].args().outputs[0].elements(), 1);
}

TEST(Program, RefusesTheRest) {
  pb::ProgramProto proto = Good();
  proto.set_arena_bytes(-1);
  EXPECT_EQ(Read(proto).status().message(), "its temporary memory has a negative size");
  proto = Good();
  proto.mutable_calls(0)->set_target("nobody");
  EXPECT_NE(Read(proto).status().message().find("no function of this name"), std::string::npos);
  proto = Good();
  proto.add_fallbacks("add.1");
  proto.set_module("not a module");
  EXPECT_FALSE(Read(proto).ok());
  std::vector<std::string> objects;
  EXPECT_EQ(ReadProgram("\xff\xff", &objects).status().message(), "it is no ProgramProto");
}

}  // namespace
}  // namespace xc
