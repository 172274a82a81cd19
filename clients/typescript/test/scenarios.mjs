// Runs scenarios.json with the client, and writes the results, with RESULTS as the file.
// The program agent-handoff is in PATH.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { after, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { HandoffError, Workspace } from "agent-handoff-client"

const { scenarios } = JSON.parse(readFileSync(new URL("../../scenarios.json", import.meta.url)))
const results = {}

/** Replace ${name.member} in texts. */
function fill(value, named) {
  if (typeof value === "string") {
    return value.replace(/\$\{([^}]+)\}/g, (_, path) => path.startsWith("'") ? path.slice(1, -1)
      : path.split(".").reduce((found, p) => found[p], named))
  }
  if (Array.isArray(value)) return value.map((v) => fill(v, named))
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fill(v, named)]))
  return value
}

/** Return an answer without empty lists. */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain)
  if (!value || typeof value !== "object") return value
  return Object.fromEntries(Object.entries(value).filter(([, v]) => !(Array.isArray(v) && v.length === 0)).map(([k, v]) => [k, plain(v)]))
}

/** Return where got has not what is wanted. */
function missing(want, got, at = "") {
  if (Array.isArray(want) && Array.isArray(got) && want.length === got.length) {
    return want.map((w, i) => missing(w, got[i], `${at}[${i}]`)).find((m) => m) ?? ""
  }
  if (want && got && typeof want === "object" && typeof got === "object" && !Array.isArray(want)) {
    for (const [k, v] of Object.entries(want)) {
      if (Array.isArray(v) && v.length === 0 && !(k in got)) continue
      if (!(k in got)) return `${at}.${k} is missing`
      const found = missing(v, got[k], `${at}.${k}`)
      if (found) return found
    }
    return ""
  }
  return want === got ? "" : `${at}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`
}

function* zeros(n) {
  for (const chunk = Buffer.alloc(1 << 20); n > 0; n -= chunk.length) yield chunk.subarray(0, Math.min(n, chunk.length))
}

async function* endless() {
  for (;;) {
    yield Buffer.from("text\n")
    await sleep(10)
  }
}

function* failing(message) {
  yield Buffer.from("text\n")
  throw new Error(message)
}

function contentOf(step) {
  if ("base64" in step) return Buffer.from(step.base64, "base64")
  if ("repeat" in step) return step.repeat.repeat(step.times)
  if ("zeros" in step) return zeros(step.zeros)
  if ("endless" in step) return endless()
  if ("failing" in step) return failing(step.failing)
  return step.content
}

function script(path, text) {
  writeFileSync(path, text)
  chmodSync(path, 0o755)
  return path
}

