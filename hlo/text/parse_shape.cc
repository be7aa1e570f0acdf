// Shapes: element type, dimensions, layout, tuples.
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hlo/text/parser_impl.h"

namespace xc {
namespace {

constexpr int64_t kMaxRank = 128;

}  // namespace

bool Parser::Parse(Shape* out) {
  const char* at = lex_.position();
  if (!ParseShapeNested(out, 0)) return false;
  if (absl::Status status = ValidateShape(*out); !status.ok()) return Fail(at, status.message());
  return true;
}

bool Parser::Parse(std::vector<Shape>* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    if (!Parse(&out->emplace_back())) return false;
    if (!Accept(',')) break;
  }
  return Expect('}');
}

bool Parser::ParseShapeNested(Shape* out, int depth) {
  if (depth > options_.max_nesting) {
    return Fail(lex_.position(), absl::StrCat("tuples are nested more than ", options_.max_nesting, " deep"));
  }
  if (Accept('(')) {
    std::vector<Shape> elements;
    while (!lex_.At(')')) {
      if (!ParseShapeNested(&elements.emplace_back(), depth + 1)) return false;
      if (!Accept(',')) break;
    }
    if (!Expect(')')) return false;
    *out = Shape::Tuple(std::move(elements));
    return true;
  }
  if (lex_.AtName("b") && lex_.PeekChar() == '(') {
    lex_.Next();
    lex_.Next();
    *out = Shape(ElementType::kBuffer, {});
    if (!ParseShapeNested(&out->mutable_tuple_shapes().emplace_back(), depth + 1)) return false;
    return Expect(')');
  }
  if (lex_.tok().kind != Tok::kName) return Expected("a shape");
  const std::optional<ElementType> type = ElementTypeFromName(lex_.tok().text);
  if (!type || lex_.tok().percent || *type == ElementType::kTuple || *type == ElementType::kBuffer) {
    return Fail(lex_.position(), absl::StrCat("expected a shape, and '", lex_.tok().text, "' is no element type"));
  }
  lex_.Next();
  *out = Shape(*type, {});
  if (!ParseDims(out)) return false;
  // `{` opens a layout only if one follows; else it is the body of a computation.
  if (lex_.At('{')) {
    const char next = lex_.PeekChar();
    if ((next >= '0' && next <= '9') || next == ':' || next == '}') return ParseLayout(out);
  }
  return true;
}

bool Parser::ParseDims(Shape* shape) {
  if (!Expect('[')) return false;
  if (Accept(']')) return true;
  std::vector<bool> dynamic;
  for (;;) {
    if (Accept('?')) {
      shape->mutable_dims().push_back(Shape::kUnknownSize);
      dynamic.push_back(true);
    } else {
      bool bounded = false;
      if (Accept('<')) {
        if (!Expect('=')) return false;
        bounded = true;
      }
      int64_t size;
      const char* at = lex_.position();
      if (lex_.tok().kind == Tok::kName) {
        return Expected("the size of a dimension ($n is that of the symbol n, declared by `HloModule m, symbols={n}`)");
      }
      if (lex_.tok().kind != Tok::kInt) return Expected("the size of a dimension");
      if (!Parse(&size)) return false;
      if (size < 0) return Fail(at, absl::StrCat("the size of a dimension is negative: ", size));
      shape->mutable_dims().push_back(size);
      dynamic.push_back(bounded);
    }
    if (shape->rank() > kMaxRank) {
      return Fail(lex_.position(), absl::StrCat("a shape has more than ", kMaxRank, " dimensions"));
    }
    if (!Accept(',')) break;
  }
  for (size_t i = 0; i < dynamic.size(); ++i) shape->set_dynamic_dim(i, dynamic[i]);
  return Expect(']');
}

bool Parser::ParseElementType(ElementType* out) {
  if (!Expect('(')) return false;
  const std::optional<ElementType> type =
      lex_.tok().kind == Tok::kName ? ElementTypeFromName(lex_.tok().text) : std::nullopt;
  if (!type) return Expected("an element type");
  *out = *type;
  lex_.Next();
  return Expect(')');
}

