#include "tools/flags.h"

#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/suggest.h"

namespace xc {

void FlagSet::Add(absl::string_view name, bool* value, absl::string_view help) {
  flags_.push_back({std::string(name), std::string(help), *value ? "true" : "false", value});
}
void FlagSet::Add(absl::string_view name, int64_t* value, absl::string_view help, int64_t at_least) {
  flags_.push_back({std::string(name), std::string(help), absl::StrCat(*value), value, static_cast<double>(at_least)});
}
void FlagSet::Add(absl::string_view name, double* value, absl::string_view help, double at_least) {
  flags_.push_back({std::string(name), std::string(help), absl::StrCat(*value), value, at_least});
}
void FlagSet::Add(absl::string_view name, std::string* value, absl::string_view help) {
  flags_.push_back({std::string(name), std::string(help), *value, value});
}

FlagSet::Flag* FlagSet::Find(absl::string_view name) {
  for (Flag& flag : flags_) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

absl::Status FlagSet::Set(Flag* flag, absl::string_view text) {
  bool ok = true, in_range = true;
  const char* kind = "";
  if (auto** b = std::get_if<bool*>(&flag->value)) {
    kind = "true or false";
    ok = absl::SimpleAtob(text, *b);
  } else if (auto** i = std::get_if<int64_t*>(&flag->value)) {
    kind = "a whole number";
    ok = absl::SimpleAtoi(text, *i);
    in_range = static_cast<double>(**i) >= flag->at_least;
  } else if (auto** d = std::get_if<double*>(&flag->value)) {
    kind = "a number";
    ok = absl::SimpleAtod(text, *d);
    in_range = **d >= flag->at_least;  // which NaN is not
  } else {
    *std::get<std::string*>(flag->value) = std::string(text);
  }
  if (!ok) return absl::InvalidArgumentError(absl::StrCat("--", flag->name, " takes ", kind, ", not '", text, "'"));
  if (in_range) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", flag->name, " must be at least ", flag->at_least));
}

absl::Status FlagSet::Parse(const std::vector<std::string>& args) {
  bool flags_over = false;
  for (size_t i = 0; i < args.size(); ++i) {
    absl::string_view arg = args[i];
    if (flags_over || arg.size() < 2 || arg[0] != '-') {
      positional_.push_back(args[i]);
      continue;
    }
    if (arg == "--") {
      flags_over = true;
      continue;
    }
    if (arg == "--help" || arg == "-h") {
      help_wanted_ = true;
      continue;
    }
    arg.remove_prefix(absl::StartsWith(arg, "--") ? 2 : 1);
    const size_t equals = arg.find('=');
    const absl::string_view name = arg.substr(0, equals);
    Flag* flag = Find(name);
    if (flag == nullptr && absl::StartsWith(name, "no") && equals == absl::string_view::npos) {
      Flag* negated = Find(name.substr(2));
      if (negated != nullptr && std::holds_alternative<bool*>(negated->value)) {
        *std::get<bool*>(negated->value) = false;
        continue;
      }
    }
    if (flag == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("unknown flag '", args[i], "': --help lists those that there are",
                                                     DidYouMean(name, Names(), "--")));
    }
    if (equals != absl::string_view::npos) {
      if (absl::Status status = Set(flag, arg.substr(equals + 1)); !status.ok()) return status;
    } else if (std::holds_alternative<bool*>(flag->value)) {
      *std::get<bool*>(flag->value) = true;
    } else if (i + 1 < args.size()) {
      if (absl::Status status = Set(flag, args[++i]); !status.ok()) return status;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("flag '", args[i], "' needs a value"));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> FlagSet::Names() const {
  std::vector<std::string> names = {"help"};
  for (const Flag& flag : flags_) names.push_back(flag.name);
  return names;
}

std::string FlagSet::Help() const {
  std::string out = absl::StrCat("usage: ", usage_, "\n\n", about_, "\n\nflags:\n");
  for (const Flag& flag : flags_) {
    absl::StrAppend(&out, flag.name.size() == 1 ? "  -" : "  --", flag.name,
                    flag.default_text.empty() ? "" : absl::StrCat("=", flag.default_text), "\n      ", flag.help, "\n");
  }
  return out;
}

std::optional<int> FlagSet::ParseMain(int argc, char** argv) {
  if (absl::Status status = Parse(std::vector<std::string>(argv + 1, argv + argc)); !status.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
    return 2;
  }
  if (!help_wanted()) return std::nullopt;
  std::fputs(Help().c_str(), stdout);
  return 0;
}

}  // namespace xc