function running(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

class Runner {
  named = {}
  results = []

  constructor(scenario, top) {
    this.scenario = scenario
    this.top = top
    this.directory = join(top, "work")
    for (const d of ["work", "home"]) mkdirSync(join(top, d))
    this.env = { HOME: join(top, "home"), GIT_CONFIG_NOSYSTEM: "1", ...scenario.env }
    if (scenario.git) {
      const options = { cwd: this.directory, env: { ...process.env, ...this.env } }
      execFileSync("git", ["init", "-q"], options)
      execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x"], options)
    } else mkdirSync(join(this.directory, ".git"))
    for (const [name, text] of Object.entries(scenario.files ?? {})) this.write(name, text)
    if ("program" in scenario) this.program = scenario.program ? script(join(top, "program"), scenario.program) : join(top, "none")
    if (scenario.relative) this.program = relative(process.cwd(), this.program)
  }

  write(name, text) {
    mkdirSync(dirname(join(this.directory, name)), { recursive: true })
    writeFileSync(join(this.directory, name), text)
  }

  workspace(step) {
    let program = this.program
    const pid = join(this.top, "pid")
    if (step.signal || step.cancel) {
      program = script(join(this.top, "noted"), `#!/bin/sh\necho $$ >"${pid}.new"\nmv "${pid}.new" "${pid}"\nexec agent-handoff "$@"\n`)
    }
    return new Workspace(join(this.directory, this.scenario.directory ?? ""), { agent: step.by, program, env: this.env })
  }

  async run() {
    for (const step of this.scenario.steps) await this.step(fill(step, this.named))
  }

  async step(step) {
    if (step.write) return this.write(step.write, step.text)
    if (step.damage) return step.damage.forEach((d) => damage(join(this.directory, d)))
    if (step.background) {
      this.named[step.as] = this.call(step.background)
      return
    }
    let result
    try {
      if (step.join) result = await this.named[step.join]
      else if (step.concurrent) {
        const made = await Promise.all(Array.from({ length: step.concurrent }, (_, i) =>
          this.call({ ...step, options: { ...step.options, title: `title ${i}` } })))
        result = { distinct: new Set(made.map((m) => m.id)).size }
      } else result = step.signal || step.cancel ? await this.interrupted(step) : await this.call(step)
    } catch (e) {
      if (e instanceof HandoffError && step.error) {
        return this.check(step.error, { ...plain(e.error), found: e.artifacts.length, class: e.name })
      }
      if (step.thrown && e.message === step.thrown) return
      throw e
    }
    assert(!step.error && !step.thrown, `${JSON.stringify(step)} returned ${JSON.stringify(result)}`)
    if (step.count) {
      result = { count: result.artifacts.length }
      step.want = { count: step.count }
    }
    if (step.as) this.named[step.as] = result
    this.check(step.want, result)
  }

  check(want, got) {
    this.results.push(got)
    if (want !== undefined) assert.equal(missing(want, got), "", JSON.stringify(got))
  }

  /** Start a call, and send a signal to its program, or cancel the call. */
  async interrupted(step) {
    const file = join(this.top, "pid")
    rmSync(file, { force: true })
    const abort = new AbortController()
    const call = this.call(step, abort.signal)
    call.catch(() => {})
    for (let n = 0; n < 600 && !existsSync(file); n++) await sleep(50)
    const pid = Number(readFileSync(file))
    if (step.signal) {
      await sleep(300)
      process.kill(pid, step.signal)
      return call
    }
    abort.abort()
    await assert.rejects(call, { name: "AbortError" })
    return { running: running(pid) }
  }

  async call(step, signal) {
    const w = this.workspace(step)
    const options = { ...step.options, ...(signal ? { signal } : {}) }
    const args = step.args ?? []
    if (step.other) return plain(await w.call(step.other, { stdin: step.text }))
    switch (step.call) {
      case "publish": {
        const content = contentOf(step)
        return plain(await w.publish(content === undefined ? args[0] : { content }, options))
      }
      case "wait": return plain(await w.wait({ refs: step.refs, ...options }))
      case "list": return plain(await w.list(options))
      case "show": return plain(await w.show(args[0], options))
      case "brief": return plain(await w.brief(args[0], options))
      case "review": return plain(await w.review(args[0], args[1], options))
      case "attest": return plain(await w.attest(args[0], options))
      case "verify": return plain(await w.verify(args, options))
      case "watch": {
        const taken = []
        for await (const a of w.watch(options)) if (taken.push(plain(a)) === (step.take ?? 1)) break
        return taken
      }
      case "read": return this.body(w.read(args[0], options), step.want)
    }
    throw new Error(`unknown call ${step.call}`)
  }

  async body(body, want) {
    if (want?.sha256) {
      const digest = createHash("sha256")
      let bytes = 0
      for await (const data of body) {
        digest.update(data)
        bytes += data.length
      }
      return { sha256: digest.digest("hex"), bytes }
    }
    if (want?.base64) return { base64: Buffer.from(await body.bytes()).toString("base64") }
    const text = await body.text()
    if (want?.times) return text === want.repeat.repeat(want.times) ? want : { text }
    return text
  }
}

/** Overwrite the files of a folder. */
function damage(folder) {
  for (const f of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!f.isFile()) continue
    const path = join(f.parentPath ?? f.path, f.name)
    chmodSync(path, 0o644)
    writeFileSync(path, "damaged")
  }
}

for (const scenario of scenarios) {
  const skip = scenario.long && !process.env.HANDOFF_LONG ? "make long runs it" : false
  test(scenario.name, { skip }, async () => {
    const top = realpathSync(mkdtempSync(join(tmpdir(), "scenario-")))
    try {
      const runner = new Runner(scenario, top)
      await runner.run()
      results[scenario.name] = runner.results
    } finally {
      rmSync(top, { recursive: true, force: true })
    }
  })
}

after(() => { if (process.env.RESULTS) writeFileSync(process.env.RESULTS, JSON.stringify(results, null, 1)) })
