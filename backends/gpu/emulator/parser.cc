// The parser of PTX: one pass over the text, with a stack of scopes for names.
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/gpu/emulator/lexer.h"
#include "backends/gpu/emulator/ptx.h"

namespace xc::emulator {
namespace {

// Most names and registers of one module; what LLVM writes has far fewer, and a count in the text must not take memory
// without bound.
constexpr int64_t kMostRegisters = 1 << 20;
constexpr int64_t kMostVariableBytes = int64_t{1} << 32;
constexpr int kMostDepth = 64;

class Parser {
 public:
  explicit Parser(absl::string_view text) : lexer_(text) { Next(); }

  absl::StatusOr<ParsedModule> Parse() {
    while (ok() && !token_.empty()) TopLevel();
    if (!ok()) return absl::InvalidArgumentError(absl::StrCat("PTX line ", error_line_, ": ", error_));
    return std::move(module_);
  }

 private:
  bool ok() const { return error_.empty(); }
  void Fail(absl::string_view what) {
    if (!ok()) return;
    error_ = std::string(what);
    error_line_ = line_;
    token_ = {};
  }

  void Next() {
    token_ = lexer_.Next();
    line_ = lexer_.line();
  }
  bool Is(absl::string_view what) const { return token_ == what; }
  bool Take(absl::string_view what) {
    if (!Is(what)) return false;
    Next();
    return true;
  }
  void Expect(absl::string_view what) {
    if (!Take(what)) Fail(absl::StrCat("expected '", what, "' before '", token_, "'"));
  }
  std::string Word() {
    std::string word(token_);
    if (word.empty() || !(IsWordStart(word[0]) || word[0] == '.'))
      Fail(absl::StrCat("expected a name, not '", word, "'"));
    Next();
    return word;
  }
  int64_t Integer() {
    const bool negative = Take("-");
    const std::optional<uint64_t> value = ToInteger(token_);
    if (!value) {
      Fail(absl::StrCat("expected an integer, not '", token_, "'"));
      return 0;
    }
    Next();
    return static_cast<int64_t>(negative ? -*value : *value);
  }
  void TopLevel() {
    if (Take(".version")) {
      const std::vector<std::string> parts = absl::StrSplit(std::string(token_), '.');
      if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &module_.version_major) ||
          !absl::SimpleAtoi(parts[1], &module_.version_minor)) {
        return Fail("expected a version such as 8.3");
      }
      Next();
    } else if (Take(".target")) {
      module_.target = Word();
      while (Take(",")) Next();
    } else if (Take(".address_size")) {
      if (Integer() != 64) Fail("only 64-bit addresses are known");
    } else if (Take(".file")) {
      SkipLine();
    } else if (Take(".section")) {
      SkipBraces();
    } else if (Take(".pragma") || Take(".alias")) {
      while (ok() && !token_.empty() && !Take(";")) Next();
    } else {
      Linked();
    }
  }
  void SkipLine() {
    const int line = line_;
    while (!token_.empty() && line_ == line) Next();
  }
  void SkipBraces() {
    while (!token_.empty() && !Is("{")) Next();
    while (!token_.empty() && !Take("}")) Next();
  }

  // A variable or function, after its linkage.
  void Linked() {
    bool external = false;
    while (Is(".visible") || Is(".extern") || Is(".weak") || Is(".common")) {
      external |= Is(".extern");
      Next();
    }
    if (Is(".entry") || Is(".func")) return ParseFunction(external);
    std::optional<Variable> variable = ParseVariable(external);
    if (variable) module_.variables.push_back(*std::move(variable));
  }

  static std::optional<Space> ToSpace(absl::string_view token) {
    if (token == ".global") return Space::kGlobal;
    if (token == ".shared") return Space::kShared;
    if (token == ".local") return Space::kLocal;
    if (token == ".const") return Space::kConst;
    if (token == ".param") return Space::kParam;
    return std::nullopt;
  }

