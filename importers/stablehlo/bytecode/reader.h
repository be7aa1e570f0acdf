// The state of reading MLIR bytecode into a Program. Methods live in one file per concern and return false, or null,
// after the first error.
#ifndef XC_IMPORTERS_STABLEHLO_BYTECODE_READER_H_
#define XC_IMPORTERS_STABLEHLO_BYTECODE_READER_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "hlo/text/parser.h"
#include "importers/stablehlo/bytecode/cursor.h"
#include "importers/stablehlo/bytecode/sections.h"
#include "importers/stablehlo/syntax/ast.h"

namespace xc::stablehlo {

class BytecodeReader {
 public:
  BytecodeReader(absl::string_view file, const ParseOptions& options, Program* program)
      : file_(file),
        options_(options),
        text_options_(options),
        program_(*program),
        errors_(file),
        budget_(kBudget + kBudgetPerByte * static_cast<int64_t>(file.size())) {
    text_options_.max_elided_bytes = 0;
  }

  bool Run();
  absl::Status status() const {
    return errors_.failed() ? absl::InvalidArgumentError(errors_.message()) : absl::OkStatus();
  }

 private:
  // Attributes and types are shared in the file and copied into the tree: this many pieces may be made, so that a
  // small file whose parts refer to each other over and over does not become a large tree.
  static constexpr int64_t kBudget = 1'000'000, kBudgetPerByte = 8;

  enum class State : uint8_t { kUnread, kReading, kRead };

  struct TypeEntry {
    State state = State::kUnread;
    bool is_none = false;
    Shape shape;
    std::string text;     // of types that are no tensors, tuples or functions
    std::string refusal;  // not empty: the type cannot be used, and why
    int depth = 1;        // of what is inside of each other
    int64_t size = 1;     // pieces
  };
  struct AttrEntry {
    State state = State::kUnread;
    Attr attr;
    int depth = 1;
    int64_t size = 1;
  };
  // Attributes and types refer to each other: what is being read counts the depth of what it refers to.
  struct Parent {
    int depth = 1;
    int64_t size = 1;
  };
  // The values that operations can refer to: those of an operation that is isolated from what is around it.
  struct Scope {
    std::vector<Value*> values;  // by number; null before they are defined
  };
  // An operation's name, resolved once.
  struct KnownOp {
    enum class Kind : uint8_t { kUnresolved, kModule, kFunction, kMesh, kOperation };
    Kind kind = Kind::kUnresolved;
    const OpRow* row = nullptr;
    std::string name;  // in full, as in the file
    bool is_vhlo = false;
    bool registered = true;
  };
  // What is written of an operation before its regions.
  struct OpHeader {
    const char* at = nullptr;
    const KnownOp* known = nullptr;
    AttrList attributes;
    uint64_t location = 0;
    std::vector<Shape> results;
    std::vector<Value*> operands;
    uint64_t regions = 0;
    bool isolated = false;
  };

  // reader.cc
  bool Charge(const Cursor& in, int64_t pieces);
  bool Enter(Parent* parent, int depth, int64_t size, Cursor* in);
  absl::string_view Keep(std::string text);
  bool String(Cursor* in, absl::string_view* out);
  bool SignedInts(Cursor* in, Int64List* out);

  // The entry `index` of `table`, which `decode` fills when it is asked for first. `what` is what the table is of.
  template <typename Entry, typename Decode>
  const Entry* EntryAt(absl::string_view what, uint64_t index, std::vector<Entry>& table, Parent* parent, Cursor* in,
                       Decode decode) {
    if (!in->CheckIndex(what, index, table.size())) return nullptr;
    Entry& entry = table[index];
    if (entry.state == State::kReading) {
      in->Fail(absl::StrCat(what, " ", index, " contains itself"));
      return nullptr;
    }
    if (entry.state == State::kUnread) {
      if (depth_ >= options_.max_nesting) {
        in->Fail(absl::StrCat("nested more than ", options_.max_nesting, " deep"));
        return nullptr;
      }
      ++depth_;
      entry.state = State::kReading;
      Parent self;
      if (!decode(&self, &entry)) return nullptr;
      entry.state = State::kRead;
      entry.depth = self.depth;
      entry.size = self.size;
      --depth_;
    }
    return Enter(parent, entry.depth, entry.size, in) ? &entry : nullptr;
  }

  // types.cc
  static void NameScalar(absl::string_view name, TypeEntry* out);
  static void NameIndex(bool none, TypeEntry* out);
  const TypeEntry* TypeAt(uint64_t index, Parent* parent, Cursor* in);
  const TypeEntry* ReadTypeRef(Parent* parent, Cursor* in);
  // A type that can be used: of a value, an element or a constant.
  bool UsableType(const TypeEntry& type, Cursor* in);
  bool DecodeType(const Encoded& encoded, Parent* parent, TypeEntry* out);
  bool DecodeTypeText(const Encoded& encoded, Parent* parent, TypeEntry* out);
  bool DecodeBuiltinType(Cursor* in, Parent* parent, TypeEntry* out);
  bool DecodeVhloType(Cursor* in, Parent* parent, TypeEntry* out);
  bool DecodeStablehloType(Cursor* in, TypeEntry* out);
  bool DecodeComplex(Cursor* in, Parent* parent, TypeEntry* out);
  bool DecodeTensor(bool encoding, Cursor* in, Parent* parent, TypeEntry* out);
  bool DecodeTypes(Cursor* in, Parent* parent, std::vector<Shape>* out, std::string* refusal);
  bool DecodeFunction(Cursor* in, Parent* parent, TypeEntry* out);
  bool DecodeTuple(Cursor* in, Parent* parent, TypeEntry* out);

