package gitleakstest

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/agent-handoff/handoff/internal/tool/secret"
	"github.com/agent-handoff/handoff/internal/tool/secret/corpus"
)

func gitleaks(t testing.TB) *detect.Detector {
	t.Helper()
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestMissed checks that, of the formats of the corpus, handoff misses at most 6 and no
// more than gitleaks does, and that it changes nothing that only looks like a secret.
func TestMissed(t *testing.T) {
	d := gitleaks(t)
	for seed := range uint64(3) {
		ours, theirs := map[string]bool{}, map[string]bool{}
		oursCases, theirsCases, all := 0, 0, 0
		for _, c := range corpus.Cases(seed) {
			all++
			if strings.Contains(redact(t, c.Text), c.Secret) {
				ours[c.Format] = true
				oursCases++
			}
			found := false
			for _, f := range d.DetectString(c.Text) {
				// Their secret may be a part of the text, or have escapes.
				found = found || strings.Contains(f.Secret, c.Secret) || strings.Contains(c.Secret, f.Secret)
			}
			if !found {
				theirs[c.Format] = true
				theirsCases++
			}
		}
		changed, reported := 0, 0
		for _, text := range corpus.LookAlikes(seed) {
			if got := redact(t, text); got != text {
				changed++
				t.Errorf("seed %d: %q became %q", seed, text, got)
			}
			if len(d.DetectString(text)) > 0 {
				reported++
			}
		}
		t.Logf("seed %d: missed formats (cases of %d): handoff %d (%d), gitleaks %d (%d); look-alikes: handoff %d, "+
			"gitleaks %d",
			seed, all, len(ours), oursCases, len(theirs), theirsCases, changed, reported)
		if len(ours) > 6 || len(ours) > len(theirs) || oursCases > theirsCases {
			t.Errorf("seed %d: handoff misses %q", seed, slices.Sorted(maps.Keys(ours)))
		}
	}
}

func redact(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	if err := secret.Redact(&b, io.MultiReader(strings.NewReader(text)), func(string, string, int) {}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
