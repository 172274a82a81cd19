package logtest

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

// An Outage tests that a watch goes on when the store of its log was away.
type Outage struct {
	Publish func(title string) (id string, err error) // by a machine that does not watch
	Watch   func(context.Context) iter.Seq2[handoff.Artifact, error]

	// Away takes the store away, and Back gives it back, with what was in it.
	Away, Back func()
	// Asked reports whether the watch was refused since.
	Asked func() bool
}

// Run takes the store away several times under one watch, which misses nothing and gives
// nothing twice.
func (o Outage) Run(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	seen := make(chan string)
	ended := make(chan error, 1)
	go func() {
		for a, err := range o.Watch(ctx) {
			if err != nil {
				ended <- err
				return
			}
			select {
			case seen <- a.ID:
			case <-ctx.Done():
			}
		}
		ended <- ctx.Err()
	}()
	for i, title := range []string{"before", "after an outage", "after another one"} {
		if i > 0 {
			o.Away()
			for deadline := time.Now().Add(10 * time.Second); !o.Asked() && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}
			o.Back()
		}
		want, err := o.Publish(title)
		if err != nil {
			t.Fatalf("publish %s: %v", title, err)
		}
		select {
		case got := <-seen:
			if got != want {
				t.Errorf("%s, the watch gives %s, want %s", title, got, want)
			}
		case err := <-ended:
			t.Fatalf("%s, the watch ended: %v", title, err)
		}
	}
}
