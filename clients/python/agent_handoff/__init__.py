"""Publish, find and read the artifacts of coding agents with agent-handoff.

    from agent_handoff import Workspace
    w = Workspace(".")
    fix = w.publish("fix.diff", channel="patch", title="Retry", inputs=[design.id])

Workspace waits for each answer; AsyncWorkspace has the same methods for asyncio. Each
call starts the program agent-handoff, which must be installed.

A type of an answer has the fields that docs/json.md documents, in snake case: sizeBytes
is size_bytes, and import is import_. Its field json is the object as it was printed, with
the fields that a later version has added.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import errno
import json as _json
import os
import re
import shutil
import signal as _signal
import subprocess
import sys
import threading
import types
import typing
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, ClassVar, List, TypedDict, TypeVar, Union, Unpack

__version__ = "0.1.0"

Content = Union[str, bytes, IO[bytes], Iterable[bytes]]
AsyncContent = Union[Content, AsyncIterable[bytes]]

_CHUNK = 1 << 16
_Bytes = bytes  # in classes with a method of this name
_T = TypeVar("_T", bound="Object")


@dataclass(frozen=True, kw_only=True)
class Object:
    """An object of an answer."""

    json: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def parse(cls: type[_T], json: Mapping[str, Any]) -> _T:
        """Return the object of this type that has the fields of json."""
        values: dict[str, Any] = {"json": json}
        for name, (key, kind) in _members(cls).items():
            if json.get(key) is not None:
                values[name] = _value(kind, json[key])
        return cls(**values)


_known: dict[type, dict[str, tuple[str, Any]]] = {}


def _members(cls: type[Object]) -> dict[str, tuple[str, Any]]:
    """Return the key in JSON and the type of each field."""
    if cls not in _known:
        kinds = typing.get_type_hints(cls)
        names = [f.name for f in dataclasses.fields(cls) if f.name != "json"]
        _known[cls] = {n: (_camel(n), kinds[n]) for n in names}
    return _known[cls]


def _camel(name: str) -> str:
    return re.sub(r"_(.)", lambda m: m[1].upper(), name.rstrip("_"))


def _value(kind: Any, value: Any) -> Any:
    """Convert a value of JSON to a type."""
    args = typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        return _value(args[0], value)
    if typing.get_origin(kind) is tuple:
        return tuple(_value(args[0], v) for v in value)
    if isinstance(kind, type) and issubclass(kind, Object):
        return kind.parse(value)
    return value


# The types of answers, which TestClientTypes writes from the schemas.
# BEGIN GENERATED TYPES


@dataclass(frozen=True, kw_only=True)
class ErrorObject(Object):
    kind: str
    op: str | None = None
    name: str | None = None
    message: str
    details: tuple[str, ...] = ()
    hint: str | None = None
    exit_code: int


@dataclass(frozen=True, kw_only=True)
class Model(Object):
    provider: str | None = None
    id: str


@dataclass(frozen=True, kw_only=True)
class Observation(Object):
    harness: str | None = None
    ids: Mapping[str, str]
    source: str


@dataclass(frozen=True, kw_only=True)
class Producer(Object):
    work_id: str | None = None
    parent_work_id: str | None = None
    harness: str | None = None
    agent: str | None = None
    model: Model | None = None
    run_id: str | None = None
    operation_id: str | None = None
    task_id: str | None = None
    session: str | None = None
    parent_session: str | None = None
    thread: str | None = None
    tool_call_id: str | None = None
    ids: Mapping[str, str] | None = None
    observed: tuple[Observation, ...] = ()
    source: str | None = None


@dataclass(frozen=True, kw_only=True)
class Digest(Object):
    algorithm: str
    value: str


@dataclass(frozen=True, kw_only=True)
class Evidence(Object):
    kind: str
    command: str | None = None
    dir: str | None = None
    thread: str | None = None
    call: str | None = None
    artifact: str | None = None
    exit_status: int | None = None
    digest: str | None = None
    command_digest: str | None = None
    failed: bool | None = None
    on_tree: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Claim(Object):
    text: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Attestation(Object):
    argv: tuple[str, ...]
    argv_digest: str | None = None
    dir: str | None = None
    exit_status: int
    signal: str | None = None
    started_at: str
    duration_ms: int
    tree_after: str | None = None
    of_commit: bool | None = None
    untracked: int | None = None


@dataclass(frozen=True, kw_only=True)
class Tree(Object):
    digest: str
    commit: str | None = None
    worktree: str | None = None
    clean: bool | None = None
    whole: str | None = None
    changes: str | None = None


@dataclass(frozen=True, kw_only=True)
class Use(Object):
    harness: str | None = None
    work_id: str
    agent: str | None = None
    session: str | None = None
    run_id: str | None = None
    inferred: bool | None = None
    thread: str | None = None


@dataclass(frozen=True, kw_only=True)
class Attribution(Object):
    source: str
    thread: str
    session: str | None = None
    agent: str | None = None
    model: Model | None = None


@dataclass(frozen=True, kw_only=True)
class Reviewer(Object):
    name: str
    relation: str
    thread: str | None = None
    via: str | None = None


@dataclass(frozen=True, kw_only=True)
class Signed(Object):
    signed_at: str
    by: str | None = None
    problem: str | None = None


@dataclass(frozen=True, kw_only=True)
class Review(Object):
    id: str
    decision: str
    by: Reviewer
    comments: tuple[str, ...] = ()
    created_at: str
    queued: bool | None = None
    signed: Signed | None = None


@dataclass(frozen=True, kw_only=True)
class EarlierReview(Object):
    artifact_id: str
    revision: int
    reviews: tuple[Review, ...]


@dataclass(frozen=True, kw_only=True)
class Place(Object):
    path: str | None = None
    side: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, kw_only=True)
class Reply(Object):
    id: str
    state: str | None = None
    body: Digest | None = None
    by: Reviewer
    created_at: str
    origin: str | None = None
    signed: Signed | None = None


@dataclass(frozen=True, kw_only=True)
class Comment(Object):
    id: str
    artifact_id: str
    state: str
    place: Place | None = None
    body: Digest | None = None
    by: Reviewer
    created_at: str
    origin: str | None = None
    signed: Signed | None = None
    resolved_by: str | None = None
    changed_by: str | None = None
    replies: tuple[Reply, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Acceptance(Object):
    id: str
    over: tuple[str, ...] = ()
    by: str
    thread: str | None = None
    reason: str | None = None
    created_at: str


@dataclass(frozen=True, kw_only=True)
class Application(Object):
    commit: str
    by: str
    created_at: str


@dataclass(frozen=True, kw_only=True)
class Labeling(Object):
    label: str
    removed: bool | None = None
    created_at: str
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True, kw_only=True)
class ActiveRevision(Object):
    id: str
    revision: int


@dataclass(frozen=True, kw_only=True)
class StaleInput(Object):
    id: str
    channel: str
    revision: int
    status: str
    active: tuple[ActiveRevision, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Redaction(Object):
    fields: tuple[str, ...] = ()
    body: str | None = None
    digest: Digest | None = None
    redacted_at: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dropped(Object):
    policy: str
    dropped_at: str


@dataclass(frozen=True, kw_only=True)
class Notice(Object):
    code: str
    severity: str
    text: str
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Artifact(Object):
    version: int
    type: str
    id: str
    created_at: str
    producer: Producer | None = None
    origin: str | None = None
    import_: str | None = None
    channel: str
    kind: str | None = None
    path: str
    root: str | None = None
    worktree: str | None = None
    branch: str | None = None
    target_type: str
    title: str | None = None
    summary: str | None = None
    media_type: str | None = None
    size_bytes: int | None = None
    digest: Digest | None = None
    kept: bool | None = None
    namespace: str | None = None
    name: str | None = None
    replaces: tuple[str, ...] = ()
    parent_artifact_ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    key: str | None = None
    metadata: Any = None
    resolves: tuple[str, ...] = ()
    ask_review: bool | None = None
    claims: tuple[Claim, ...] = ()
    attestation: Attestation | None = None
    tree: Tree | None = None
    seq: int
    status: str
    revision: int
    reason: str | None = None
    replaced_by: tuple[str, ...] = ()
    competing: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    late: bool | None = None
    queued: bool | None = None
    used_by: tuple[Use, ...] = ()
    attributed: Attribution | None = None
    reviews: tuple[Review, ...] = ()
    earlier_review: EarlierReview | None = None
    comments: tuple[Comment, ...] = ()
    acceptance: Acceptance | None = None
    not_chosen_in: tuple[str, ...] = ()
    applied: tuple[Application, ...] = ()
    labels: tuple[str, ...] = ()
    label_history: tuple[Labeling, ...] = ()
    stale_inputs: tuple[StaleInput, ...] = ()
    redacted: Redaction | None = None
    dropped: Dropped | None = None
    notices: tuple[Notice, ...] = ()
    record_path: str | None = None
    target: str | None = None
    file: str


@dataclass(frozen=True, kw_only=True)
class PublishedArtifact(Artifact):
    existing: bool
    also_active: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CostUsage(Object):
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    total_tokens: int | None = None
    cost: float | None = None
    completeness: str
    reason: str | None = None
    unpriced: tuple[str, ...] = ()
    estimated: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Task(Object):
    work: str | None = None
    thread: str | None = None
    name: str | None = None
    agent: str | None = None
    models: tuple[str, ...] = ()
    status: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    duration_ms: int | None = None
    usage: CostUsage
    transcript: CostUsage | None = None
    artifact_ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WorkReceipt(Object):
    tasks: tuple[Task, ...]
    usage: CostUsage
    transcript: CostUsage | None = None
    artifacts: int
    artifact_usage: CostUsage | None = None
    within: str | None = None


@dataclass(frozen=True, kw_only=True)
class EvidenceResult(Object):
    kind: str
    command: str | None = None
    dir: str | None = None
    thread: str | None = None
    call: str | None = None
    artifact: str | None = None
    exit_status: int | None = None
    digest: str | None = None
    command_digest: str | None = None
    failed: bool | None = None
    on_tree: bool | None = None
    verdict: str
    reason: str
    attestation: str | None = None
    status_now: int | None = None
    by: str | None = None
    files: tuple[str, ...] = ()
    more_files: int | None = None


@dataclass(frozen=True, kw_only=True)
class ClaimResult(Object):
    text: str
    verdict: str
    evidence: tuple[EvidenceResult, ...]


@dataclass(frozen=True, kw_only=True)
class Verification(Object):
    id: str
    verdict: str
    claims: tuple[ClaimResult, ...]
    tree: Tree | None = None
    warnings: tuple[str, ...] = ()
    approved: bool | None = None
    reviews: tuple[Review, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ShownReply(Object):
    id: str
    state: str | None = None
    text: str | None = None
    by: Reviewer
    created_at: str
    signed: Signed | None = None


@dataclass(frozen=True, kw_only=True)
class ShownComment(Object):
    id: str
    artifact_id: str
    state: str
    place: Place | None = None
    outdated: bool | None = None
    text: str
    quote: str | None = None
    by: Reviewer
    created_at: str
    signed: Signed | None = None
    resolved_by: str | None = None
    changed_by: str | None = None
    replies: tuple[ShownReply, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ShownArtifact(Artifact):
    work: WorkReceipt | None = None
    no_thread: bool | None = None
    verification: Verification | None = None
    discussion: tuple[ShownComment, ...] = ()
    next_comment: str | None = None


@dataclass(frozen=True, kw_only=True)
class ArtifactPage(Object):
    artifacts: tuple[Artifact, ...]
    cursor: str | None = None
    hidden: int
    damaged: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RecordedReview(Object):
    artifact: Artifact
    comments: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class VerificationList(Object):
    base: str | None = None
    head: str | None = None
    verifications: tuple[Verification, ...]
    unapproved: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ThreadEnd(Object):
    status: str
    text: str
    reason: str | None = None
    at_limit: bool | None = None
    resets: str | None = None


@dataclass(frozen=True, kw_only=True)
class ContinuableThread(Object):
    uri: str
    title: str | None = None
    end: ThreadEnd
    active_at: str | None = None
    continued_by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Continuation(Object):
    uri: str
    end: ThreadEnd
    text: str
    tokens: int
    others: tuple[ContinuableThread, ...] = ()
    command: tuple[str, ...] = ()
    directory: str | None = None
    dry_run: bool | None = None
# END GENERATED TYPES


@dataclass(frozen=True, kw_only=True)
class Verified(VerificationList):
    """The verdicts about artifacts."""

    passed: bool
    """Whether the program reported that all that was required holds."""


class HandoffError(Exception):
    """A call failed. There is a subclass for each kind."""

    kind: ClassVar[str] = ""

    def __init__(self, error: ErrorObject, artifacts: Sequence[Artifact] = ()) -> None:
        super().__init__(error.message)
        self.error = error
        self.message = error.message
        self.hint = error.hint
        self.exit_code = error.exit_code
        self.artifacts = tuple(artifacts)
        """The artifacts that were found before the error, such as a timeout."""

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidError(HandoffError):
    """Usage error or invalid input."""

    kind = "invalid"


class NotFoundError(HandoffError):
    """Not found."""

    kind = "not found"


class ConflictError(HandoffError):
    """Conflict or ambiguous."""

    kind = "conflict"


class UnavailableError(HandoffError):
    """Unavailable or timed out."""

    kind = "unavailable"


class CorruptError(HandoffError):
    """Corrupt handoff data."""

    kind = "corrupt"


class NotSupportedError(HandoffError):
    """Not supported."""

    kind = "not supported"


class InternalError(HandoffError):
    """Internal error."""

    kind = "internal"


class SignalError(HandoffError):
    """A signal ended the program."""

    kind = "signal"


class ProgramError(HandoffError):
    """The program is not installed, or cannot be started."""

    kind = "program"


_KINDS = {c.kind: c for c in HandoffError.__subclasses__()}
_CODES = {2: "invalid", 3: "not found", 4: "conflict", 5: "unavailable", 6: "corrupt", 7: "not supported"}


def _error(json: Mapping[str, Any], artifacts: Sequence[Artifact] = ()) -> HandoffError:
    return _KINDS.get(json["kind"], HandoffError)(ErrorObject.parse(json), artifacts)


def _failure(kind: str, message: str, code: int, hint: str = "") -> HandoffError:
    json: dict[str, Any] = {"kind": kind, "message": message, "exitCode": code}
    if hint:
        json["hint"] = hint
    return _error(json)


def _not_started(program: str, e: OSError) -> HandoffError:
    return _failure("program", f"{program}: can't be started: {errno.errorcode.get(e.errno or 0, e)}", 127)


def _exit_error(code: int, stderr: bytes, artifacts: Sequence[Artifact] = ()) -> HandoffError:
    """Return the error of a program that printed none on standard output."""
    if code < 0 or code > 128:
        n = -code if code < 0 else code - 128
        e = _failure("signal", f"agent-handoff: ended by signal {n}", 128 + n)
        e.artifacts = tuple(artifacts)
        return e
    message, hint = f"agent-handoff: exit status {code}", ""
    for line in stderr.decode(errors="replace").splitlines():
        if line.startswith("hint: "):
            hint = line.removeprefix("hint: ")
        elif re.match(r"agent-handoff: (?!warning: |note: )", line):
            message, hint = line.removeprefix("agent-handoff: "), ""
    return _failure(_CODES.get(code, "internal"), message, code, hint)


class Filter(TypedDict, total=False):
    """Which artifacts; all that are given must match."""

    channel: str
    kind: str
    tag: str
    name: str
    status: str
    since: str
    until: str
    inputs: str
    """Made from this artifact, a ref."""
    all: bool
    """Superseded and withdrawn artifacts, too."""
    agent: str
    session: str
    run: str
    task: str
    thread: str
    work: str
    producer: Mapping[str, str]


class ListOptions(Filter, total=False):
    label: str
    stale: bool
    used_by: str
    limit: int


class WatchOptions(Filter, total=False):
    after: str | int
    """A ref, a sequence number, or now."""
    timeout: float | str
    """In seconds, or a text such as 5m."""


class WaitOptions(WatchOptions, total=False):
    any: bool
    """Wait for one of the refs."""
    count: int
    reviewed: bool


class Evidenced(TypedDict, total=False):
    """A claim with its evidence, each as KIND:VALUE."""

    text: str
    evidence: Sequence[str]


class PublishOptions(TypedDict, total=False):
    filename: str
    channel: str
    kind: str
    title: str
    summary: str
    tags: Sequence[str]
    inputs: Sequence[str]
    """Refs of the artifacts that it was made from."""
    replaces: Sequence[str]
    resolves: Sequence[str]
    key: str
    media_type: str
    metadata: Mapping[str, str]
    claims: Sequence[Evidenced]
    keep: str
    """always, auto or never."""
    ask_review: bool
    allow_secret: bool


class ReviewOptions(TypedDict, total=False):
    approve: bool
    request_changes: bool
    dismiss: bool
    comment: bool
    lines: str
    """A number or two: 12-14."""
    path: str
    quote: str
    reply_to: str
    resolve: Sequence[str]
    reopen: Sequence[str]
    allow_secret: bool


class ReadOptions(TypedDict, total=False):
    offset: int
    limit: int
    bytes: bool
    """Offset and limit are in bytes, not in lines."""
    latest: bool
    rev: int


class VerifyOptions(TypedDict, total=False):
    fail_on: str
    require: Sequence[str]


class AttestOptions(TypedDict, total=False):
    commit: bool


_FLAGS = {"inputs": "from", "tags": "tag", "metadata": "meta"}


def _flags(options: Mapping[str, Any], kind: Any) -> list[str]:
    """Return options as flags. Values are joined to them, so that none is read as a flag."""
    unknown = options.keys() - typing.get_type_hints(kind).keys()
    if unknown:
        raise TypeError(f"unknown option: {', '.join(sorted(unknown))}")
    flags: list[str] = []
    for name, value in options.items():
        flag = "--" + _FLAGS.get(name, name.replace("_", "-"))
        if value is None or value is False:
            continue
        if value is True:
            flags.append(flag)
        elif name == "claims":
            for claim in value:
                flags.append("--claim=" + claim["text"])
                flags += ["--evidence=" + e for e in claim.get("evidence", ())]
        elif name == "timeout" and not isinstance(value, str):
            flags.append(f"{flag}={max(1, round(value * 1000)) if value else 0}ms")
        elif isinstance(value, Mapping):
            flags += [f"{flag}={k}={v}" for k, v in value.items()]
        elif isinstance(value, (list, tuple)):
            flags += [f"{flag}={v}" for v in value]
        else:
            flags.append(f"{flag}={value}")
    return flags


def _brief(thread: str, tokens: int) -> list[str]:
    return ["continue", "--json", "--tokens", str(tokens), "--", thread]


def _answers(stdout: bytes) -> list[Any]:
    """Decode the objects of a standard output."""
    text, decoder, answers, at = stdout.decode(), _json.JSONDecoder(), [], 0
    while (at := len(text) - len(text[at:].lstrip())) < len(text):
        answer, at = decoder.raw_decode(text, at)
        answers.append(answer)
    return answers


@dataclass
class _Result:
    code: int
    answers: list[Any]

    @classmethod
    def of(cls, code: int, stdout: bytes, stderr: bytes, artifacts: Sequence[Artifact] = ()) -> _Result:
        """Return what a program printed, or raise its error."""
        if code < 0:
            raise _exit_error(code, stderr, artifacts)
        try:
            answers = _answers(stdout)
        except ValueError as e:
            raise _failure("internal", "agent-handoff: invalid JSON on standard output", code) from e
        if answers and isinstance(answers[-1], dict) and answers[-1].keys() == {"error"}:
            found = [Artifact.parse(a) for a in answers[:-1]]
            raise _error(answers[-1]["error"], found or artifacts)
        if code != 0 and not answers:
            raise _exit_error(code, stderr, artifacts)
        return cls(code, answers)


class _Calls:
    """The arguments of the program for each call."""

    def __init__(
        self,
        directory: str | os.PathLike[str] = ".",
        *,
        agent: str = "",
        session: str = "",
        task: str = "",
        producer: Mapping[str, str] | None = None,
        program: str = "",
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Use the workspace of a directory.

        Agent, session, task and producer name who publishes, reviews and attests.
        Without a program, it is agent-handoff in PATH, or of npm beside the script that
        runs. Env has variables in addition to those of this process.
        """
        self.directory = Path(directory)
        self._env = {**os.environ, **(env or {})}
        identity = {"agent": agent, "session": session, "task": task, "producer": producer}
        self._identity = _flags({k: v for k, v in identity.items() if v}, Filter)
        self._program = program

    def _command(self, args: Sequence[str]) -> list[str]:
        if any("\0" in a for a in args):
            raise _failure("invalid", "agent-handoff: an argument has a NUL character", 2)
        if not self.directory.is_dir():
            raise _failure("not found", f"open {self.directory}: no such directory", 3)
        program = self._program or shutil.which("agent-handoff", path=self._env.get("PATH"))
        for parent in Path(sys.argv[0]).resolve().parents if not program else ():
            if os.access(of_npm := parent / "node_modules/.bin/agent-handoff", os.X_OK):
                program = str(of_npm)
                break
        if not program:
            hint = "install agent-handoff, or name it with the option program"
            raise _failure("program", "agent-handoff: not found in PATH", 127, hint)
        if os.path.dirname(program):  # relative to this process, not to the workspace
            program = os.path.abspath(program)
        return [program, *args]

    def _publish(self, path: str | os.PathLike[str] | None, options: PublishOptions) -> list[str]:
        return ["publish", "--json", *self._identity, *_flags(options, PublishOptions), "--", _path(path)]

    def _wait(self, refs: Sequence[str], options: WaitOptions) -> list[str]:
        return ["wait", "--json", *_flags(options, WaitOptions), "--", *refs]

    def _review(self, ref: str, message: str | None, options: ReviewOptions) -> list[str]:
        text = ["--message=-"] if message is not None else []
        return ["review", "--json", *self._identity, *text, *_flags(options, ReviewOptions), "--", ref]

    def _attest(self, command: Sequence[str], options: AttestOptions) -> list[str]:
        return ["attest", "--json", *self._identity, *_flags(options, AttestOptions), "--", *command]


