package workspace_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/news"
)

// A line is a record of a golden log, with what the second computation of TestGoldenNews uses.
type line struct {
	Type, ID, Path, SessionID, Status, ArtifactID string
	CreatedAt                                     time.Time
	Replaces, ParentArtifactIDs, Expected         []string
	Agent, Workflow                               struct{ Name string }
	Attestation                                   *struct {
		Argv       []string
		ExitStatus int
	}
	Claims []struct{ Evidence []struct{ ExitStatus int } }
}

// A summary is what news reports, without its texts.
type summary struct {
	needs               map[string]string // the codes by refs
	done                []string          // IDs of sessions
	artifacts, replaced int
}

// A ledger has the lines of a log, and computes its news from them. It shares no code with the
// product.
type ledger []line

func (l ledger) of(types ...string) (list []line) {
	for _, r := range l {
		if slices.Contains(types, r.Type) {
			list = append(list, r)
		}
	}
	return list
}

func (l ledger) withdrawn(id string) bool {
	return slices.ContainsFunc(l.of("artifact.withdrawn"), func(r line) bool { return r.ArtifactID == id })
}

// active reports whether an artifact was neither withdrawn nor replaced by one that was not.
func (l ledger) active(id string) bool {
	return !l.withdrawn(id) && !slices.ContainsFunc(l.of("artifact.published"), func(r line) bool {
		return slices.Contains(r.Replaces, id) && !l.withdrawn(r.ID)
	})
}

// artifact returns the code of what needs somebody about an artifact, "" for nothing.
func (l ledger) artifact(a line) string {
	later := func(match func(line) bool) bool {
		published := l.of("artifact.published")
		at := slices.IndexFunc(published, func(r line) bool { return r.ID == a.ID })
		return slices.ContainsFunc(published[at+1:], match)
	}
	if !l.active(a.ID) {
		return ""
	}
	for _, c := range a.Claims {
		if c.Evidence[0].ExitStatus != 0 {
			return "contradicted"
		}
	}
	if a.Attestation != nil && a.Attestation.ExitStatus != 0 {
		passed := later(func(r line) bool {
			return r.Attestation != nil && slices.Equal(r.Attestation.Argv, a.Attestation.Argv)
		})
		return map[bool]string{false: "attest_failed"}[passed]
	}
	for _, r := range l.of("artifact.published") {
		if r.ID != a.ID && l.active(r.ID) && len(a.Replaces) > 0 && slices.Equal(r.Replaces, a.Replaces) {
			isNewest := !later(func(r line) bool { return l.active(r.ID) && slices.Equal(r.Replaces, a.Replaces) })
			return map[bool]string{true: "competing"}[isNewest]
		}
	}
	if slices.ContainsFunc(a.ParentArtifactIDs, func(id string) bool { return !l.active(id) }) {
		return "stale"
	}
	return ""
}

// session returns the code of a session, and when it ended.
func (l ledger) session(s line, now time.Time) (code string, ended time.Time) {
	for _, r := range l.of("session.closed", "session.archived") {
		switch {
		case r.SessionID != s.SessionID:
		case r.Type == "session.archived":
			return "", time.Time{} // it is not listed
		case r.Status == "failed":
			code, ended = "session_failed", r.CreatedAt
		case len(s.Expected) > 0:
			code, ended = "output_missing", r.CreatedAt
		default:
			return "", r.CreatedAt
		}
	}
	if ended.IsZero() && now.Sub(s.CreatedAt) > 30*time.Minute {
		code = "silent"
	}
	return code, ended
}

func (l ledger) summary(since, now time.Time) summary {
	s := summary{needs: map[string]string{}}
	for _, a := range l.of("artifact.published") {
		if code := l.artifact(a); code != "" {
			s.needs[a.ID] = code
		}
		if !a.CreatedAt.Before(since) {
			s.artifacts++
			s.replaced += min(1, len(a.Replaces))
		}
	}
	succeeded := map[string]bool{}
	for _, r := range slices.Backward(l.of("session.opened")) {
		code, ended := l.session(r, now)
		key := r.Agent.Name + " " + r.Workflow.Name
		if code == "" && !ended.IsZero() {
			succeeded[key] = true
		}
		if code != "" && !succeeded[key] {
			s.needs[r.SessionID] = code
		}
		if !ended.IsZero() && !ended.Before(since) {
			s.done = append(s.done, r.SessionID)
		}
	}
	slices.Sort(s.done)
	return s
}

// TestGoldenNews compares the news of each log in testdata/news with a second computation, and
// with what the log was written for.
func TestGoldenNews(t *testing.T) {
	now, since := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	art := func(n int) string { return fmt.Sprintf("art_01M7V0000000000000000000%02d", n) }
	id := func(n int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", n) }
	for name, want := range map[string]summary{
		"competing": {map[string]string{art(4): "competing", art(2): "stale"}, nil, 4, 3},
		"stale":     {map[string]string{art(5): "stale"}, nil, 3, 3},
		"sessions": {map[string]string{id(3): "session_failed", id(4): "output_missing", id(6): "silent"},
			[]string{id(1), id(2), id(3), id(4), id(7)}, 0, 0},
		"claims": {map[string]string{art(3): "attest_failed", art(4): "contradicted"}, nil, 6, 0},
		"window": {map[string]string{id(1): "session_failed", art(5): "stale"}, []string{id(2)}, 3, 2},
	} {
		dir := t.TempDir()
		data, err := os.ReadFile(filepath.Join("testdata/news", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var l ledger
		log := filelog.Open(filepath.Join(dir, ".handoff"), rand.Reader)
		err = errors.Join(localstate.NewDir(filepath.Join(dir, ".handoff"), nil).Create(t.Context()), log.Create())
		if err != nil {
			t.Fatal(err)
		}
		for text := range bytes.Lines(data) {
			var read line
			if err := json.Unmarshal(text, &read); err != nil {
				t.Fatal(err)
			}
			l = append(l, read)
			r, err := handoff.ParseRecord(bytes.TrimSpace(text))
			if err == nil {
				_, err = log.Append(t.Context(), r)
			}
			if err != nil {
				t.Fatalf("%s: %v: %s", name, err, text)
			}
		}
		w, err := workspace.Open(dir, workspace.Options{Now: func() time.Time { return now },
			Getenv: func(name string) string { return map[string]string{"HANDOFF_WORKSPACE": dir}[name] }})
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.News(noThreads()).Report(t.Context(), news.ReportOptions{Since: since.Format(time.RFC3339)})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil || len(r.Warnings) > 0 {
			t.Fatalf("%s: %v, %q", name, err, r.Warnings)
		}
		got := summary{map[string]string{}, nil, r.Artifacts, r.Replaced}
		for _, n := range r.Needs {
			got.needs[n.Ref] = string(n.Notice.Code)
		}
		for _, d := range r.Done {
			got.done = append(got.done, d.Session)
		}
		slices.Sort(got.done)
		for by, other := range map[string]summary{"the second computation": l.summary(since, now), "expected": want} {
			if !maps.Equal(got.needs, other.needs) || !slices.Equal(got.done, other.done) ||
				got.artifacts != other.artifacts || got.replaced != other.replaced {
				t.Errorf("%s: got %+v, %s %+v", name, got, by, other)
			}
		}
	}
}
