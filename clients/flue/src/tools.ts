import { defineTool, type ToolDefinition } from "@flue/runtime"
import type { Artifact, Workspace } from "agent-handoff-client"
import * as v from "valibot"

const text = v.optional(v.string())
const list = v.optional(v.array(v.string()))

/**
 * The tools artifact_publish, artifact_get and artifact_list. A result has the ID and the
 * path, and never the content: the agent reads the file at the path.
 */
export function artifactTools(workspace: Workspace): ToolDefinition<any, any, any, any>[] {
  return [
    defineTool({
      name: "artifact_publish",
      description: "Publish a file or directory that you wrote, so that other agents find it. Returns its ID.",
      input: v.object({
        path: v.string(), channel: v.string(), title: text, summary: text, kind: text, tags: list,
        inputs: v.optional(v.pipe(v.array(v.string()), v.description("IDs of the artifacts that it was made from"))),
        replaces: v.optional(v.pipe(v.array(v.string()), v.description("IDs of the artifacts that it replaces"))),
      }),
      async run({ data, signal, toolCallId }) {
        const { path, ...options } = data
        const artifact = await workspace.publish(path, { ...given(options), ...given({ signal }), key: `flue-${toolCallId}` })
        return { output: brief(artifact) }
      },
    }),
    defineTool({
      name: "artifact_get",
      description: "Return the metadata of an artifact: its path, who made it, and whether it was replaced.",
      input: v.object({ id: v.pipe(v.string(), v.description("An ID, or CHANNEL:latest")) }),
      async run({ data, signal }) {
        const artifact = await workspace.show(data.id, given({ signal }))
        return { output: { ...brief(artifact), ...given({ target: artifact.target, file: artifact.file }) } }
      },
    }),
    defineTool({
      name: "artifact_list",
      description: "List artifacts, newest first. Replaced ones are listed with all.",
      input: v.object({
        channel: text, agent: text, session: text, task: text, tag: text, since: text,
        all: v.optional(v.boolean()), limit: v.optional(v.number()),
      }),
      async run({ data, signal }) {
        const page = await workspace.list({ ...given(data), ...given({ signal }) })
        return { output: { artifacts: page.artifacts.map(brief), hidden: page.hidden } }
      },
    }),
  ]
}

/** What a prompt needs of an artifact. */
function brief(a: Artifact) {
  return given({
    id: a.id, channel: a.channel, path: a.path, title: a.title, summary: a.summary, status: a.status,
    agent: a.producer?.agent, replaces: a.replaces, replacedBy: a.replacedBy, competing: a.competing,
    inputs: a.parentArtifactIds, notices: a.notices?.map((n) => n.text),
  })
}

type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** Return the members that have a value. */
function given<T extends object>(members: T): Partial<Given<T>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<Given<T>>
}
