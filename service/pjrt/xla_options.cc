#include "service/pjrt/xla_options.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace xc::pjrt {
namespace {

enum class Kind { kBool, kInt32, kInt64, kFloat, kText, kEnum, kEnums, kOther };

struct Option {
  Kind kind;
  absl::string_view choices;
};

const absl::flat_hash_map<absl::string_view, Option>& Options() {
  using enum Kind;
  static const auto* const options = new absl::flat_hash_map<absl::string_view, Option>{
#define XC_XLA_OPTION(name, kind, choices) {name, {kind, choices}},
#include "service/pjrt/xla_options.def"
#undef XC_XLA_OPTION
  };
  return *options;
}

absl::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kBool:
      return "bool";
    case Kind::kInt32:
      return "int32";
    case Kind::kInt64:
      return "int64";
    case Kind::kFloat:
      return "float";
    case Kind::kText:
      return "string";
    case Kind::kEnum:
    case Kind::kEnums:
      return "enum";
    case Kind::kOther:
      break;
  }
  return "message";
}

bool IsText(const pb::OptionOverrideProto& value) {
  return value.value_case() == pb::OptionOverrideProto::kStringField;
}

std::string TextOf(const pb::OptionOverrideProto& value) {
  switch (value.value_case()) {
    case pb::OptionOverrideProto::kStringField:
      return value.string_field();
    case pb::OptionOverrideProto::kBoolField:
      return value.bool_field() ? "true" : "false";
    case pb::OptionOverrideProto::kIntField:
      return absl::StrCat(value.int_field());
    case pb::OptionOverrideProto::kDoubleField:
      return absl::StrCat(value.double_field());
    default:
      return "";
  }
}

// As Python writes them.
bool IsTrue(absl::string_view text) { return text == "True"; }
bool IsFalse(absl::string_view text) { return text == "False"; }

// By its name, or its number.
bool IsChoice(const Option& option, absl::string_view text) {
  for (absl::string_view choice : absl::StrSplit(option.choices, ' ')) {
    if (choice == text) return true;
  }
  int64_t number = 0;
  return absl::SimpleAtoi(text, &number);
}

bool Fits(const Option& option, const pb::OptionOverrideProto& value) {
  const bool is_text = IsText(value);
  const std::string& text = value.string_field();
  int64_t number = 0;
  double real = 0;
  switch (option.kind) {
    case Kind::kBool:
      return value.value_case() == pb::OptionOverrideProto::kBoolField || (is_text && (IsTrue(text) || IsFalse(text)));
    case Kind::kInt32:
    case Kind::kInt64:
      if (is_text) {
        if (!absl::SimpleAtoi(text, &number)) return false;
      } else if (value.value_case() == pb::OptionOverrideProto::kIntField) {
        number = value.int_field();
      } else {
        return false;
      }
      return option.kind == Kind::kInt64 || (number >= INT32_MIN && number <= INT32_MAX);
    case Kind::kFloat:
      return is_text ? absl::SimpleAtod(text, &real) : value.value_case() == pb::OptionOverrideProto::kDoubleField;
    case Kind::kText:
      return is_text;
    case Kind::kEnum:
    case Kind::kEnums:
      if (!is_text) return value.value_case() == pb::OptionOverrideProto::kIntField;
      if (option.kind == Kind::kEnum) return IsChoice(option, text);
      for (absl::string_view one : absl::StrSplit(text, ',', absl::SkipEmpty())) {
        if (!IsChoice(option, one)) return false;
      }
      return true;
    case Kind::kOther:
      return is_text && text.empty();
  }
  return false;
}

}  // namespace

absl::Status CheckXlaOption(const std::string& name, const pb::OptionOverrideProto& value) {
  const auto found = Options().find(name);
  if (found == Options().end()) {
    return absl::InvalidArgumentError(absl::StrCat("No such compile option: '", name, "'"));
  }
  if (Fits(found->second, value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("While setting option ", name, ", '", TextOf(value),
                                                 "' is not a valid ", KindName(found->second.kind), " value."));
}

bool BoolOf(const pb::OptionOverrideProto& value) {
  return IsText(value) ? IsTrue(value.string_field()) : value.bool_field();
}

}  // namespace xc::pjrt
