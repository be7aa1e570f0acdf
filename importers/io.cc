#include "importers/io.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "hlo/base/read_file.h"
#include "hlo/base/status.h"
#include "hlo/text/lexer.h"
#include "hlo/text/printer.h"
#include "hlo/unknown_sizes.h"
#include "hlo/wire/module_proto.h"
#include "hlo/wire/snapshot_proto.h"
#include "importers/stablehlo/stablehlo.h"

namespace xc {
namespace {

// Binary messages have control characters near their start: tags, lengths, ids.
bool LooksBinary(absl::string_view bytes) {
  for (unsigned char c : bytes.substr(0, 4096)) {
    if (c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\v') return true;
  }
  return false;
}

// Protobuf text begins with the name of a field.
bool LooksLikeTextProto(absl::string_view bytes) {
  size_t at = 0;
  for (;;) {
    while (at < bytes.size() && absl::string_view(" \t\r\n\f\v").find(bytes[at]) != absl::string_view::npos) ++at;
    if (at >= bytes.size() || bytes[at] != '#') break;
    while (at < bytes.size() && bytes[at] != '\n') ++at;
  }
  absl::string_view rest = bytes.substr(at);
  for (absl::string_view field : {"name", "entry_computation_name", "entry_computation_id", "id", "computations",
                                  "host_program_shape", "hlo_module", "hlo", "schedule"}) {
    if (!absl::StartsWith(rest, field)) continue;
    const size_t after = rest.find_first_not_of(" \t\r\n", field.size());
    if (after != absl::string_view::npos &&
        (rest[after] == ':' || (rest[after] == '{' && field != "name" && field != "id"))) {
      return true;
    }
  }
  return false;
}

// Keeps the first error of the text reader.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (!text_.empty()) return;
    text_ = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
    place_ = {line, column};
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
  const std::string& text() const { return text_; }
  std::pair<int, int> place() const { return place_; }

 private:
  std::string text_;
  std::pair<int, int> place_{-1, -1};
};

// The module of a snapshot; its arguments go to `arguments` if somebody wants them.
absl::StatusOr<pb::HloModuleProto> Open(pb::HloSnapshot& snapshot, std::vector<Literal>* arguments) {
  if (arguments != nullptr) {
    XC_ASSIGN_OR_RETURN(*arguments, ArgumentsFromProto(snapshot.arguments()));
  }
  return std::move(*snapshot.mutable_hlo()->mutable_hlo_module());
}

absl::StatusOr<pb::HloModuleProto> Open(pb::HloUnoptimizedSnapshot& snapshot, std::vector<Literal>* arguments) {
  if (arguments != nullptr && snapshot.partitions_size() > 0) {
    XC_ASSIGN_OR_RETURN(*arguments, ArgumentsFromProto(snapshot.partitions(0).arguments()));
  }
  return std::move(*snapshot.mutable_hlo_module());
}

absl::StatusOr<pb::HloModuleProto> ReadTextProto(absl::string_view bytes, std::vector<Literal>* arguments) {
  // Of the errors as different messages, the one that got furthest is meant.
  std::string error;
  std::pair<int, int> furthest{-1, -1};
  const auto parse = [&](google::protobuf::Message* message) {
    google::protobuf::TextFormat::Parser parser;
    parser.SetRecursionLimit(200);
    FirstError errors;
    parser.RecordErrorsTo(&errors);
    if (parser.ParseFromString(std::string(bytes), message)) return true;
    if (errors.place() > furthest) {
      furthest = errors.place();
      error = errors.text();
    }
    return false;
  };
  pb::HloProto hlo;
  if (parse(&hlo)) return std::move(*hlo.mutable_hlo_module());
  pb::HloModuleProto module;
  if (parse(&module)) return module;
  pb::HloSnapshot snapshot;
  if (parse(&snapshot)) return Open(snapshot, arguments);
  pb::HloUnoptimizedSnapshot unoptimized;
  if (parse(&unoptimized)) return Open(unoptimized, arguments);
  return absl::InvalidArgumentError(absl::StrCat("cannot read this protobuf text: ", error));
}

absl::StatusOr<pb::HloModuleProto> ReadBinaryProto(absl::string_view bytes, std::vector<Literal>* arguments) {
  // Field 1 is the name in one message, and a message in the others: the one that yields computations is right.
  if (bytes.size() > static_cast<size_t>(INT32_MAX)) return absl::InvalidArgumentError("the message is over 2 GiB");
  const int size = static_cast<int>(bytes.size());
  const google::protobuf::LogSilencer quiet;  // the library writes of bad UTF-8 to stderr; the status says enough
  const auto parses = [&](google::protobuf::Message* message) {
    return message->ParsePartialFromArray(bytes.data(), size);
  };
  // An HloProto is such a message without arguments.
  if (pb::HloUnoptimizedSnapshot snapshot; parses(&snapshot) && snapshot.hlo_module().computations_size() > 0) {
    return Open(snapshot, arguments);
  }
  if (pb::HloModuleProto module; parses(&module) && module.computations_size() > 0) return module;
  if (pb::HloSnapshot snapshot; parses(&snapshot) && snapshot.hlo().hlo_module().computations_size() > 0) {
    return Open(snapshot, arguments);
  }
  pb::HloModuleProto module;
  XC_ASSIGN_OR_RETURN(const bool delimited, ReadDelimitedSnapshot(bytes, &module, arguments));
  if (delimited) return module;
  return absl::InvalidArgumentError(
      "this is no module: neither HLO or StableHLO text, nor MLIR bytecode (plain, or as jax.export packs it), nor a "
      "message HloModuleProto, HloProto or HloSnapshot. `xla graph` runs GraphDefs; xc_load_program and Python's "
      "xla.load "
      "run what `xla compile` wrote");
}

// With the sizes that it leaves open, but for those of StableHLO.
absl::StatusOr<std::unique_ptr<HloModule>> ReadAsWritten(absl::string_view bytes, const ParseOptions& options,
                                                         std::vector<Literal>* arguments) {
  if (LooksLikeExportedStableHlo(bytes)) return ParseExportedStableHlo(bytes, options);
  if (LooksBinary(bytes) && !LooksLikeStableHlo(bytes)) {
    XC_ASSIGN_OR_RETURN(pb::HloModuleProto proto, ReadBinaryProto(bytes, arguments));
    return ModuleFromProto(std::move(proto), options);
  }
  if (LooksLikeTextProto(bytes)) {
    XC_ASSIGN_OR_RETURN(pb::HloModuleProto proto, ReadTextProto(bytes, arguments));
    return ModuleFromProto(std::move(proto), options);
  }
  if (LooksLikeStableHlo(bytes)) return ParseStableHlo(bytes, options);
  return ParseModule(bytes, options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HloModule>> ReadModule(absl::string_view bytes, const ParseOptions& options,
                                                      std::vector<Literal>* arguments) {
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ReadAsWritten(bytes, options, arguments));
  if (options.argument_shape) XC_RETURN_IF_ERROR(BindUnknownSizes(options.argument_shape, module.get()));
  return module;
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFile(const std::string& path, const ParseOptions& options,
                                                          std::vector<Literal>* arguments) {
  XC_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  auto module = ReadModule(bytes, options, arguments);
  if (!module.ok()) {
    return absl::Status(module.status().code(), absl::StrCat(path, ": ", module.status().message()));
  }
  return module;
}

absl::StatusOr<std::string> WriteModule(const HloModule& module, ModuleFormat format) {
  if (format == ModuleFormat::kText) return PrintModule(module);
  if (format == ModuleFormat::kBinaryProto) return ModuleToBytes(module);
  XC_ASSIGN_OR_RETURN(const pb::HloModuleProto proto, ModuleToProto(module));
  std::string out;
  google::protobuf::TextFormat::Printer printer;
  printer.PrintToString(proto, &out);
  return out;
}

}  // namespace xc
