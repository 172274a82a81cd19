// The contract tests of flue. With LOSE, the store loses what it published.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { defineAttachmentStoreContractTests } from "@flue/runtime/test-utils/attachment-store"
import { Workspace } from "agent-handoff-client"
import { WorkspaceAttachmentStore, artifactTools } from "agent-handoff-flue"
import { expect, it } from "vitest"

const made = []

function workspace() {
  const dir = mkdtempSync(join(tmpdir(), "flue-"))
  made.push(dir)
  mkdirSync(join(dir, ".git"))
  return new Workspace(dir, { agent: "flue" })
}

/** A store that loses a version. */
class Losing extends WorkspaceAttachmentStore {
  constructor(place) {
    super(place)
    this.place = place
  }

  async put(input) {
    await super.put(input)
    const { artifacts } = await this.place.list({ limit: 1 })
    await this.place.call(["withdraw", "--json", "--erase", "--", artifacts[0].id])
  }
}

function cleanup() {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true })
}

const Store = process.env.LOSE ? Losing : WorkspaceAttachmentStore
defineAttachmentStoreContractTests("a workspace", { create: () => new Store(workspace()), cleanup })

it("artifact tools hand over by reference", async () => {
  const w = workspace()
  const tools = Object.fromEntries(artifactTools(w).map((t) => [t.name, (data, id) => t.run({ data, toolCallId: id ?? t.name, log: {} })]))
  writeFileSync(join(w.directory, "design.md"), "content of the design")
  writeFileSync(join(w.directory, "fix.diff"), "content of the fix")
  const design = (await tools.artifact_publish({ path: "design.md", channel: "design", title: "Retry" }, "1")).output
  const again = (await tools.artifact_publish({ path: "design.md", channel: "design", title: "Retry" }, "1")).output
  expect(again.id).toBe(design.id) // a call that is repeated publishes once
  const fix = (await tools.artifact_publish({ path: "fix.diff", channel: "patch", inputs: [design.id] }, "2")).output
  const next = (await tools.artifact_publish({ path: "fix.diff", channel: "patch", replaces: [fix.id] }, "3")).output
  expect((await tools.artifact_get({ id: fix.id })).output).toMatchObject({ status: "superseded", replacedBy: [next.id], inputs: [design.id], target: "available" })
  const listed = (await tools.artifact_list({ channel: "patch" })).output
  expect(listed).toMatchObject({ artifacts: [{ id: next.id, path: "fix.diff", agent: "flue" }], hidden: 1 })
  expect(JSON.stringify([design, fix, next, listed])).not.toContain("content of")
  await expect(tools.artifact_publish({ path: "missing", channel: "design" }, "4")).rejects.toThrow("file does not exist")
  cleanup()
})
