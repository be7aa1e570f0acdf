"""Messages beside jaxlib's: for each module of the sample data that jaxlib accepts, its message reads here as the module
that the text reads as, and our message reads there as a module that prints as jaxlib's own message does.

    jaxlib_wire.py WIRE_TOOL [STRIDE]    STRIDE: every n-th of the conformance programs (default 6)
"""

import glob
import os
import subprocess
import sys
import tempfile

from jaxlib import _hlo

# Modules of each folder at least, and those with an attribute that the reader of this jaxlib does not know.
FOLDERS = {"hlo": 23, "programs": 40, "hlo_conformance": 1741, "more/hlo_conformance": 584}
REFUSED = {"topk_logits_k10_1x50000_bf16.hlo"}


def printed(module):
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    return module.to_string(options)


def main():
    tool, stride = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 6
    data = os.environ.get("XC_DATA", "")
    if not data:
        print("SKIPPED: no sample data")
        return 0
    files, failed = [], 0
    for folder, at_least in FOLDERS.items():
        found = sorted(glob.glob(os.path.join(data, folder, "*.hlo")))
        if len(found) < at_least:
            failed += 1
            print(f"{folder} has {len(found)} modules, at least {at_least} were to be compared")
        files += found[:: stride if folder.endswith("hlo_conformance") else 1]
    texts, refused = {}, set()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "plan"), "w") as plan:
            for number, file in enumerate(files):
                with open(file) as f:
                    text = f.read()
                try:
                    module = _hlo.hlo_module_from_text(text)
                except Exception as error:
                    name = os.path.basename(file)
                    refused.add(name)
                    if name not in REFUSED:
                        failed += 1
                        print(f"{file}: jaxlib refuses it: {error}")
                    continue
                theirs, ours = (os.path.join(folder, f"{number}.{side}") for side in ("theirs", "ours"))
                if "constant({...})" in text:
                    # jaxlib makes up the elements: both read the text with these.
                    file = os.path.join(folder, os.path.basename(file))
                    with open(file, "w") as f:
                        f.write(printed(module))
                message = module.as_serialized_hlo_module_proto()
                with open(theirs, "wb") as f:
                    f.write(message)
                # Its own message does not carry all that the text says (the propagation of shardings).
                texts[file] = (printed(_hlo.HloModule.from_serialized_hlo_module_proto(message)), ours)
                plan.write(f"{file}\t{theirs}\t{ours}\n")
        result = subprocess.run([tool, os.path.join(folder, "plan")], stdout=subprocess.PIPE, text=True, check=False)
        failed += len(result.stdout.splitlines()) + (result.returncode not in (0, 1))
        print(result.stdout, end="")
        for file, (expected, ours) in texts.items():
            try:
                with open(ours, "rb") as f:
                    actual = printed(_hlo.HloModule.from_serialized_hlo_module_proto(f.read()))
            except Exception as error:
                print(f"{file}: jaxlib refuses our message: {error}")
                failed += 1
                continue
            if actual != expected:
                failed += 1
                pairs = zip(expected.splitlines(), actual.splitlines())
                line = next((p for p in pairs if p[0] != p[1]), ("", "one text ends before the other"))
                print(f"{file}: jaxlib prints our message otherwise:\n  {line[0][:300]}\n  {line[1][:300]}")
    print(f"{len(texts)} modules compared, {len(refused)} refused by jaxlib ({' '.join(refused)}), {failed} failed")
    # A module that jaxlib comes to take is to be compared.
    return 1 if failed or refused != REFUSED or len(texts) != len(files) - len(REFUSED) else 0


sys.exit(main())
