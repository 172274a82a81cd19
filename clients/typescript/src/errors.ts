import type { Artifact, ErrorObject } from "./types.js"

/** A call failed. There is a subclass for each kind. */
export class HandoffError extends Error {
  /** The artifacts that were found before the error, such as a timeout. */
  readonly artifacts: Artifact[]

  constructor(readonly error: ErrorObject, artifacts: Artifact[] = []) {
    super(error.message)
    this.name = new.target.name
    this.artifacts = artifacts
  }

  get kind(): string { return this.error.kind }
  get hint(): string | undefined { return this.error.hint }
  get exitCode(): number { return this.error.exitCode }
}

/** Usage error or invalid input. */
export class InvalidError extends HandoffError {}
/** Not found. */
export class NotFoundError extends HandoffError {}
/** Conflict or ambiguous. */
export class ConflictError extends HandoffError {}
/** Unavailable or timed out. */
export class UnavailableError extends HandoffError {}
/** Corrupt handoff data. */
export class CorruptError extends HandoffError {}
/** Not supported. */
export class NotSupportedError extends HandoffError {}
/** Internal error. */
export class InternalError extends HandoffError {}
/** A signal ended the program. */
export class SignalError extends HandoffError {}
/** The program is not installed, or cannot be started. */
export class ProgramError extends HandoffError {}

const kinds: Record<string, typeof HandoffError> = {
  "invalid": InvalidError,
  "not found": NotFoundError,
  "conflict": ConflictError,
  "unavailable": UnavailableError,
  "corrupt": CorruptError,
  "not supported": NotSupportedError,
  "internal": InternalError,
  "signal": SignalError,
  "program": ProgramError,
}

const codes: Record<number, string> = {
  2: "invalid", 3: "not found", 4: "conflict", 5: "unavailable", 6: "corrupt", 7: "not supported",
}

/** Return the error of an error object. */
export function errorOf(error: ErrorObject, artifacts: Artifact[] = []): HandoffError {
  return new (kinds[error.kind] ?? HandoffError)(error, artifacts)
}

export function failure(kind: string, message: string, exitCode: number, hint?: string): HandoffError {
  return errorOf({ kind, message, exitCode, ...(hint ? { hint } : {}) })
}

/** Return the error of a program that printed none on standard output. */
export function exitError(code: number, stderr: string): HandoffError {
  if (code > 128) return failure("signal", `agent-handoff: ended by signal ${code - 128}`, code)
  let message = `agent-handoff: exit status ${code}`
  let hint: string | undefined
  for (const line of stderr.split("\n")) {
    if (line.startsWith("hint: ")) hint = line.slice("hint: ".length)
    else if (/^agent-handoff: (?!warning: |note: )/.test(line)) {
      message = line.slice("agent-handoff: ".length)
      hint = undefined
    }
  }
  return failure(codes[code] ?? "internal", message, code, hint)
}
