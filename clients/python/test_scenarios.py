"""Runs scenarios.json with both forms of the client, and writes the results.

Usage: test_scenarios.py RESULTS-DIRECTORY. The program agent-handoff is in PATH.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Iterator

import agent_handoff
from agent_handoff import AsyncWorkspace, HandoffError, Object, Workspace

SCENARIOS = json.loads((Path(__file__).parent.parent / "scenarios.json").read_text())["scenarios"]


def plain(value: Any) -> Any:
    """Return a typed answer as JSON, without what is empty."""
    if isinstance(value, Object):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.name != "json"}
        return {agent_handoff._camel(k): plain(v) for k, v in fields.items() if v is not None and v != ()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name)


def fill(value: Any, named: dict[str, Any]) -> Any:
    """Replace ${name.member} in texts."""

    def member(m: re.Match[str]) -> str:
        if m[1].startswith("'"):
            return m[1].strip("'")
        name, *path = m[1].split(".")
        found = named[name]
        for p in path:
            found = found[int(p)] if isinstance(found, list) else found[p]
        return str(found)

    if isinstance(value, str):
        return re.sub(r"\$\{([^}]+)\}", member, value)
    if isinstance(value, list):
        return [fill(v, named) for v in value]
    if isinstance(value, dict):
        return {k: fill(v, named) for k, v in value.items()}
    return value


def missing(want: Any, got: Any, at: str = "") -> str:
    """Return where got has not what is wanted."""
    if isinstance(want, dict) and isinstance(got, dict):
        for k, v in want.items():
            if v == [] and k not in got:
                continue
            if k not in got:
                return f"{at}.{k} is missing"
            if found := missing(v, got[k], f"{at}.{k}"):
                return found
        return ""
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return next((m for i, w in enumerate(want) if (m := missing(w, got[i], f"{at}[{i}]"))), "")
    return "" if want == got and type(want) is type(got) else f"{at}: got {got!r}, want {want!r}"


def zeros(n: int) -> Iterator[bytes]:
    chunk = bytes(1 << 20)
    while n > 0:
        yield chunk[:n]
        n -= len(chunk)


def endless() -> Iterator[bytes]:
    while True:
        yield b"text\n"
        time.sleep(0.01)


def failing(message: str) -> Iterator[bytes]:
    yield b"text\n"
    raise RuntimeError(message)


class Runner:
    """Runs one scenario in a directory of its own."""

    def __init__(self, scenario: dict[str, Any], asynchronous: bool, top: Path) -> None:
        self.scenario, self.asynchronous = scenario, asynchronous
        self.directory, self.home = top / "work", top / "home"
        self.pid = top / "pid"
        self.program = ""
        self.named: dict[str, Any] = {}
        self.results: list[Any] = []
        for d in (self.directory, self.home):
            d.mkdir()
        self.env = {"HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1", **scenario.get("env", {})}
        if scenario.get("git"):
            for args in (["init", "-q"], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x"]):
                subprocess.run(["git", *args], cwd=self.directory, env={**os.environ, **self.env}, check=True)
        else:
            (self.directory / ".git").mkdir()
        for name, text in scenario.get("files", {}).items():
            self.write(name, text)
        if "program" in scenario:
            self.program = self.script(top / "program", scenario["program"]) if scenario["program"] else str(top / "none")
        if scenario.get("relative"):
            self.program = os.path.relpath(self.program)

    def script(self, path: Path, text: str) -> str:
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def write(self, name: str, text: str) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def workspace(self, step: dict[str, Any]) -> Any:
        program = self.program
        if "signal" in step or "cancel" in step:
            program = self.script(self.pid.with_name("noted"), f'#!/bin/sh\necho $$ >"{self.pid}.new"\nmv "{self.pid}.new" "{self.pid}"\nexec agent-handoff "$@"\n')
        kind = AsyncWorkspace if self.asynchronous else Workspace
        directory = self.directory / self.scenario.get("directory", "")
        return kind(directory, agent=step.get("by", ""), program=program, env=self.env)

    async def run(self) -> None:
        for step in self.scenario["steps"]:
            await self.step(fill(step, self.named))

    async def step(self, step: dict[str, Any]) -> None:
        if "write" in step:
            return self.write(step["write"], step["text"])
        if "damage" in step:
            for folder in step["damage"]:
                damage(self.directory / folder)
            return
        if "background" in step:
            self.named[step["as"]] = asyncio.create_task(self.call(step["background"]))
            return
        try:
            if "join" in step:
                result = await self.named[step["join"]]
            elif "concurrent" in step:
                n = step["concurrent"]
                made = await asyncio.gather(*(self.call({**step, "options": {**step["options"], "title": f"title {i}"}}) for i in range(n)))
                result = {"distinct": len({m["id"] for m in made})}
            else:
                result = await self.interrupted(step) if "signal" in step or "cancel" in step else await self.call(step)
        except HandoffError as e:
            if "error" not in step:
                raise
            got = {**plain(e.error), "found": len(e.artifacts), "class": type(e).__name__}
            assert e.kind == got["kind"] or type(e) is HandoffError, e
            self.check(step["error"], got)
            return
        except RuntimeError as e:
            assert str(e) == step.get("thrown"), e
            return
        assert "error" not in step and "thrown" not in step, f"{step} returned {result}"
        if "count" in step:
            result = {"count": len(result["artifacts"])}
            step["want"] = {"count": step["count"]}
        if "as" in step:
            self.named[step["as"]] = result
        self.check(step.get("want"), result)

    def check(self, want: Any, got: Any) -> None:
        self.results.append(got)
        if want is not None and (found := missing(want, got)):
            raise AssertionError(f"{self.scenario['name']}: {found}\n{json.dumps(got, ensure_ascii=False)}")

    async def interrupted(self, step: dict[str, Any]) -> Any:
        """Start a call, and send a signal to its program, or cancel the call."""
        self.pid.unlink(missing_ok=True)
        if "cancel" in step and step["call"] == "watch":
            watch = self.workspace(step).watch()
            if self.asynchronous:
                async with watch:
                    pid = await self.started()
            else:
                with watch:
                    pid = await self.started()
            return {"running": running(pid)}
        task = asyncio.create_task(self.call(step))
        pid = await self.started()
        if "cancel" in step:
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                return {"running": running(pid)}
            raise AssertionError("the call was not cancelled")
        await asyncio.sleep(0.3)
        os.kill(pid, getattr(signal, step["signal"]))
        return await task

    async def started(self) -> int:
        for _ in range(600):
            if self.pid.exists():
                return int(self.pid.read_text())
            await asyncio.sleep(0.05)
        raise AssertionError("the program did not start")

    async def call(self, step: dict[str, Any]) -> Any:
        w = self.workspace(step)
        if "other" in step:
            return plain(await self.answer(w.call, *step["other"], stdin=step.get("text")))
        args = step.get("args", []) + step.get("refs", [])
        options = {snake(k): v for k, v in step.get("options", {}).items()}
        if (content := content_of(step)) is not None:
            options["content"] = content
        if step["call"] == "watch":
            return await self.take(w.watch(**options), step["take"])
        if step["call"] == "read":
            return await self.body(w.read(*args, **options), step.get("want"))
        return plain(await self.answer(getattr(w, step["call"]), *args, **options))

    async def answer(self, method: Any, *args: Any, **options: Any) -> Any:
        if self.asynchronous:
            return await method(*args, **options)
        return await asyncio.to_thread(method, *args, **options)

    async def take(self, watch: Any, n: int) -> Any:
        if not self.asynchronous:
            return await asyncio.to_thread(take_sync, watch, n)
        async with watch:
            return [plain(await watch.__anext__()) for _ in range(n)]

    async def body(self, body: Any, want: Any) -> Any:
        if isinstance(want, dict) and "sha256" in want:
            digest, n = hashlib.sha256(), 0
            if self.asynchronous:
                async for data in body:
                    digest.update(data)
                    n += len(data)
            else:
                for data in body:
                    digest.update(data)
                    n += len(data)
            return {"sha256": digest.hexdigest(), "bytes": n}
        if isinstance(want, dict) and "base64" in want:
            return {"base64": base64.b64encode(await self.answer(body.bytes)).decode()}
        text = await self.answer(body.text)
        if isinstance(want, dict):
            return want if text == want["repeat"] * want["times"] else {"text": text}
        return text


def content_of(step: dict[str, Any]) -> Any:
    if "base64" in step:
        return base64.b64decode(step["base64"])
    if "repeat" in step:
        return step["repeat"] * step["times"]
    if "zeros" in step:
        return zeros(step["zeros"])
    if "endless" in step:
        return endless()
    if "failing" in step:
        return failing(step["failing"])
    return step.get("content")


def take_sync(watch: Workspace, n: int) -> Any:
    with watch:  # type: ignore[attr-defined]
        return [plain(next(watch)) for _ in range(n)]  # type: ignore[call-overload]


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def damage(folder: Path) -> None:
    """Overwrite the files of a folder."""
    for file in folder.rglob("*"):
        if file.is_file():
            file.chmod(0o644)
            file.write_text("damaged")


class Scenarios(unittest.TestCase):
    results: dict[str, dict[str, Any]] = {"sync": {}, "async": {}}


def add(form: str, scenario: dict[str, Any]) -> None:
    def test(self: Scenarios) -> None:
        if form in scenario.get("not", {}):
            self.skipTest(scenario["not"][form])
        if scenario.get("long") and not os.environ.get("HANDOFF_LONG"):
            self.skipTest("make long runs it")
        with tempfile.TemporaryDirectory() as top:
            runner = Runner(scenario, form == "async", Path(top).resolve())
            asyncio.run(runner.run())
            self.results[form][scenario["name"]] = runner.results

    setattr(Scenarios, f"test_{form}: {scenario['name']}", test)


for form in Scenarios.results:
    for scenario in SCENARIOS:
        add(form, scenario)


if __name__ == "__main__":
    out = Path(sys.argv.pop(1))
    ended = unittest.main(exit=False)
    for form, results in Scenarios.results.items():
        text = json.dumps(results, ensure_ascii=False, indent=1)
        (out / f"python-{form}.json").write_text(text)
    sys.exit(not ended.result.wasSuccessful())
