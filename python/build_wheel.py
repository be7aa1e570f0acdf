"""Packs the package into a wheel, the same bytes for the same files.

usage: build_wheel.py OUT.whl LICENSE FILE…   each FILE's path has a part "xla/", with which its path in the wheel begins
"""

import base64
import hashlib
import os
import re
import sys
import zipfile

METADATA = """Metadata-Version: 2.1
Name: xla
Version: {version}
Summary: Compiles functions of NumPy arrays to native code
License: Apache-2.0
Requires-Python: >=3.11
Requires-Dist: numpy>=2.0
Requires-Dist: ml_dtypes>=0.5
"""
WHEEL = """Wheel-Version: 1.0
Generator: build_wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""


def main():
    out, license_file, *files = sys.argv[1:]
    version, tag = re.fullmatch(r"xla-([^-]+)-(.+)\.whl", os.path.basename(out)).groups()
    info = f"xla-{version}.dist-info"
    contents = {}
    for file in files:
        place = file[file.rindex("/xla/") + 1 :] if "/bin/xla" not in file else "xla/bin/xla"
        with open(file, "rb") as stream:
            contents[place] = stream.read()
    with open(license_file, "rb") as stream:
        contents[f"{info}/LICENSE"] = stream.read()
    contents[f"{info}/METADATA"] = METADATA.format(version=version).encode()
    contents[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    contents[f"{info}/entry_points.txt"] = b"[console_scripts]\nxla = xla.__main__:main\n"
    record = []
    for place, data in sorted(contents.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{place},sha256={digest},{len(data)}")
    record.append(f"{info}/RECORD,,")
    contents[f"{info}/RECORD"] = ("\n".join(record) + "\n").encode()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as wheel:
        for place, data in sorted(contents.items()):
            entry = zipfile.ZipInfo(place, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if place.endswith((".so", "/bin/xla")) else 0o100644) << 16
            wheel.writestr(entry, data)


if __name__ == "__main__":
    main()
