// Shapes of arguments from outside of a module, for modules of StableHLO whose types leave sizes open.
#ifndef XC_SERVICE_ARGUMENT_SHAPES_H_
#define XC_SERVICE_ARGUMENT_SHAPES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"
#include "hlo/text/parser.h"

namespace xc {

// "f32[8,4], [8], []": a shape for each argument of the entry, arrays inside of tuples too. One without an element
// type, which is kInvalid then, has that of the module.
absl::StatusOr<std::vector<Shape>> ParseArgumentShapes(absl::string_view text);

// Open sizes come from the list, or from the arrays in `directory`/I.npy.
void UseArgumentShapes(std::vector<Shape> shapes, ParseOptions* options);
void UseShapesOfInputs(const std::string& directory, ParseOptions* options);

// OK if the list is empty, or has the shapes of the module's parameters.
absl::Status CheckArgumentShapes(const std::vector<Shape>& shapes, const HloModule& module);

// Whether the file is a text with symbolic sizes (hlo/symbolic.h), which its header says.
bool HasSymbols(const std::string& path);

// Reads a module's file as ReadModuleFile does; `shapes` is a list of them as text, or "" for none. That of a text with
// symbolic sizes is bound to them, or to values, as `b=2,n=17`.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleOfShapes(const std::string& path, absl::string_view shapes,
                                                              ParseOptions options = {},
                                                              std::vector<Literal>* arguments = nullptr);

}  // namespace xc

#endif  // XC_SERVICE_ARGUMENT_SHAPES_H_
