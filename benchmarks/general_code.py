"""Code for all sizes beside code of its own for each: run time, and what a further size costs.

usage: general_code.py SIZES [NAME…] [--sizes=N] [--symbols=N] [--seconds=S] [--more=FOLDER] [--out=FILE.md]
SIZES is bazel-bin/tests/sizes/sizes. The modules of data/programs whose sizes can be others (and those of --more, a folder
of .hlo files), with the sizes that most of them depends on, at N sizes from half to one and a half of their own. The runs
of both take turns in one process; the best of each counts.
"""

import argparse
import math
import os
import pathlib
import subprocess
import sys


def rows_of(options, file):
    """[sizes, general ms, exact ms, prepare ms, compile ms] for each size, and what was said beside."""
    command = [options.sizes_tool, "--near", f"--sizes={options.sizes}", f"--symbols={options.symbols}", "--verbose"]
    command += ["--megabytes=4000", f"--seconds={options.seconds}", str(file)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    rows, notes = [], []
    for line in done.stdout.splitlines():
        cells = line.split("\t")
        if len(cells) == 7:
            rows.append([cells[1], *map(float, (cells[2], cells[3], cells[5], cells[6]))])
        elif line.startswith(file.name):
            notes.append(line[len(file.name) + 2 :])
    if done.returncode not in (0, 1):
        notes.append(f"ended with {done.returncode}")
    return rows, notes


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("sizes_tool")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sizes", type=int, default=5)
    parser.add_argument("--symbols", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--more", help="a folder of modules")
    parser.add_argument("--out")
    options = parser.parse_args()
    data = pathlib.Path(os.environ.get("XC_DATA", "../shared/data"))
    files = sorted((data / "programs").glob("*.hlo"))
    if options.more:
        files += sorted(pathlib.Path(options.more).glob("*.hlo"))
    files = [f for f in files if not options.names or any(name in f.stem for name in options.names)]
    lines = ["| module | sizes | general / own: mean | worst | own ms | a further size ms | compile ms |"]
    lines.append("|---|---|---|---|---|---|---|")
    all_ratios, notes = [], []
    for file in files:
        rows, said = rows_of(options, file)
        notes += [f"- {file.stem}: {note}" for note in dict.fromkeys(said)]
        if not rows:
            continue
        ratios = [general / own for _, general, own, _, _ in rows]
        all_ratios += ratios
        median = lambda column: sorted(row[column] for row in rows)[len(rows) // 2]
        lines.append(
            f"| {file.stem} | {len(rows)} | {mean(ratios):.2f} | {max(ratios):.2f} | {median(2):.3f} | {median(3):.1f} | "
            f"{median(4):.0f} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    if all_ratios:
        over = sum(r > 1.25 for r in all_ratios)
        lines += ["", f"Mean of {len(all_ratios)} sizes: {mean(all_ratios):.3f}; {over} of them above 1.25."]
    text = "\n".join(lines + [""] + notes) + "\n"
    if options.out:
        pathlib.Path(options.out).write_text(text)
    print(text)


if __name__ == "__main__":
    main()
