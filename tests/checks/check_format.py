"""C++ is formatted as .clang-format says, Python as black does with 120 columns."""

import subprocess
import sys

from files import ROOT, list_files


def main():
    failed = False
    sources = list_files(".h", ".cc", ".c")
    # In portions on two processes: the slowest check otherwise.
    portions = [sources[i::2] for i in range(2) if sources[i::2]]
    command = ["clang-format-14", "--dry-run", "--Werror", "--ferror-limit=1"]
    running = [subprocess.Popen(command + portion, cwd=ROOT, stderr=subprocess.PIPE, text=True) for portion in portions]
    for process in running:
        _, err = process.communicate()
        if process.returncode:
            failed = True
            print("\n".join(line for line in err.splitlines() if "error:" in line) or err)
    scripts = list_files(".py")
    if scripts:
        done = subprocess.run(
            [sys.executable, "-m", "black", "-q", "--check", "--diff", "-l", "120", *scripts],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            failed = True
            print(done.stdout + done.stderr)
    if failed:
        print("put right by: clang-format-14 -i FILES; .venv/bin/black -l 120 FILES")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
