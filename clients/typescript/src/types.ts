// The types of answers, which TestClientTypes writes from the schemas. docs/json.md
// documents their fields.
// BEGIN GENERATED TYPES
export interface ErrorObject {
  kind: string
  op?: string
  name?: string
  message: string
  details?: string[]
  hint?: string
  exitCode: number
}

export interface Model {
  provider?: string
  id: string
}

export interface Observation {
  harness?: string
  ids: Record<string, string>
  source: string
}

export interface Producer {
  workId?: string
  parentWorkId?: string
  harness?: string
  agent?: string
  model?: Model
  runId?: string
  operationId?: string
  taskId?: string
  session?: string
  parentSession?: string
  thread?: string
  toolCallId?: string
  ids?: Record<string, string>
  observed?: Observation[]
  source?: string
}

export interface Digest {
  algorithm: string
  value: string
}

export interface Evidence {
  kind: string
  command?: string
  dir?: string
  thread?: string
  call?: string
  artifact?: string
  exitStatus?: number
  digest?: string
  commandDigest?: string
  failed?: boolean
  onTree?: boolean
}

export interface Claim {
  text: string
  evidence?: Evidence[]
}

export interface Attestation {
  argv: string[]
  argvDigest?: string
  dir?: string
  exitStatus: number
  signal?: string
  startedAt: string
  durationMs: number
  treeAfter?: string
  ofCommit?: boolean
  untracked?: number
}

export interface Tree {
  digest: string
  commit?: string
  worktree?: string
  clean?: boolean
  whole?: string
  changes?: string
}

export interface Use {
  harness?: string
  workId: string
  agent?: string
  session?: string
  runId?: string
  inferred?: boolean
  thread?: string
}

export interface Attribution {
  source: string
  thread: string
  session?: string
  agent?: string
  model?: Model
}

export interface Reviewer {
  name: string
  relation: string
  thread?: string
  via?: string
}

export interface Signed {
  signedAt: string
  by?: string
  problem?: string
}

export interface Review {
  id: string
  decision: string
  by: Reviewer
  comments?: string[]
  createdAt: string
  queued?: boolean
  signed?: Signed
}

export interface EarlierReview {
  artifactId: string
  revision: number
  reviews: Review[]
}

export interface Place {
  path?: string
  side?: string
  firstLine?: number
  lastLine?: number
  start?: number
  end?: number
}

export interface Reply {
  id: string
  state?: string
  body?: Digest
  by: Reviewer
  createdAt: string
  origin?: string
  signed?: Signed
}

export interface Comment {
  id: string
  artifactId: string
  state: string
  place?: Place
  body?: Digest
  by: Reviewer
  createdAt: string
  origin?: string
  signed?: Signed
  resolvedBy?: string
  changedBy?: string
  replies?: Reply[]
}

export interface Acceptance {
  id: string
  over?: string[]
  by: string
  thread?: string
  reason?: string
  createdAt: string
}

export interface Application {
  commit: string
  by: string
  createdAt: string
}

export interface Labeling {
  label: string
  removed?: boolean
  createdAt: string
  agent?: string
  session?: string
}

export interface ActiveRevision {
  id: string
  revision: number
}

export interface StaleInput {
  id: string
  channel: string
  revision: number
  status: string
  active?: ActiveRevision[]
}

export interface Redaction {
  fields?: string[]
  body?: string
  digest?: Digest
  redactedAt?: string
}

export interface Dropped {
  policy: string
  droppedAt: string
}

export interface Notice {
  code: string
  severity: string
  text: string
  refs?: string[]
}

