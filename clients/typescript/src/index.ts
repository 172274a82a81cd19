/**
 * Publish, find and read the artifacts of coding agents with agent-handoff.
 *
 * Each call starts the program agent-handoff, which must be installed.
 */
import { Child, isError, run, type Place, type Result } from "./child.js"
import { errorOf } from "./errors.js"
import {
  flags, type AttestOptions, type Call, type Content, type ListOptions, type PublishOptions, type ReadOptions,
  type ReviewOptions, type VerifyOptions, type WaitOptions, type WatchOptions, type WorkspaceOptions,
} from "./options.js"
import type {
  Artifact, ArtifactPage, Continuation, PublishedArtifact, RecordedReview, ShownArtifact, VerificationList,
} from "./types.js"

export * from "./errors.js"
export type * from "./options.js"
export type * from "./types.js"

/** The verdicts about artifacts. */
export interface Verified extends VerificationList {
  /** Whether the program reported that all that was required holds. */
  passed: boolean
}

/** The content of an artifact, in chunks. */
export class Body implements AsyncIterable<Uint8Array> {
  constructor(private readonly child: Child) {}

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> { return this.child.output() }

  /** Return all of it. */
  async bytes(): Promise<Uint8Array> {
    const parts: Uint8Array[] = []
    for await (const data of this) parts.push(data)
    return new Uint8Array(Buffer.concat(parts))
  }

  /** Return all of it, which must be UTF-8. */
  async text(): Promise<string> { return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await this.bytes()) }

  /** End the program. */
  async close(): Promise<void> { await this.child.close() }
}

/** Artifacts as they are published, until close, the signal or the timeout. */
export class Watch implements AsyncIterableIterator<Artifact> {
  private readonly artifacts: AsyncGenerator<Artifact, void, undefined>

  constructor(private readonly child: Child) { this.artifacts = lines(child) }

  [Symbol.asyncIterator](): this { return this }

  next(): Promise<IteratorResult<Artifact>> { return this.artifacts.next() }

  async return(): Promise<IteratorResult<Artifact>> {
    await this.close()
    return { done: true, value: undefined }
  }

  /** End the program. */
  async close(): Promise<void> { await this.child.close() }
}

async function* lines(child: Child): AsyncGenerator<Artifact, void, undefined> {
  let rest = ""
  const decoder = new TextDecoder()
  for await (const data of child.output()) {
    const parts = (rest + decoder.decode(data, { stream: true })).split("\n")
    rest = parts.pop() ?? ""
    for (const part of parts) {
      const answer: unknown = JSON.parse(part)
      if (isError(answer)) throw errorOf(answer.error)
      yield answer as Artifact
    }
  }
}

/** A workspace: of a directory, as if the program ran there. */
export class Workspace {
  private readonly place: Place
  private readonly identity: string[]

  constructor(readonly directory = ".", options: WorkspaceOptions = {}) {
    const { program, env, ...identity } = options
    this.place = { directory, program, env: { ...process.env, ...env } }
    this.identity = flags(Object.fromEntries(Object.entries(identity).filter(([, v]) => v !== "")))
  }

  private async one<T>(args: string[], call: Call, stdin?: Content): Promise<T> {
    return (await run(this.place, args, call.signal, stdin)).answers[0] as T
  }

  /** Publish a file or directory of the workspace. */
  publish(path: string, options?: PublishOptions): Promise<PublishedArtifact>
  /** Publish content. */
  publish(content: { content: Content }, options?: PublishOptions): Promise<PublishedArtifact>
  async publish(what: string | { content: Content }, options: PublishOptions = {}): Promise<PublishedArtifact> {
    const path = typeof what !== "string" ? "-" : what === "-" ? "./-" : what
    return this.one(["publish", "--json", ...this.identity, ...flags(options), "--", path], options,
      typeof what === "string" ? undefined : what.content)
  }

  /** Wait for artifacts that match, or until each ref names one. */
  async wait(options: WaitOptions = {}): Promise<Artifact[]> {
    const args = ["wait", "--json", ...flags(options), "--", ...(options.refs ?? [])]
    return (await run(this.place, args, options.signal)).answers as Artifact[]
  }

  /** List artifacts, newest first. */
  async list(options: ListOptions = {}): Promise<ArtifactPage> {
    return this.one(["list", "--json", ...flags(options)], options)
  }

  /** Return what is known about an artifact. */
  async show(ref: string, options: Call = {}): Promise<ShownArtifact> {
    return this.one(["show", "--json", "--", ref], options)
  }

  /** Return what another agent needs to know of a thread to continue its work. */
  async brief(thread: string, options: Call & { tokens?: number } = {}): Promise<Continuation> {
    return this.one(["continue", "--json", "--tokens", String(options.tokens ?? 2000), "--", thread], options)
  }

  /** Read the content of an artifact as it was published. */
  read(ref: string, options: ReadOptions = {}): Body {
    return new Body(new Child(this.place, ["read", ...flags(options), "--", ref], undefined, options.signal))
  }

  /** Return artifacts as they are published, from now on or after a position. */
  watch(options: WatchOptions = {}): Watch {
    return new Watch(new Child(this.place, ["watch", "--json", ...flags(options)], undefined, options.signal))
  }

  /** Decide about an artifact, comment on it, or both. */
  async review(ref: string, message?: string, options: ReviewOptions = {}): Promise<RecordedReview> {
    const text = message === undefined ? [] : ["--message=-"]
    return this.one(["review", "--json", ...this.identity, ...text, ...flags(options), "--", ref], options, message)
  }

  /** Run a command and record how it ended, in attestation.exitStatus. */
  async attest(command: readonly string[], options: AttestOptions = {}): Promise<PublishedArtifact> {
    return this.one(["attest", "--json", ...this.identity, ...flags(options), "--", ...command], options)
  }

  /** Verify the claims of artifacts, or of the commits of BASE..HEAD. */
  async verify(refs: string | readonly string[] = [], options: VerifyOptions = {}): Promise<Verified> {
    const args = ["verify", "--json", ...flags(options), "--", ...(typeof refs === "string" ? [refs] : refs)]
    return verified(await run(this.place, args, options.signal))
  }

  /** Run another command, with --json where it has it, and return its answers. */
  async call(args: readonly string[], options: Call & { stdin?: Content } = {}): Promise<unknown[]> {
    return (await run(this.place, args, options.signal, options.stdin)).answers
  }
}

function verified(result: Result): Verified {
  const answer = result.answers[0] as object
  const list = "verifications" in answer ? answer : { verifications: [answer] } // of one artifact
  return { ...(list as VerificationList), passed: result.code === 0 }
}
