// Flags of the tool's subcommands. Abseil's flags are one set per program and end it with status 1; here each
// subcommand has its own, with examples in its help, and a wrong one is a usage error with status 2 as the command line
// promises.
#ifndef XC_TOOLS_FLAGS_H_
#define XC_TOOLS_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace xc {

class FlagSet {
 public:
  // `usage` is the line after "usage: "; `about` says what the command does, with examples.
  FlagSet(std::string usage, std::string about) : usage_(std::move(usage)), about_(std::move(about)) {}

  // Registers a flag; `*value` holds the default and receives what is given: numbers from `at_least` on.
  void Add(absl::string_view name, bool* value, absl::string_view help);
  void Add(absl::string_view name, int64_t* value, absl::string_view help, int64_t at_least = 0);
  void Add(absl::string_view name, double* value, absl::string_view help, double at_least = 0);
  void Add(absl::string_view name, std::string* value, absl::string_view help);

  // Takes `--name=value`, `--name value` (not for bool), `--bool` and `--nobool`, `-o value` for `--o`; the rest goes
  // to positional(). `--` ends the flags. `--help` sets help_wanted().
  absl::Status Parse(const std::vector<std::string>& args);
  // The same for a program without subcommands, with what main() is given. What it ends with at once, if it does: 2
  // after an error, 0 after --help; both are printed.
  std::optional<int> ParseMain(int argc, char** argv);
  const std::vector<std::string>& positional() const { return positional_; }
  std::vector<std::string>* mutable_positional() { return &positional_; }
  bool help_wanted() const { return help_wanted_; }
  std::string Help() const;

 private:
  struct Flag {
    std::string name, help, default_text;
    std::variant<bool*, int64_t*, double*, std::string*> value;
    double at_least = 0;
  };
  Flag* Find(absl::string_view name);
  std::vector<std::string> Names() const;
  absl::Status Set(Flag* flag, absl::string_view text);

  std::string usage_, about_;
  std::vector<Flag> flags_;
  std::vector<std::string> positional_;
  bool help_wanted_ = false;
};

}  // namespace xc

#endif  // XC_TOOLS_FLAGS_H_
