/** Attachments and artifact tools for flue, in a workspace of agent-handoff. */
export { WorkspaceAttachmentStore } from "./attachments.js"
export { artifactTools } from "./tools.js"
