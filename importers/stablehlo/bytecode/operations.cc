// Operations, regions and values.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "importers/stablehlo/bytecode/reader.h"
#include "importers/stablehlo/lower/op_table.h"
#include "importers/stablehlo/syntax/print_attribute.h"

namespace xc::stablehlo {
namespace {

using Kind = Attr::Kind;

// Which parts an operation has.
constexpr int kHasAttributes = 1, kHasResults = 2, kHasOperands = 4, kHasSuccessors = 8, kHasRegions = 16,
              kHasUseLists = 32, kHasProperties = 64, kAllParts = 127;

// `add` of VHLO's `add_v1`, or nothing.
absl::string_view WithoutVersion(absl::string_view name) {
  size_t digits = 0;
  while (digits < name.size() && name[name.size() - 1 - digits] >= '0' && name[name.size() - 1 - digits] <= '9') {
    ++digits;
  }
  name.remove_suffix(digits);
  return digits > 0 && absl::ConsumeSuffix(&name, "_v") ? name : absl::string_view();
}

}  // namespace

const BytecodeReader::KnownOp* BytecodeReader::ReadOpName(Cursor* in) {
  const char* at = in->at();
  uint64_t index = 0;
  if (!in->Index("name of an operation", known_ops_.size(), &index)) return nullptr;
  KnownOp& known = known_ops_[index];
  if (known.kind != KnownOp::Kind::kUnresolved) return &known;
  const OpName& name = sections_.op_names[index];
  constexpr size_t kShown = 100;
  std::string full = absl::StrCat(name.dialect.substr(0, kShown), ".", name.name.substr(0, kShown));
  known.name = full;
  known.is_vhlo = name.dialect == "vhlo";
  known.registered = name.registered;
  if (known.is_vhlo) {
    const absl::string_view plain = WithoutVersion(name.name.substr(0, kShown));
    const bool of_func = plain == "func" || plain == "call" || plain == "return";
    full = absl::StrCat(of_func ? "func." : "stablehlo.", plain);
  }
  known.row = FindOp(full);
  if (full == "builtin.module") {
    known.kind = KnownOp::Kind::kModule;
  } else if (full == "func.func") {
    known.kind = KnownOp::Kind::kFunction;
  } else if (full == "sdy.mesh") {
    known.kind = KnownOp::Kind::kMesh;
  } else if (known.row == nullptr) {
    in->FailAt(at, absl::StrCat("expected an operation of stablehlo, chlo, func or vhlo, found `", known.name, "`"));
    return nullptr;
  } else if (known.row->lower == nullptr && known.row->form != Form::kReturn) {
    in->FailAt(at, absl::StrCat("`", known.name, "` is not supported: ", known.row->refusal));
    return nullptr;
  } else {
    known.kind = KnownOp::Kind::kOperation;
  }
  return &known;
}

bool BytecodeReader::ReadOpHeader(Cursor* in, Scope* scope, OpHeader* out) {
  out->at = in->at();
  if (++operations_ > options_.max_instructions) {
    return in->Fail(absl::StrCat("has more than ", options_.max_instructions, " operations"));
  }
  out->known = ReadOpName(in);
  uint8_t parts = 0;
  if (out->known == nullptr || !in->Byte(&parts)) return false;
  if ((parts & ~kAllParts) != 0) return in->Fail(absl::StrCat("an operation has unknown parts, ", parts));
  if (!in->Index("attribute", attributes_.size(), &out->location)) return false;
  Parent parent;
  if ((parts & kHasAttributes) != 0) {
    const Attr* attributes = ReadAttrRef(&parent, in);
    if (attributes == nullptr) return false;
    if (attributes->kind != Kind::kDictionary) return in->Fail("the attributes of an operation should be a dictionary");
    out->attributes = attributes->fields;
  }
  if ((parts & kHasProperties) != 0 && !ReadProperties(in, out)) return false;
  if ((parts & kHasResults) != 0) {
    uint64_t count = 0;
    if (!in->Count("results", &count)) return false;
    for (uint64_t i = 0; i < count; ++i) {
      const TypeEntry* type = ReadTypeRef(&parent, in);
      if (type == nullptr || !UsableType(*type, in)) return false;
      out->results.push_back(type->shape);
    }
  }
  if ((parts & kHasOperands) != 0) {
    uint64_t count = 0, index = 0;
    if (!in->Count("operands", &count)) return false;
    for (uint64_t i = 0; i < count; ++i) {
      if (!in->Index("value", scope->values.size(), &index)) return false;
      if (scope->values[index] == nullptr)
        return in->Fail(absl::StrCat("value ", index, " is used before it is defined"));
      out->operands.push_back(scope->values[index]);
    }
  }
  if ((parts & kHasSuccessors) != 0) return in->Fail("operations with successors are not supported");
  if ((parts & kHasUseLists) != 0 && !SkipUseLists(out->results.size(), in)) return false;
  if ((parts & kHasRegions) != 0) {
    if (!in->VarIntWithFlag(&out->regions, &out->isolated)) return false;
    if (out->regions > in->remaining()) return in->Fail(absl::StrCat("cannot have ", out->regions, " regions"));
  }
  if (out->known->is_vhlo && !FromVhlo(out, in)) return false;
  // Dictionaries that go on as text.
  for (auto& [name, attr] : out->attributes) {
    const bool as_text = name == "backend_config" || name == "mhlo.backend_config" || name == "composite_attributes";
    if (as_text && attr.kind == Kind::kDictionary && attr.source.empty()) attr.source = Keep(AttrText(attr));
  }
  return true;
}

// References to attributes, one for each property; that of an optional one has a flag that says whether it is there.
bool BytecodeReader::ReadProperties(Cursor* in, OpHeader* op) {
  uint64_t index = 0;
  if (!in->VarInt(&index)) return false;
  const KnownOp& known = *op->known;
  if (!known.registered) {  // by a writer that did not know the operation: a dictionary
    Parent parent;
    const Attr* attr = AttrAt(index, &parent, in);
    if (attr == nullptr) return false;
    op->attributes.insert(op->attributes.end(), attr->fields.begin(), attr->fields.end());
    return true;
  }
  if (!in->CheckIndex("property", index, sections_.properties.size())) return false;
  Cursor data(sections_.properties[index], "property", &errors_);
  std::vector<uint64_t> values;
  while (data.remaining() > 0) {
    values.emplace_back();
    if (!data.VarInt(&values.back())) return false;
  }
  const absl::string_view name = known.row != nullptr                     ? known.row->name
                                 : known.kind == KnownOp::Kind::kFunction ? "func.func"
                                                                          : absl::string_view(known.name);
  std::vector<absl::string_view> names;
  if (!PropertyNames(name, known.is_vhlo, values.size(), &names)) {
    return in->FailAt(op->at,
                      absl::StrCat("`", known.name, "` has ", values.size(), " properties, expected ", names.size()));
  }
  Parent parent;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool optional = absl::ConsumeSuffix(&names[i], "?");
    if (optional && (values[i] & 1) == 0) continue;
    const Attr* attr = AttrAt(optional ? values[i] >> 1 : values[i], &parent, &data);
    if (attr == nullptr) return false;
    op->attributes.push_back({std::string(names[i]), *attr});
  }
  return true;
}

