package cli

import (
	"strings"
	"testing"
)

// TestLongNames checks that an error does not repeat all of a long argument.
func TestLongNames(t *testing.T) {
	f := NewFailure(Invalid("publish", strings.Repeat("é", 100_000), "invalid channel", strings.Repeat("x", 100_000)))
	for _, text := range []string{f.Message, f.Name, f.Hint} {
		if len(text) > 2100 {
			t.Errorf("a text has %d bytes: %.40s", len(text), text)
		}
	}
	if !strings.HasPrefix(f.Message, "publish é") || !strings.HasSuffix(f.Message, "é: invalid channel") {
		t.Errorf("the message is %.30s … %s", f.Message, f.Message[len(f.Message)-30:])
	}
}
