package claude

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestContainsBy compares the search for a text by one of its bytes with a plain one.
func TestContainsBy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := []byte(rapid.StringOfN(rapid.SampledFrom([]rune(`agentIdI"`)), 0, 60, -1).Draw(t, "line"))
		if rapid.Bool().Draw(t, "with the text") {
			at := rapid.IntRange(0, len(line)).Draw(t, "at")
			line = append(append(bytes.Clone(line[:at]), "agentId"...), line[at:]...)
		}
		if got, want := containsBy('I', line, "agentId"), bytes.Contains(line, []byte("agentId")); got != want {
			t.Fatalf("containsBy in %q is %t, want %t", line, got, want)
		}
	})
}
