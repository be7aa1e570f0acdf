#include "jit/graph/op_def.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "hlo/base/check.h"

namespace xc {
namespace {

struct Row {
  const char* name;
  const char* inputs;
  const char* outputs;
  const char* attrs;
  bool stateful;
};

#define OP(name, inputs, outputs, attrs, stateful) {#name, inputs, outputs, attrs, stateful},
constexpr Row kRows[] = {
#include "jit/graph/op_table.def"
};
#undef OP

std::vector<std::string> Words(absl::string_view text) { return absl::StrSplit(text, ' ', absl::SkipEmpty()); }

ArgSignature ParseArg(absl::string_view text) {
  ArgSignature arg;
  arg.is_ref = absl::ConsumePrefix(&text, "&");
  std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  XC_CHECK_EQ(parts.size(), 2u);
  arg.name = parts[0];
  std::string type = parts[1];
  if (type[0] == '*') {
    arg.type_list_attr = type.substr(1);
    return arg;
  }
  if (size_t star = type.find('*'); star != std::string::npos) {
    arg.number_attr = type.substr(0, star);
    type = type.substr(star + 1);
  }
  if (type[0] == '=') {
    arg.type = DataTypeFromEnumName(type.substr(1));
  } else {
    arg.type_attr = type;
  }
  return arg;
}

void SetDefault(const std::string& kind, const std::string& text, tf::AttrValue* value) {
  if (absl::StartsWith(kind, "list(")) {
    std::string inner = text.substr(1, text.size() - 2);
    auto* list = value->mutable_list();
    for (const std::string& item : std::vector<std::string>(absl::StrSplit(inner, ',', absl::SkipEmpty()))) {
      if (kind == "list(int)") list->add_i(std::stoll(item));
      if (kind == "list(float)") list->add_f(std::stof(item));
      if (kind == "list(type)") list->add_type(DataTypeFromEnumName(item));
      if (kind == "list(string)") list->add_s(item);
      if (kind == "list(bool)") list->add_b(item == "true");
    }
    return;
  }
  if (kind == "int") value->set_i(std::stoll(text));
  if (kind == "float") value->set_f(std::stof(text));
  if (kind == "bool") value->set_b(text == "true");
  if (kind == "string") value->set_s(text);
  if (kind == "type") value->set_type(DataTypeFromEnumName(text));
  if (kind == "shape") {
    if (text == "?") {
      value->mutable_shape()->set_unknown_rank(true);
    } else {
      value->mutable_shape();
      for (const std::string& d : std::vector<std::string>(absl::StrSplit(text, 'x', absl::SkipEmpty()))) {
        value->mutable_shape()->add_dim()->set_size(std::stoll(d));
      }
    }
  }
}

AttrSignature ParseAttr(const std::string& text) {
  AttrSignature attr;
  size_t colon = text.find(':');
  attr.name = text.substr(0, colon);
  std::string rest = text.substr(colon + 1);
  size_t eq = rest.find('=');
  attr.kind = rest.substr(0, eq);
  if (eq != std::string::npos) {
    attr.has_default = true;
    SetDefault(attr.kind, rest.substr(eq + 1), &attr.default_value);
  }
  return attr;
}

std::map<std::string, OpSignature> ParseTable() {
  std::map<std::string, OpSignature> out;
  for (const Row& row : kRows) {
    OpSignature def;
    def.name = row.name;
    for (const std::string& word : Words(row.inputs)) def.inputs.push_back(ParseArg(word));
    for (const std::string& word : Words(row.outputs)) def.outputs.push_back(ParseArg(word));
    for (const std::string& word : Words(row.attrs)) def.attrs.push_back(ParseAttr(word));
    def.stateful = row.stateful;
    out.emplace(def.name, std::move(def));
  }
  return out;
}

}  // namespace

const AttrSignature* OpSignature::FindAttr(const std::string& name) const {
  for (const AttrSignature& attr : attrs) {
    if (attr.name == name) return &attr;
  }
  return nullptr;
}

const std::map<std::string, OpSignature>& AllOpDefs() {
  static const auto* table = new std::map<std::string, OpSignature>(ParseTable());
  return *table;
}

const OpSignature* FindOpDef(const std::string& name) {
  const auto& table = AllOpDefs();
  auto it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}

}  // namespace xc
