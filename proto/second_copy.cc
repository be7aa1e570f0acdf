// Registers the messages of a second copy of the library under names of their own.
//
// Generated code registers its descriptors, while the library is loaded, with the one libprotobuf.so of the process,
// which ends the process where a file of that name is there already. So `libxc.so` is linked with
// `--wrap=AddDescriptorsRunner` (BUILD.bazel): the second copy in a process, of the same build or of another one,
// registers `xc2/proto/hlo.proto` with the package `xc2.pb` where the first one has `proto/hlo.proto` and `xc.pb`.
// The names are in no file and in no message that is written.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/descriptor_database.h"
#include "google/protobuf/generated_message_reflection.h"

namespace xc {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::internal::DescriptorTable;

bool IsRegistered(const std::string& file) {
  FileDescriptorProto found;
  return google::protobuf::DescriptorPool::internal_generated_database()->FindFileByName(file, &found);
}

// "" for the first copy in the process, "xc2" for the second, and so on. `file`: the first one to be registered.
std::string FreePrefix(const std::string& file) {
  std::string prefix;
  for (int number = 2; IsRegistered(prefix.empty() ? file : absl::StrCat(prefix, "/", file)); ++number) {
    prefix = absl::StrCat("xc", number);
  }
  return prefix;
}

// "xc.pb" -> "xc2.pb", ".xc.pb.ShapeProto" -> ".xc2.pb.ShapeProto"; other names stay.
void Rename(const std::string& prefix, std::string* name) {
  for (const char* start : {"xc.", ".xc."}) {
    if (!absl::StartsWith(*name, start)) continue;
    name->replace(name->find("xc"), 2, prefix);
    return;
  }
}

void RenameTypes(const std::string& prefix, FieldDescriptorProto* field) {
  if (field->has_type_name()) Rename(prefix, field->mutable_type_name());
  if (field->has_extendee()) Rename(prefix, field->mutable_extendee());
}

void RenameTypes(const std::string& prefix, DescriptorProto* message) {
  for (FieldDescriptorProto& field : *message->mutable_field()) RenameTypes(prefix, &field);
  for (FieldDescriptorProto& field : *message->mutable_extension()) RenameTypes(prefix, &field);
  for (DescriptorProto& nested : *message->mutable_nested_type()) RenameTypes(prefix, &nested);
}

// Both strings live as long as the process, as protobuf keeps pointers to them.
void RenameFile(const std::string& prefix, DescriptorTable* table) {
  FileDescriptorProto file;
  if (!file.ParseFromArray(table->descriptor, table->size)) return;
  file.set_name(absl::StrCat(prefix, "/", file.name()));
  Rename(prefix, file.mutable_package());
  for (std::string& other : *file.mutable_dependency()) {
    if (absl::StartsWith(other, "proto/")) other = absl::StrCat(prefix, "/", other);
  }
  for (DescriptorProto& message : *file.mutable_message_type()) RenameTypes(prefix, &message);
  for (FieldDescriptorProto& field : *file.mutable_extension()) RenameTypes(prefix, &field);
  const auto* bytes = new std::string(file.SerializeAsString());
  table->descriptor = bytes->data();
  table->size = static_cast<int>(bytes->size());
  table->filename = (new std::string(file.name()))->c_str();
}

// Libraries are loaded one at a time, so that no other thread registers anything meanwhile.
void RenameAll(const DescriptorTable* table) {
  static const std::string* const prefix = new std::string(FreePrefix(table->filename));
  if (prefix->empty() || table->is_initialized || !absl::StartsWith(table->filename, "proto/")) return;
  // Its fields but one are constant for the generated code alone; protobuf reads them through a pointer.
  RenameFile(*prefix, const_cast<DescriptorTable*>(table));
  for (int i = 0; i < table->num_deps; ++i) {
    if (table->deps[i] != nullptr) RenameAll(table->deps[i]);
  }
}

}  // namespace
}  // namespace xc

extern "C" {

// The constructor AddDescriptorsRunner(const DescriptorTable*) of protobuf, and what stands in front of it.
void __real__ZN6google8protobuf8internal20AddDescriptorsRunnerC1EPKNS1_15DescriptorTableE(void*, const void*);
void __wrap__ZN6google8protobuf8internal20AddDescriptorsRunnerC1EPKNS1_15DescriptorTableE(void* self,
                                                                                          const void* table) {
  xc::RenameAll(static_cast<const google::protobuf::internal::DescriptorTable*>(table));
  __real__ZN6google8protobuf8internal20AddDescriptorsRunnerC1EPKNS1_15DescriptorTableE(self, table);
}

}  // extern "C"
