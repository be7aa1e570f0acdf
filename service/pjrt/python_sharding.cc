// What programs of JAX say of how devices share custom calls, and what they ask of how arrays lie.
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/base/status.h"
#include "hlo/wire/carried_proto.h"
#include "importers/io.h"
#include "service/pjrt/python_code.h"
#include "service/pjrt/python_host.h"

namespace xc::pjrt {
namespace {

// A sharding of JAX's from a serialized OpSharding in hexadecimal digits.
constexpr char kShardingCode[] = R"py(
def _xc_sharding(client, text):
    message = client.OpSharding()
    message.ParseFromString(bytes.fromhex(text))
    return client.HloSharding.from_proto(message)

)py";

// What the code below answers.
struct PartitionAnswer {
  bool given = false;
  std::string error, module;
  std::vector<std::string> operands, results;  // serialized OpSharding messages
};

// Called by the code below: part 0 is an error's text, 1 the module, 2 the sharding of an operand, 3 that of a result.
void TakeAnswer(PartitionAnswer* answer, int32_t part, const char* bytes, int64_t size) {
  std::string text(bytes, static_cast<size_t>(size));
  answer->given = true;
  if (part == 0) answer->error = std::move(text);
  if (part == 1) answer->module = std::move(text);
  if (part == 2) answer->operands.push_back(std::move(text));
  if (part == 3) answer->results.push_back(std::move(text));
}

// %s are the addresses of a question's text, of its answer and of TakeAnswer. The text is (key, operands, results),
// each a list of (type, sizes, sharding), types as HLO writes them, shardings as messages in hexadecimal digits.
constexpr char kPartitionCode[] = R"py(
def _xc_partition(question, answer, address):
    import ast, ctypes, re, sys
    put = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p, ctypes.c_int64)(address)
    give = lambda part, data: put(answer, part, data, len(data))
    try:
        partitioning = sys.modules["jax._src.custom_partitioning"]
        dtype_of = sys.modules["numpy"].dtype  # knows those of ml_dtypes, too
        client = partitioning.xc
        key, operands, results = ast.literal_eval(ctypes.string_at(question).decode())

        def dtype(name):
            kind, rest = re.fullmatch("(pred|bf|[sufc])(.*)", name).groups()
            if kind == "pred":
                return dtype_of("bool")
            words = {"bf": "bfloat", "s": "int", "u": "uint", "f": "float", "c": "complex"}
            return dtype_of(words[kind] + re.sub("^([48])(e)", r"\1_\2", rest))

        sharding = lambda text: _xc_sharding(client, text)
        shapes = lambda arrays: [client.Shape.array_shape(dtype(t), tuple(dims)) for t, dims, _ in arrays]
        shardings = lambda arrays: [sharding(text) for _, _, text in arrays]
        result_shapes, result_shardings = shapes(results), shardings(results)
        if len(results) == 1:
            shape, whole = result_shapes[0], result_shardings[0]
        else:
            shape = client.Shape.tuple_shape(result_shapes)
            whole = client.HloSharding.tuple_sharding(shape, result_shardings)
        module, of_operands, of_result = partitioning._custom_partitioning_partition(
            shapes(operands), shardings(operands), shape, whole, key.encode()
        )
        give(1, module)
        for one in of_operands:
            give(2, one.to_proto().SerializeToString())
        for one in [of_result] if len(results) == 1 else of_result.tuple_elements():
            give(3, one.to_proto().SerializeToString())
    except BaseException:
        import traceback
        give(0, traceback.format_exc().encode())

_xc_partition(%s, %s, %s)
)py";

// %s are the addresses of a question's text, of its answer and of TakeAnswer. The text is (address of an object of
// Python's, sharding): the object is called with it.
constexpr char kInspectCode[] = R"py(
def _xc_inspect(question, answer, address):
    import ast, ctypes, sys
    put = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p, ctypes.c_int64)(address)
    try:
        place, text = ast.literal_eval(ctypes.string_at(question).decode())
        ctypes.cast(place, ctypes.py_object).value(_xc_sharding(sys.modules["jaxlib.xla_client"], text))
        put(answer, 1, b"", 0)
    except BaseException as error:
        told = f"{type(error).__name__}: {error}".encode()
        put(answer, 0, told, len(told))

_xc_inspect(%s, %s, %s)
)py";

std::string Hex(const Sharding& sharding) {
  pb::OpSharding message;
  ShardingToProto(sharding, &message);
  return absl::BytesToHexString(message.SerializeAsString());
}

std::string QuestionText(const std::vector<ShardedShape>& arrays) {
  return absl::StrCat("[",
                      absl::StrJoin(arrays, "",
                                    [](std::string* out, const ShardedShape& array) {
                                      const std::string dims = absl::StrJoin(array.shape.dims(), ",");
                                      absl::StrAppend(out, "(\"", ElementTypeName(array.shape.type()), "\", [", dims,
                                                      "], \"", Hex(array.sharding), "\"), ");
                                    }),
                      "]");
}

absl::StatusOr<std::vector<Sharding>> ReadShardings(const std::vector<std::string>& messages) {
  std::vector<Sharding> shardings;
  for (const std::string& bytes : messages) {
    pb::OpSharding message;
    if (!message.ParseFromString(bytes)) return absl::InternalError("a sharding cannot be read");
    XC_ASSIGN_OR_RETURN(shardings.emplace_back(), ShardingFromProto(message));
  }
  return shardings;
}

PartitionAnswer Ask(const char* code, const std::string& question) {
  PartitionAnswer answer;
  RunInPython(absl::StrCat(kShardingCode, code),
              {question.c_str(), &answer, reinterpret_cast<const void*>(&TakeAnswer)});
  return answer;
}

}  // namespace

absl::StatusOr<PartitionedCall> PartitionByJax(const std::string& key, const std::vector<ShardedShape>& operands,
                                               const std::vector<ShardedShape>& results) {
  for (char c : key) {
    if (!absl::ascii_isalnum(c)) return absl::InvalidArgumentError("the call has no key of JAX's");
  }
  const std::string question =
      absl::StrCat("(\"", key, "\", ", QuestionText(operands), ", ", QuestionText(results), ")");
  const PartitionAnswer answer = Ask(kPartitionCode, question);
  if (!answer.given) return absl::FailedPreconditionError("only a process with JAX knows how devices share the call");
  if (!answer.error.empty()) return absl::InternalError(absl::StrCat("custom_partitioner: ", answer.error));
  PartitionedCall call;
  XC_ASSIGN_OR_RETURN(call.operands, ReadShardings(answer.operands));
  XC_ASSIGN_OR_RETURN(call.results, ReadShardings(answer.results));
  XC_ASSIGN_OR_RETURN(call.body, ReadModule(answer.module));
  return call;
}

absl::Status TellSharding(const std::string& callback, const Sharding& sharding) {
  // A function, which jaxlib has for its own client, and the object of Python's that it calls.
  uint64_t words[2] = {};
  if (callback.size() != sizeof(words))
    return absl::InvalidArgumentError("InspectSharding: this is no callback of JAX's");
  std::memcpy(words, callback.data(), sizeof(words));
  const PartitionAnswer answer = Ask(kInspectCode, absl::StrCat("(", words[1], ", \"", Hex(sharding), "\")"));
  if (!answer.given) return absl::FailedPreconditionError("InspectSharding: this is no process with JAX");
  return answer.error.empty() ? absl::OkStatus() : absl::InvalidArgumentError(answer.error);
}

}  // namespace xc::pjrt
