package sqlindex

import (
	"context"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// nowhere is the place of the index of a log that does not exist.
type nowhere struct{}

func (nowhere) Open(context.Context, *Error) (*Index, error)     { return Empty(), nil }
func (nowhere) Queued(context.Context) ([]handoff.Record, error) { return nil, nil }

// TestEmpty asks an index without a database everything: it answers as one without records.
func TestEmpty(t *testing.T) {
	want, err := OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	x := In(nowhere{})
	defer x.Close()
	logtest.CheckAnswers(t, x, want, logtest.Placed([]handoff.Record{logtest.NewRecord("a.md")}))
	if names, err := x.IDNames(t.Context()); len(names) > 0 || err != nil {
		t.Errorf("IDNames = %q, %v", names, err)
	}
	counts, err := x.CountByChannel(t.Context(), handoff.ArtifactQuery{})
	if counts == nil || len(counts) > 0 || err != nil {
		t.Errorf("CountByChannel = %v, %v", counts, err)
	}
	counts, err = x.CountIn(t.Context(), []string{"s1"})
	if counts == nil || len(counts) > 0 || err != nil {
		t.Errorf("CountIn = %v, %v", counts, err)
	}
	if seq, err := x.Seq(t.Context()); seq != 0 || err != nil {
		t.Errorf("Seq = %d, %v", seq, err)
	}
	body := func(handoff.Artifact) (string, error) { return "", nil }
	err = x.Do(t.Context(), func(at *Index) error { return at.IndexText(t.Context(), body, func(handoff.Seq) {}) })
	found, failed := x.Search(t.Context(), Query{Text: "word"})
	if err != nil || failed != nil || len(found) > 0 {
		t.Errorf("Search = %v, %v, %v", found, err, failed)
	}
	sessions, err := x.SearchSessions(t.Context(), Query{Text: "word"})
	if err != nil || len(sessions) > 0 {
		t.Errorf("SearchSessions = %v, %v", sessions, err)
	}
	if again, err := x.Manifests().Rendered(t.Context(), "s1", 1, "sum"); again || err != nil {
		t.Errorf("Rendered = %t, %v", again, err)
	}
	if _, err := x.Bodies(t.Context(), "channel"); err != nil {
		t.Errorf("Bodies: %v", err)
	}
}
