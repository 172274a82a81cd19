// A running agent of flue with the tools, and a scripted model.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fauxAssistantMessage, fauxProvider, fauxToolCall } from "@earendil-works/pi-ai/providers/faux"
import { init, useModel, useTool } from "@flue/runtime"
import { start } from "@flue/runtime/node"
import { Workspace } from "agent-handoff-client"
import { artifactTools } from "agent-handoff-flue"
import { expect, it } from "vitest"

it("a running agent publishes, lists and gets", async () => {
  const dir = mkdtempSync(join(tmpdir(), "flue-agent-"))
  let flue
  try {
    mkdirSync(join(dir, ".git"))
    writeFileSync(join(dir, "design.md"), "content of the design")
    writeFileSync(join(dir, "fix.diff"), "content of the fix")
    const model = fauxProvider({ provider: "script" })
    const asked = []
    const call = (tool, input) => fauxAssistantMessage(fauxToolCall(tool, input), { stopReason: "toolUse" })
    // results are those of the tools so far, as the model sees them.
    const results = (context) => {
      asked.push(context)
      return context.messages.filter((m) => m.role === "toolResult")
        .map((m) => ({ failed: m.isError, text: m.content.map((c) => c.text).join("") }))
    }
    const output = (context) => JSON.parse(results(context).at(-1).text)
    model.setResponses([
      call("artifact_publish", { path: "design.md", channel: "design", title: "Retry" }),
      fauxAssistantMessage("Published."),
      call("artifact_list", { channel: "design" }),
      (context) => call("artifact_publish", { path: "fix.diff", channel: "patch", inputs: [output(context).artifacts[0].id] }),
      (context) => call("artifact_get", { id: output(context).id }),
      call("artifact_publish", { path: "missing", channel: "patch" }),
      (context) => fauxAssistantMessage(JSON.stringify(results(context).slice(-2))),
    ])
    const agent = (name) => {
      const tools = artifactTools(new Workspace(dir, { agent: name }))
      const render = () => {
        useModel(`script/${model.getModel().id}`)
        tools.forEach(useTool)
        return "Hand over by reference."
      }
      return Object.assign(render, { agentName: name })
    }
    const [architect, builder] = ["architect", "builder"].map(agent)
    flue = await start({ agents: [architect, builder], providers: [model.provider] })
    const ask = async (who, text) => {
      const conversation = init(who, { id: "one" })
      return (await conversation.read(await conversation.dispatch(text))).text
    }
    expect(await ask(architect, "Design retries.")).toBe("Published.")
    const [got, missing] = JSON.parse(await ask(builder, "Build what was designed."))
    const { artifacts } = await new Workspace(dir).list()
    expect(artifacts.map((a) => [a.channel, a.producer.agent, a.parentArtifactIds])).toEqual([
      ["patch", "builder", [artifacts[1].id]], ["design", "architect", undefined],
    ])
    expect(JSON.parse(got.text)).toMatchObject({ id: artifacts[0].id, path: "fix.diff", inputs: [artifacts[1].id], target: "available" })
    expect(missing).toMatchObject({ failed: true, text: expect.stringContaining("file does not exist") })
    expect(JSON.stringify(asked.map((c) => c.messages))).not.toContain("content of")
  } finally {
    await flue?.stop()
    rmSync(dir, { recursive: true, force: true })
  }
})
