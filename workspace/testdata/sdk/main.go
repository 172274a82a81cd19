package main

import (
	"context"
	"os"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/thread/page"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/sessions"
)

func main() {
	ctx, w := context.Background(), must(workspace.Open(".", workspace.Options{Getenv: os.Getenv}))
	s := must(w.Sessions().Open(ctx, session.OpenOptions{DefaultName: "builder"}))
	design := must(w.Publish(ctx, handoff.Draft{Channel: "design", Path: "design.md"}))
	check(os.WriteFile(s.Folder+"/report.md", []byte("Built.\n"), 0o644))
	must(w.Sessions().AddOutput(ctx, s.ID, sessions.Output{File: "report.md", Type: "report", From: []string{design.ID}}))
	must(w.Sessions().Close(ctx, s.ID, session.Completed, ""))
	for _, a := range must(w.List(ctx, workspace.ListOptions{})).Artifacts {
		must(os.Stdout.ReadFrom(must(w.Read(ctx, a.ID, workspace.ReadOptions{}))))
	}
	for a, err := range w.Watch(ctx, workspace.WatchOptions{After: design.ID}) {
		threads, uri := thread.NewSet(all.Drivers(), os.Getenv, os.Getenv("HOME")), must(a, err).Producer.Thread
		check(page.Write(ctx, os.Stdout, threads, must(thread.ParseURI(uri)), page.Options{}))
		break // after the report
	}
	check(w.Close())
}

func must[T any](v T, err error) T { check(err); return v }
func check(err error) {
	if err != nil {
		panic(err)
	}
}
