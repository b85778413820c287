"""Folds Trp-cage with the model mini over both transports, by the official Python SDK (mcp).

The server is at PLEAT_URL, the key is PLEAT_KEY, and the first argument is the program pleat. The model mini proves the
plumbing and nothing about the protein.
"""

import os
import sys
from typing import Any, Literal

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Request, RequestParams, Result, TextResourceContents

URL, KEY, PROGRAM = os.environ["PLEAT_URL"], os.environ["PLEAT_KEY"], sys.argv[1]
TRP_CAGE = "DAYAQWLKDGGPSSGRPPPS"
TOOLS = {
    "list_models", "validate", "fold", "get_job", "list_jobs", "get_scores", "get_residues", "ask", "simulate", "design",
    "submit_batch", "batch_rows", "cancel", "get_file",
}  # fmt: skip


JOB = {
    "name": "Trp-cage",
    "sequences": [{"proteinChain": {"sequence": TRP_CAGE}}],
    "params": {"modelName": "mini", "seed": "1"},  # of equal jobs the first is computed
}


async def ok(client: Client, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured result of a tool, which the client has checked against the schema of the tool."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result
    assert isinstance(result.structured_content, dict), result
    return result.structured_content


async def fold(client: Client) -> None:
    """Folds, reads scores and a file, and asks a question."""
    listed = await client.list_tools()
    assert {t.name for t in listed.tools} == TOOLS, listed
    assert len((await client.list_prompts()).prompts) == 3
    models = await ok(client, "list_models", {"kind": "fold"})
    assert "mini" in [m["name"] for m in models["models"]], models
    done = await ok(client, "fold", JOB)
    while not done["ended"]:
        done = await ok(client, "get_job", {"id": done["id"], "waitSeconds": 20})
    assert done["status"] == "COMPLETED", done
    scores = await ok(client, "get_scores", {"jobId": done["id"]})
    assert 0 < scores["structures"][0]["meanPLDDT"] <= 100, scores
    residues = await ok(client, "get_residues", {"jobId": done["id"]})
    assert len(residues["residues"]) == len(TRP_CAGE), residues
    read = (await client.read_resource(f"pleat://jobs/{done['id']}/model.cif")).contents[0]
    assert isinstance(read, TextResourceContents) and read.text.startswith("data_"), read
    asked = await ok(client, "ask", {"source_job_id": done["id"], "question": "How many residues does it have?"})
    assert "20" in asked["answer"], asked
    refused = await client.call_tool("fold", {**JOB, "params": {"modelName": "minni"}})
    assert refused.is_error, refused


class TaskResult(Result):
    """A task of the extension for tasks."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str


class TaskState(Result):
    """The answer of tasks/get."""

    status: str
    result: dict[str, Any] | None = None


class TaskParams(RequestParams):
    """The parameters of tasks/get."""

    task_id: str


class GetTask(Request[TaskParams, Literal["tasks/get"]]):
    """The request tasks/get."""

    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"
    params: TaskParams


class Tasks(ClientExtension):
    """The extension for tasks, which waits for the end of a task."""

    identifier = "io.modelcontextprotocol/tasks"
    seen = 0

    def claims(self) -> list[ResultClaim[Any]]:
        """The result that a task stands for."""
        return [ResultClaim(result_type="task", model=TaskResult, resolve=self.wait)]

    async def wait(self, task: TaskResult, context: ClaimContext) -> CallToolResult:
        """Asks for a task until it has ended."""
        self.seen += 1
        while True:
            request = GetTask(params=TaskParams(task_id=task.task_id))
            state = await context.session.send_request(request, TaskState)
            if state.status == "completed":
                return CallToolResult.model_validate(state.result)
            assert state.status == "working", state
            await anyio.sleep(0.2)


async def main() -> None:
    """Runs every version of the protocol over every transport."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, timeout=60) as http:

        def remote(**options: Any) -> Client:
            return Client(streamable_http_client(f"{URL}/mcp", http_client=http), **options)

        for mode in ("legacy", "auto"):
            async with remote(mode=mode) as client:
                await fold(client)
                print(f"http: {client.protocol_version}")
        tasks = Tasks()
        async with remote(extensions=[tasks]) as client:
            done = await ok(client, "fold", JOB)
            assert done["status"] == "COMPLETED" and tasks.seen == 1, done
            print("http: a fold as a task")
    program = StdioServerParameters(command=PROGRAM, args=["mcp"], env={"PLEAT_URL": URL, "PLEAT_KEY": KEY})
    for mode in ("legacy", "auto"):
        async with Client(program, mode=mode) as client:
            await fold(client)
            print(f"stdio: {client.protocol_version}")


anyio.run(main)
