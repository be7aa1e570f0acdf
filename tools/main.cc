// `xla`: all of it is behind one function.
#include "tools/tool.h"

int main(int argc, char** argv) { return xc_tool_main(argc, argv); }
