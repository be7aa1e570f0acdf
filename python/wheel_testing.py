"""What the tests of the wheels share: what may be in one, and an environment to install them into."""

import base64
import email
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv
import zipfile

import wheel_binaries

MAX_BYTES = 25_000_000

# Beside the package's own files, these libraries of Debian's packages.
LIBRARIES = (
    r"lib(absl_\w+\.so\.20220623|gfortran\.so\.5|protobuf\.so\.32|quadmath\.so\.0|re2\.so\.9|z\.so\.1|zstd\.so\.1)"
)
INFO = r"(METADATA|RECORD|WHEEL|entry_points\.txt|licenses/LICENSE|licenses/notices/(common/)?[\w.+-]+\.txt)"
# The projects whose code is in both wheels; each has a notice of this name.
NOTICES = {"abseil", "farmhash", "gcc-12", "lapack", "llvm-toolchain-19", "protobuf", "re2", "zlib", "libzstd"} | {
    "node-dagre-layout",
    "node-graphlibrary",
    "node-lodash",
}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr[-4000:]}"
    return done.stdout


def check_names(names, package, own_files):
    """Only what is allowed, and something of everything that is."""
    info = rf"{package}-[\d.]+\.dist-info/{INFO}"
    allowed = [info, rf"{package}/libs/{LIBRARIES}", *own_files]
    unknown = [name for name in names if not any(re.fullmatch(pattern, name) for pattern in allowed)]
    assert not unknown, f"may not be in the wheel: {unknown}"
    missing = [pattern for pattern in allowed if not any(re.fullmatch(pattern, name) for name in names)]
    assert not missing, f"not in the wheel: {missing}"


def check_record(wheel, names, info):
    """RECORD has the hash of every file."""
    recorded = {}
    for line in wheel.read(f"{info}/RECORD").decode().splitlines():
        name, digest, _ = line.rsplit(",", 2)
        recorded[name] = digest
    assert set(recorded) == set(names), set(recorded) ^ set(names)
    for name in names:
        digest = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
        assert name == f"{info}/RECORD" or recorded[name] == f"sha256={digest}", name


def check_notices(wheel, info, fields, notices):
    """Every text that the metadata names is there, with those of the projects in `notices`."""
    files = fields.get_all("License-File")
    for file in files:
        assert len(wheel.read(f"{info}/licenses/{file}")) > 500, file
    stems = {pathlib.Path(file).stem for file in files if file.startswith("notices/") and "common" not in file}
    assert stems == NOTICES | notices, stems ^ (NOTICES | notices)
    texts = "\n".join(wheel.read(f"{info}/licenses/{file}").decode() for file in files)
    for words in (
        "Apache License",
        "LLVM Exceptions",
        "University of Tennessee",
        "RUNTIME LIBRARY EXCEPTION",
        "FarmHash",
    ):
        assert words.lower() in texts.lower(), words


def check_platform(wheel, names, tag):
    """The platform in the wheel's name is that of the oldest systems that can load its binaries."""
    with tempfile.TemporaryDirectory() as folder:
        binaries = [wheel.extract(n, folder) for n in names if wheel_binaries.is_binary(wheel.read(n))]
        assert binaries and tag.endswith(wheel_binaries.platform_tag(binaries)), (tag, binaries)


def check_contents(path, package, own_files, notices):
    """Gives the fields of the wheel's metadata."""
    size = os.path.getsize(path)
    assert size <= MAX_BYTES, f"{path} has {size} bytes, at most {MAX_BYTES}"
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        check_names(names, package, own_files)
        info = next(name for name in names if name.endswith("/METADATA")).rpartition("/")[0]
        fields = email.message_from_bytes(wheel.read(f"{info}/METADATA"))
        check_record(wheel, names, info)
        check_notices(wheel, info, fields, notices)
        tag = email.message_from_bytes(wheel.read(f"{info}/WHEEL"))["Tag"]
        assert path.endswith(f"-{tag}.whl"), (path, tag)
        check_platform(wheel, names, tag)
    assert fields["Description-Content-Type"] == "text/markdown" and len(fields.get_payload()) > 1000
    print(f"{os.path.basename(path)}: {size} bytes, {len(names)} files")
    return fields


class Environment:
    """A virtual environment in `folder` with nothing but `packages`, folders of installed ones."""

    def __init__(self, folder, packages):
        venv.create(folder, symlinks=True, with_pip=False)
        self.python = pathlib.Path(folder, "bin", "python")
        self.site = next(pathlib.Path(folder).glob("lib/python*/site-packages"))
        (self.site / "packages.pth").write_text("".join(f"{package}\n" for package in packages))
        # Nothing of the interpreter that runs the test.
        self.variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "XC_"))}

    def pip(self, *arguments):
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self.python]
        return run(*pip, *arguments, env=self.variables)

    def install(self, *wheels):
        """Needs no network: what they require must be there."""
        self.pip("install", "--no-index", "--no-cache-dir", *wheels)

    def run(self, *arguments, **variables):
        """The standard output of a Python program, run outside of all source folders."""
        return run(self.python, *arguments, cwd=self.site.parent, env={**self.variables, **variables})
