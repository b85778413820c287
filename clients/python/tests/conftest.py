"""A real server for all tests: the program that PLEAT_PROGRAM names, on a free port, with a new data folder."""

import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from pleat import AsyncPleat, Job, Params, Pleat, Policy
from relay import Relay

REPOSITORY = Path(__file__).resolve().parents[3]
QUICK = Policy(poll_every=0.05, first_delay=0.01, longest_delay=0.02)
SEQUENCE = "GGGAAA"


@dataclass(frozen=True)
class Server:
    url: str
    data: Path
    program: str

    def key(self, *flags: str) -> str:
        """A new key of a user of the server."""
        return self.command("keys", "create", *flags)

    def command(self, *words: str) -> str:
        """The output of a command on the server's database."""
        args = [self.program, *words, "--data", str(self.data)]
        return subprocess.run(args, check=True, stdout=subprocess.PIPE, text=True, env=environment()).stdout.strip()


def environment() -> dict[str, str]:
    """The environment without settings of the program, which refuses those that it does not know."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PLEAT_")}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    program = os.environ.get("PLEAT_PROGRAM")
    if not program:
        pytest.skip("PLEAT_PROGRAM does not name the program; scripts/test-python builds it")
    folder = tmp_path_factory.mktemp("server")
    runners = folder / "runners"
    runners.mkdir()
    (runners / "foldrun").symlink_to(REPOSITORY / "runners" / "foldrun")
    (runners / "designer").symlink_to(REPOSITORY / "test" / "scenario" / "testdata" / "designer")
    args = ["serve", "--addr", "127.0.0.1:0", "--data", str(folder / "data"), "--engines"]
    args += ["mini,null,analyst,calvados,compare,designer,example", "--runners", str(runners), "--quota", "1000"]
    args += ["--slots", "4", "--devices", "none", "--webhook-allow", "127.0.0.0/8,::1", "--min-free-disk", "0"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([program, *args], stdout=subprocess.PIPE, stderr=log, text=True, env=environment())
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.match(r"listening on (\S+)", line)
            assert found, f"the server did not start: {line}\n{(folder / 'log').read_text()[-2000:]}"
            yield Server(found[1], folder / "data", program)
        finally:
            process.terminate()
            process.wait(30)
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture(scope="session")
def key(server: Server) -> str:
    return server.key("--user", "alice")


@pytest.fixture(scope="session")
def openapi(server: Server) -> dict[str, Any]:
    return httpx.get(f"{server.url}/openapi.json", trust_env=False).json()


@pytest.fixture
def pleat(server: Server, key: str) -> Iterator[Pleat]:
    with Pleat(server.url, key, policy=QUICK) as client:
        yield client


@pytest.fixture
async def apleat(server: Server, key: str) -> AsyncIterator[AsyncPleat]:
    async with AsyncPleat(server.url, key, policy=QUICK) as client:
        yield client


@pytest.fixture
def relay(server: Server) -> Iterator[Relay]:
    with Relay(server.url) as r:
        yield r


@pytest.fixture(scope="session")
def folded(server: Server, key: str) -> Iterator[Job]:
    """A fold that has completed, and that others with its seed share."""
    with Pleat(server.url, key) as client:
        yield client.fold(SEQUENCE, name="six", params=Params(seed=1)).wait(progress=False)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
