"""Compares results of the scenarios, but for IDs, times, and the like.

Usage: compare.py FILE FILE…
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

# What differs from run to run, and the name for it.
PATTERNS = [
    (r"\b(art|cmt|rec)_[0-9A-Z]{26}\b", "ID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"/[^\" ]*/(tmp|scenario-)[^/\" ]*/", "/TOP/"),
    (r"\b[0-9a-f]{40}\b", "COMMIT"),
    (r'("durationMs":) \d+', r"\1 0"),
    (r"title \d+", "title N"),
    (r'("body": {"algorithm": "sha256", "value": ")[0-9a-f]{64}', r"\1DIGEST"),  # has an ID
    (r'"target": "unknown"', '"target": "available"'),  # before the file was looked at
    (r', "later": {"a": \[1\]}', ""),  # not in the types of Python
]


def normal(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    for pattern, name in PATTERNS:
        text = re.sub(pattern, name, text)
    return text


def main(files: list[str]) -> int:
    first, *others = [json.loads(Path(f).read_text()) for f in files]
    different = compared = 0
    for other, file in zip(others, files[1:]):
        for scenario in sorted(first.keys() & other.keys()):
            compared += 1
            a, b = normal(first[scenario]), normal(other[scenario])
            if a != b:
                different += 1
                at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                at = max(0, at - 60)
                print(f"{scenario}: the results differ\n{files[0]}: …{a[at:at + 160]}\n{file}: …{b[at:at + 160]}")
        print(f"{len(first.keys() & other.keys())} scenarios compared; only in one: {sorted(first.keys() ^ other.keys())}")
    return int(different > 0 or compared == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
