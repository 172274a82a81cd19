package sqlindex

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
	"pgregory.net/rapid"
)

// A listLog is the records that a comparison reads.
type listLog struct {
	handoff.Log
	records []handoff.Record
}

func (l listLog) Read(_ context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		for _, r := range l.records[after:] {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// differs compares an index with a new one of the records.
func differs(t logtest.TB, x *Index, records []handoff.Record) bool {
	t.Helper()
	got, _, err := x.Differs(t.Context(), listLog{records: records})
	if err != nil {
		t.Fatalf("Differs = %v", err)
	}
	return got
}

// TestSameInBatches checks for random facts that an index stores the same,
// whatever batches the facts came in.
func TestSameInBatches(t *testing.T) {
	dir := t.TempDir()
	files := 0
	rapid.Check(t, func(rt *rapid.T) {
		files++
		file := filepath.Join(dir, fmt.Sprint(files, ".db"))
		x, err := Open(rt.Context(), file, "log1")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.Remove(file)
		defer x.Close()
		records := logtest.DrawRecords(rt)
		for rest := records; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "batch")
			if err := x.Apply(rt.Context(), rest[:n]...); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
		}
		if differs(rt, x, records) {
			rt.Errorf("the index differs from one that got all facts at once")
		}
	})
}

// TestAcceptanceInBatches checks the same for an acceptance whose author knew one of which
// nothing counts any more, and which is on the way of another one.
func TestAcceptanceInBatches(t *testing.T) {
	publish := func(id string, replaces ...string) handoff.Record {
		return handoff.Record{Version: 1, ID: id, Fact: &handoff.ArtifactPublished{Channel: "patch", Path: id + ".diff",
			Replaces: replaces}}
	}
	accept := func(id, artifact, over string, known ...string) handoff.Record {
		return handoff.Record{Version: 1, ID: id,
			Fact: &handoff.ArtifactAccepted{ArtifactID: artifact, Over: []string{over}, Known: known}}
	}
	records := logtest.Placed([]handoff.Record{
		publish("art_FIRST"), publish("art_SECOND", "art_FIRST"), publish("art_THIRD", "art_SECOND"),
		publish("art_OTHER"), publish("art_LAST"),
		accept("rec_1", "art_SECOND", "art_OTHER"), accept("rec_2", "art_OTHER", "art_SECOND"), // none of them counts
		accept("rec_3", "art_LAST", "art_THIRD"), accept("rec_4", "art_FIRST", "art_LAST", "rec_1", "rec_3"),
	})
	x, err := Open(t.Context(), filepath.Join(t.TempDir(), "index.db"), "log1")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, r := range records {
		if err := x.Apply(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if differs(t, x, records) {
		t.Error("the index differs from one that got all facts at once")
	}
}

// TestDiffers changes one value of an index and checks that it is noticed.
func TestDiffers(t *testing.T) {
	session := handoff.Record{Version: 1, Type: "session.opened", ID: "rec_1",
		Fact: &handoff.SessionOpened{SessionID: "s1"}}
	work := handoff.Record{Version: 1, Type: "work.started", ID: "rec_2", Producer: handoff.Producer{Harness: "codex"},
		Fact: &handoff.WorkStarted{WorkID: "w1"}}
	unknown := handoff.Record{Version: 1, Type: "artifact.withdrawn", ID: "rec_3",
		Fact: &handoff.ArtifactWithdrawn{ArtifactID: "art_00000000000000000000000009"}}
	damaged := handoff.Record{Fact: new(handoff.Damaged)}
	records := []handoff.Record{logtest.NewRecord("a.md"), session, work, unknown, damaged, logtest.NewRecord("b.md")}
	for i := range records {
		records[i].Seq = handoff.Seq(i + 1)
	}
	for _, change := range []string{
		``,
		`DELETE FROM artifacts WHERE seq = 6`,
		`UPDATE artifacts SET family = 'art_other' WHERE seq = 6`,
		`DELETE FROM named`,
		`UPDATE named SET state = '{}'`,
		`UPDATE sessions SET state = replace(state, 'running', 'completed')`,
		`DELETE FROM sessions`,
		`DELETE FROM works`,
		`INSERT INTO pointers (key, space, value) VALUES ('a', 'key', 'b')`,
		`DELETE FROM damaged`,
		`UPDATE totals SET n = n + 1`,
		`DELETE FROM totals`,
		`UPDATE artifacts SET channel = 'other'`,
		`INSERT INTO labels (space, value, status, seq) VALUES ('user', 'a', 'active', 1)`,
		`INSERT INTO contested (family) VALUES ('art_other')`,
	} {
		x, err := Open(t.Context(), filepath.Join(t.TempDir(), "index.db"), "log1")
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Apply(t.Context(), records...); err != nil {
			t.Fatal(err)
		}
		if change != "" {
			if err := x.transact(t.Context(), "BEGIN IMMEDIATE",
				func(c *sqlite.Conn) error { return c.Exec(t.Context(), change) }); err != nil {
				t.Fatal(change, err)
			}
		}
		if got := differs(t, x, records); got != (change != "") {
			t.Errorf("%q: Differs = %t", change, got)
		}
		x.Close()
	}
}
