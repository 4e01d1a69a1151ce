"""Write the golden fingerprints again, from the definition: `python -m tests.golden.write`.

Do it only when the contract changes, and say so in CHANGELOG.md. New cases are added without a change to old ones.
"""

import json

from tests.golden.cases import FILE, fingerprint, make_cases, read_file
from weald.engines.reference.engine import ReferenceEngine


def main() -> None:
    before = read_file() if FILE.exists() else {}
    prints = {name: fingerprint(ReferenceEngine(), case) for name, case in make_cases().items()}
    FILE.write_text(json.dumps(prints, indent=1) + "\n")
    changed = [name for name in prints if before.get(name, prints[name]) != prints[name]]
    new, lost = prints.keys() - before.keys(), before.keys() - prints.keys()
    print(f"{len(prints)} fingerprints: {len(changed)} changed, {len(new)} new, {len(lost)} gone")  # noqa: T201


if __name__ == "__main__":
    main()
