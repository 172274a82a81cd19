package logcopy_test

import (
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/logcopy"
)

func side(t *testing.T) logcopy.Side {
	l := filelog.Open(t.TempDir()+"/x", rand.Reader)
	return logcopy.Side{Log: l, Bodies: l.Bodies()}
}

// publish appends a record with a kept body.
func publish(t *testing.T, s logcopy.Side, text string) handoff.Record {
	t.Helper()
	d, err := s.Bodies.Put(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r := logtest.NewRecord("a.md")
	size := int64(len(text))
	f := r.Fact.(*handoff.ArtifactPublished)
	f.Digest, f.SizeBytes, f.Kept = d, &size, true
	if r.Seq, err = s.Log.Append(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCopy(t *testing.T) {
	from, to := side(t), side(t)
	texts := []string{"one", "", "two", "one"}
	var want []handoff.Record
	for i, text := range texts {
		want = append(want, publish(t, from, text))
		for range 300 {
			want = append(want, logtest.Append(t, from.Log, "b.md"))
		}
		got, err := logcopy.Copy(t.Context(), from, to, logcopy.Options{})
		if err != nil || got.Copied != 301 || got.Records != len(want) || int(got.Last) != len(want) || got.Bodies > 1 ||
			len(got.Missing) > 0 {
			t.Fatalf("copy %d = %+v, %v", i, got, err)
		}
	}
	for i, r := range logtest.Collect(t, to.Log, 0) {
		if r.ID != want[i].ID {
			t.Fatalf("record %d is %s, want %s", i+1, r.ID, want[i].ID)
		}
	}
	for _, text := range texts {
		r, err := to.Bodies.Open(t.Context(), logtest.DigestOf(text))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err != nil || string(b) != text {
			t.Errorf("body %q is %q, %v", text, b, err)
		}
		r.Close()
	}
	if report, err := to.Log.(handoff.LogChecker).Check(t.Context(), nil); err != nil || len(report.Findings) > 0 {
		t.Errorf("Check of the copy = %+v, %v", report.Findings, err)
	}
}

func TestRefusedTargets(t *testing.T) {
	from := side(t)
	for range 3 {
		publish(t, from, "x")
	}
	longer, other := side(t), side(t)
	if _, err := logcopy.Copy(t.Context(), from, longer, logcopy.Options{}); err != nil {
		t.Fatal(err)
	}
	logtest.Append(t, longer.Log, "a.md")
	logtest.Append(t, other.Log, "a.md")
	for name, to := range map[string]logcopy.Side{"longer": longer, "other": other} {
		before := len(logtest.Collect(t, to.Log, 0))
		if _, err := logcopy.Copy(t.Context(), from, to, logcopy.Options{}); !errors.Is(err, handoff.Conflict) {
			t.Errorf("%s: Copy = %v, want kind Conflict", name, err)
		}
		if n := len(logtest.Collect(t, to.Log, 0)); n != before {
			t.Errorf("%s: %d records were appended to a target that was refused", name, n-before)
		}
	}
}

// TestOrigin copies to a log of several machines: records without an origin are
// those of this one.
func TestOrigin(t *testing.T) {
	from, to := side(t), side(t)
	publish(t, from, "x")
	foreign := logtest.NewRecord("b.md")
	foreign.Origin = "another"
	if _, err := from.Log.Append(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := logcopy.Copy(t.Context(), from, to, logcopy.Options{Origin: "here"}); err != nil {
			t.Fatal(err)
		}
	}
	got := logtest.Collect(t, to.Log, 0)
	if len(got) != 2 || got[0].Origin != "here" || got[1].Origin != "another" {
		t.Errorf("the origins are wrong: %+v", got)
	}
}

func TestMissingBody(t *testing.T) {
	from, to := side(t), side(t)
	r := logtest.NewRecord("a.md")
	f := r.Fact.(*handoff.ArtifactPublished)
	f.Digest, f.Kept = logtest.DigestOf("lost"), true
	if _, err := from.Log.Append(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got, err := logcopy.Copy(t.Context(), from, to, logcopy.Options{})
	if err != nil || len(got.Missing) != 1 || got.Missing[0] != r.ID {
		t.Errorf("Copy = %+v, %v, want a missing body", got, err)
	}
}
