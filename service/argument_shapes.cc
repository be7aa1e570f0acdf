#include "service/argument_shapes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/read_file.h"
#include "hlo/base/status.h"
#include "hlo/shape_inference/shape_inference.h"
#include "hlo/symbolic.h"
#include "importers/io.h"
#include "service/npy.h"

namespace xc {
namespace {

std::string Describe(const Shape& shape) {
  if (shape.type() != ElementType::kInvalid) return shape.ToString(false);
  const std::string typed = WithType(shape, ElementType::kF32).ToString(false);
  return typed.substr(typed.find('['));
}

// One that has the element type of the argument where it has none itself.
Shape Completed(Shape shape, const Shape& type) {
  if (shape.type() == ElementType::kInvalid) shape.set_type(type.type());
  return shape;
}

}  // namespace

absl::StatusOr<std::vector<Shape>> ParseArgumentShapes(absl::string_view text) {
  std::vector<Shape> shapes;
  while (true) {
    text = absl::StripAsciiWhitespace(text);
    const size_t end = text.find(']');
    const absl::string_view one = text.substr(0, end == absl::string_view::npos ? end : end + 1);
    const bool untyped = absl::StartsWith(one, "[");
    absl::StatusOr<Shape> shape = ParseShape(untyped ? absl::StrCat("f32", one) : std::string(one));
    if (end == absl::string_view::npos || !shape.ok() || !shape->IsArray() || shape->is_dynamic()) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected shapes of arguments such as f32[8,4],[8], found '", one, "'"));
    }
    if (untyped) shape->set_type(ElementType::kInvalid);
    shapes.push_back(*std::move(shape));
    text = absl::StripLeadingAsciiWhitespace(text.substr(end + 1));
    if (text.empty()) return shapes;
    if (!absl::StartsWith(text, ",")) {
      return absl::InvalidArgumentError(absl::StrCat("expected `,` between shapes of arguments, found '", text, "'"));
    }
    text.remove_prefix(1);
  }
}

void UseArgumentShapes(std::vector<Shape> shapes, ParseOptions* options) {
  if (shapes.empty()) return;
  options->argument_shape = [shapes = std::move(shapes)](int64_t argument, const Shape& type) -> absl::StatusOr<Shape> {
    if (argument < static_cast<int64_t>(shapes.size())) return Completed(shapes[argument], type);
    return absl::InvalidArgumentError(absl::StrCat("only ", shapes.size(), " shapes are given"));
  };
}

void UseShapesOfInputs(const std::string& directory, ParseOptions* options) {
  options->argument_shape = [directory](int64_t argument, const Shape& type) -> absl::StatusOr<Shape> {
    XC_ASSIGN_OR_RETURN(const Literal input, ReadNpy(absl::StrCat(directory, "/", argument, ".npy")));
    return Shape(type.type(), input.shape().dims());
  };
}

absl::Status CheckArgumentShapes(const std::vector<Shape>& shapes, const HloModule& module) {
  if (shapes.empty()) return absl::OkStatus();
  std::vector<const Shape*> arguments;
  for (const HloInstruction* parameter : module.entry()->parameters()) {
    for (const auto& leaf : Leaves(parameter->shape())) arguments.push_back(leaf.second);
  }
  if (shapes.size() != arguments.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the module takes ", arguments.size(), " arguments, but ", shapes.size(), " shapes are given"));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape& wanted = *arguments[i];
    if (Agree(Completed(shapes[i], wanted), wanted)) continue;
    return absl::InvalidArgumentError(absl::StrCat("argument ", i, " of the module is ", wanted.ToString(false),
                                                   ", but its shape is given as ", Describe(shapes[i])));
  }
  return absl::OkStatus();
}

bool HasSymbols(const std::string& path) {
  // What is read from a pipe is gone.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::string head(4096, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(std::max<std::streamsize>(0, file.gcount()));
  return SymbolicText::IsSymbolic(head);
}

static absl::StatusOr<std::unique_ptr<HloModule>> ReadSymbolic(const std::string& path, absl::string_view shapes) {
  XC_ASSIGN_OR_RETURN(std::string content, ReadFile(path));
  XC_ASSIGN_OR_RETURN(const SymbolicText text, SymbolicText::Parse(std::move(content)));
  if (shapes.empty()) {
    std::string symbols;
    for (const Symbol& symbol : text.symbols()) absl::StrAppend(&symbols, " ", symbol.ToString());
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has the symbols", symbols, ": give values, as --shapes=b=2,n=17"));
  }
  SymbolValues values;
  if (shapes.find('=') != absl::string_view::npos) {
    XC_ASSIGN_OR_RETURN(values, ParseSymbolValues(shapes));
  } else {
    XC_ASSIGN_OR_RETURN(const std::vector<Shape> list, ParseArgumentShapes(shapes));
    std::vector<std::vector<int64_t>> dims;
    for (const Shape& shape : list) dims.push_back(shape.dims());
    XC_ASSIGN_OR_RETURN(values, text.Solve(dims));
  }
  return text.BindModule(values);
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleOfShapes(const std::string& path, absl::string_view shapes,
                                                              ParseOptions options, std::vector<Literal>* arguments) {
  std::vector<Shape> list;
  if (HasSymbols(path)) return ReadSymbolic(path, shapes);
  if (!shapes.empty()) {
    XC_ASSIGN_OR_RETURN(list, ParseArgumentShapes(shapes));
    UseArgumentShapes(list, &options);
  }
  XC_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module, ReadModuleFile(path, options, arguments));
  XC_RETURN_IF_ERROR(CheckArgumentShapes(list, *module));
  return module;
}

}  // namespace xc
