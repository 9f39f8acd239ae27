"""Exits with 0 if exactly the versions of a requirements file are installed, else names what is
not."""

import sys
from importlib.metadata import PackageNotFoundError, version

missing = []
for line in open(sys.argv[1]):
    if "==" in line:
        name, wanted = line.strip().split("==")
        try:
            # A local label names the build (2.15.0+cpu), not another version.
            found = version(name).split("+")[0]
        except PackageNotFoundError:
            found = "nothing"
        if found != wanted:
            missing.append(f"{name}: found {found}, expected {wanted}")
print("\n".join(missing), end="\n" if missing else "", file=sys.stderr)
sys.exit(1 if missing else 0)
