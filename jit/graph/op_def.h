// Signatures of the operations a host graph may contain, parsed from op_table.def.
#ifndef XC_JIT_GRAPH_OP_DEF_H_
#define XC_JIT_GRAPH_OP_DEF_H_

#include <map>
#include <string>
#include <vector>

#include "jit/graph/types.h"

namespace xc {

// One input or output: `count` tensors of one type, or a list of types.
struct ArgSignature {
  std::string name;
  DataType type = DT_INVALID;  // fixed type, or DT_INVALID when an attribute gives it
  std::string type_attr;
  std::string number_attr;  // the argument repeats as often as this attribute says
  std::string type_list_attr;
  bool is_ref = false;  // a variable of the old kind itself, which is assigned in place
};

struct AttrSignature {
  std::string name;
  std::string kind;  // "type", "int", "list(int)", ...
  bool has_default = false;
  tf::AttrValue default_value;
};

struct OpSignature {
  std::string name;
  std::vector<ArgSignature> inputs;
  std::vector<ArgSignature> outputs;
  std::vector<AttrSignature> attrs;
  bool stateful = false;

  const AttrSignature* FindAttr(const std::string& name) const;
};

// Null when the operation is not in the table.
const OpSignature* FindOpDef(const std::string& name);

// Every operation of the table, by name.
const std::map<std::string, OpSignature>& AllOpDefs();

}  // namespace xc

#endif  // XC_JIT_GRAPH_OP_DEF_H_
