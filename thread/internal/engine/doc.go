// Package engine reads the threads of agent programs. What a program has of its own is
// a [Program], a table of where its transcripts are, and a [Decoder], which maps each
// record to events. The engine finds transcripts and their copies, reads them, counts
// usage, keeps calls and states, joins subagents with their parents, and resumes.
//
// The events of a record are calls of the methods of a [Scan], in the order of the
// record: At, Prompt, Answer, Answered, Call, Called, Result, Nested, Use, State, Compacted, Agent.
// A record of a type that the decoder does not know is passed to Unknown, so that a
// thread with usage that is not understood is never called exact.
//
// Threads are found by comparing IDs with those of files, or by patterns in which an ID
// replaces a part of one name, so an ID can't lead outside the directories of a program.
package engine