// The order in which MLIR keeps the uses of values.
bool BytecodeReader::SkipUseLists(uint64_t values, Cursor* in) {
  uint64_t lists = 1, value = 0, count = 0;
  bool pairs = false;
  if (values != 1 && !in->Count("orders of uses", &lists)) return false;
  for (uint64_t i = 0; i < lists; ++i) {
    if (values != 1 && !in->Index("value", values, &value)) return false;
    if (!in->VarIntWithFlag(&count, &pairs)) return false;
    if (count > in->remaining()) return in->Fail("the order of a value's uses is longer than what is left");
    for (uint64_t j = 0; j < count; ++j) {
      if (!in->VarInt(&value)) return false;
    }
  }
  return true;
}

Value* BytecodeReader::NewValue(const Shape& shape, const Operation* definition, int64_t index) {
  program_.values.push_back({"", shape, definition, index});
  return &program_.values.back();
}

bool BytecodeReader::DefineValue(Value* value, uint64_t* next_value, Scope* scope, Cursor* in) {
  if (*next_value >= scope->values.size()) return in->Fail("a region defines more values than it says");
  const bool argument = value->definition == nullptr;
  value->name = Keep(argument ? absl::StrCat("arg", value->index) : absl::StrCat(*next_value));
  scope->values[(*next_value)++] = value;
  return true;
}

