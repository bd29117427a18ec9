"""Writes a CycloneDX 1.5 list of the packages that are compiled into `think`.

Reads `cargo metadata` from standard input, and the checksums from the lock file that the argument names. Packages of
tests and build scripts, and macros, are not in the program, so that they are not listed.
"""

import json
import pathlib
import sys
import tomllib

ROOT = "thinkthrough-cli"


def main():
    metadata = json.load(sys.stdin)
    lock = tomllib.loads(pathlib.Path(sys.argv[1]).read_text())
    sums = {(it["name"], it["version"]): it.get("checksum") for it in lock["package"]}
    packages = {it["id"]: it for it in metadata["packages"]}
    nodes = {it["id"]: it for it in metadata["resolve"]["nodes"]}
    root = next(id for id, it in packages.items() if it["name"] == ROOT)
    edges = {}
    open_ids = [root]
    while open_ids:
        id = open_ids.pop()
        if id not in edges:
            needed = [it["pkg"] for it in nodes[id]["deps"] if any(kind["kind"] is None for kind in it["dep_kinds"])]
            edges[id] = [it for it in needed if not is_macro(packages[it])]
            open_ids += edges[id]
    listed = sorted(edges, key=lambda id: (packages[id]["name"], packages[id]["version"]))
    json.dump(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {"component": component(packages[root], sums, "application")},
            "components": [component(packages[id], sums, "library") for id in listed if id != root],
            "dependencies": [
                {"ref": url(packages[id]), "dependsOn": sorted({url(packages[it]) for it in edges[id]})} for id in listed
            ],
        },
        sys.stdout,
        indent=1,
    )
    print()


def is_macro(package):
    return any("proc-macro" in it["kind"] for it in package["targets"])


def component(package, sums, kind):
    found = {
        "type": kind,
        "bom-ref": url(package),
        "name": package["name"],
        "version": package["version"],
        "purl": url(package),
    }
    if package["license"]:
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if sums.get((package["name"], package["version"])):
        found["hashes"] = [{"alg": "SHA-256", "content": sums[package["name"], package["version"]]}]
    return found


def url(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


main()
