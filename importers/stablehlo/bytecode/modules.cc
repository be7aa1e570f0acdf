// Modules, functions and meshes.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "importers/stablehlo/bytecode/reader.h"
#include "importers/stablehlo/syntax/parser.h"

namespace xc::stablehlo {

using Kind = Attr::Kind;

// The file is a block whose one operation is the module.
bool BytecodeReader::ReadModule() {
  Cursor in(sections_.ir, "section of operations", &errors_);
  uint64_t operations = 0;
  bool arguments = false;
  if (!in.VarIntWithFlag(&operations, &arguments)) return false;
  if (operations != 1 || arguments) return in.Fail("expected one operation, a module");
  OpHeader header;
  Scope scope;
  if (!ReadOpHeader(&in, &scope, &header)) return false;
  if (header.known->kind != KnownOp::Kind::kModule) {
    return in.FailAt(header.at, absl::StrCat("expected a module, found `", header.known->name, "`"));
  }
  if (header.regions != 1) return in.Fail("a module should have one region");
  if (!header.operands.empty() || !header.results.empty()) return in.Fail("a module has no operands and no results");
  program_.attributes = std::move(header.attributes);
  if (const Attr* name = FindAttr(program_.attributes, "sym_name"); name != nullptr) program_.name = name->text;
  Cursor section = in;
  Cursor* from = OpenRegions(header, &in, &section);
  if (from == nullptr) return false;
  uint64_t blocks = 0, values = 0, items = 0;
  if (!from->VarInt(&blocks)) return false;
  if (blocks != 1) return from->Fail(absl::StrCat("a module should have one block, found ", blocks));
  if (!from->VarInt(&values) || !from->VarIntWithFlag(&items, &arguments)) return false;
  if (values != 0 || arguments) return from->Fail("a module should have no values of its own");
  for (uint64_t i = 0; i < items; ++i) {
    if (!ReadItemOfModule(from, &scope)) return false;
  }
  return from->AtEnd("the module has") && in.AtEnd("the module has");
}

bool BytecodeReader::ReadItemOfModule(Cursor* in, Scope* scope) {
  OpHeader header;
  if (!ReadOpHeader(in, scope, &header)) return false;
  switch (header.known->kind) {
    case KnownOp::Kind::kFunction:
      return ReadFunction(header, in, scope);
    case KnownOp::Kind::kMesh:
      return ReadMesh(header, in);
    default:
      return in->FailAt(header.at, absl::StrCat("expected a function or a mesh, found `", header.known->name, "`"));
  }
}

bool BytecodeReader::ReadFunction(const OpHeader& header, Cursor* in, Scope* scope) {
  const auto fail = [&](absl::string_view message) {
    return in->FailAt(header.at, absl::StrCat("func.func: ", message));
  };
  auto function = std::make_unique<Function>();
  function->at = header.at;
  const Attr* name = FindAttr(header.attributes, "sym_name");
  const Attr* type = FindAttr(header.attributes, "function_type");
  if (name == nullptr || name->kind != Kind::kString) return fail("expected a string `sym_name`");
  if (type == nullptr || type->kind != Kind::kType || type->shape.tuple_size() != 2 ||
      !type->shape.tuple_shape(0).IsTuple() || !type->shape.tuple_shape(1).IsTuple()) {
    return fail("expected a function's type as `function_type`");
  }
  function->name = name->text;
  function->results = type->shape.tuple_shape(1).tuple_shapes();
  const std::vector<Shape>& parameters = type->shape.tuple_shape(0).tuple_shapes();
  if (const Attr* visibility = FindAttr(header.attributes, "sym_visibility"); visibility != nullptr) {
    function->is_private = visibility->text == "private";
  }
  if (header.regions != 1) return fail("a function should have one region");
  if (!header.operands.empty() || !header.results.empty()) return fail("a function has no operands and no results");
  std::vector<Region> regions;
  if (!ReadRegions(header, in, scope, &regions)) return false;
  function->body = std::move(regions[0]);
  function->has_body = !function->body.operations.empty();
  bool same = !function->has_body || parameters.size() == function->body.arguments.size();
  for (size_t i = 0; same && function->has_body && i < parameters.size(); ++i) {
    same = parameters[i] == function->body.arguments[i]->shape;
  }
  if (!same) return fail("`function_type` differs from the arguments of the function's block");
  const auto each = [&](absl::string_view key, size_t count, std::vector<AttrList>* out) {
    out->resize(count);
    const Attr* list = FindAttr(header.attributes, key);
    for (size_t i = 0; list != nullptr && i < count && i < list->items.size(); ++i) (*out)[i] = list->items[i].fields;
  };
  each("arg_attrs", parameters.size(), &function->argument_attributes);
  each("res_attrs", function->results.size(), &function->result_attributes);
  if (!program_.by_name.emplace(function->name, function.get()).second) {
    return fail(absl::StrCat("the function @", function->name, " is defined twice"));
  }
  program_.functions.push_back(std::move(function));
  return true;
}

// A mesh, `#sdy.mesh<["x"=2]>`, as the parser of assembly reads it.
bool BytecodeReader::ReadMesh(const OpHeader& header, Cursor* in) {
  if (header.regions != 0) return in->FailAt(header.at, "sdy.mesh: has no regions");
  const Attr* mesh = FindAttr(header.attributes, "mesh");
  const Attr* name = FindAttr(header.attributes, "sym_name");
  absl::string_view text = mesh != nullptr ? mesh->source : "";
  if (!absl::ConsumePrefix(&text, "#sdy.mesh") || name == nullptr) {
    return in->FailAt(header.at, "sdy.mesh: expected a mesh with a name");
  }
  const std::string written = absl::StrCat("sdy.mesh @mesh = ", text);
  Program scratch;
  Parser parser(written, text_options_, &scratch);
  if (!parser.ParseProgram() || scratch.meshes.empty()) {
    return in->FailAt(header.at, absl::StrCat("sdy.mesh: the mesh @", name->text.substr(0, 100), " (",
                                              text.substr(0, 100), ") cannot be read"));
  }
  if (program_.meshes.emplace(name->text, std::move(scratch.meshes.begin()->second)).second) return true;
  return in->FailAt(header.at, absl::StrCat("the mesh @", name->text.substr(0, 100), " is defined twice"));
}

}  // namespace xc::stablehlo