bool BytecodeReader::ReadOperation(Cursor* in, Scope* scope, uint64_t* next_value, Region* region) {
  OpHeader header;
  if (!ReadOpHeader(in, scope, &header)) return false;
  const KnownOp& known = *header.known;
  if (known.kind != KnownOp::Kind::kOperation) {
    return in->FailAt(header.at, absl::StrCat("`", known.name, "` cannot stand inside of a function"));
  }
  const OpRow& row = *known.row;
  if (const std::string wrong = WrongCounts(row, header.operands.size(), header.regions); !wrong.empty()) {
    return in->FailAt(header.at, absl::StrCat(row.name, ": ", wrong));
  }
  constexpr size_t kMaxAttributes = 4096;  // they are searched by name one after the other
  if (header.attributes.size() > kMaxAttributes) {
    return in->FailAt(header.at, absl::StrCat(row.name, ": has ", header.attributes.size(), " attributes"));
  }
  absl::flat_hash_set<absl::string_view> names;
  for (const auto& [name, attr] : header.attributes) {
    if (!names.insert(name).second) {
      return in->FailAt(header.at, absl::StrCat(row.name, ": attribute `", name, "` is given twice"));
    }
  }
  auto op = std::make_unique<Operation>();
  op->row = &row;
  op->name = row.name;
  op->at = header.at;
  op->attributes = std::move(header.attributes);
  op->operands = std::move(header.operands);
  op->location = AliasOf(header.location);
  for (size_t i = 0; i < header.results.size(); ++i) {
    op->results.push_back(NewValue(header.results[i], op.get(), static_cast<int64_t>(i)));
    if (!DefineValue(op->results.back(), next_value, scope, in)) return false;
  }
  if (!ReadRegions(header, in, scope, &op->regions)) return false;
  region->operations.push_back(std::move(op));
  return true;
}

// Where the operation's regions are to be read: a section of their own if it is isolated, since version 2.
Cursor* BytecodeReader::OpenRegions(const OpHeader& header, Cursor* in, Cursor* section) {
  if (!header.isolated || header.regions == 0 || sections_.version < kIsolatedSections) return in;
  SectionId id;
  absl::string_view bytes;
  if (!ReadSection(in, file_, &id, &bytes)) return nullptr;
  if (id != SectionId::kIr) {
    in->Fail("expected a section of operations");
    return nullptr;
  }
  *section = Cursor(bytes, "section of operations", &errors_);
  return section;
}

// Those of an operation that is isolated have values of their own.
bool BytecodeReader::ReadRegions(const OpHeader& header, Cursor* in, Scope* scope, std::vector<Region>* regions) {
  Scope own;
  Scope* inner = header.isolated ? &own : scope;
  Cursor section = *in;
  Cursor* from = OpenRegions(header, in, &section);
  if (from == nullptr) return false;
  regions->resize(header.regions);
  for (Region& region : *regions) {
    region.at = header.at;
    if (!ReadRegion(from, inner, &region)) return false;
  }
  return from == in || section.AtEnd("the operation's regions have");
}

bool BytecodeReader::ReadRegion(Cursor* in, Scope* scope, Region* region) {
  if (depth_ >= options_.max_nesting) return in->Fail(absl::StrCat("nested more than ", options_.max_nesting, " deep"));
  uint64_t blocks = 0, values = 0, operations = 0;
  if (!in->VarInt(&blocks)) return false;
  if (blocks == 0) return true;
  if (blocks > 1) return in->Fail("regions of several blocks are not supported");
  if (!in->Count("values", &values)) return false;
  // Values of this region are numbered behind those that are visible here, and are forgotten at its end.
  uint64_t next_value = scope->values.size();
  const uint64_t outer = next_value;
  scope->values.resize(outer + values);
  bool arguments = false;
  if (!in->VarIntWithFlag(&operations, &arguments)) return false;
  if (arguments && !ReadBlockArguments(in, scope, &next_value, region)) return false;
  ++depth_;
  for (uint64_t i = 0; i < operations; ++i) {
    if (!ReadOperation(in, scope, &next_value, region)) return false;
  }
  --depth_;
  if (next_value != scope->values.size()) return in->Fail("a region defines fewer values than it says");
  scope->values.resize(outer);
  return true;
}

bool BytecodeReader::ReadBlockArguments(Cursor* in, Scope* scope, uint64_t* next_value, Region* region) {
  uint64_t count = 0;
  Parent parent;
  if (!in->Count("arguments", &count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t type_index = 0, location = 0;
    bool located = true;
    if (sections_.version < kElidedLocations ? !in->VarInt(&type_index) : !in->VarIntWithFlag(&type_index, &located)) {
      return false;
    }
    const TypeEntry* type = TypeAt(type_index, &parent, in);
    if (type == nullptr || !UsableType(*type, in)) return false;
    if (located && !in->Index("attribute", attributes_.size(), &location)) return false;
    region->arguments.push_back(NewValue(type->shape, nullptr, static_cast<int64_t>(i)));
    if (!DefineValue(region->arguments.back(), next_value, scope, in)) return false;
  }
  uint8_t orders = 0;
  if (sections_.version < kUseListOrders) return true;
  return in->Byte(&orders) && (orders == 0 || SkipUseLists(count, in));
}

}  // namespace xc::stablehlo
