/* The command-line tool as a function: in a wheel the core library holds it, and the command only calls it. */
#ifndef XC_TOOLS_TOOL_H_
#define XC_TOOLS_TOOL_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the arguments of a program's main; returns its exit status. */
int xc_tool_main(int argc, char** argv);

#ifdef __cplusplus
}
#endif

#endif /* XC_TOOLS_TOOL_H_ */
