package workspace_test

import (
	"github.com/agent-handoff/handoff/session"

	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/pipelines"
)

// testWorkspace makes a directory with one file, as an agent would leave it.
func testWorkspace() (dir string, w *workspace.Workspace) {
	dir, err := os.MkdirTemp("", "handoff-example-")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "design.md"), []byte("# Retry policy\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	w, err = workspace.Open(dir, workspace.Options{Getenv: func(name string) string {
		return map[string]string{"HANDOFF_WORKSPACE": dir}[name]
	}})
	if err != nil {
		log.Fatal(err)
	}
	return dir, w
}

// One agent publishes what it made; another finds it by its channel.
func Example() {
	ctx := context.Background()
	dir, w := testWorkspace()
	defer os.RemoveAll(dir)
	defer w.Close()

	_, err := w.Publish(ctx, handoff.Draft{Channel: "design", Path: "design.md", Title: "Retry policy"})
	if err != nil {
		log.Fatal(err)
	}

	page, err := w.List(ctx, workspace.ListOptions{Filter: workspace.Filter{Channel: "design"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range page.Artifacts {
		fmt.Println(a.Title, "is in", a.Path, "and is", a.Status)
	}
	// Output:
	// Retry policy is in design.md and is active
}

// A watch yields the artifacts after a position in the log, and then each new one.
func ExampleWorkspace_Watch() {
	ctx := context.Background()
	dir, w := testWorkspace()
	defer os.RemoveAll(dir)
	defer w.Close()

	go func() {
		for _, channel := range []string{"analysis", "design"} {
			if _, err := w.Publish(ctx, handoff.Draft{Channel: channel, Path: "design.md"}); err != nil {
				log.Fatal(err)
			}
		}
	}()

	for a, err := range w.Watch(ctx, workspace.WatchOptions{After: "0"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(a.Seq, a.Channel, a.Path)
		if a.Channel == "design" {
			break
		}
	}
	// Output:
	// 1 analysis design.md
	// 2 design design.md
}

// An artifact can be read as it was published after its file has changed.
func ExampleWorkspace_Read() {
	ctx := context.Background()
	dir, w := testWorkspace()
	defer os.RemoveAll(dir)
	defer w.Close()

	p, err := w.Publish(ctx, handoff.Draft{Channel: "design", Path: "design.md"})
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "design.md"), []byte("# Something else\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	b, err := w.Read(ctx, p.ID, workspace.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	text, err := io.ReadAll(b)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s is %s; published was: %s", b.Artifact.Path, b.Artifact.Target, text)
	// Output:
	// design.md is modified; published was: # Retry policy
}

// Names are scoped to a run: two runs use the same name without a conflict.
func ExampleWorkspace_Write() {
	ctx := context.Background()
	dir, w := testWorkspace()
	defer os.RemoveAll(dir)
	defer w.Close()

	for _, run := range []string{"run-1", "run-2"} {
		agent := w.As(workspace.Caller{Dir: dir, Producer: handoff.Producer{RunID: run}})
		written, err := agent.Write(ctx, handoff.Draft{Name: "context.md", Body: strings.NewReader("by " + run)})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(written.Ref)
	}
	// Output:
	// run-1/context.md
	// run-2/context.md
}

// A directory is kept if its publisher asks for it, and can be unpacked later.
func ExampleBody_Save() {
	ctx := context.Background()
	dir, w := testWorkspace()
	defer os.RemoveAll(dir)
	defer w.Close()
	site := filepath.Join(dir, "site")
	if err := os.Mkdir(site, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "design.md"), filepath.Join(site, "index.md")); err != nil {
		log.Fatal(err)
	}

	p, err := w.Publish(ctx, handoff.Draft{Channel: "handoff", Path: "site", Keep: handoff.KeepAlways})
	if err != nil {
		log.Fatal(err)
	}
	if err := os.RemoveAll(site); err != nil {
		log.Fatal(err)
	}

	b, err := w.Read(ctx, p.ID, workspace.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	if err := b.Save(ctx, "as-published"); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "as-published", "index.md"))
	fmt.Printf("%s is %s; its index.md was: %s%v", b.Artifact.Path, b.Artifact.Target, text, err)
	// Output:
	// site is missing; its index.md was: # Retry policy
	// <nil>
}

// A search finds artifacts by words of their titles, names and text.
func ExampleWorkspace_Search() {
	ctx := context.Background()
	dir, w := testWorkspace()
	defer os.RemoveAll(dir)
	defer w.Close()
	if _, err := w.Publish(ctx, handoff.Draft{Channel: "design", Path: "design.md"}); err != nil {
		log.Fatal(err)
	}

	found, err := w.Search(ctx, workspace.SearchOptions{Text: "retry pol*"})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range found.Matches {
		for _, s := range m.Snippets {
			fmt.Printf("%s, in its %s: %s\n", m.Artifact.Path, s.Field, strings.Join(s.Pieces, "|"))
		}
	}
	// Output:
	// design.md, in its body: # |Retry| |policy|
}

// An engine opens a session, its agent registers an output, and a later agent
// finds it.
func ExampleWorkspace_Sessions() {
	ctx := context.Background()
	dir, w := testWorkspace()
	defer os.RemoveAll(dir)
	defer w.Close()

	s, err := w.Sessions().Open(ctx, session.OpenOptions{
		Agent: handoff.SessionAgent{Name: "alex"}, Workflow: handoff.SessionWorkflow{Name: "intake-app"},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Folder, "requirements.md"), []byte("Two tries.\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	if _, err := w.Sessions().AddOutput(ctx, s.ID,
		sessions.Output{File: "requirements.md", Type: "document"}); err != nil {
		log.Fatal(err)
	}
	if _, err := w.Sessions().Close(ctx, s.ID, session.Completed, ""); err != nil {
		log.Fatal(err)
	}

	_, file, err := w.Sessions().LatestOutput(ctx, "alex", "^intake", "document")
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(file)
	fmt.Printf("%s: %s%v\n", filepath.Base(file), text, err)
	// Output:
	// requirements.md: Two tries.
	// <nil>
}

// A program that starts an agent opens a session for it and checks what it made.
func ExampleWorkspace_Runs() {
	ctx := context.Background()
	dir, w := testWorkspace()
	defer os.RemoveAll(dir)
	defer w.Close()

	s, err := w.Runs().Start(ctx, session.OpenOptions{DefaultName: "builder", Expected: []string{"plan.md", "tests.log"}})
	if err != nil {
		log.Fatal(err)
	}
	// The agent is started with the variables in s.Env. It works as this caller:
	agent := w.As(workspace.CallerFrom(dir, func(name string) string { return s.Env[name] }, handoff.Producer{}))
	if _, err := agent.Write(ctx, handoff.Draft{Name: "plan.md",
		Body: strings.NewReader("Try again.")}); err != nil {
		log.Fatal(err)
	}

	receipt, err := w.Runs().End(ctx, s.ID, session.Exit{})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range receipt.Expected {
		fmt.Println(e.Name, e.Delivered)
	}
	// Output:
	// plan.md true
	// tests.log false
}

// The next step of a pipeline run follows from the artifacts in its folder.
func ExampleWorkspace_Pipelines() {
	ctx := context.Background()
	dir, w := testWorkspace()
	defer os.RemoveAll(dir)
	defer w.Close()

	p := w.Pipelines()
	if _, err := p.Init(ctx, "42", pipelines.InitOptions{}); err != nil {
		log.Fatal(err)
	}
	step, err := p.Next(ctx, "42", false)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(step.Agent, "writes", step.Writes)
	_, err = p.Put(ctx, pipelines.Submission{Issue: "42", Stage: "plan", Body: strings.NewReader(`{"steps": []}`)})
	fmt.Println(errors.Is(err, handoff.Invalid))
	// Output:
	// jg-subplanner writes .pipeline/42/plan.json
	// true
}
