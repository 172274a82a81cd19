// A graph of LangGraph.js whose state has IDs of artifacts, and not their content. The
// model is scripted.
//
// Usage: node langgraph.js DIRECTORY
import { FakeListChatModel } from "@langchain/core/utils/testing"
import { Annotation, END, START, StateGraph } from "@langchain/langgraph"
import { Workspace } from "agent-handoff-client"

const directory = process.argv[2] ?? "."
const model = new FakeListChatModel({ responses: ["Retry twice.", "+retry(2)"] })
const State = Annotation.Root({ task: Annotation<string>, design: Annotation<string>, patch: Annotation<string> })

const graph = new StateGraph(State)
  .addNode("architect", async ({ task }, config) => {
    const w = new Workspace(directory, { agent: "architect", ...thread(config) })
    const answer = await model.invoke(task)
    const design = await w.publish({ content: answer.text }, { channel: "design", title: "Retry policy" })
    return { design: design.id }
  })
  .addNode("builder", async ({ design }, config) => {
    const w = new Workspace(directory, { agent: "builder", ...thread(config) })
    const answer = await model.invoke(await w.read(design).text())
    const patch = await w.publish({ content: answer.text }, { channel: "patch", title: "Retry", inputs: [design] })
    return { patch: patch.id }
  })
  .addEdge(START, "architect").addEdge("architect", "builder").addEdge("builder", END)
  .compile()

/** The thread of LangGraph is the task of its artifacts. */
function thread(config: { configurable?: Record<string, unknown> }) {
  return { task: String(config.configurable?.["thread_id"] ?? "") }
}

const state = await graph.invoke({ task: "Handle a failed request." }, { configurable: { thread_id: "t-1" } })
const w = new Workspace(directory)
const { artifacts } = await w.list({ task: "t-1" })
const patch = await w.show(state.patch)
console.log(`${artifacts.length} artifacts of t-1; ${patch.title} was made from ${patch.parentArtifactIds?.[0] === state.design ? "the design" : "nothing"}`)
