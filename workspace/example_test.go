package workspace_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
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

	_, err := w.Publish(ctx, workspace.Publication{Channel: "design", Path: "design.md", Title: "Retry policy"})
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
			if _, err := w.Publish(ctx, workspace.Publication{Channel: channel, Path: "design.md"}); err != nil {
				log.Fatal(err)
			}
		}
	}()

	start := handoff.Seq(0)
	for a, err := range w.Watch(ctx, workspace.WatchOptions{After: &start}) {
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

	p, err := w.Publish(ctx, workspace.Publication{Channel: "design", Path: "design.md"})
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
		written, err := agent.Write(ctx, workspace.NamedContent{Name: "context.md", Body: strings.NewReader("by " + run)})
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
func ExampleWorkspace_Save() {
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

	p, err := w.Publish(ctx, workspace.Publication{Channel: "handoff", Path: "site", Keep: handoff.KeepAlways})
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
	if err := w.Save(ctx, b, "as-published"); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "as-published", "index.md"))
	fmt.Printf("%s is %s; its index.md was: %s%v", b.Artifact.Path, b.Artifact.Target, text, err)
	// Output:
	// site is missing; its index.md was: # Retry policy
	// <nil>
}
