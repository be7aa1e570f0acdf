"""Packs files into a wheel; equal inputs give equal bytes.

usage: make_wheel.py OUT.whl [options] FILE=PATH… | FILE…

FILE is installed at PATH, relative to site-packages; without PATH, at the part of its own path that begins with the name
of the package (the wheel's name). Name, version and tag are those of OUT.whl; the tag's platform must be that of the
oldest systems that can load what is packed.

    --summary=TEXT        what the package does, in a line
    --python=VERSIONS     those of Python that it runs with
    --requires=TEXT       a package that it needs (may be repeated), perhaps as an extra: 'NAME; extra == "X"'
    --readme=FILE         the long description
    --license=FILE        the project's own
    --license-expression=TEXT  the licences of all that is packed
    --notice=NAME=FILE    the licence of a part that no file from a Debian package stands for (may be repeated)
    --linked=FILE         linker options, one a line: static archives among them are parts, too (may be repeated)
    --command=NAME=ENTRY  a command that runs the function ENTRY
    --libraries=DIR       the shared libraries that the files in DIR's parent need lie at DIR, where their run paths
                          look; not those that every system with a C and C++ program has
    --provided=LIBRARY    not this one either: what loads the files has loaded it before (may be repeated)
"""

import argparse
import base64
import hashlib
import os
import re
import zipfile

from wheel_binaries import is_binary, needed_libraries, platform_tag, stripped
from wheel_notices import IN_PAGES, archives, debian_notices, named_notice


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def read_lines(path):
    return read(path).decode().splitlines()


def without_relative_links(text):
    """A page's text where its links to files beside it lead nowhere."""
    return re.sub(r"\[([^]]+)\]\((?!https?:)[^)]+\)", r"\1", text)


def record_line(place, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{place},sha256={digest},{len(data)}\n"


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    for name in ("--summary", "--python", "--readme", "--license", "--license-expression"):
        parser.add_argument(name, required=True)
    for name in ("--requires", "--notice", "--linked", "--command", "--provided"):
        parser.add_argument(name, action="append", default=[])
    parser.add_argument("--libraries", required=True)
    parser.add_argument("files", nargs="+")
    return parser.parse_args()


def pack(options, name):
    """Contents by place, and the files from elsewhere that they hold."""
    contents, binaries = {}, []
    for item in options.files:
        file, _, place = item.partition("=")
        place = place or file[file.rindex(f"/{name}/") + 1 :]
        contents[place] = read(file)
        if is_binary(contents[place]):
            binaries.append((place, file))
            contents[place] = stripped(file)
    beside = os.path.dirname(options.libraries) + "/"
    needed = needed_libraries([file for place, file in binaries if place.startswith(beside)], options.provided)
    for library, file in needed.items():
        contents[f"{options.libraries}/{library}"] = read(file)
    tag = platform_tag([file for _, file in binaries] + list(needed.values()))
    return contents, list(needed.values()), tag


def licenses(options, bundled):
    """Texts of the project's own licence and of those of all parts, by file name."""
    linked = [option for file in options.linked for option in read_lines(file)]
    texts = {"LICENSE": read(options.license).decode()}
    for file_name, text in debian_notices(bundled + archives(linked) + IN_PAGES).items():
        texts[f"notices/{file_name}"] = text
    for part in options.notice:
        part_name, _, file = part.partition("=")
        texts[f"notices/{part_name}.txt"] = named_notice(file)
    return texts


def metadata(options, name, version, texts):
    fields = [("Metadata-Version", "2.4"), ("Name", name), ("Version", version), ("Summary", options.summary)]
    fields += [("License-Expression", options.license_expression)]
    fields += [("License-File", file) for file in sorted(texts)]
    fields += [("Classifier", "Operating System :: POSIX :: Linux"), ("Requires-Python", options.python)]
    fields += [("Requires-Dist", required) for required in options.requires]
    extras = {extra for required in options.requires for extra in re.findall(r'extra == "(\w+)"', required)}
    fields += [("Provides-Extra", extra) for extra in sorted(extras)]
    fields += [("Description-Content-Type", "text/markdown")]
    readme = without_relative_links(read(options.readme).decode())
    return "".join(f"{key}: {value}\n" for key, value in fields) + "\n" + readme


def main():
    options = parse_options()
    name, version, tag = re.fullmatch(r"([^-]+)-([^-]+)-(.+)\.whl", os.path.basename(options.out)).groups()
    contents, bundled, platform = pack(options, name)
    if tag.rpartition("-")[2] != platform:
        raise SystemExit(f"the wheel's name says {tag.rpartition('-')[2]}, its binaries need {platform}")
    executable = {place for place, data in contents.items() if is_binary(data)}
    info = f"{name}-{version}.dist-info"
    texts = licenses(options, bundled)
    for file, text in texts.items():
        contents[f"{info}/licenses/{file}"] = text.encode()
    contents[f"{info}/METADATA"] = metadata(options, name, version, texts).encode()
    wheel = f"Wheel-Version: 1.0\nGenerator: make_wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
    contents[f"{info}/WHEEL"] = wheel.encode()
    if options.command:
        commands = "".join(" = ".join(command.split("=")) + "\n" for command in options.command)
        contents[f"{info}/entry_points.txt"] = f"[console_scripts]\n{commands}".encode()
    record = "".join(record_line(place, data) for place, data in sorted(contents.items()))
    contents[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(options.out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for place, data in sorted(contents.items()):
            entry = zipfile.ZipInfo(place, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if place in executable else 0o100644) << 16
            archive.writestr(entry, data)


if __name__ == "__main__":
    main()
