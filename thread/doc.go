// Package thread reads what coding agents leave on disk, their threads:
// Claude Code, Codex, Gemini CLI, pi, OpenCode, Amp and others, which package
// thread/all lists.
//
// A [Thread] is identified by a [URI] such as
// agents://codex/ID; a subagent of it by agents://codex/ID/AGENT. A [Set] resolves
// URIs with the [Driver] of each tool, which package thread/all lists:
//
//	set := thread.NewSet(all.Drivers(), os.Getenv, home)
//	uri, err := thread.ParseURI("codex/019c871c-b1f9-7f60-9c4f-87ed09f13592")
//	view, err := set.Open(ctx, uri)
//	err = view.Thread.Read(ctx, thread.Texts, func(m thread.Message) error {
//		fmt.Println(m.N, m.Role, m.Text)
//		return nil
//	})
//
// After Read or [Thread.Load], the [Facts] of the thread are set: its [State],
// its token [Usage] and the number of messages. [View.LoadAgents] finds the
// subagents. Package page writes a thread or subagent as markdown or JSON, as the
// command line does. To list all threads of a tool, use [Set.Provider] and
// [Provider.Threads].
//
// Transcripts belong to the tools that write them. This package only reads them.
// They may be growing, truncated or damaged; such defects are reported in
// [Facts].Warnings and never fail a read. Messages are streamed, so a transcript
// may be larger than memory.
//
// A Set and its providers may be used by several goroutines at once. A Thread or
// View is for one goroutine. Errors are of type [handoff.Error] and have a kind.
//
// The formats of the tools are known only to one package per tool, such as
// thread/codex; docs/threads.md describes what they rely on. The second half of
// this package, from [Home] to [Timeline], is what those packages have in common.
package thread
