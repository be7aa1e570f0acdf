"""Prints the fingerprint of a library's build, as known_build.h has it: a line for known_builds.inc.

usage: build_fingerprint.py LIBRARY [NAME]
"""

import struct
import sys


def fnv1a(data, start=0xCBF29CE484222325):
    value = start
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def fingerprint(path):
    with open(path, "rb") as file:
        data = file.read()
    headers_at, sections_at = struct.unpack_from("<QQ", data, 32)
    header_size, headers, section_size, sections = struct.unpack_from("<HHHH", data, 54)
    value = fnv1a(data[headers_at : headers_at + headers * header_size])
    for i in range(sections):
        kind, _, _, offset, size = struct.unpack_from("<IQQQQ", data, sections_at + i * section_size + 4)
        if kind == 11:  # SHT_DYNSYM
            value = fnv1a(data[offset : offset + size], value)
    return value


if __name__ == "__main__":
    print(f"    {fingerprint(sys.argv[1]):#018x},  // {' '.join(sys.argv[2:]) or sys.argv[1]}")