  // Space, alignment, type, name, extents; without the end.
  std::optional<Variable> Declaration() {
    Variable v;
    const std::optional<Space> space = ToSpace(token_);
    if (!space) {
      Fail(absl::StrCat("unknown directive '", token_, "'"));
      return std::nullopt;
    }
    v.space = *space;
    Next();
    int64_t width = 1;
    while (ok() && !token_.empty() && token_[0] == '.') {
      if (Take(".align")) {
        v.alignment = Integer();
      } else if (Take(".ptr")) {
        if (ToSpace(token_)) Next();
      } else if (Is(".v2") || Is(".v4")) {
        width = Take(".v2") ? 2 : (Next(), 4);
      } else if (Take(".attribute")) {
        while (ok() && !token_.empty() && !Take(")")) Next();
      } else {
        v.type = TypeOf(token_.substr(1));
        if (v.type == Type::kNone) Fail(absl::StrCat("unknown type '", token_, "'"));
        Next();
      }
    }
    if (v.alignment < 1 || (v.alignment & (v.alignment - 1)) || v.alignment > 4096)
      Fail("alignment is no power of two");
    v.name = Word();
    int64_t count = width;
    while (Take("[")) {
      int64_t extent = Is("]") ? 0 : Integer();
      Expect("]");
      if (extent < 0 || (extent > 0 && count > kMostVariableBytes / extent)) {
        Fail("array of too many elements");
        extent = 0;
      }
      count *= extent;
    }
    v.bytes = count * BytesOf(v.type);
    v.alignment = std::max<int64_t>(v.alignment, BytesOf(v.type) * width);
    return v;
  }

  std::optional<Variable> ParseVariable(bool external) {
    std::optional<Variable> v = Declaration();
    if (!v) return v;
    v->is_external = external;
    if (Take("=")) {
      // An array without extent has that of its value.
      const int64_t bytes = std::max(BytesOf(v->type), 1);
      if (Take("{")) {
        while (ok() && !Take("}")) {
          InitialValue(&*v, bytes);
          if (!Is("}")) Expect(",");
        }
      } else {
        InitialValue(&*v, bytes);
      }
      if (v->bytes == 0) v->bytes = static_cast<int64_t>(v->value.size());
      if (static_cast<int64_t>(v->value.size()) > v->bytes) Fail("more initial values than elements");
    }
    Expect(";");
    return v;
  }
  void InitialValue(Variable* v, int64_t bytes) {
    uint64_t bits = 0;
    if (!token_.empty() && IsWordStart(token_[0])) {
      std::string symbol = Word();
      if (symbol == "generic") {
        Expect("(");
        symbol = Word();
        Expect(")");
      }
      int64_t addend = 0;
      if (Take("+")) addend = Integer();
      v->relocations.push_back({static_cast<int64_t>(v->value.size()), symbol, addend});
    } else {
      bool negative = Take("-");
      const Operand value = Number();
      bits = negative ? -value.bits : value.bits;
    }
    for (int64_t i = 0; i < bytes; ++i) v->value.push_back(static_cast<char>(i < 8 ? bits >> (8 * i) : 0));
  }

  // 12, 0x1F, 0f3F800000, 0d3FF0000000000000, 1.5.
  Operand Number() {
    Operand operand;
    operand.kind = Operand::kImmediate;
    const std::string text(token_);
    const bool is_single = text.size() == 10 && (text[1] == 'f' || text[1] == 'F') && text[0] == '0';
    const bool is_double = text.size() == 18 && (text[1] == 'd' || text[1] == 'D') && text[0] == '0';
    if (is_single || is_double) {
      char* end = nullptr;
      operand.bits = std::strtoull(text.c_str() + 2, &end, 16);
      if (*end) Fail(absl::StrCat("'", text, "' is no number"));
      operand.is_single = is_single;
      operand.is_double = is_double;
    } else if (text.find('.') != std::string::npos) {
      double value = 0;
      if (!absl::SimpleAtod(text, &value)) Fail(absl::StrCat("'", text, "' is no number"));
      std::memcpy(&operand.bits, &value, 8);
      operand.is_double = true;
    } else if (const std::optional<uint64_t> value = ToInteger(text)) {
      operand.bits = *value;
    } else {
      Fail(absl::StrCat("expected an operand, not '", text, "'"));
    }
    Next();
    return operand;
  }

