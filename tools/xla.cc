// `xla`: one command with subcommands to replay, check, optimize, view and cluster programs.
#include <cstdio>
#include <string>
#include <vector>

#include "tools/commands.h"
#include "tools/tool.h"

namespace xc {
namespace {

struct Command {
  const char* name;
  int (*run)(const std::vector<std::string>&);
  const char* about;
};

constexpr Command kCommands[] = {
    {"replay", ReplayCommand, "compile and run an HLO module or a dumped bundle; compare platforms"},
    {"check", CheckCommand, "run self-checking HLO programs of a manifest"},
    {"graph", GraphCommand, "run a host graph, clustered or op by op, and explain its clusters"},
    {"opt", OptCommand, "run the pass list on a module and print the result"},
    {"reduce", ReduceCommand, "shrink a failing module to a small one that fails in the same way"},
    {"view", ViewCommand, "draw a module as HTML, SVG or dot"},
};

int Usage(FILE* out, int status) {
  std::fprintf(out, "usage: xla COMMAND [ARGUMENTS]; `xla COMMAND --help` says more\n\ncommands:\n");
  for (const Command& command : kCommands) std::fprintf(out, "  %-8s %s\n", command.name, command.about);
  std::fprintf(out,
               "\nexamples:\n  xla replay module.hlo --against=interpreter\n  xla view module.hlo -o module.html\n"
               "\nexit status: 0 fine, 1 wrong result, 2 bad input or usage\n");
  return status;
}

}  // namespace

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return 2;
}

bool ParseFlags(FlagSet& flags, const std::vector<std::string>& args, int* exit_status) {
  if (absl::Status status = flags.Parse(args); !status.ok()) {
    *exit_status = Fail(status);
    return false;
  }
  if (flags.help_wanted()) {
    std::fputs(flags.Help().c_str(), stdout);
    *exit_status = 0;
    return false;
  }
  return true;
}

}  // namespace xc

int xc_tool_main(int argc, char** argv) {
  if (argc < 2) return xc::Usage(stderr, 2);
  const std::string name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") return xc::Usage(stdout, 0);
  for (const xc::Command& command : xc::kCommands) {
    if (name == command.name) return command.run(std::vector<std::string>(argv + 2, argv + argc));
  }
  std::fprintf(stderr, "error: unknown command '%s'\n", name.c_str());
  return xc::Usage(stderr, 2);
}