def _path(path: str | os.PathLike[str] | None) -> str:
    if path is None:
        return "-"
    text = os.fspath(path)
    return "./-" if text == "-" else text


def _verified(result: _Result) -> Verified:
    answer = result.answers[0]
    if "verifications" not in answer:  # of one artifact
        answer = {"verifications": [answer]}
    values = {f.name: getattr(VerificationList.parse(answer), f.name) for f in dataclasses.fields(VerificationList)}
    return Verified(**values, passed=result.code == 0)


def _content(options: Mapping[str, Any], path: object, content: object) -> None:
    if (path is None) == (content is None):
        raise TypeError("publish a path or content")


class _Tail:
    """The end of a standard error."""

    def __init__(self) -> None:
        self.data = b""

    def add(self, data: bytes) -> None:
        self.data = (self.data + data)[-_CHUNK:]


class _Child:
    """A program that was started, and is ended by close."""

    def __init__(self, calls: _Calls, args: Sequence[str], stdin: Content | None = None) -> None:
        command = calls._command(args)
        try:
            self.process = subprocess.Popen(
                command,
                cwd=calls.directory,
                env=calls._env,
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as e:
            raise _not_started(command[0], e) from e
        self.stdout = typing.cast(IO[bytes], self.process.stdout)
        self.stderr = _Tail()
        self._collecting = threading.Thread(target=self._collect, daemon=True)
        self._collecting.start()
        self._input_error: BaseException | None = None
        if stdin is not None:
            threading.Thread(target=self._feed, args=(stdin,), daemon=True).start()

    def _collect(self) -> None:
        with typing.cast(IO[bytes], self.process.stderr) as f:
            while data := os.read(f.fileno(), _CHUNK):
                self.stderr.add(data)

    def _feed(self, content: Content) -> None:
        pipe = typing.cast(IO[bytes], self.process.stdin)
        try:
            for data in _chunks(content):
                pipe.write(data)
                pipe.flush()
            pipe.close()
        except BrokenPipeError:  # the program ended; it reports why
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        except BaseException as e:  # without its end, the content would be incomplete
            self._input_error = e
            self.process.kill()

    def wait(self) -> int:
        """Wait for the end of the program, whose output was read."""
        code = self.process.wait()
        self._collecting.join()
        self.stdout.close()
        if self._input_error is not None:
            raise self._input_error
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.stdout.close()


def _chunks(content: Content) -> Iterator[bytes]:
    if isinstance(content, str):
        yield content.encode()
    elif isinstance(content, bytes):
        yield content
    elif hasattr(content, "read"):
        while data := typing.cast(IO[bytes], content).read(_CHUNK):
            yield data
    else:
        yield from content


async def _async_chunks(content: Content) -> AsyncIterator[bytes]:
    """Read content in a thread, where it may block."""
    chunks = _chunks(content)
    while (data := await asyncio.to_thread(lambda: next(chunks, None))) is not None:
        yield data


class _Stream:
    """The output of a program, which runs until the end of the output, or until close."""

    def __init__(self, child: _Child) -> None:
        self._child = child

    def close(self) -> None:
        """End the program."""
        self._child.close()

    def __enter__(self: _S) -> _S:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_child"):
            self.close()


_S = TypeVar("_S", bound=_Stream)


class Body(_Stream):
    """The content of an artifact, in chunks."""

    def __iter__(self) -> Iterator[_Bytes]:
        while data := self._child.stdout.read1(_CHUNK):  # type: ignore[attr-defined]
            yield data
        if code := self._child.wait():
            raise _exit_error(code, self._child.stderr.data)

    def bytes(self) -> _Bytes:
        """Return all of it."""
        return b"".join(self)

    def text(self) -> str:
        """Return all of it, which must be UTF-8."""
        return self.bytes().decode()


class Watch(_Stream):
    """Artifacts as they are published, until close or the timeout."""

    def __iter__(self) -> Iterator[Artifact]:
        return self

    def __next__(self) -> Artifact:
        line = self._child.stdout.readline() if not self._child.stdout.closed else b""
        if not line:
            if not self._child.stdout.closed:
                _Result.of(self._child.wait(), b"", self._child.stderr.data)
            raise StopIteration
        if not line.endswith(b"\n"):  # of a program that was ended
            line += self._child.stdout.read()
            raise _exit_error(self._child.wait(), self._child.stderr.data)
        answer = _json.loads(line)
        if answer.keys() == {"error"}:
            self._child.wait()
            raise _error(answer["error"])
        return Artifact.parse(answer)


class Workspace(_Calls):
    """A workspace, whose methods wait for the answers."""

    def call(self, *args: str, stdin: Content | None = None) -> List[Any]:
        """Run another command, with --json where it has it, and return its answers."""
        return self._run(args, stdin).answers

    def _run(self, args: Sequence[str], stdin: Content | None = None) -> _Result:
        child = _Child(self, args, stdin)
        try:
            stdout = child.stdout.read()
            return _Result.of(child.wait(), stdout, child.stderr.data)
        finally:
            child.close()

    def publish(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        content: Content | None = None,
        **options: Unpack[PublishOptions],
    ) -> PublishedArtifact:
        """Publish a file or directory of the workspace, or content."""
        _content(options, path, content)
        return PublishedArtifact.parse(self._run(self._publish(path, options), content).answers[0])

    def wait(self, *refs: str, **options: Unpack[WaitOptions]) -> List[Artifact]:
        """Wait for artifacts that match, or until each ref names one."""
        return [Artifact.parse(a) for a in self._run(self._wait(refs, options)).answers]

    def list(self, **options: Unpack[ListOptions]) -> ArtifactPage:
        """List artifacts, newest first."""
        return ArtifactPage.parse(self._run(["list", "--json", *_flags(options, ListOptions)]).answers[0])

    def show(self, ref: str) -> ShownArtifact:
        """Return what is known about an artifact."""
        return ShownArtifact.parse(self._run(["show", "--json", "--", ref]).answers[0])

    def brief(self, thread: str, tokens: int = 2000) -> Continuation:
        """Return what another agent needs to know of a thread to continue its work."""
        return Continuation.parse(self._run(_brief(thread, tokens)).answers[0])

    def read(self, ref: str, **options: Unpack[ReadOptions]) -> Body:
        """Read the content of an artifact as it was published."""
        return Body(_Child(self, ["read", *_flags(options, ReadOptions), "--", ref]))

    def watch(self, **options: Unpack[WatchOptions]) -> Watch:
        """Return artifacts as they are published, from now on or after a position."""
        return Watch(_Child(self, ["watch", "--json", *_flags(options, WatchOptions)]))

    def review(self, ref: str, message: str | None = None, **options: Unpack[ReviewOptions]) -> RecordedReview:
        """Decide about an artifact, comment on it, or both."""
        return RecordedReview.parse(self._run(self._review(ref, message, options), message).answers[0])

    def attest(self, command: Sequence[str], **options: Unpack[AttestOptions]) -> PublishedArtifact:
        """Run a command and record how it ended, in attestation.exit_status."""
        return PublishedArtifact.parse(self._run(self._attest(command, options)).answers[0])

    def verify(self, *refs: str, **options: Unpack[VerifyOptions]) -> Verified:
        """Verify the claims of artifacts, or of the commits of BASE..HEAD."""
        return _verified(self._run(["verify", "--json", *_flags(options, VerifyOptions), "--", *refs]))


class _AsyncChild:
    """A program that was started, and is ended by close."""

    def __init__(self, process: asyncio.subprocess.Process, stdin: AsyncContent | None) -> None:
        self.process = process
        self.stdout = typing.cast(asyncio.StreamReader, process.stdout)
        self.stderr = _Tail()
        self._collecting = asyncio.ensure_future(self._collect())
        self._feeding = asyncio.ensure_future(self._feed(stdin)) if stdin is not None else None

    @classmethod
    async def start(
        cls, calls: _Calls, args: Sequence[str], stdin: AsyncContent | None = None
    ) -> _AsyncChild:
        command = calls._command(args)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=calls.directory,
                env=calls._env,
                stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as e:
            raise _not_started(command[0], e) from e
        return cls(process, stdin)

    async def _collect(self) -> None:
        pipe = typing.cast(asyncio.StreamReader, self.process.stderr)
        while data := await pipe.read(_CHUNK):
            self.stderr.add(data)

    async def _feed(self, content: AsyncContent) -> None:
        pipe = typing.cast(asyncio.StreamWriter, self.process.stdin)
        try:
            async for data in content if isinstance(content, AsyncIterable) else _async_chunks(content):
                pipe.write(data)
                await pipe.drain()
            pipe.close()
            await pipe.wait_closed()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the program ended; it reports why
        except BaseException:  # without its end, the content would be incomplete
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            raise

    async def wait(self) -> int:
        """Wait for the end of the program, whose output was read."""
        code = await self.process.wait()
        await self._collecting
        if self._feeding is not None and self._feeding.done():
            self._feeding.result()
        return code

    async def close(self) -> None:
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(_signal.SIGTERM)
            try:
                await asyncio.wait_for(self.process.wait(), 2)
            except asyncio.TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    self.process.kill()
                await self.process.wait()
        for task in (self._collecting, self._feeding):
            if task is not None and not task.done():
                task.cancel()


class _AsyncStream:
    """The output of a program, which is started when it is first read or entered."""

    def __init__(self, calls: _Calls, args: Sequence[str]) -> None:
        self._calls, self._args = calls, args
        self._child: _AsyncChild | None = None
        self._closed = False

    async def _start(self) -> _AsyncChild:
        if self._child is None:
            self._child = await _AsyncChild.start(self._calls, self._args)
        return self._child

    async def aclose(self) -> None:
        """End the program."""
        self._closed = True
        if self._child is not None:
            await self._child.close()

    async def __aenter__(self: _A) -> _A:
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


_A = TypeVar("_A", bound=_AsyncStream)


class AsyncBody(_AsyncStream):
    """The content of an artifact, in chunks."""

    async def __aiter__(self) -> AsyncIterator[_Bytes]:
        child = await self._start()
        try:
            while data := await child.stdout.read(_CHUNK):
                yield data
            if code := await child.wait():
                raise _exit_error(code, child.stderr.data)
        finally:
            await child.close()

    async def bytes(self) -> _Bytes:
        """Return all of it."""
        return b"".join([data async for data in self])

    async def text(self) -> str:
        """Return all of it, which must be UTF-8."""
        return (await self.bytes()).decode()


class AsyncWatch(_AsyncStream):
    """Artifacts as they are published, until aclose or the timeout."""

    _rest = b""

    def __aiter__(self) -> AsyncIterator[Artifact]:
        return self

    async def __anext__(self) -> Artifact:
        if self._closed:
            raise StopAsyncIteration
        child = await self._start()
        try:
            while b"\n" not in self._rest:
                data = await child.stdout.read(_CHUNK)
                if not data:
                    _Result.of(await child.wait(), b"", child.stderr.data)
                    raise StopAsyncIteration
                self._rest += data
        except BaseException:
            await self.aclose()
            raise
        line, _, self._rest = self._rest.partition(b"\n")
        answer = _json.loads(line)
        if answer.keys() == {"error"}:
            await child.wait()
            raise _error(answer["error"])
        return Artifact.parse(answer)


class AsyncWorkspace(_Calls):
    """A workspace for asyncio. When a call is cancelled, its program is ended."""

    async def call(self, *args: str, stdin: AsyncContent | None = None) -> List[Any]:
        """Run another command, with --json where it has it, and return its answers."""
        return (await self._run(args, stdin)).answers

    async def _run(self, args: Sequence[str], stdin: AsyncContent | None = None) -> _Result:
        child = await _AsyncChild.start(self, args, stdin)
        try:
            stdout = await child.stdout.read()
            return _Result.of(await child.wait(), stdout, child.stderr.data)
        finally:
            await child.close()

    async def publish(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        content: AsyncContent | None = None,
        **options: Unpack[PublishOptions],
    ) -> PublishedArtifact:
        """Publish a file or directory of the workspace, or content."""
        _content(options, path, content)
        return PublishedArtifact.parse((await self._run(self._publish(path, options), content)).answers[0])

    async def wait(self, *refs: str, **options: Unpack[WaitOptions]) -> List[Artifact]:
        """Wait for artifacts that match, or until each ref names one."""
        return [Artifact.parse(a) for a in (await self._run(self._wait(refs, options))).answers]

    async def list(self, **options: Unpack[ListOptions]) -> ArtifactPage:
        """List artifacts, newest first."""
        return ArtifactPage.parse((await self._run(["list", "--json", *_flags(options, ListOptions)])).answers[0])

    async def show(self, ref: str) -> ShownArtifact:
        """Return what is known about an artifact."""
        return ShownArtifact.parse((await self._run(["show", "--json", "--", ref])).answers[0])

    async def brief(self, thread: str, tokens: int = 2000) -> Continuation:
        """Return what another agent needs to know of a thread to continue its work."""
        return Continuation.parse((await self._run(_brief(thread, tokens))).answers[0])

    def read(self, ref: str, **options: Unpack[ReadOptions]) -> AsyncBody:
        """Read the content of an artifact as it was published."""
        return AsyncBody(self, ["read", *_flags(options, ReadOptions), "--", ref])

    def watch(self, **options: Unpack[WatchOptions]) -> AsyncWatch:
        """Return artifacts as they are published, from now on or after a position."""
        return AsyncWatch(self, ["watch", "--json", *_flags(options, WatchOptions)])

    async def review(self, ref: str, message: str | None = None, **options: Unpack[ReviewOptions]) -> RecordedReview:
        """Decide about an artifact, comment on it, or both."""
        return RecordedReview.parse((await self._run(self._review(ref, message, options), message)).answers[0])

    async def attest(self, command: Sequence[str], **options: Unpack[AttestOptions]) -> PublishedArtifact:
        """Run a command and record how it ended, in attestation.exit_status."""
        return PublishedArtifact.parse((await self._run(self._attest(command, options))).answers[0])

    async def verify(self, *refs: str, **options: Unpack[VerifyOptions]) -> Verified:
        """Verify the claims of artifacts, or of the commits of BASE..HEAD."""
        return _verified(await self._run(["verify", "--json", *_flags(options, VerifyOptions), "--", *refs]))
