// Package handoff records the artifacts that agents exchange.
//
// Several agents work on one task and write files. This package records which
// of those files matter, who made them, what they were made from and what they
// replace, so that the next agent can find them by a short reference. Files
// stay where they are; only references are passed on.
//
// # Terms
//
//   - A [Record] is one immutable, stored fact, such as artifact.published or
//     session.closed.
//   - A [Log] is the append-only, ordered sequence of records. It is the only
//     source of truth. A [Seq] is the sequence number of a record in it.
//   - An artifact is a published output: a record that points at a file or
//     directory. Its ID is the ID of its record.
//   - A body is the bytes that an artifact points at. A kept body is a copy of
//     them as published, stored in [Bodies] by digest.
//   - A channel is a named stream of artifacts with one purpose: analysis,
//     design, patch, verification, handoff, or any lower-case word.
//   - A session is one execution of an agent's workflow. A session inside a
//     session is called a run. Work is one unit of effort in a session.
//   - A namespace is the set of names of one run or session; a name is a
//     logical file name in it. Its head is its newest revision that is not
//     withdrawn.
//   - A family is the set of artifacts that Replaces connects.
//   - A [Producer] identifies who made a record, by the harness's own IDs.
//   - An [Index] answers questions about a log. It is derived from the log and
//     can be deleted at any time.
//   - A view, such as [Artifact], is what a reader sees: the immutable record
//     and the values computed from all other records.
//
// An artifact has four types: a [Draft] is what a caller asks for, an
// [ArtifactPublished] is what its record stores, an [Artifact] is what readers
// see, and a [Published] is the answer to a publish: an Artifact, and whether it
// existed before.
//
// # Data flow
//
// Data flows one way: [Hub.Publish] checks a [Draft] and appends a record, an
// index applies the record, and a [Reader] returns views. A component that only
// displays data receives a Reader, which has no method that changes anything.
//
// # Errors
//
// The errors of this package match one [Kind] with errors.Is, and carry a [Hint]
// where there is something to suggest. The comment of each method lists its
// kinds. Any method may also return the error of its context.
//
// # Units
//
// Sizes are in bytes, limits of text in characters (Unicode code points). Times
// are UTC with a resolution of a millisecond. Paths in records are relative and
// slash-separated. Digests are lower-case hexadecimal.
//
// To open a workspace on this machine, see package workspace.
package handoff
