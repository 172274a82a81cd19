"""Five agents work in worktrees of one repository, and a lead merges what was verified.

Usage: orchestrator.py REPOSITORY. The model is scripted: replace it with a real one.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from agent_handoff import AsyncWorkspace

AGENTS = ["parser", "lexer", "printer", "checker", "runner"]


def model(agent: str, prompt: str) -> str:
    """Return the file that an agent writes. One agent writes a file that fails its test."""
    return "broken\n" if agent == "checker" else f"# {agent}, by {prompt}\nready\n"


def git(directory: Path, *args: str) -> None:
    subprocess.run(["git", "-C", directory, *args], check=True, capture_output=True)


async def work(repository: Path, agent: str) -> None:
    """Wait for the plan, write a file in a worktree, attest its test, and publish it."""
    tree = repository.parent / f"{repository.name}-{agent}"
    w = AsyncWorkspace(tree, agent=agent)
    [plan] = await w.wait("design:latest", timeout="60s")
    prompt = await w.read(plan.id).text()
    (tree / f"{agent}.txt").write_text(model(agent, prompt.strip()))
    test = ["grep", "-q", "ready", f"{agent}.txt"]
    await w.attest(test)
    await w.publish(
        f"{agent}.txt",
        channel="patch",
        title=f"The {agent}",
        inputs=[plan.id],
        claims=[{"text": "its test passes", "evidence": ["command:" + " ".join(test)]}],
    )


async def lead(repository: Path) -> None:
    w = AsyncWorkspace(repository, agent="lead")
    agents = [asyncio.create_task(work(repository, agent)) for agent in AGENTS]
    await w.publish(content="the plan\n", channel="design", title="Plan", filename="plan.md")
    patches = await w.wait(channel="patch", count=len(AGENTS), timeout="120s")
    await asyncio.gather(*agents)
    for patch in patches:
        agent = patch.producer.agent if patch.producer else None
        tree = AsyncWorkspace(repository.parent / f"{repository.name}-{agent}")
        if (await tree.verify(patch.id)).passed:
            (repository / patch.path).write_bytes(await w.read(patch.id).bytes())
            await w.review(patch.id, "Merged", approve=True)
        else:
            await w.review(patch.id, "The test fails", request_changes=True)
    merged = sorted(p.name for p in repository.glob("*.txt"))
    print(f"merged {len(merged)} of {len(AGENTS)}: {' '.join(merged)}")


def main(repository: Path) -> None:
    for agent in AGENTS:
        git(repository, "worktree", "add", "-q", "-b", agent, f"../{repository.name}-{agent}")
    asyncio.run(lead(repository))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
