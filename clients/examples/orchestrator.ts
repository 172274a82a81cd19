// Three agents write candidates in parallel, a barrier waits for all, a reviewer approves
// one, and the lead waits for the approval. The model is scripted.
//
// Usage: node orchestrator.js DIRECTORY
import { Workspace } from "agent-handoff-client"

const directory = process.argv[2] ?? "."

function model(agent: string, prompt: string): string {
  return agent === "reviewer" ? (prompt.includes("twice") ? "approve" : "reject") : { a: "retry once", b: "retry twice", c: "give up" }[agent]!
}

const lead = new Workspace(directory, { agent: "lead" })
const task = await lead.publish({ content: "Handle a failed request.\n" }, { channel: "design", title: "Task", filename: "task.md" })

async function write(agent: string): Promise<void> {
  const w = new Workspace(directory, { agent })
  const prompt = await w.read(task.id).text()
  await w.publish({ content: model(agent, prompt) + "\n" }, { channel: "patch", title: `Candidate ${agent}`, inputs: [task.id] })
}

async function review(): Promise<void> {
  const w = new Workspace(directory, { agent: "reviewer" })
  const candidates = await w.wait({ channel: "patch", count: 3, timeout: "60s" })
  for (const c of candidates) {
    const good = model("reviewer", await w.read(c.id).text()) === "approve"
    await w.review(c.id, good ? "Chosen" : "Not this one", good ? { approve: true } : { requestChanges: true })
    if (good) await w.call(["label", "--json", "--", c.id, "chosen"])
  }
}

const [[chosen]] = await Promise.all([lead.wait({ refs: ["patch:chosen"], timeout: "60s" }), review(), ...["a", "b", "c"].map(write)])
if (!chosen) throw new Error("nothing was chosen")
const approved = await lead.verify(chosen.id, { require: ["approved"], failOn: "contradicted" })
console.log(`chose ${chosen.title}: ${(await lead.read(chosen.id).text()).trim()}, approved: ${approved.passed}`)
