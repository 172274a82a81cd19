// An agent of the OpenAI Agents SDK that publishes with a tool, and one that waits for it.
// The model is scripted.
//
// Usage: node openai-agents.js DIRECTORY
import { Agent, Runner, Usage, setTracingDisabled, tool, type Model, type ModelRequest, type ModelResponse } from "@openai/agents"
import { Workspace } from "agent-handoff-client"
import { z } from "zod"

const directory = process.argv[2] ?? "."
setTracingDisabled(true)

const publish = (agent: string) => tool({
  name: "artifact_publish",
  description: "Publish text, so that other agents find it. Returns its ID.",
  parameters: z.object({ content: z.string(), channel: z.string(), title: z.string() }),
  async execute({ content, channel, title }) {
    return (await new Workspace(directory, { agent }).publish({ content }, { channel, title })).id
  },
})

const read = tool({
  name: "artifact_read",
  description: "Wait for an artifact, such as design:latest, and return its content.",
  parameters: z.object({ ref: z.string() }),
  async execute({ ref }) {
    const w = new Workspace(directory)
    const [artifact] = await w.wait({ refs: [ref], timeout: "60s" })
    return artifact ? w.read(artifact.id).text() : ""
  },
})

/** A model that calls the tools of a script, and then answers with the last result. */
class Script implements Model {
  private next = 0

  constructor(private readonly calls: { name: string; arguments: object }[]) {}

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    const call = this.calls[this.next++]
    if (call) {
      return { usage: new Usage(), output: [{ type: "function_call", callId: `call-${this.next}`, name: call.name, status: "completed", arguments: JSON.stringify(call.arguments) }] }
    }
    const last = Array.isArray(request.input) ? request.input.at(-1) : undefined
    const text = last?.type === "function_call_result" ? JSON.stringify(last.output) : "nothing"
    return { usage: new Usage(), output: [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] }] }
  }

  getStreamedResponse(): never { throw new Error("not streamed") }
}

const architect = new Agent({
  name: "architect", tools: [publish("architect")],
  model: new Script([{ name: "artifact_publish", arguments: { content: "Retry twice.", channel: "design", title: "Retry policy" } }]),
})
const builder = new Agent({
  name: "builder", tools: [read],
  model: new Script([{ name: "artifact_read", arguments: { ref: "design:latest" } }]),
})

const runner = new Runner()
const [built] = await Promise.all([runner.run(builder, "Build what was designed."), runner.run(architect, "Design retries.")])
const { artifacts } = await new Workspace(directory).list({ channel: "design" })
console.log(`${artifacts.map((a) => `${a.producer?.agent}: ${a.title}`).join(", ")}; the builder read ${String(built.finalOutput).includes("Retry twice.") ? "Retry twice." : built.finalOutput}`)
