// The subcommands of `xla`. Each takes the arguments after its name and returns the exit status: 0, 1 (wrong result) or
// 2 (bad input or usage; the message is on stderr).
#ifndef XC_TOOLS_COMMANDS_H_
#define XC_TOOLS_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/flags.h"

namespace xc {

int ReplayCommand(const std::vector<std::string>& args);
int CheckCommand(const std::vector<std::string>& args);
int OptCommand(const std::vector<std::string>& args);
int CompileCommand(const std::vector<std::string>& args);
int ReduceCommand(const std::vector<std::string>& args);
int ViewCommand(const std::vector<std::string>& args);
int GraphCommand(const std::vector<std::string>& args);

// Of the flag --shapes.
inline constexpr char kShapesHelp[] =
    "shapes of the arguments, such as [8,4],[8], where StableHLO leaves sizes open, or values of symbols: b=8,n=4";

// Prints "error: …" to stderr; returns 2.
int Fail(const absl::Status& status);
// Parses; when the command ends here (help or a usage error), sets `*exit_status` and returns false.
bool ParseFlags(FlagSet& flags, const std::vector<std::string>& args, int* exit_status);

}  // namespace xc

#endif  // XC_TOOLS_COMMANDS_H_