  // attributes.cc
  const Attr* AttrAt(uint64_t index, Parent* parent, Cursor* in);
  const Attr* ReadAttrRef(Parent* parent, Cursor* in);
  bool ReadAttrRefs(Parent* parent, Cursor* in, std::vector<Attr>* out);
  // A reference to a string attribute.
  bool ReadStringRef(Parent* parent, Cursor* in, std::string* out);
  bool DecodeAttr(const Encoded& encoded, Parent* parent, Attr* out);
  bool DecodeAttrText(const Encoded& encoded, Parent* parent, Attr* out);
  bool DecodeBuiltinAttr(Cursor* in, Parent* parent, Attr* out);
  bool DecodeArray(Cursor* in, Parent* parent, Attr* out);
  bool DecodeDictionary(Cursor* in, Parent* parent, Attr* out);
  bool DecodeInteger(Cursor* in, Parent* parent, Attr* out);
  bool DecodeFloat(Cursor* in, Parent* parent, Attr* out);
  bool DecodeTypeAttr(Cursor* in, Parent* parent, Attr* out);
  bool ReadBits(int width, Cursor* in, uint64_t* out);

  // dialect_attributes.cc
  bool DecodeStablehloAttr(Cursor* in, Parent* parent, Attr* out);
  bool DecodeChloAttr(Cursor* in, Attr* out);
  bool DecodeVhloAttr(Cursor* in, Parent* parent, Attr* out);
  bool DecodeWord(absl::string_view mnemonic, std::initializer_list<absl::string_view> words, Cursor* in, Attr* out);
  bool DecodeAccuracy(Cursor* in, Parent* parent, Attr* out);
  bool DecodeConvDims(Cursor* in, Attr* out);
  bool DecodeAlgorithm(Cursor* in, Parent* parent, Attr* out);
  bool DecodeFields(absl::string_view name, std::initializer_list<absl::string_view> lists, absl::string_view integer,
                    Cursor* in, Attr* out);
  bool DecodeAlias(absl::string_view name, Cursor* in, Attr* out);

  // sdy_attributes.cc
  bool DecodeSdyAttr(Cursor* in, Parent* parent, Attr* out);
  bool SdyList(Parent* parent, Cursor* in, std::vector<std::string>* out);
  bool DecodeSdyRule(Cursor* in, Parent* parent, std::string* text);
  bool DecodeSdyMesh(Cursor* in, Parent* parent, std::string* text);
  bool DecodeSdyAxis(uint64_t code, Cursor* in, Parent* parent, std::string* text);
  bool DecodeSdyDim(Cursor* in, Parent* parent, std::string* text);
  bool DecodeSdySharding(uint64_t code, Cursor* in, Parent* parent, std::string* text);

  // elements.cc
  bool DecodeElements(Cursor* in, Parent* parent, Attr* out);
  bool DecodeDenseArray(Cursor* in, Parent* parent, Attr* out);
  bool DecodeResource(Cursor* in, Parent* parent, Attr* out);
  bool FillElements(const TypeEntry& type, absl::string_view blob, Cursor* in, Attr* out);
  bool Blob(Cursor* in, absl::string_view* out);

  // locations.cc
  bool ReadLocations();
  bool DecodeLocation(uint64_t index, Location* out);
  bool LocationRef(Cursor* in, Location* out);
  Location AliasOf(uint64_t index);

  // operations.cc
  const KnownOp* ReadOpName(Cursor* in);
  bool ReadOpHeader(Cursor* in, Scope* scope, OpHeader* out);
  bool ReadProperties(Cursor* in, OpHeader* op);
  bool SkipUseLists(uint64_t values, Cursor* in);
  bool ReadOperation(Cursor* in, Scope* scope, uint64_t* next_value, Region* region);
  Cursor* OpenRegions(const OpHeader& header, Cursor* in, Cursor* section);
  bool ReadRegions(const OpHeader& header, Cursor* in, Scope* scope, std::vector<Region>* regions);
  bool ReadRegion(Cursor* in, Scope* scope, Region* region);
  bool ReadBlockArguments(Cursor* in, Scope* scope, uint64_t* next_value, Region* region);
  bool DefineValue(Value* value, uint64_t* next_value, Scope* scope, Cursor* in);
  Value* NewValue(const Shape& shape, const Operation* definition, int64_t index);

  // modules.cc
  bool ReadModule();
  bool ReadItemOfModule(Cursor* in, Scope* scope);
  bool ReadFunction(const OpHeader& header, Cursor* in, Scope* scope);
  bool ReadMesh(const OpHeader& header, Cursor* in);

  // portable.cc: attributes of VHLO's operations as StableHLO has them.
  bool FromVhlo(OpHeader* op, Cursor* in);

  absl::string_view file_;
  const ParseOptions& options_;
  ParseOptions text_options_;  // for parts that are assembly text
  Program& program_;
  ErrorState errors_;
  Sections sections_;
  std::vector<TypeEntry> types_;
  std::vector<AttrEntry> attributes_;
  std::vector<KnownOp> known_ops_;
  std::vector<bool> location_seen_;
  std::vector<uint64_t> locations_to_read_;
  int64_t budget_;
  int64_t operations_ = 0;
  int depth_ = 0;  // of attributes and types that are being read, and of regions
};

// What is wrong with the dimensions of a convolution, or nothing.
std::string WrongConvDims(const ConvDims& dims);

// The names of the attributes that an operation has as properties, in their order; those that end with `?` may be
// missing. `count` is how many the file has, which tells apart versions of an operation with the same name. False if no
// version has that many.
bool PropertyNames(absl::string_view op, bool is_vhlo, uint64_t count, std::vector<absl::string_view>* names);

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_BYTECODE_READER_H_
