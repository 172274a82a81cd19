import { spawn, type ChildProcessByStdio } from "node:child_process"
import { constants as fsConstants, accessSync, statSync } from "node:fs"
import { constants } from "node:os"
import { delimiter, dirname, join, resolve } from "node:path"
import type { Readable, Writable } from "node:stream"
import { errorOf, exitError, failure } from "./errors.js"
import type { Content } from "./options.js"
import type { Artifact, ErrorObject } from "./types.js"

const tail = 1 << 16

/** Where and how the program runs. */
export interface Place {
  directory: string
  program?: string | undefined
  env: NodeJS.ProcessEnv
}

/** A program that was started, and is ended by close. */
export class Child {
  readonly stdout: Readable
  /** The exit code, or 128 and the number of the signal. */
  readonly exit: Promise<number>
  private stderr = Buffer.alloc(0)
  private inputError: { error: unknown } | undefined
  private readonly process: ChildProcessByStdio<Writable | null, Readable, Readable>
  private readonly abort = () => void this.close()

  constructor(place: Place, args: readonly string[], stdin: Content | undefined, private readonly signal: AbortSignal | undefined) {
    signal?.throwIfAborted()
    if (args.some((a) => a.includes("\0"))) throw failure("invalid", "agent-handoff: an argument has a NUL character", 2)
    if (!isDirectory(place.directory)) throw failure("not found", `open ${place.directory}: no such directory`, 3)
    const named = place.program ?? find(place.env["PATH"] ?? "")
    const program = named.includes("/") ? resolve(named) : named // relative to this process, not to the workspace
    this.process = spawn(program, args, {
      cwd: place.directory, env: place.env, stdio: [stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    }) as ChildProcessByStdio<Writable | null, Readable, Readable>
    this.stdout = this.process.stdout
    this.process.stderr.on("data", (data: Buffer) => {
      this.stderr = Buffer.concat([this.stderr, data]).subarray(-tail)
    })
    this.exit = new Promise<number>((done, fail) => {
      this.process.on("error", (e: NodeJS.ErrnoException) => fail(failure("program", `${program}: can't be started: ${e.code ?? e.message}`, 127)))
      this.process.on("close", (code, name) => done(name ? 128 + constants.signals[name] : code ?? 0))
    }).finally(() => signal?.removeEventListener("abort", this.abort))
    this.exit.catch(() => {}) // of a call that ended otherwise
    signal?.addEventListener("abort", this.abort)
    if (stdin !== undefined) void this.feed(stdin)
  }

  private async feed(content: Content): Promise<void> {
    const pipe = this.process.stdin!
    let ended = false
    pipe.on("error", () => { ended = true }) // the program ended; it reports why
    try {
      for await (const data of chunks(content)) {
        if (ended || pipe.destroyed) return
        if (!pipe.write(data)) await new Promise<void>((go) => { pipe.once("drain", go); pipe.once("close", go) })
      }
      pipe.end()
    } catch (error) { // without its end, the content would be incomplete
      this.inputError = { error }
      this.process.kill("SIGKILL")
    }
  }

  /** Wait for the end of the program, whose output was read, and return its exit code. */
  async end(): Promise<number> {
    const code = await this.exit
    this.signal?.throwIfAborted()
    if (this.inputError) throw this.inputError.error
    return code
  }

  error(code: number): Error { return exitError(code, this.stderr.toString()) }

  /** End the program. */
  async close(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    this.process.kill("SIGTERM")
    const late = setTimeout(() => this.process.kill("SIGKILL"), 2000)
    this.stdout.resume() // a pipe that is full would keep it
    await this.exit.catch(() => {})
    clearTimeout(late)
  }

  /** Return the chunks of standard output, and throw how the program failed. */
  async *output(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const data of this.stdout) yield data as Buffer
      const code = await this.end()
      if (code !== 0) throw this.error(code)
    } finally {
      await this.close()
    }
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function find(path: string): string {
  const places = path.split(delimiter).filter((d) => d !== "")
  for (let d = dirname(resolve(process.argv[1] ?? ".")); ; d = dirname(d)) {
    places.push(join(d, "node_modules", ".bin"))
    if (d === dirname(d)) break
  }
  for (const place of places) {
    const program = resolve(place, "agent-handoff")
    try {
      accessSync(program, fsConstants.X_OK)
      if (statSync(program).isFile()) return program
    } catch {} // the next one
  }
  throw failure("program", "agent-handoff: not found in PATH", 127, "install agent-handoff, or name it with the option program")
}

async function* chunks(content: Content): AsyncGenerator<Uint8Array> {
  if (typeof content === "string") yield Buffer.from(content)
  else if (content instanceof Uint8Array) yield content
  else yield* content
}

/** An answer, or the error of a program that failed. */
export interface Result {
  code: number
  answers: unknown[]
}

/** Run a program to its end. */
export async function run(place: Place, args: readonly string[], signal?: AbortSignal, stdin?: Content): Promise<Result> {
  const child = new Child(place, args, stdin, signal)
  try {
    const parts: Buffer[] = []
    for await (const data of child.stdout) parts.push(data as Buffer)
    const code = await child.end()
    if (code > 128 && parts.length === 0) throw child.error(code)
    const answers = parse(Buffer.concat(parts).toString(), code)
    const last = answers.at(-1)
    if (isError(last)) throw errorOf(last.error, answers.slice(0, -1) as Artifact[])
    if (code !== 0 && answers.length === 0) throw child.error(code)
    return { code, answers }
  } finally {
    await child.close()
  }
}

export function isError(answer: unknown): answer is { error: ErrorObject } {
  return typeof answer === "object" && answer !== null && "error" in answer && Object.keys(answer).length === 1
}

/** Decode a standard output: one object, or one in each line. */
function parse(text: string, code: number): unknown[] {
  if (text.trim() === "") return []
  try {
    return [JSON.parse(text)]
  } catch {
    try {
      return text.trimEnd().split("\n").map((line) => JSON.parse(line))
    } catch {
      throw failure("internal", "agent-handoff: invalid JSON on standard output", code)
    }
  }
}
