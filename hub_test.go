package handoff_test

import (
	"github.com/agent-handoff/handoff/engines/memory"

	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/content"
)

// A weakIndex is an index that can't be written or read while out is set.
type weakIndex struct {
	handoff.Index
	out *error
}

func (w weakIndex) Apply(ctx context.Context, records ...handoff.Record) error {
	if *w.out != nil && len(records) > 0 {
		return *w.out
	}
	return w.Index.Apply(ctx, records...)
}

func (w weakIndex) Artifact(ctx context.Context, id string) (handoff.Artifact, error) {
	if *w.out != nil {
		return handoff.Artifact{}, *w.out
	}
	return w.Index.Artifact(ctx, id)
}

// A failingLog is a log whose appends make the index fail.
type failingLog struct {
	handoff.Log
	out *error
	why error
}

func (l failingLog) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	seq, err := l.Log.Append(ctx, r)
	*l.out = l.why
	return seq, err
}

// newHub returns a Hub with the file a.md whose index fails with the given error
// after the first append, or works if the error is nil.
func newHub(t *testing.T, why error) (h *handoff.Hub, out *error) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	out = new(error)
	return handoff.New(failingLog{memory.NewLog(), out, why}, weakIndex{logtest.NewReference(), out}, nil,
		handoff.Options{
			Now: func() time.Time { return when }, Rand: rand.NewChaCha8([32]byte{4}), Files: &content.Files{Root: root},
		}), out
}

// TestAcknowledged holds that an appended record is reported as such even if the
// index fails.
func TestAcknowledged(t *testing.T) {
	why := handoff.E("index", "", handoff.Unavailable, nil)
	h, out := newHub(t, why)
	for _, key := range []string{"", "k"} {
		*out = nil
		p, err := h.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "a.md", Key: key})
		if err != nil || p.ID == "" || p.Status != handoff.Active || len(p.Warnings) != 1 {
			t.Errorf("publish with key %q and a failing index: %v, warnings %q, %v", key, p.ID, p.Warnings, err)
		}
		*out = nil
		w, err := h.Withdraw(t.Context(), p.ID, "")
		if err != nil || w.ID != p.ID || w.Status != handoff.Withdrawn || len(w.Warnings) != 1 {
			t.Errorf("withdraw with a failing index: %v %v, warnings %q, %v", w.ID, w.Status, w.Warnings, err)
		}
	}
}

// TestUnreadableIsNotAbsent holds that an artifact is not reported as missing when
// the index can't be read.
func TestUnreadableIsNotAbsent(t *testing.T) {
	h, out := newHub(t, nil)
	p, err := h.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "a.md"})
	if err != nil {
		t.Fatal(err)
	}
	*out = handoff.E("index", "", handoff.Unavailable, nil)
	_, err = h.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "a.md", Replaces: []string{p.ID}})
	if !errors.Is(err, handoff.Unavailable) {
		t.Errorf("publish that replaces an artifact, with a failing index: %v, want kind Unavailable", err)
	}
	*out = nil
	_, err = h.Publish(t.Context(), handoff.Draft{
		Channel: "design", Path: "a.md", Replaces: []string{"art_00000000000000000000000001"}})
	if !errors.Is(err, handoff.NotFound) {
		t.Errorf("publish that replaces a missing artifact: %v, want kind NotFound", err)
	}
}

func TestProductionsOfUnknownKey(t *testing.T) {
	hub := handoff.New(memory.NewLog(), logtest.NewReference(), nil, handoff.Options{})
	if _, err := hub.Productions(t.Context(), handoff.ProductionQuery{By: "color"}); !errors.Is(err, handoff.Invalid) {
		t.Errorf("productions by color: %v, want kind Invalid", err)
	}
}

// TestCatchUpOnce appends a record after the index was brought up to the log once: only who does
// not ask with that context finds it. A record that is appended with the context is found.
func TestCatchUpOnce(t *testing.T) {
	log := memory.NewLog()
	options := handoff.Options{Now: time.Now, Rand: rand.NewChaCha8([32]byte{1})}
	h := handoff.New(log, logtest.NewReference(), nil, options)
	other := handoff.New(log, logtest.NewReference(), nil, options)
	ctx, err := h.CatchUpOnce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open := func(h *handoff.Hub, ctx context.Context, id string) {
		t.Helper()
		if _, _, err := h.Record(ctx, &handoff.SessionOpened{SessionID: id}); err != nil {
			t.Fatal(err)
		}
	}
	found := func(h *handoff.Hub, ctx context.Context) int {
		t.Helper()
		page, err := h.Sessions(ctx, handoff.SessionQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Sessions)
	}
	open(other, t.Context(), "first")
	as := h.As(handoff.Producer{Agent: "alex"})
	if got := [3]int{found(h, ctx), found(as, ctx), found(other, ctx)}; got != [3]int{0, 0, 1} {
		t.Errorf("got %v sessions, want none of the first Hub", got)
	}
	if got := found(h, t.Context()); got != 1 {
		t.Errorf("got %d sessions without the context, want 1", got)
	}
	open(h, ctx, "second")
	if got := found(h, ctx); got != 2 {
		t.Errorf("got %d sessions after a record, want 2", got)
	}
	h.Close()
	if _, err := h.Sessions(ctx, handoff.SessionQuery{}); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("got %v of a Hub that was closed", err)
	}
}
