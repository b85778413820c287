"""Checks a folder that scripts/dist wrote, with the libraries of the formats: check.py FOLDER VERSION.

The SBOM fits its schema, and each wheel names in its file what its name says.
"""

import sys
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import parse_wheel_filename


def check_sbom(path: Path) -> None:
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(path.read_text())
    if error is not None:
        raise SystemExit(f"{path.name} does not fit the schema: {error.data}")


def check_wheel(path: Path, version: str) -> None:
    name, named, _, tags = parse_wheel_filename(path.name)
    with ZipFile(path) as wheel:
        top = f"{name.replace('-', '_')}-{version}.dist-info/"
        tagged = message_from_string(wheel.read(top + "WHEEL").decode())
        metadata = message_from_string(wheel.read(top + "METADATA").decode())
        files = wheel.namelist()
        times = {info.date_time for info in wheel.infolist()}
    if {str(tag) for tag in tags} != set(tagged.get_all("Tag", [])):
        raise SystemExit(f"{path.name} has the tags {tagged.get_all('Tag')}")
    if str(named) != version or metadata["Version"] != version or metadata["Name"] != name:
        raise SystemExit(f"{path.name} is {metadata['Name']} {metadata['Version']}")
    if len(times) != 1:
        raise SystemExit(f"{path.name} has files of {len(times)} times")
    if top + "licenses/LICENSE" not in files:
        raise SystemExit(f"{path.name} has no licence")
    pure = name == "pleat-client"
    if (tagged["Root-Is-Purelib"] == "true") != pure or any(tag.platform == "any" for tag in tags) != pure:
        raise SystemExit(f"{path.name} is not for the platforms of what it has")
    if not pure and top + "licenses/licences.txt" not in files:
        raise SystemExit(f"{path.name} has no licences of dependencies")
    if pure and f"pleat-server=={version}; extra == 'server'" not in metadata.get_all("Requires-Dist", []):
        raise SystemExit(f"{path.name} does not ask for the program of its version")


folder = Path(sys.argv[1])
sboms, wheels = list(folder.glob("*.cdx.json")), list(folder.glob("*.whl"))
if len(sboms) != 1 or not wheels:
    raise SystemExit(f"{folder} has {len(sboms)} SBOM and {len(wheels)} wheels")
check_sbom(sboms[0])
for file in wheels:
    check_wheel(file, sys.argv[2])
