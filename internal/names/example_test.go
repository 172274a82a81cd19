package names_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/workspace"
)

// Two agents write the same name. Each reads its own file; the caller of both
// names one of them, or reads the latest.
func ExampleWriter_Write() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "handoff-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w, err := workspace.Open(dir, workspace.Options{Getenv: func(name string) string {
		return map[string]string{"HANDOFF_WORKSPACE": dir}[name]
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	scope := func(run string) names.Scope {
		return names.Scope{Session: "s1", Run: run, Dir: filepath.Join(dir, "sessions", "s1")}
	}

	for _, run := range []string{"scout-1", "scout-2"} {
		writer := names.Writer{Hub: w.Hub(), Workspace: w.Root(), Scope: scope(run)}
		written, err := writer.Write(ctx, handoff.Draft{
			Channel: "analysis", Name: "context.md", Body: strings.NewReader("seen by " + run)})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(written.Namespace+"/"+written.Name, "is in", written.Path)
	}

	own, err := resolver(w.Hub(), scope("scout-1")).Find(ctx, "context.md")
	if err != nil {
		log.Fatal(err)
	}
	_, err = resolver(w.Hub(), scope("")).Find(ctx, "context.md")
	fmt.Println(err)
	last, err := resolver(w.Hub(), scope("")).Latest(ctx, "context.md")
	if err != nil {
		log.Fatal(err)
	}
	for _, found := range []names.Candidate{own, last} {
		b, err := w.Hub().Open(ctx, found.ID)
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(b)
		if err := b.Close(); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s, %v\n", found.Ref(), text, err)
	}
	// Output:
	// scout-1/context.md is in sessions/s1/artifacts/scout-1/context.md
	// scout-2/context.md is in sessions/s1/artifacts/scout-2/context.md
	// find context.md: ambiguous name: 2 artifacts match
	// scout-1/context.md: seen by scout-1, <nil>
	// scout-2/context.md: seen by scout-2, <nil>
}
