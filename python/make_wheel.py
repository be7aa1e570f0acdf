"""Writes a wheel: make_wheel.py OUT.whl NAME VERSION TAG SUMMARY FILE=PATH_IN_WHEEL…

What lies at PATH_IN_WHEEL is installed there, relative to site-packages. Equal inputs give equal bytes."""

import base64
import hashlib
import sys
import zipfile


def main():
    out, name, version, tag, summary = sys.argv[1:6]
    info = f"{name}-{version}.dist-info"
    files = {}
    for pair in sys.argv[6:]:
        source, path = pair.split("=", 1)
        with open(source, "rb") as f:
            files[path] = f.read()
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {summary}\nLicense: Apache-2.0\n"
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: xc\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)


if __name__ == "__main__":
    main()
