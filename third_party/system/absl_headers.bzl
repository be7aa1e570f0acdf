"""Abseil's hash tables with the basic exception guarantee. Debian's are left broken where memory runs out: they note a
capacity before its memory is there, and an element as present before it is made, so that their destructor then frees
what was never theirs. The header is Debian's but for the order of these steps."""

_PATH = "absl/container/internal/raw_hash_set.h"

# What is there, and what takes its place; each must be there once.
_CHANGES = [
    # The capacity is noted when its memory is there.
    ("void initialize_slots() {\n    assert(capacity_);", "void initialize_slots(size_t capacity) {\n    assert(capacity);"),
    (
        "AllocSize(capacity_, sizeof(slot_type), alignof(slot_type))));\n    ctrl_ =",
        "AllocSize(capacity, sizeof(slot_type), alignof(slot_type))));\n    capacity_ = capacity;\n    ctrl_ =",
    ),
    (
        "capacity_ = NormalizeCapacity(bucket_count);\n      initialize_slots();",
        "initialize_slots(NormalizeCapacity(bucket_count));",
    ),
    ("capacity_ = new_capacity;\n    initialize_slots();", "initialize_slots(new_capacity);"),
    # An element of a copy is noted when it is made.
    (
        "SetCtrl(target.offset, H2(hash), capacity_, ctrl_, slots_,\n              sizeof(slot_type));\n" +
        "      emplace_at(target.offset, v);",
        "PolicyTraits::construct(&alloc_ref(), slots_ + target.offset, v);\n" +
        "      SetCtrl(target.offset, H2(hash), capacity_, ctrl_, slots_,\n              sizeof(slot_type));",
    ),
    # A place whose element could not be made is free again.
    (
        "PolicyTraits::construct(&alloc_ref(), slots_ + i,\n                            std::forward<Args>(args)...);\n\n" +
        "    assert(PolicyTraits::apply(FindElement{*this}, *iterator_at(i)) ==",
        "try {\n" +
        "      PolicyTraits::construct(&alloc_ref(), slots_ + i, std::forward<Args>(args)...);\n" +
        "    } catch (...) {\n" +
        "      erase_meta_only(iterator_at(i));\n" +
        "      throw;\n" +
        "    }\n\n" +
        "    assert(PolicyTraits::apply(FindElement{*this}, *iterator_at(i)) ==",
    ),
]

def _absl_headers_impl(ctx):
    text = ctx.read("/usr/include/" + _PATH)
    for old, new in _CHANGES:
        if text.count(old) != 1:
            fail("/usr/include/%s is not the one that third_party/system/absl_headers.bzl knows: no %r" % (_PATH, old))
        text = text.replace(old, new)
    ctx.file("include/" + _PATH, text)
    ctx.file("BUILD.bazel", """
cc_library(
    name = "headers",
    hdrs = ["include/%s"],
    includes = ["include"],
    visibility = ["//visibility:public"],
)
""" % _PATH)

absl_headers = repository_rule(
    implementation = _absl_headers_impl,
    local = True,
)
