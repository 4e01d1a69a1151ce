"""Write the software bill of materials of a wheel: what is compiled into it, and what it needs at run time.

    python bindings/sbom.py FILE

CycloneDX 1.6. There are no times and no random numbers in it: two builds of one version write the same bytes.
"""

import json
import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import nanobind

ROOT = Path(__file__).parents[1]


def robin_map_version() -> str:
    """Return the version of the hash table that nanobind brings along."""
    header = Path(nanobind.__file__).parent / "ext" / "robin_map" / "include" / "tsl" / "robin_growth_policy.h"
    found = re.findall(r"#define TSL_RH_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header.read_text())
    return ".".join(found)


def component(name: str, number: str, **more: object) -> dict[str, object]:
    """Describe a library that is compiled into the modules."""
    purl = f"pkg:{more.pop('kind', 'pypi')}/{name}@{number}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name.rpartition("/")[2],
        "version": number,
        "purl": purl,
        **more,
    }


def licensed(name: str) -> dict[str, object]:
    """Name a license by its SPDX identifier."""
    return {"licenses": [{"license": {"id": name}}]}


def bill() -> dict[str, object]:
    """Return the bill of materials."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    weald = component(project["name"], project["version"], **licensed(project["license"]))
    compiled = [
        component("nanobind", version("nanobind"), scope="required", **licensed("BSD-3-Clause")),
        component("Tessil/robin-map", robin_map_version(), kind="github", scope="required", **licensed("MIT")),
    ]
    needed = []
    for requirement in project["dependencies"]:
        name, _, least = requirement.partition(">=")
        needed.append(
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{name}",
                "name": name,
                "purl": f"pkg:pypi/{name}",
                "scope": "required",
                "properties": [{"name": "weald:installed-beside", "value": f">={least}"}],
            }
        )
    parts = [*compiled, *needed]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": weald},
        "components": parts,
        "dependencies": [{"ref": weald["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]}],
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(bill(), indent=2) + "\n")
