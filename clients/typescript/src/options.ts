/** Every call can be ended by a signal. */
export interface Call {
  signal?: AbortSignal
}

/** Which artifacts; all that are given must match. */
export interface Filter extends Call {
  channel?: string
  kind?: string
  tag?: string
  name?: string
  status?: string
  since?: string
  until?: string
  /** Made from this artifact, a ref. */
  inputs?: string
  /** Superseded and withdrawn artifacts, too. */
  all?: boolean
  agent?: string
  session?: string
  run?: string
  task?: string
  thread?: string
  work?: string
  producer?: Record<string, string>
}

export interface ListOptions extends Filter {
  label?: string
  stale?: boolean
  usedBy?: string
  limit?: number
}

export interface WatchOptions extends Filter {
  /** A ref, a sequence number, or now. */
  after?: string | number
  /** In milliseconds, or a text such as 5m. */
  timeout?: number | string
}

export interface WaitOptions extends WatchOptions {
  refs?: readonly string[]
  /** Wait for one of the refs. */
  any?: boolean
  count?: number
  reviewed?: boolean
}

/** Bytes, or text in UTF-8. */
export type Content = string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** A claim with its evidence, each as KIND:VALUE. */
export interface Evidenced {
  text: string
  evidence?: readonly string[]
}

export interface PublishOptions extends Call {
  filename?: string
  channel?: string
  kind?: string
  title?: string
  summary?: string
  tags?: readonly string[]
  /** Refs of the artifacts that it was made from. */
  inputs?: readonly string[]
  replaces?: readonly string[]
  resolves?: readonly string[]
  key?: string
  mediaType?: string
  metadata?: Record<string, string>
  claims?: readonly Evidenced[]
  /** always, auto or never. */
  keep?: string
  askReview?: boolean
  allowSecret?: boolean
}

export interface ReviewOptions extends Call {
  approve?: boolean
  requestChanges?: boolean
  dismiss?: boolean
  comment?: boolean
  /** A number or two: 12-14. */
  lines?: string
  path?: string
  quote?: string
  replyTo?: string
  resolve?: readonly string[]
  reopen?: readonly string[]
  allowSecret?: boolean
}

export interface ReadOptions extends Call {
  offset?: number
  limit?: number
  /** Offset and limit are in bytes, not in lines. */
  bytes?: boolean
  latest?: boolean
  rev?: number
}

export interface VerifyOptions extends Call {
  failOn?: string
  require?: readonly string[]
}

export interface AttestOptions extends Call {
  commit?: boolean
}

export interface WorkspaceOptions {
  /** Agent, session, task and producer name who publishes, reviews and attests. */
  agent?: string
  session?: string
  task?: string
  producer?: Record<string, string>
  /** By default agent-handoff in PATH, or of npm beside the script that runs. */
  program?: string
  /** Variables in addition to those of this process. */
  env?: Record<string, string>
}

const renamed: Record<string, string> = { inputs: "from", tags: "tag", metadata: "meta" }

/** Return options as flags. Values are joined to them, so that none is read as a flag. */
export function flags(options: object): string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    const flag = "--" + (renamed[name] ?? name.replace(/[A-Z]/g, (c) => "-" + c.toLowerCase()))
    if (name === "signal" || name === "refs" || value === undefined || value === null || value === false) return []
    if (value === true) return [flag]
    if (name === "claims") {
      return (value as Evidenced[]).flatMap((c) => [`--claim=${c.text}`, ...(c.evidence ?? []).map((e) => `--evidence=${e}`)])
    }
    if (name === "timeout" && typeof value === "number") return [`${flag}=${value > 0 ? Math.max(1, Math.round(value)) : 0}ms`]
    if (Array.isArray(value)) return value.map((v) => `${flag}=${v}`)
    if (typeof value === "object") return Object.entries(value).map(([k, v]) => `${flag}=${k}=${v}`)
    return [`${flag}=${value}`]
  })
}
