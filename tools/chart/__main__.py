"""`PYTHONPATH=tools python -m chart` (what `make chart` runs): bring what is written up to date, and say what."""

from __future__ import annotations

import sys

from chart.written import ROOT, stale


def main() -> int:
    changed = stale()
    for path, text in changed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"written: {path.relative_to(ROOT)}")
    if not changed:
        print("the chart is up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
