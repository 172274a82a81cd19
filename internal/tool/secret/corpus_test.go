package secret

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/tool/secret/corpus"
)

// TestCorpus checks that at most 6 of 120 formats are missed in any context, with several
// seeds, and that no text that looks like a secret is changed.
func TestCorpus(t *testing.T) {
	for seed := range uint64(5) {
		var missed, all []string
		for _, c := range corpus.Cases(seed) {
			if !slices.Contains(all, c.Format) {
				all = append(all, c.Format)
			}
			if got, _ := redacted(t, c.Text); strings.Contains(got, c.Secret) {
				if !slices.Contains(missed, c.Format) {
					missed = append(missed, c.Format)
				}
				t.Logf("seed %d: %s in %s is missed: %q", seed, c.Format, c.Context, got)
			}
		}
		if len(all) != 120 || len(missed) > 6 {
			t.Errorf("seed %d: %d of %d formats are missed: %q", seed, len(missed), len(all), missed)
		}
		texts := corpus.LookAlikes(seed)
		if len(texts) != 120 {
			t.Errorf("%d look-alikes, want 120", len(texts))
		}
		for _, text := range texts {
			line, _ := json.Marshal(map[string]string{"text": text})
			for _, text := range []string{text, string(line)} {
				if got, found := redacted(t, text); got != text {
					t.Errorf("seed %d: %s became %s (%q)", seed, text, got, found)
				}
			}
		}
	}
}

// TestFewBytes checks that the first short texts, which are searched mark by mark, have the
// same secrets as later ones.
func TestFewBytes(t *testing.T) {
	d := rules()
	for _, c := range corpus.Cases(11) {
		d.seen.Store(0)
		first := Find(c.Text)
		d.seen.Store(fewBytes)
		if later := Find(c.Text); !slices.Equal(first, later) {
			t.Errorf("%s in %s: first %v, later %v", c.Format, c.Context, first, later)
		}
	}
}
