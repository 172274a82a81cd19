package workspace_test

import (
	"github.com/agent-handoff/handoff/session"

	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
)

// TestHostileClaims checks claims and arguments that can't be recorded. The command of
// such arguments does not run.
func TestHostileClaims(t *testing.T) {
	s := newShop(t)
	for name, argv := range map[string][]string{"nothing": nil, "a NUL": {"a\x00b"}, "invalid UTF-8": {"\xff"},
		"too long": {strings.Repeat("x", 65<<10)}} {
		ran := false
		_, err := s.w.Claims(nil).Attest(t.Context(), argv, false, func(io.Writer) (session.Exit, error) {
			ran = true
			return session.Exit{}, nil
		})
		if !errors.Is(err, handoff.Invalid) || ran {
			t.Errorf("%s: got %v, ran %t, want invalid", name, err, ran)
		}
	}
	evidence := handoff.Evidence{Kind: handoff.EvidenceCommand, Command: "true"}
	for name, c := range map[string]handoff.Claim{
		"no text":            {},
		"control characters": {Text: "passed\x1b[2J"},
		"two lines":          {Text: "passed\nfailed"},
		"a long text":        {Text: strings.Repeat("x", handoff.MaxSummary+1)},
		"invalid UTF-8":      {Text: "\xff"},
		"an unprintable URI": {Text: "c", Evidence: []handoff.Evidence{
			{Kind: handoff.EvidenceThread, Thread: "agents://codex/\x1b#M1"}}},
		"an unprintable ref": {Text: "c", Evidence: []handoff.Evidence{
			{Kind: handoff.EvidenceArtifact, Artifact: "art_\x00"}}},
		"a command of lines": {Text: "c", Evidence: []handoff.Evidence{
			{Kind: handoff.EvidenceCommand, Command: "true\nfalse"}}},
		"much evidence": {Text: "c", Evidence: []handoff.Evidence{evidence, evidence, evidence, evidence, evidence, evidence,
			evidence, evidence, evidence, evidence, evidence, evidence, evidence, evidence, evidence, evidence, evidence,
			evidence, evidence, evidence, evidence}},
	} {
		_, err := s.w.Claims(s.set()).Publish(t.Context(), handoff.Draft{Body: strings.NewReader("x"),
			Channel: "c", Claims: []handoff.Claim{c}})
		if !errors.Is(err, handoff.Invalid) && !errors.Is(err, handoff.NotFound) {
			t.Errorf("%s: got %v, want invalid", name, err)
		}
	}
	page, err := s.w.Hub().Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: true})
	if err != nil || len(page.Artifacts) != 0 {
		t.Errorf("got %d artifacts, %v, want none", len(page.Artifacts), err)
	}
}

// TestAttestFails checks that nothing is recorded of a command that did not start, and
// that arguments with control characters are recorded as they are.
func TestAttestFails(t *testing.T) {
	s := newShop(t)
	failed := handoff.E("attest", "", handoff.Unsupported, errors.New("not a program"))
	if _, err := s.w.Claims(nil).Attest(t.Context(), []string{"x"}, false,
		func(io.Writer) (session.Exit, error) { return session.Exit{}, failed }); !errors.Is(err, handoff.Unsupported) {
		t.Errorf("got %v, want not supported", err)
	}
	if page, err := s.w.Hub().Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: true}); err != nil ||
		len(page.Artifacts) != 0 {
		t.Errorf("got %d artifacts, %v, want none", len(page.Artifacts), err)
	}
	id := s.attest(0, "", "sh", "-c", "echo a\n\x1b[2J")
	a, err := s.w.Hub().Artifact(t.Context(), id)
	if err != nil || a.Attestation.Argv[2] != "echo a\n\x1b[2J" || strings.ContainsAny(a.Title, "\n\x1b") {
		t.Errorf("got %q, title %q, %v", a.Attestation.Argv, a.Title, err)
	}
}

// TestAttestMemory checks that a large output is stored completely and not held in
// memory.
func TestAttestMemory(t *testing.T) {
	const piece = 1 << 20
	pieces := 96
	if os.Getenv("HANDOFF_LONG") != "" {
		pieces = 256
	}
	s := newShop(t)
	live := func() int { // in bytes; garbage, which other tests left too, does not count
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before, most := live(), 0
	done, err := s.w.Claims(nil).Attest(t.Context(), []string{"yes"}, false, func(w io.Writer) (session.Exit, error) {
		b := []byte(strings.Repeat("y\n", piece/2))
		for i := range pieces {
			if _, err := w.Write(b); err != nil {
				return session.Exit{}, err
			}
			if i%32 == 0 {
				most = max(most, live()-before)
			}
		}
		return session.Exit{}, nil
	})
	if err != nil || done.SizeBytes == nil || *done.SizeBytes != int64(pieces*piece) {
		t.Errorf("got %v, %v, want %d bytes", done.SizeBytes, err, pieces*piece)
	}
	if most > pieces*piece/4 {
		t.Errorf("the heap had %d bytes more for an output of %d", most, pieces*piece)
	}
	if err == nil {
		s.check("", done.ID, handoff.VerdictVerified, "succeeded")
	}
}
