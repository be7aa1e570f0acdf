// XlaCallModule, the op by which programs made by JAX are part of a graph: its attribute is a StableHLO module, which
// becomes a computation that is called.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "importers/stablehlo/stablehlo.h"
#include "jit/lowering/graph_lowering.h"

namespace xc {
namespace {

// What a module can ask for and does not get.
absl::Status CheckAttributes(OpContext& c, const std::vector<std::string>& platforms) {
  XC_ASSIGN_OR_RETURN(const auto functions, c.node.Funcs("function_list"));
  if (!functions.empty()) return c.Unimplemented("its module calls functions of the graph (function_list)");
  XC_ASSIGN_OR_RETURN(const bool tokens, c.node.Bool("has_token_input_output"));
  if (tokens) return c.Unimplemented("its module takes and gives tokens (has_token_input_output)");
  if (!platforms.empty() && std::find(platforms.begin(), platforms.end(), kLoweringPlatform) == platforms.end()) {
    return c.Unimplemented(absl::StrCat("its module is for ", absl::StrJoin(platforms, ", "), ", not for the CPU"));
  }
  return absl::OkStatus();
}

// The sizes that the module takes as its first arguments: `dim_args_spec` has an argument and a dimension for each,
// "0.1".
absl::StatusOr<std::vector<int64_t>> SizeArguments(OpContext& c) {
  XC_ASSIGN_OR_RETURN(const auto specs, c.node.Strings("dim_args_spec"));
  std::vector<int64_t> sizes;
  for (const std::string& spec : specs) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(spec, absl::MaxSplits('.', 1));
    int argument = 0, dimension = 0;
    if (!absl::SimpleAtoi(parts.first, &argument) || !absl::SimpleAtoi(parts.second, &dimension) || argument < 0 ||
        argument >= c.num_inputs() || dimension < 0 || dimension >= c.in(argument)->shape().rank()) {
      return c.Error(absl::StrCat("dim_args_spec has '", spec, "', which is no dimension of an argument"));
    }
    sizes.push_back(c.in(argument)->shape().dim(dimension));
  }
  return sizes;
}

// Its module as HLO, for arguments of the shapes that the op has.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModule(OpContext& c, PortableCall call) {
  XC_ASSIGN_OR_RETURN(call.sizes, SizeArguments(c));
  XC_ASSIGN_OR_RETURN(const auto disabled, c.node.Strings("disabled_checks"));
  call.check_shapes = std::find(disabled.begin(), disabled.end(), "shape_assertions") == disabled.end();
  XC_ASSIGN_OR_RETURN(const std::string bytes, c.node.String("module"));
  ParseOptions options;
  options.argument_shape = [&](int64_t argument, const Shape&) -> absl::StatusOr<Shape> {
    if (argument < c.num_inputs()) return c.in(static_cast<int>(argument))->shape();
    return absl::InvalidArgumentError(absl::StrCat("the op has only ", c.num_inputs(), " arguments"));
  };
  auto module = ParsePortableStableHlo(bytes, call, options);
  if (!module.ok()) return c.Unimplemented(std::string(module.status().message()));
  return module;
}

// The module's computations become computations of the one being built; gives the entry.
HloComputation* TakeOver(const HloModule& module, HloModule* to) {
  absl::flat_hash_map<const HloComputation*, HloComputation*> taken;
  for (HloComputation* computation : module.ComputationPostOrder()) {
    HloComputation* clone = to->CloneComputation(computation, "module");
    for (const auto& instruction : clone->instructions()) {
      for (size_t i = 0; i < instruction->called_computations().size(); ++i) {
        instruction->SetCalledComputation(i, taken.at(instruction->called(i)));
      }
    }
    taken[computation] = clone;
  }
  return taken.at(module.entry());
}

absl::Status CallModule(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<std::string> platforms, c.node.Strings("platforms"));
  for (std::string& platform : platforms) absl::AsciiStrToLower(&platform);
  XC_RETURN_IF_ERROR(CheckAttributes(c, platforms));
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> module, ReadModule(c, {.platforms = platforms}));
  const HloComputation& entry = *module->entry();
  if (entry.parameters().size() != c.num_inputs()) {
    return c.Error(
        absl::StrCat("its module takes ", entry.parameters().size(), " arguments, but it has ", c.num_inputs()));
  }
  std::vector<Val> arguments;
  for (int i = 0; i < c.num_inputs(); ++i) {
    arguments.push_back(c.in(i));
    const Shape& wanted = entry.parameter(i)->shape();
    if (!SameShape(arguments[i]->shape(), wanted)) {
      return c.Error(absl::StrCat("argument ", i, " is ", arguments[i]->shape().ToString(false), ", its module takes ",
                                  wanted.ToString(false)));
    }
  }
  const Shape& result = entry.root()->shape();
  const bool one = !result.IsTuple();
  const int results = one ? 1 : static_cast<int>(result.tuple_size());
  if (results != c.num_outputs()) {
    return c.Error(absl::StrCat("its module gives ", results, " results, but it has ", c.num_outputs()));
  }
  for (int i = 0; i < results; ++i) {
    const Shape& given = one ? result : result.tuple_shape(i);
    if (given.type() != c.out_etype(i) || given.is_dynamic()) {
      return c.Error(absl::StrCat("result ", i, " of its module is ", given.ToString(false), ", Tout says ",
                                  ElementTypeName(c.out_etype(i))));
    }
  }
  const Val call = c.b.Call(TakeOver(*module, c.b.module()), arguments);
  for (int i = 0; i < results; ++i) c.set(i, one ? call : c.b.Get(call, i));
  return absl::OkStatus();
}

}  // namespace

void RegisterXlaCallModule(LoweringRegistry& r) { r.Add({"XlaCallModule"}, kArrayTypes, CallModule); }

}  // namespace xc
