"""Names the platform in the wheel, since the program in it is for one."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["tag"] = f"py3-none-{os.environ['PLEAT_WHEEL_PLATFORM']}"
        build_data["pure_python"] = False
