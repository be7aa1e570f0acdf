"""The end of scripts that look at several things and tell of each by its name."""


def report(checks, seen):
    """Prints what does not hold, with what was seen, and "N passed, N failed"; the exit status. `checks`: name to bool."""
    failed = [name for name, holds in checks.items() if not holds]
    for name in failed:
        print(f"FAILED {name}: {seen}")
    print(f"{len(checks) - len(failed)} passed, {len(failed)} failed")
    return int(bool(failed))
