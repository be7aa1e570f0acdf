"""The linker options of all that C++ targets are linked with, one a line: what of other projects is inside of a binary."""

def _linked_options_impl(ctx):
    options = list(ctx.attr.options)
    for dep in ctx.attr.deps:
        for linked in dep[CcInfo].linking_context.linker_inputs.to_list():
            options += linked.user_link_flags
    out = ctx.actions.declare_file(ctx.label.name + ".txt")
    ctx.actions.write(out, "".join([option + "\n" for option in options]))
    return [DefaultInfo(files = depset([out]))]

linked_options = rule(
    implementation = _linked_options_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "options": attr.string_list(doc = "those that the binary has itself"),
    },
)