export interface Artifact {
  version: number
  type: string
  id: string
  createdAt: string
  producer?: Producer
  origin?: string
  import?: string
  channel: string
  kind?: string
  path: string
  root?: string
  worktree?: string
  branch?: string
  targetType: string
  title?: string
  summary?: string
  mediaType?: string
  sizeBytes?: number
  digest?: Digest
  kept?: boolean
  namespace?: string
  name?: string
  replaces?: string[]
  parentArtifactIds?: string[]
  tags?: string[]
  key?: string
  metadata?: unknown
  resolves?: string[]
  askReview?: boolean
  claims?: Claim[]
  attestation?: Attestation
  tree?: Tree
  seq: number
  status: string
  revision: number
  reason?: string
  replacedBy?: string[]
  competing?: string[]
  unresolved?: string[]
  late?: boolean
  queued?: boolean
  usedBy?: Use[]
  attributed?: Attribution
  reviews?: Review[]
  earlierReview?: EarlierReview
  comments?: Comment[]
  acceptance?: Acceptance
  notChosenIn?: string[]
  applied?: Application[]
  labels?: string[]
  labelHistory?: Labeling[]
  staleInputs?: StaleInput[]
  redacted?: Redaction
  dropped?: Dropped
  notices?: Notice[]
  recordPath?: string
  target?: string
  file: string
}

export interface PublishedArtifact extends Artifact {
  existing: boolean
  alsoActive?: string
  warnings?: string[]
}

export interface CostUsage {
  input?: number
  output?: number
  cacheRead?: number
  cacheWrite?: number
  reasoning?: number
  totalTokens?: number
  cost?: number
  completeness: string
  reason?: string
  unpriced?: string[]
  estimated?: string[]
}

export interface Task {
  work?: string
  thread?: string
  name?: string
  agent?: string
  models?: string[]
  status?: string
  startedAt?: string
  endedAt?: string
  durationMs?: number
  usage: CostUsage
  transcript?: CostUsage
  artifactIds?: string[]
}

export interface WorkReceipt {
  tasks: Task[]
  usage: CostUsage
  transcript?: CostUsage
  artifacts: number
  artifactUsage?: CostUsage
  within?: string
}

export interface EvidenceResult {
  kind: string
  command?: string
  dir?: string
  thread?: string
  call?: string
  artifact?: string
  exitStatus?: number
  digest?: string
  commandDigest?: string
  failed?: boolean
  onTree?: boolean
  verdict: string
  reason: string
  attestation?: string
  statusNow?: number
  by?: string
  files?: string[]
  moreFiles?: number
}

export interface ClaimResult {
  text: string
  verdict: string
  evidence: EvidenceResult[]
}

export interface Verification {
  id: string
  verdict: string
  claims: ClaimResult[]
  tree?: Tree
  warnings?: string[]
  approved?: boolean
  reviews?: Review[]
}

export interface ShownReply {
  id: string
  state?: string
  text?: string
  by: Reviewer
  createdAt: string
  signed?: Signed
}

export interface ShownComment {
  id: string
  artifactId: string
  state: string
  place?: Place
  outdated?: boolean
  text: string
  quote?: string
  by: Reviewer
  createdAt: string
  signed?: Signed
  resolvedBy?: string
  changedBy?: string
  replies?: ShownReply[]
}

export interface ShownArtifact extends Artifact {
  work?: WorkReceipt
  noThread?: boolean
  verification?: Verification
  discussion?: ShownComment[]
  nextComment?: string
}

export interface ArtifactPage {
  artifacts: Artifact[]
  cursor?: string
  hidden: number
  damaged?: number[]
}

export interface RecordedReview {
  artifact: Artifact
  comments?: string[]
  warnings?: string[]
}

export interface VerificationList {
  base?: string
  head?: string
  verifications: Verification[]
  unapproved?: string[]
}

export interface ThreadEnd {
  status: string
  text: string
  reason?: string
  atLimit?: boolean
  resets?: string
}

export interface ContinuableThread {
  uri: string
  title?: string
  end: ThreadEnd
  activeAt?: string
  continuedBy?: string[]
}

export interface Continuation {
  uri: string
  end: ThreadEnd
  text: string
  tokens: number
  others?: ContinuableThread[]
  command?: string[]
  directory?: string
  dryRun?: boolean
}

// END GENERATED TYPES
