// Reports sessions, prompts and subagents to handoff, and passes the session to the
// shells of OpenCode or Kilo and to the tools of handoff. Written by: agent-handoff init.
import { spawn } from "node:child_process"
import { basename } from "node:path"

const program = "agent-handoff"
const agent = basename(process.execPath).startsWith("kilo") ? "kilo" : "opencode"

function report(event, payload, cwd) {
  try {
    const child = spawn(program, ["hook", agent, event], { cwd, stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", () => {})
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  } catch {
    // handoff must never disturb the agent
  }
}

// The errors of prompts. A prompt that failed also reports that it is idle, and the two
// reports are not in order.
const failed = new Map()
const reported = new Set(["session.created", "session.idle", "session.error"])

export const Handoff = async ({ directory }) => ({
  event: async ({ event }) => {
    if (!reported.has(event.type)) return
    const id = event.properties.sessionID
    if (event.type === "session.error") failed.set(id, event.properties.error)
    const properties = { ...event.properties, error: failed.get(id) }
    report(event.type, { ...event, properties, cwd: directory }, directory)
  },
  "chat.message": async (input, output) => {
    failed.delete(input.sessionID)
    report("chat.message", { input, output, cwd: directory }, directory)
  },
  "tool.execute.before": async (input, output) => {
    if (input.tool.startsWith("agent-handoff_")) output.args["handoff/caller"] = { session: input.sessionID, call: input.callID }
  },
  "shell.env": async (input, output) => {
    if (input.sessionID) output.env[agent.toUpperCase() + "_SESSION_ID"] = input.sessionID
  },
})
