import { createHash } from "node:crypto"
import {
  AttachmentConflictError, AttachmentIntegrityError, verifyAttachmentBytes,
  type AttachmentStore, type GetAttachmentInput, type PutAttachmentInput, type StoredAttachment,
} from "@flue/runtime/adapter"
import { ConflictError, CorruptError, type Artifact, type Workspace } from "agent-handoff-client"

const channel = "attachment"

/** Attachments of flue as artifacts of the channel attachment. A copy of each is kept. */
export class WorkspaceAttachmentStore implements AttachmentStore {
  constructor(private readonly workspace: Workspace) {}

  /** Publish an attachment once. When it returns, the bytes are on stable storage. */
  async put({ streamPath, attachment, bytes, conversationId }: PutAttachmentInput): Promise<void> {
    await verifyAttachmentBytes(attachment, bytes)
    const name = identity(streamPath, attachment.id)
    const metadata = {
      stream: streamPath, attachment: attachment.id, conversation: conversationId,
      type: attachment.mimeType, size: String(attachment.size), digest: attachment.digest,
    }
    const artifact = await this.workspace.publish({ content: bytes }, {
      // What a user attaches is stored as it is, also if it looks like a secret.
      channel, metadata, key: name, tags: [name], filename: "attachment", keep: "always", allowSecret: true,
    }).catch((e: unknown) => {
      throw e instanceof ConflictError ? new AttachmentConflictError({ path: streamPath, attachmentId: attachment.id }) : e
    })
    const known = fields(artifact)
    if (Object.entries(metadata).some(([k, v]) => known[k] !== v)) {
      throw new AttachmentConflictError({ path: streamPath, attachmentId: attachment.id })
    }
  }

  async get({ streamPath, conversationId, attachmentId }: GetAttachmentInput): Promise<StoredAttachment | null> {
    const { artifacts } = await this.workspace.list({ channel, tag: identity(streamPath, attachmentId) })
    const artifact = artifacts[0]
    if (!artifact) return null
    const known = fields(artifact)
    if (known["conversation"] !== conversationId) return null
    const attachment = {
      id: attachmentId, mimeType: known["type"] ?? "", size: Number(known["size"]), digest: known["digest"] ?? "",
    }
    const bytes = await this.workspace.read(artifact.id).bytes().catch((e: unknown) => {
      throw e instanceof CorruptError ? new AttachmentIntegrityError({ attachmentId, reason: "digest" }) : e
    })
    await verifyAttachmentBytes(attachment, bytes)
    return { attachment, bytes }
  }
}

/** The tag and key of an attachment: an ID is unique in its stream. */
function identity(streamPath: string, attachmentId: string): string {
  return "flue-" + createHash("sha256").update(JSON.stringify([streamPath, attachmentId])).digest("hex")
}

function fields(artifact: Artifact): Record<string, string> {
  return (artifact.metadata ?? {}) as Record<string, string>
}