  struct Name {
    bool is_register;
    int index;
  };
  const Name* Find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->find(name);
      if (found != scope->end()) return &found->second;
    }
    return nullptr;
  }
  void AddVariable(Variable v) {
    scopes_.back()[v.name] = {false, static_cast<int>(function_.variables.size())};
    function_.variables.push_back(std::move(v));
  }

  // ( declarations ), each a variable; returns how many.
  int Parameters() {
    int count = 0;
    Expect("(");
    while (ok() && !Take(")")) {
      if (std::optional<Variable> v = Take(".reg") ? RegisterParameter() : Declaration()) {
        v->space = Space::kParam;
        AddVariable(*std::move(v));
        ++count;
      }
      if (!Is(")")) Expect(",");
    }
    return count;
  }
  std::optional<Variable> RegisterParameter() {
    Fail("parameters in registers are not known: .param is");
    return std::nullopt;
  }

  void ParseFunction(bool external) {
    function_ = Function();
    function_.line = line_;
    function_.is_entry = Is(".entry");
    scopes_.assign(1, {});
    Next();
    if (!function_.is_entry && Is("(")) function_.num_results = Parameters();
    function_.name = Word();
    if (Is("(")) function_.num_parameters = Parameters();
    while (ok() && !token_.empty() && token_[0] == '.') {
      if (Is(".maxntid") || Is(".reqntid")) {
        const bool exact = Is(".reqntid");
        int64_t threads = 1;
        int dimension = 0;
        do {
          Next();
          const int64_t n = Integer();
          if (n < 1 || n > 1024) return Fail("threads of a block out of range");
          threads *= n;
          if (exact && dimension < 3) function_.required[dimension++] = static_cast<uint32_t>(n);
        } while (Is(","));
        for (; exact && dimension < 3; ++dimension) function_.required[dimension] = 1;
        function_.max_threads = static_cast<int>(std::min<int64_t>(threads, 1 << 20));
        function_.exact_threads |= exact;
      } else if (Is(".minnctapersm") || Is(".maxnreg") || Is(".maxnctapersm")) {
        Next();
        Integer();
      } else if (Is(".noreturn")) {
        Next();
      } else if (Take(".pragma")) {
        Next();
        Expect(";");
      } else {
        return Fail(absl::StrCat("unknown directive '", token_, "' of a function"));
      }
    }
    if (Take(";")) {
      function_.is_declaration = true;
    } else {
      if (external) return Fail("an external function has no body");
      Body(0);
    }
    if (ok()) module_.functions.push_back(std::move(function_));
  }

  void Body(int depth) {
    if (depth > kMostDepth) return Fail("braces nested too deep");
    Expect("{");
    scopes_.emplace_back();
    while (ok() && !Take("}")) {
      if (token_.empty()) return Fail("the text ends inside of a function");
      if (Is("{")) {
        Body(depth + 1);
      } else if (Take(".reg")) {
        Registers();
      } else if (Take(".loc")) {
        SkipLine();
      } else if (Take(".pragma")) {
        while (ok() && !token_.empty() && !Take(";")) Next();
      } else if (token_[0] == '.') {
        if (std::optional<Variable> v = ParseVariable(false)) AddVariable(*std::move(v));
      } else {
        ParseStatement();
      }
    }
    scopes_.pop_back();
  }

  void Registers() {
    int width = 1;
    if (Is(".v2") || Is(".v4")) return Fail("vectors of registers are not known");
    const Type type = TypeOf(token_.empty() ? token_ : token_.substr(1));
    if (type == Type::kNone || width != 1) return Fail(absl::StrCat("unknown type '", token_, "' of a register"));
    Next();
    do {
      const std::string name = Word();
      if (Take("<")) {
        const int64_t count = Integer();
        Expect(">");
        if (count < 0 || count + static_cast<int64_t>(function_.registers.size()) > kMostRegisters) {
          return Fail("too many registers");
        }
        for (int64_t i = 0; i < count; ++i) AddRegister(absl::StrCat(name, i), type);
      } else {
        AddRegister(name, type);
      }
    } while (Take(","));
    Expect(";");
  }
  void AddRegister(std::string name, Type type) {
    scopes_.back()[name] = {true, static_cast<int>(function_.registers.size())};
    function_.registers.push_back({std::move(name), type});
  }

  void ParseStatement() {
    Statement s;
    s.line = line_;
    if (Take("@")) {
      s.guard_negated = Take("!");
      const std::string name = Word();
      const Name* found = Find(name);
      if (!found || !found->is_register) return Fail(absl::StrCat("unknown predicate '", name, "'"));
      s.guard = found->index;
    }
    const std::string word = Word();
    if (!ok()) return;
    if (s.guard < 0 && Take(":")) {
      s.label = word;
      if (Take(".branchtargets")) {
        do s.targets.push_back(Word());
        while (Take(","));
        Expect(";");
      } else if (Take(".callprototype")) {
        while (ok() && !token_.empty() && !Take(";")) Next();
      }
      function_.body.push_back(std::move(s));
      return;
    }
    std::vector<std::string> parts = absl::StrSplit(word, '.');
    s.op = parts[0];
    s.modifiers.assign(parts.begin() + 1, parts.end());
    while (ok() && !Take(";")) {
      s.operands.push_back(ParseOperand(0));
      if (Take("|")) {  // a second result: %p|%q
        Operand pair;
        pair.kind = Operand::kVector;
        pair.elements.push_back(std::move(s.operands.back()));
        pair.elements.push_back(ParseOperand(0));
        s.operands.back() = std::move(pair);
      }
      if (!Is(";")) Expect(",");
    }
    function_.body.push_back(std::move(s));
  }

  Operand ParseOperand(int depth) {
    Operand operand;
    if (depth > 3) {
      Fail("operand nested too deep");
      return operand;
    }
    if (Is("{") || Is("(")) {
      const char* end = Is("{") ? "}" : ")";
      Next();
      operand.kind = Operand::kVector;
      while (ok() && !Take(end)) {
        operand.elements.push_back(ParseOperand(depth + 1));
        if (!Is(end)) Expect(",");
      }
      return operand;
    }
    if (Take("[")) {
      operand = ParseOperand(depth + 1);
      operand.is_address = true;
      Expect("]");
      return operand;
    }
    const bool negated = Take("!");
    const bool minus = Take("-");
    if (!token_.empty() && IsWordStart(token_[0])) {
      operand = Named(Word());
    } else {
      operand = Number();
      if (minus && (operand.is_single || operand.is_double)) {
        operand.bits ^= uint64_t{1} << (operand.is_single ? 31 : 63);
      } else if (minus) {
        operand.bits = -operand.bits;
      }
    }
    operand.negated = negated;
    if (Is("+") || Is("-")) {
      const bool plus = Take("+");
      operand.offset += plus ? Integer() : -(Next(), Integer());
    }
    return operand;
  }
  Operand Named(const std::string& word) {
    Operand operand;
    if (word == "_") return operand;
    operand.name = word;
    if (const Name* found = Find(word)) {
      operand.kind = found->is_register ? Operand::kRegister : Operand::kVariable;
      operand.index = found->index;
    } else if (word == "WARP_SZ") {
      operand.kind = Operand::kImmediate;
      operand.bits = 32;
    } else if (word[0] == '%') {
      operand.kind = Operand::kSpecial;
    } else {
      operand.kind = Operand::kSymbol;  // of the module, or a label
    }
    return operand;
  }

  Lexer lexer_;
  int line_ = 1, error_line_ = 0;
  absl::string_view token_;
  std::string error_;
  ParsedModule module_;
  Function function_;
  std::vector<std::map<std::string, Name>> scopes_;
};

}  // namespace

absl::StatusOr<ParsedModule> ParsePtx(absl::string_view text) { return Parser(text).Parse(); }

}  // namespace xc::emulator
