package workspace_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

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

	_, err := w.Publish(ctx, handoff.Draft{Channel: "design", Path: "design.md", Title: "Retry policy"})
	if err != nil {
		log.Fatal(err)
	}

	page, err := w.Artifacts(ctx, handoff.ArtifactQuery{Channel: "design"})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range page.Artifacts {
		fmt.Println(a.Title, "is in", a.Path, "and is", a.Status)
	}
	// Output:
	// Retry policy is in design.md and is active
}

// A watch yields what is in the log behind a place, and then what comes.
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

	for r, err := range w.Watch(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		if p, ok := r.Fact.(*handoff.ArtifactPublished); ok {
			fmt.Println(r.Seq, p.Channel, p.Path)
		}
		if r.Seq == 2 {
			break
		}
	}
	// Output:
	// 1 analysis design.md
	// 2 design design.md
}

// What is published is kept as it was: it can be read when the file has changed.
func ExampleWorkspace_Open() {
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

	b, err := w.Open(ctx, p.ID)
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

// A directory is kept where its publisher says so; it can be unpacked when the
// directory is gone.
func ExampleSave() {
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

	b, err := w.Open(ctx, p.ID)
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	if err := workspace.Save(ctx, b, filepath.Join(dir, "as-published")); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "as-published", "index.md"))
	fmt.Printf("%s is %s; its index.md was: %s%v", b.Artifact.Path, b.Artifact.Target, text, err)
	// Output:
	// site is missing; its index.md was: # Retry policy
	// <nil>
}