bool Parser::ParseParenInts(Int64List* out, bool star) {
  if (!Expect('(')) return false;
  while (!lex_.At(')')) {
    if (star && Accept('*')) {
      out->push_back(std::numeric_limits<int64_t>::min());
    } else if (!Parse(&out->emplace_back())) {
      return false;
    }
    if (!Accept(',')) break;
  }
  return Expect(')');
}

// {1,0:T(8,128)(2,1)L(4)#(u32)*(u8)E(4)S(1)SC(0:1,2)P(shape)M(8)}
bool Parser::ParseLayout(Shape* shape) {
  const char* start = lex_.position();
  Layout layout;
  lex_.Next();
  while (lex_.tok().kind == Tok::kInt) {
    if (!Parse(&layout.minor_to_major.emplace_back())) return false;
    if (!Accept(',')) break;
  }
  if (Accept(':')) {
    const auto one_int = [&](int64_t* out) { return Expect('(') && Parse(out) && Expect(')'); };
    while (!lex_.At('}')) {
      const char* at = lex_.position();
      if (Accept('#')) {
        if (!ParseElementType(&layout.index_type)) return false;
        continue;
      }
      if (Accept('*')) {
        if (!ParseElementType(&layout.pointer_type)) return false;
        continue;
      }
      if (lex_.tok().kind != Tok::kName) return Expected("a layout attribute (T, L, E, S, SC, M, P, # or *) or '}'");
      const absl::string_view name = lex_.tok().text;
      lex_.Next();
      if (name == "T") {
        do {
          if (!ParseParenInts(&layout.tiles.emplace_back(), /*star=*/true)) return false;
        } while (lex_.At('('));
      } else if (name == "L") {
        if (!one_int(&layout.tail_padding_alignment_in_elements)) return false;
      } else if (name == "E") {
        if (!one_int(&layout.element_size_in_bits)) return false;
      } else if (name == "S") {
        if (!one_int(&layout.memory_space)) return false;
      } else if (name == "M") {
        if (!one_int(&layout.dynamic_shape_metadata_prefix_bytes)) return false;
      } else if (name == "SC") {
        do {
          SplitConfig& split = layout.split_configs.emplace_back();
          if (!Expect('(') || !Parse(&split.dimension) || !Expect(':')) return false;
          while (!lex_.At(')')) {
            if (!Parse(&split.split_indices.emplace_back())) return false;
            if (!Accept(',')) break;
          }
          if (!Expect(')')) return false;
        } while (lex_.At('('));
      } else if (name == "P") {
        if (!Expect('(')) return false;
        layout.physical_shape.emplace_back();
        if (!ParseShapeNested(&layout.physical_shape[0], options_.max_nesting) || !Expect(')')) return false;
      } else if (name == "D") {
        // Level types of dimensions: dense ones say nothing, others are sparse formats.
        if (!Expect('(')) return false;
        while (!lex_.At(')')) {
          if (!lex_.AtName("D")) return Fail(lex_.position(), "sparse layouts are not supported; expected D for dense");
          lex_.Next();
          if (!Accept(',')) break;
        }
        if (!Expect(')')) return false;
      } else {
        return Fail(at, absl::StrCat("unknown layout attribute '", name, "'; expected T, L, E, S, SC, M, P, # or *"));
      }
    }
  }
  if (!Expect('}')) return false;
  const int64_t rank = shape->rank();
  if (static_cast<int64_t>(layout.minor_to_major.size()) != rank) {
    return Fail(start,
                absl::StrCat("the layout orders ", layout.minor_to_major.size(), " dimensions, the shape has ", rank));
  }
  std::vector<bool> seen(rank);
  for (int64_t d : layout.minor_to_major) {
    if (d < 0 || d >= rank || seen[d]) {
      return Fail(start, absl::StrCat("the layout is no permutation of the ", rank, " dimensions"));
    }
    seen[d] = true;
  }
  // A scalar's empty layout says nothing.
  if (rank > 0 || layout != Layout()) shape->set_layout(std::move(layout));
  return true;
}

absl::StatusOr<Shape> ParseShape(absl::string_view text, const ParseOptions& options) {
  Parser parser(text, options);
  Shape shape;
  if (parser.Parse(&shape)) parser.AtEnd();
  if (absl::Status status = parser.status(); !status.ok()) return status;
  return shape;
}

}  // namespace xc
