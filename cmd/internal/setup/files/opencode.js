// Reports sessions, prompts and subagents to handoff, and passes the session to the
// shells of OpenCode or Kilo and to the tools of handoff. Written by: agent-handoff init.
import { spawn } from "node:child_process"
import { basename } from "node:path"

const program = "@HANDOFF@"
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

// The sessions that started those of subagents.
const parents = new Map()

export const Handoff = async ({ client, directory }) => {
  async function parent(id) {
    try {
      if (!parents.has(id)) {
        const { data } = await client.session.get({ path: { id }, signal: AbortSignal.timeout(1000) })
        parents.set(id, data.parentID)
      }
    } catch {
      // handoff must never disturb the agent
    }
    return parents.get(id)
  }
  return {
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
      if (!input.tool.startsWith("agent-handoff_")) return
      output.args["handoff/caller"] = { session: input.sessionID, parent: await parent(input.sessionID), call: input.callID }
    },
    "shell.env": async (input, output) => {
      if (!input.sessionID) return
      output.env[agent.toUpperCase() + "_SESSION_ID"] = input.sessionID
      const above = await parent(input.sessionID)
      if (above) output.env[agent.toUpperCase() + "_PARENT_SESSION_ID"] = above
    },
  }
}
