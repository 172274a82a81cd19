// Registers the tools of handoff in pi, which has no MCP, reports sessions to it,
// and tells pi's shells which session they belong to. Written by: agent-handoff init.
import { spawn, type ChildProcess } from "node:child_process"
import { createInterface } from "node:readline"

const program = "agent-handoff"

// The session that started this pi, as one of its subagents: this process sets the
// variable to its own session.
const outer = process.env.PI_SESSION_PID === String(process.pid) ? "" : (process.env.PI_SESSION_ID ?? "")

// Other extensions may own these names. Then only their set is active.
const names = ["write_artifact", "read_artifact"]

type Waiting = { resolve: (v: any) => void; reject: (e: Error) => void }

class Server {
  private child: ChildProcess
  private waiting = new Map<number, Waiting>()
  private last = 0
  ended?: Error

  constructor(cwd: string) {
    this.child = spawn(program, ["mcp"], { cwd, stdio: ["pipe", "pipe", "ignore"] })
    this.child.on("error", (e) => this.fail(e))
    this.child.on("exit", () => this.fail(new Error("handoff ended")))
    this.child.stdin!.on("error", () => {})
    this.child.unref()
    createInterface({ input: this.child.stdout! }).on("line", (line) => {
      let m: any
      try {
        m = JSON.parse(line)
      } catch {
        return
      }
      const w = this.waiting.get(m.id)
      if (!w) return
      this.waiting.delete(m.id)
      if (m.error) w.reject(new Error(m.error.message))
      else w.resolve(m.result)
    })
  }

  private fail(e: Error) {
    this.ended = e
    for (const w of this.waiting.values()) w.reject(e)
    this.waiting.clear()
  }

  send(method: string, params: unknown): Promise<any> {
    if (this.ended) return Promise.reject(this.ended)
    const id = ++this.last
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      this.child.stdin!.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n")
    })
  }

  notify(method: string, params: unknown) {
    this.child.stdin!.write(JSON.stringify({ jsonrpc: "2.0", method, params }) + "\n")
  }

  close() {
    this.child.stdin!.end()
  }
}

function report(event: unknown, ctx: any) {
  try {
    const child = spawn(program, ["hook", "pi"], { cwd: ctx.cwd, stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", () => {})
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ ev: event, sessionId: ctx.sessionManager?.getSessionId?.(), outerSessionId: outer, cwd: ctx.cwd }))
  } catch {
    // handoff must never disturb the agent
  }
}

export default function (pi: any) {
  let server: Server | undefined
  let session = ""
  let dir = ""
  let registered = false

  async function start(cwd: string) {
    server?.close()
    server = new Server(cwd)
    dir = cwd
    await server.send("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "pi-coding-agent", version: "1" } })
    server.notify("notifications/initialized", {})
    if (registered) return
    let tools: any[] = (await server.send("tools/list", {})).tools
    const known = new Set(pi.getAllTools().map((t: any) => t.name))
    if (names.some((name) => known.has(name))) tools = tools.filter((t) => !names.includes(t.name))
    registered = true
    for (const t of tools) register(t)
  }

  function register(t: any) {
    pi.registerTool({
      name: t.name,
      label: t.name,
      description: t.description,
      parameters: t.inputSchema,
      async execute(callId: string, args: unknown) {
        if (!server || server.ended) await start(dir) // it was killed, or replaced by another version
        const result = await server!.send("tools/call", {
          name: t.name,
          arguments: args,
          _meta: { "pi/sessionId": session, "pi/toolCallId": callId },
        })
        const text = result.content.filter((c: any) => c.type === "text").map((c: any) => c.text).join("\n")
        if (result.isError) throw new Error(text)
        return { content: [{ type: "text", text }], details: result.structuredContent }
      },
    })
  }

  // The tools of other extensions are known only after all of them are loaded.
  pi.on("session_start", async (event: any, ctx: any) => {
    session = ctx.sessionManager?.getSessionId?.() ?? ""
    if (session) {
      process.env.PI_SESSION_ID = session
      process.env.PI_SESSION_PID = String(process.pid)
    }
    report(event, ctx)
    try {
      await start(ctx.cwd)
    } catch {
      server = undefined // handoff is not installed
    }
  })
  for (const name of ["agent_start", "agent_end"]) {
    pi.on(name, async (event: any, ctx: any) => {
      const last = event.messages?.filter((m: any) => m.role === "assistant").pop()
      report({ type: event.type, stopReason: last?.stopReason }, ctx)
    })
  }
  pi.on("session_shutdown", async (event: any, ctx: any) => {
    report(event, ctx)
    server?.close()
    server = undefined
  })
}
