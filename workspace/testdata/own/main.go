// Command own is a program outside the module with a log of its own.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/engines/memory"
)

// A lines is a log with a line of JSON for each record.
type lines struct {
	mu    sync.Mutex
	text  []string
	grown chan struct{}
}

func (l *lines) Append(_ context.Context, r handoff.Record) (handoff.Seq, error) {
	b, err := r.JSON()
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, string(b))
	close(l.grown)
	l.grown = make(chan struct{})
	return handoff.Seq(len(l.text)), nil
}

func (l *lines) Read(_ context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text
	return func(yield func(handoff.Record, error) bool) {
		for i := int(after); i < len(text); i++ {
			if !yield(handoff.StoredRecord(handoff.Seq(i+1), []byte(text[i])), nil) {
				return
			}
		}
	}
}

func (l *lines) Wait(ctx context.Context, after handoff.Seq) error {
	for {
		l.mu.Lock()
		n, grown := len(l.text), l.grown
		l.mu.Unlock()
		if n > int(after) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-grown:
		}
	}
}

func main() {
	ctx := context.Background()
	root, err := os.OpenRoot(".")
	check(err)
	defer root.Close()
	hub := handoff.New(&lines{grown: make(chan struct{})}, memory.NewIndex(), memory.NewBodies(),
		handoff.Options{Now: time.Now, Rand: rand.Reader, Files: memory.Files(root)})
	builder := hub.As(handoff.Producer{Agent: "builder", Source: handoff.FromFlag})
	published := make(chan error)
	go func() {
		_, err := builder.Publish(ctx, handoff.Draft{Channel: "plan", Filename: "plan.md",
			Body: strings.NewReader("Build it.\n")})
		published <- err
	}()
	for a, err := range hub.WatchArtifacts(ctx, 0, handoff.ArtifactQuery{Channel: "plan"}, 0) {
		check(err)
		fmt.Println("waited for", a.Channel, "of", a.Producer.Agent)
		break
	}
	check(<-published)
	page, err := hub.Artifacts(ctx, handoff.ArtifactQuery{})
	check(err)
	for _, a := range page.Artifacts {
		c, err := hub.Open(ctx, a.ID)
		check(err)
		var text [64]byte
		n, _ := c.Read(text[:])
		fmt.Printf("listed %s: %s", a.Status, text[:n])
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
