// Package handoff records what agents hand to each other.
//
// Several agents work on one task and leave files behind. This package keeps
// the record of which of those files matter, who made them, from what, and in
// place of what, so that the next agent finds them by a short reference. The
// files stay where their makers put them; only references travel.
//
// # Words
//
//   - A [Record] is one immutable, stored fact: artifact.published,
//     session.closed. Records are written once and never change.
//   - A [Log] is the ordered sequence of records, which only grows. It is the
//     only truth. A [Seq] is a record's place in it.
//   - An artifact is a published output: a record that points at a file or
//     directory. Its id is the id of its record.
//   - A body is the bytes that an artifact points at. A kept body is a copy of
//     them as published, in [Bodies].
//   - A channel is a named stream of artifacts with one purpose: analysis,
//     design, patch, verification, handoff, or any lower-case word.
//   - A session is one execution of an agent's workflow; a session inside a
//     session is called a run. Work is one unit of effort within them.
//   - A [Producer] says who made a record, in the harness's own ids.
//   - An [Index] answers questions about a log. It is derived: deleting it
//     loses nothing.
//   - A view, such as [Artifact], is what a reader sees: the immutable record
//     plus what is computed from all the others.
//
// # Flow
//
// Facts flow one way: [Hub.Publish] checks a [Draft] and appends a record, the
// index folds it, and a [Reader] shows it. What only shows things is given a
// Reader, which has no method that changes anything.
//
// Use package local to open a workspace on this machine.
package handoff
