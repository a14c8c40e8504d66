"""Drives kforge mcp with the official SDK: sdk_client.py KFORGE PROJECT. Every tool, on each way to reach the server."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

KFORGE, PROJECT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TASK = "examples/transpose/task.toml"
GOOD, BAD = "examples/transpose/good.cu", "examples/transpose/bad/bank_conflicts.cu"
TOOLS = ["plan_task", "check_candidate", "profile_candidate", "compare", "explain_finding", "search_knowledge", "search_context",
         "sweep_parameters", "list_runs", "get_best", "gpu_sheet"]
TOKEN = "a-token-for-this-test"


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def arguments(store):
    return ["mcp", "--root", PROJECT, "--context", os.path.join(PROJECT, "docs"), "--store", store]


@asynccontextmanager
async def over_stdio(mode, store):
    parameters = StdioServerParameters(command=KFORGE, args=arguments(store), env=dict(os.environ))
    async with Client(stdio_client(parameters), mode=mode) as client:
        yield client


@asynccontextmanager
async def over_http(mode, store):
    environment = dict(os.environ, KFORGE_MCP_TOKEN=TOKEN)
    server = subprocess.Popen([KFORGE, *arguments(store), "--http", "--port", "0"], stderr=subprocess.PIPE, text=True, env=environment)
    try:
        url = re.search(r"http://127\.0\.0\.1:\d+/mcp", server.stderr.readline()).group(0)
        async with httpx2.AsyncClient(headers={"Authorization": "Bearer " + TOKEN}, timeout=120) as http:
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                yield client
    finally:
        server.terminate()
        expect(server.wait(10) == 0, "the server ends by SIGTERM with status 0")


class Session:
    def __init__(self, client):
        self.client, self.used, self.steps = client, set(), []

    async def call(self, tool, fails=False, **given):
        self.used.add(tool)

        async def progress(done, total, message):
            self.steps.append((done, message))

        result = await self.client.call_tool(tool, given, progress_callback=progress)
        expect(bool(result.is_error) == fails, f"{tool}: {result.content}")
        text = result.content[0].text
        expect(len(text) < 6000, f"{tool} answers briefly: {len(text)} characters")
        return text, result.structured_content

    async def read(self, uri):
        result = await self.client.read_resource(uri)
        return result.contents[0].text


async def judge(s):
    text, data = await s.call("check_candidate", task=TASK, candidate=BAD)
    expect(data["status"] == "rejected" and data["findings"][0]["contract"] == "shared.banks", text)
    expect("line 22" in text and "pad each row" in text, text)
    expect(s.steps and all(a[0] < b[0] for a, b in zip(s.steps, s.steps[1:])), f"progress grows: {s.steps}")
    verdict = await s.read(data["handles"]["verdict"])
    expect('"kforge.verdict/1"' in verdict, verdict[:200])
    expect("shared.banks" in await s.read(data["handles"]["report"]), "a report")
    expect("transpose_tiles" in await s.read(data["handles"]["source"]), "a source")
    explained, _ = await s.call("explain_finding", verdict=data["handles"]["verdict"], finding=1)
    expect("rule " in explained and "bank" in explained, explained)
    await s.call("explain_finding", contract="shared.banks")
    text, _ = await s.call("explain_finding", fails=True, contract="shared.bank")
    expect("did you mean" in text, text)

    source = open(os.path.join(PROJECT, GOOD)).read()
    text, data = await s.call("check_candidate", task=TASK, source=source)
    expect(data["status"] == "accepted" and data["us"] > 0, text)
    text, data = await s.call("profile_candidate", task=TASK, candidate=BAD)
    expect(any(line["line"] == 22 for line in data["lines"]), text)
    expect("smsp__inst_executed.sum" in await s.read(data["handles"]["profile"]), "a profile")
    expect(".entry" in await s.read(data["handles"]["ptx"]), "its PTX")
    try:
        expect("STG" in await s.read(data["handles"]["sass"]), "its machine code")
    except Exception as error:
        expect("tools/setup.sh disassembler" in str(error), f"without nvdisasm it says how to get it: {error}")
    text, data = await s.call("compare", task=TASK, candidates=[BAD, GOOD])
    expect(data["rows"][0]["candidate"] == GOOD and data["rows"][0]["status"] == "accepted", text)
    text, data = await s.call("sweep_parameters", task=TASK, source=source, parameters={"kRows": [4, 8]})
    expect(len(data["points"]) == 2 and data["points"][0]["status"] == "accepted", text)


async def know(s):
    text, data = await s.call("plan_task", task=TASK)
    expect(data["pattern"] == "transpose" and data["sizes"][0]["floor_us"] > 0, text)
    expect("[[step]]" in await s.read(data["handles"]["plan"]), "a plan")
    _, data = await s.call("search_knowledge", words="bank conflict")
    expect("## " in (rule := await s.read(data["rules"][0]["uri"])) or len(rule) > 100, "a rule")
    text, _ = await s.call("search_context", query="shared.banks wavefronts")
    expect(re.search(r"docs/\S+\.md:\d+-\d+", text), text)
    _, data = await s.call("gpu_sheet")
    expect(any(gpu["name"] == "h200" for gpu in data["gpus"]), "the list of GPUs")
    text, _ = await s.call("gpu_sheet", gpu="h200")
    expect("sm_90" in text, text)
    _, data = await s.call("list_runs")
    expect(data["runs_in_all"] == 1, data)
    text, data = await s.call("get_best", run="last")
    expect(data["is_winner"] and "__global__" in await s.read(data["handles"]["source"]), text)
    expect("Step 1" in await s.read(data["handles"]["story"]), "a story")


async def refuse(s):
    text, _ = await s.call("check_candidate", fails=True, task="/etc/passwd")
    expect("no such file below" in text and PROJECT in text, text)
    text, _ = await s.call("check_candidate", fails=True, task="examples/../../../etc/hostname")
    expect("no such file below" in text, text)
    text, _ = await s.call("check_candidate", fails=True, task=TASK, candiate=GOOD)
    expect("did you mean" in text, text)
    for bad in ("kforge://verdict/ffff", "file:///etc/passwd", "kforge://gpu//etc/passwd"):
        try:
            await s.read(bad)
            raise AssertionError("read " + bad)
        except Exception as error:
            expect("AssertionError" not in repr(error), repr(error))
    try:
        await s.client.call_tool("no_such_tool", {})
        raise AssertionError("called no_such_tool")
    except Exception as error:
        expect("no tool" in str(error), repr(error))


def started_by(process):
    """The processes that one has started, and those these have started."""
    children = {}
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat") as file:
                children.setdefault(int(file.read().rpartition(")")[2].split()[1]), []).append(int(entry))
        except (OSError, ValueError):   # no process, or one that has ended
            pass
    found, open_ones = [], [process]
    while open_ones:
        found += (new := children.get(open_ones.pop(), []))
        open_ones += new
    return found


def is_worker(process):
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return b"kforge-worker" in file.read()
    except OSError:
        return False


def workers():
    """Those of the servers that we started: tests that run beside us have workers too."""
    return {process for process in started_by(os.getpid()) if is_worker(process)}


async def until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < end, f"not within {seconds} s")
        await anyio.sleep(0.1)


async def cancel(s):
    """A cancelled check ends its worker, and the server goes on."""
    before = workers()
    started = anyio.Event()

    async def progress(done, total, message):
        if message and "emulat" in message:
            started.set()

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: s.client.call_tool("check_candidate", {"task": TASK, "candidate": "tests/mcp/slow.cu"}, progress_callback=progress))
        with anyio.fail_after(120):
            await started.wait()
        await until(lambda: workers() - before, 60)
        running = workers() - before
        group.cancel_scope.cancel()
    # An orphan is no child of ours any more: these themselves have to end, and no others to come.
    await until(lambda: not any(map(is_worker, running)) and not workers() - before, 15)
    await s.call("gpu_sheet")


async def drive(way, mode, store):
    start = time.monotonic()
    async with way(mode, store) as client:
        s = Session(client)
        listed = (await client.list_tools()).tools
        expect([tool.name for tool in listed] == TOOLS, [tool.name for tool in listed])
        expect(all(tool.input_schema["type"] == "object" for tool in listed), "schemas")
        expect(client.instructions, "instructions")
        await know(s)
        await refuse(s)
        await cancel(s)
        if mode == "auto":
            await judge(s)
            expect(s.used == set(TOOLS), set(TOOLS) - s.used)
        else:   # the tools are the same; what differs is how messages travel
            _, data = await s.call("check_candidate", task=TASK, candidate=GOOD)
            expect(data["status"] == "accepted" and s.steps, data)
        expect(any(r.name == "verdict" for r in (await client.list_resources()).resources), "verdicts are listed")
        expect(len((await client.list_resource_templates()).resource_templates) >= 8, "templates")
        print(f"{way.__name__} {mode}: MCP {client.protocol_version}, {time.monotonic() - start:.1f} s", flush=True)
        return client.protocol_version


async def end_of_input(store):
    """The end of standard input ends the server and its workers."""
    before = workers()
    server = subprocess.Popen([KFORGE, *arguments(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    server.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
                       '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"check_candidate","arguments":{"task":"%s","candidate":"tests/mcp/slow.cu"}}}\n' % TASK)
    server.stdin.flush()
    await until(lambda: workers() - before, 60)
    running = workers() - before
    server.stdin.close()
    start = time.monotonic()
    expect(server.wait(15) == 0, "status 0")
    await until(lambda: not any(map(is_worker, running)), 15)
    print(f"end of input: {time.monotonic() - start:.1f} s", flush=True)


async def main():
    with tempfile.TemporaryDirectory(prefix="kforge-mcp-test") as folder:
        store = os.path.join(folder, "store")
        subprocess.run([KFORGE, "optimize", os.path.join(PROJECT, TASK), "--candidates", "3", "--budget-seconds", "120", "--store", store],
                       check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        versions = [await drive(way, mode, store) for way in (over_stdio, over_http) for mode in ("auto", "legacy")]
        expect(versions == ["2026-07-28", "2025-11-25"] * 2, versions)
        await end_of_input(store)


asyncio.run(main())
