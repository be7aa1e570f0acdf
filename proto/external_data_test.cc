// Compares every field number with the published lists, and reads the sample graphs, where XC_DATA is set.
#include <google/protobuf/descriptor.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/graph.pb.h"
#include "proto/hlo.pb.h"

namespace xc {
namespace {

using namespace pb;  // NOLINT: the messages under test
using namespace tf;  // NOLINT: the messages under test

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

// The directory of sample data; empty when there is none.
std::string DataDir() {
  const char* dir = std::getenv("XC_DATA");
  return dir != nullptr && std::filesystem::is_directory(dir) ? dir : "";
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::vector<std::string> SplitTabs(const std::string& line) {
  std::vector<std::string> cells(1);
  for (char c : line) {
    if (c == '\t') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

// "xla.A.B" -> "xc.pb.A.B", "tensorflow.A" -> "xc.tf.A"; scalar type names and well-known types stay.
std::string ToOurs(const std::string& name, const std::string& package) {
  return name.rfind(package + ".", 0) == 0 ? (package == "xla" ? "xc.pb" : "xc.tf") + name.substr(package.size())
                                           : name;
}

std::string TypeName(const FieldDescriptor& field) {
  if (field.message_type() != nullptr) return field.message_type()->full_name();
  if (field.enum_type() != nullptr) return field.enum_type()->full_name();
  return field.type_name();
}

// Checks one list of "message, number, name, label, type, oneof" rows against the messages linked into this test.
void ExpectFieldsMatch(const std::string& path, const std::string& package, int at_least) {
  std::ifstream in(path);
  std::string line;
  ASSERT_TRUE(std::getline(in, line)) << "cannot read the field list";
  int rows = 0;
  std::set<std::string> listed;
  const DescriptorPool* pool = DescriptorPool::generated_pool();
  while (std::getline(in, line)) {
    if (line.empty()) continue;
    ++rows;
    SCOPED_TRACE(line);
    std::vector<std::string> row = SplitTabs(line);
    row.resize(6);
    const std::string message_name = ToOurs(row[0], package);
    const int number = std::stoi(row[1]);
    if (row[3] == "enum") {
      const EnumDescriptor* type = pool->FindEnumTypeByName(message_name);
      ASSERT_NE(type, nullptr);
      ASSERT_NE(type->FindValueByName(row[2]), nullptr);
      EXPECT_EQ(type->FindValueByName(row[2])->number(), number);
      continue;
    }
    const Descriptor* message = pool->FindMessageTypeByName(message_name);
    ASSERT_NE(message, nullptr);
    const FieldDescriptor* field = message->FindFieldByNumber(number);
    ASSERT_NE(field, nullptr);
    EXPECT_EQ(field->name(), row[2]);
    EXPECT_EQ(field->is_repeated(), row[3] == "repeated");
    EXPECT_EQ(TypeName(*field), ToOurs(row[4], package));
    EXPECT_EQ(field->containing_oneof() == nullptr ? "" : field->containing_oneof()->name(), row[5]);
    listed.insert(field->full_name());
  }
  EXPECT_GE(rows, at_least);
  // No field of our own in a listed message: its number could clash with a later one of theirs.
  for (const std::string& name : listed) {
    const Descriptor* message = pool->FindFieldByName(name)->containing_type();
    for (int i = 0; i < message->field_count(); ++i) {
      EXPECT_TRUE(listed.count(message->field(i)->full_name())) << message->field(i)->full_name();
    }
  }
}

TEST(FieldNumbers, HloMessagesMatchTheList) {
  if (DataDir().empty()) GTEST_SKIP() << "XC_DATA is not set";
  ASSERT_NE(HloProto::descriptor(), nullptr);
  ExpectFieldsMatch(DataDir() + "/hlo_proto_fields.tsv", "xla", 644);
}

TEST(FieldNumbers, GraphMessagesMatchTheList) {
  if (DataDir().empty()) GTEST_SKIP() << "XC_DATA is not set";
  ASSERT_NE(GraphDef::descriptor(), nullptr);
  ExpectFieldsMatch(DataDir() + "/graph_proto_fields.tsv", "tensorflow", 239);
}

TEST(Graphs, EverySampleGraphParsesAndRoundTrips) {
  if (DataDir().empty()) GTEST_SKIP() << "XC_DATA is not set";
  int graphs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DataDir() + "/graphs")) {
    const std::string path = entry.path() / "graph.pb";
    if (!std::filesystem::exists(path)) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const std::string bytes = ReadFile(path);
    GraphDef graph, again;
    ASSERT_TRUE(graph.ParseFromString(bytes));
    EXPECT_GT(graph.node_size(), 0);
    // Map entries may come out in another order, so sizes and a second parse are compared, not bytes.
    const std::string written = graph.SerializeAsString();
    EXPECT_EQ(written.size(), bytes.size());
    ASSERT_TRUE(again.ParseFromString(written));
    EXPECT_EQ(again.ByteSizeLong(), graph.ByteSizeLong());
    ++graphs;
  }
  EXPECT_GE(graphs, 9);
}

}  // namespace
}  // namespace xc
