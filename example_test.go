package handoff_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/engines/memory"
)

// As returns a Hub that records a producer. A program that runs several agents
// has one Hub for each, with the same log.
func ExampleHub_As() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "handoff-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	files, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer files.Close()

	hub := handoff.New(memory.NewLog(), memory.NewIndex(), memory.NewBodies(),
		handoff.Options{Now: time.Now, Rand: rand.Reader, Files: memory.Files(files)})
	builder := hub.As(handoff.Producer{Agent: "builder", Harness: "codex", TaskID: "task_1", Source: handoff.FromFlag})
	reviewer := hub.As(handoff.Producer{Agent: "reviewer", Harness: "claude-code", TaskID: "task_2",
		Source: handoff.FromFlag})

	for _, as := range []*handoff.Hub{builder, reviewer} {
		if _, err := as.Publish(ctx, handoff.Draft{Channel: "patch", Filename: "fix.diff",
			Body: strings.NewReader("-old\n+new\n")}); err != nil {
			log.Fatal(err)
		}
	}
	page, err := hub.Artifacts(ctx, handoff.ArtifactQuery{Producer: map[string]string{"task": "task_2"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range page.Artifacts {
		fmt.Println(a.Producer.Agent, "on", a.Producer.Harness, "published a", a.Channel)
	}
	// Output:
	// reviewer on claude-code published a patch
}
