"""Replays modules with the built tool and compares their outputs with the golden files beside them.

usage: golden.py XLA PLATFORM FOLDER NAME…        (FOLDER is relative to XC_DATA)
       golden.py XLA PLATFORM FOLDER --all=COUNT  every module there, which must be at least COUNT

NAME:COUNT@ERROR: up to COUNT outputs may have a relative error up to ERROR where less is asked for. Only for what no
strict evaluation meets (docs/numerics.md says how that was found).
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np


def not_excused(complaints, allowance):
    """The complaints, without those that `allowance`, COUNT@ERROR, covers."""
    if not allowance:
        return complaints
    count, limit = allowance.split("@")
    near, others = [], []
    for complaint in complaints:
        found = re.fullmatch(r"output \d+: relative error (\S+) > \S+", complaint)
        (near if found and float(found[1]) <= float(limit) else others).append(complaint)
    return others + (near if len(near) > int(count) else [])


def main():
    xla, platform, folder, *names = sys.argv[1:]
    data = os.environ.get("XC_DATA", "")
    if not data or not os.path.isdir(os.path.join(data, folder)):
        print("SKIPPED: no sample data (XC_DATA)")
        return 0
    root = pathlib.Path(data)
    sys.path.insert(0, str(root.parent / "tools"))
    import hlo_inputs

    folder = root / folder
    failed, at_least = 0, len(names)
    if names and names[0].startswith("--all="):
        at_least = int(names[0].removeprefix("--all="))
        names = sorted(p.name.removesuffix(".golden.json") for p in folder.glob("*.golden.json"))
    for entry in names:
        name, _, allowance = entry.partition(":")
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run(
                [xla, "replay", folder / f"{name}.hlo", f"--platform={platform}", f"--output_dir={scratch}"],
                capture_output=True,
                text=True,
            )
            if done.returncode:
                wrong = [f"exit status {done.returncode}: {done.stderr.strip()[:500]}"]
            else:
                count = len(list(pathlib.Path(scratch).glob("*.npy")))
                outputs = [np.load(f"{scratch}/{i}.npy") for i in range(count)]
                wrong = not_excused(hlo_inputs.compare(folder / f"{name}.golden.json", outputs), allowance)
        failed += bool(wrong)
        print(f"{name}: {'; '.join(wrong) if wrong else 'ok'}", flush=True)
    print(f"{len(names) - failed} of {len(names)} agree, at least {at_least} were to be compared")
    return 1 if failed or not names or len(names) < at_least else 0


if __name__ == "__main__":
    sys.exit(main())
