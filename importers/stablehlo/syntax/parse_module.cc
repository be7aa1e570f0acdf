// Modules and functions, in their short and generic forms, and what stands beside them: aliases and meshes.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "importers/stablehlo/syntax/parser.h"

namespace xc::stablehlo {

using Kind = Attr::Kind;

bool Parser::ParseProgram() {
  while (lex_.tok().kind != Tok::kEof) {
    op_name_ = {};
    if (lex_.AtName("module") || lex_.AtName("builtin.module")) {
      if (!ParseModule()) return false;
    } else if (lex_.tok().kind == Tok::kString && lex_.tok().text == "builtin.module") {
      if (!ParseGenericModule()) return false;
    } else if (!ParseItemOfModule()) {
      return false;
    }
  }
  return true;
}

// A function, an alias or a mesh.
bool Parser::ParseItemOfModule() {
  op_name_ = {};
  if (lex_.At('#') || lex_.At('!')) return ParseAlias();
  if (lex_.AtName("func.func") || lex_.AtName("func")) return ParseFunction();
  if (lex_.AtName("sdy.mesh")) return ParseMesh();
  if (lex_.tok().kind == Tok::kString && lex_.tok().text == "func.func") return ParseGenericFunction();
  if (lex_.At('{')) return Fail(lex_.tok().begin, "resources (`{-# … #-}`) are not supported");
  return Expected("a module, a function or an alias");
}

bool Parser::ParseModule() {
  op_name_ = "module";
  lex_.Next();
  if (AtWord() && absl::StartsWith(lex_.tok().text, "@") && !ParseSymbol(&program_.name)) return false;
  if (AcceptName("attributes") && !ParseDictionary(&program_.attributes)) return false;
  if (!Expect('{')) return false;
  while (!Accept('}')) {
    if (!ParseItemOfModule()) return false;
  }
  Location ignored;
  return ParseOptionalLocation(&ignored);
}

// `"builtin.module"() <{…}> ({ ^bb0: functions }) {…} : () -> ()`.
bool Parser::ParseGenericModule() {
  op_name_ = "builtin.module";
  lex_.Next();
  if (!Expect('(') || !Expect(')')) return false;
  if (Accept('<') && (!ParseDictionary(&program_.attributes) || !Expect('>'))) return false;
  if (!Expect('(') || !Expect('{')) return false;
  if (Accept('^') && (lex_.Next(), !Expect(':'))) return false;
  while (!Accept('}')) {
    if (!ParseItemOfModule()) return false;
  }
  op_name_ = "builtin.module";
  AttrList more;
  OpTypes types;
  Location ignored;
  if (!Expect(')') || (lex_.At('{') && !ParseDictionary(&more))) return false;
  if (!Expect(':') || !ParseOpTypes(&types) || !ParseOptionalLocation(&ignored)) return false;
  for (auto& entry : more) program_.attributes.push_back(std::move(entry));
  if (const Attr* name = FindAttr(program_.attributes, "sym_name"); name != nullptr) program_.name = name->text;
  return true;
}

bool Parser::AddFunction(std::unique_ptr<Function> function) {
  if (!program_.by_name.emplace(function->name, function.get()).second) {
    return Fail(function->at, absl::StrCat("the function @", function->name, " is defined twice"));
  }
  program_.functions.push_back(std::move(function));
  return true;
}

// `func.func private @f(%a: T {…}) -> (T {…}) attributes {…} { … }`.
bool Parser::ParseFunction() {
  op_name_ = "func.func";
  lex_.Next();
  auto function = std::make_unique<Function>();
  function->is_private = lex_.AtName("private");
  if (!AcceptName("private") && !AcceptName("public")) AcceptName("nested");
  function->at = lex_.tok().begin;
  if (!ParseSymbol(&function->name)) return false;
  scopes_.clear();
  scopes_.emplace_back();
  if (!Expect('(')) return false;
  Location ignored;
  while (!lex_.At(')')) {
    if (AtValue()) {
      if (!ParseArgument(&function->body)) return false;
    } else {  // of a function without a body
      Shape shape;
      if (!ParseType(&shape)) return false;
      function->body.arguments.push_back(NewValue("", shape, nullptr, function->body.arguments.size()));
    }
    function->argument_attributes.emplace_back();
    if (lex_.At('{') && !ParseDictionary(&function->argument_attributes.back())) return false;
    if (!ParseOptionalLocation(&ignored)) return false;
    if (!lex_.At(')') && !Expect(',')) return false;
  }
  lex_.Next();
  if (lex_.tok().kind == Tok::kArrow) {
    lex_.Next();
    const auto result = [&] {
      function->results.emplace_back();
      function->result_attributes.emplace_back();
      return ParseType(&function->results.back());
    };
    if (!Accept('(')) {
      if (!result()) return false;
    } else {
      while (!lex_.At(')')) {
        if (!result()) return false;
        if (lex_.At('{') && !ParseDictionary(&function->result_attributes.back())) return false;
        if (!lex_.At(')') && !Expect(',')) return false;
      }
      lex_.Next();
    }
  }
  AttrList attributes;
  if (AcceptName("attributes") && !ParseDictionary(&attributes)) return false;
  if (lex_.At('{')) {
    function->has_body = true;
    // The arguments are in scope already.
    std::vector<Value*> arguments = std::move(function->body.arguments);
    function->body.arguments.clear();
    if (!ParseRegion(&function->body)) return false;
    if (!function->body.arguments.empty()) return Fail(function->at, "its block should have no arguments of its own");
    function->body.arguments = std::move(arguments);
  }
  return ParseOptionalLocation(&ignored) && AddFunction(std::move(function));
}

// `"func.func"() <{function_type = (T) -> T, sym_name = "f"}> ({ ^bb0(%a: T): … }) {…} : () -> ()`.
bool Parser::ParseGenericFunction() {
  op_name_ = "func.func";
  auto function = std::make_unique<Function>();
  function->at = lex_.tok().begin;
  lex_.Next();
  scopes_.clear();
  scopes_.emplace_back();
  AttrList attributes, more;
  if (!Expect('(') || !Expect(')')) return false;
  if (Accept('<') && (!ParseDictionary(&attributes) || !Expect('>'))) return false;
  if (!Expect('(')) return false;
  if (lex_.At('{')) {
    if (!ParseRegion(&function->body)) return false;
    function->has_body = !function->body.operations.empty();
  }
  op_name_ = "func.func";
  OpTypes types;
  Location ignored;
  if (!Expect(')') || (lex_.At('{') && !ParseDictionary(&more))) return false;
  if (!Expect(':') || !ParseOpTypes(&types) || !ParseOptionalLocation(&ignored)) return false;
  for (auto& entry : more) attributes.push_back(std::move(entry));
  const Attr* name = FindAttr(attributes, "sym_name");
  const Attr* type = FindAttr(attributes, "function_type");
  if (name == nullptr || name->kind != Kind::kString) return Fail(function->at, "expected a string `sym_name`");
  if (type == nullptr || type->kind != Kind::kType || type->shape.tuple_size() != 2 ||
      !type->shape.tuple_shape(0).IsTuple() || !type->shape.tuple_shape(1).IsTuple()) {
    return Fail(function->at, "expected a function's type as `function_type`");
  }
  function->name = name->text;
  function->results = type->shape.tuple_shape(1).tuple_shapes();
  const std::vector<Shape>& parameters = type->shape.tuple_shape(0).tuple_shapes();
  bool same = parameters.size() == function->body.arguments.size() || !function->has_body;
  for (size_t i = 0; same && function->has_body && i < parameters.size(); ++i) {
    same = parameters[i] == function->body.arguments[i]->shape;
  }
  if (!same) return Fail(function->at, "`function_type` differs from the arguments of the function's block");
  if (const Attr* visibility = FindAttr(attributes, "sym_visibility"); visibility != nullptr) {
    function->is_private = visibility->text == "private";
  }
  const auto each = [&](absl::string_view key, size_t count, std::vector<AttrList>* out) {
    out->resize(count);
    const Attr* list = FindAttr(attributes, key);
    for (size_t i = 0; list != nullptr && i < count && i < list->items.size(); ++i) (*out)[i] = list->items[i].fields;
  };
  each("arg_attrs", parameters.size(), &function->argument_attributes);
  each("res_attrs", function->results.size(), &function->result_attributes);
  return AddFunction(std::move(function));
}

// `#name = attribute`, `#loc1 = loc(…)`, `!name = type`.
bool Parser::ParseAlias() {
  const bool type = lex_.At('!');
  lex_.Next();
  if (!AtWord()) return Expected("the name of an alias");
  const char* at = lex_.tok().begin;
  const std::string name(lex_.tok().text);
  lex_.Next();
  if (!Expect('=')) return false;
  bool fresh = true;
  if (type) {
    Shape shape;
    if (!ParseType(&shape)) return false;
    fresh = type_aliases_.emplace(name, std::move(shape)).second;
  } else if (AtLocation()) {
    Location location;
    if (!ParseOptionalLocation(&location)) return false;
    fresh = program_.locations.emplace(name, std::move(location)).second;
  } else {
    Attr attr;
    if (!ParseAttr(&attr, true)) return false;
    fresh = attr_aliases_.emplace(name, std::move(attr)).second;
  }
  return fresh || Fail(at, absl::StrCat("the alias `", name, "` is defined twice"));
}

// `sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[…]> {stablehlo.mesh = …}`.
bool Parser::ParseMesh() {
  op_name_ = "sdy.mesh";
  const char* at = lex_.tok().begin;
  lex_.Next();
  std::string name;
  DeviceMesh mesh;
  if (!ParseSymbol(&name) || !Expect('=') || !Expect('<') || !Expect('[')) return false;
  while (!lex_.At(']')) {
    if (lex_.tok().kind != Tok::kString) return Expected("the name of an axis");
    mesh.axes.emplace_back();
    mesh.axes.back().name = std::string(lex_.tok().text);
    lex_.Next();
    if (!Expect('=') || !ParseInt(&mesh.axes.back().size)) return false;
    if (mesh.axes.back().size < 1) return Fail(at, absl::StrCat("the mesh @", name, " has an axis without devices"));
    if (!lex_.At(']') && !Expect(',')) return false;
  }
  lex_.Next();
  if (Accept(',')) {  // the order of devices, or the one that holds everything
    Attr ids;
    if (!ExpectName("device_ids") || !Expect('=') || !ParseAttr(&ids, false)) return false;
    mesh.device_ids = ids.ints;
  }
  AttrList the_same_for_stablehlo;
  Location ignored;
  if (!Expect('>') || (lex_.At('{') && !ParseDictionary(&the_same_for_stablehlo)) || !ParseOptionalLocation(&ignored)) {
    return false;
  }
  return program_.meshes.emplace(name, std::move(mesh)).second ||
         Fail(at, absl::StrCat("the mesh @", name, " is defined twice"));
}

}  // namespace xc::stablehlo
