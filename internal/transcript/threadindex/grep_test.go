package threadindex

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/tool/words"
	"github.com/agent-handoff/handoff/thread"
)

// TestMayContain searches files that are larger than a chunk, with words at its
// border.
func TestMayContain(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := strings.Repeat("x ", chunk/2-3)
	border := file("border", long+"a CaRT here")
	for _, tt := range []struct {
		query, elsewhere string
		files            []string
		want             bool
	}{
		{"cart", "", []string{border}, true},
		{"cart here", "", []string{border}, true},
		{"cart absent", "", []string{border}, false},
		{"car*", "", []string{border}, true},
		{"cart", "", nil, true},
		{"kart", "", []string{file("e", "a KaRT here")}, true},
		{"kart", "", []string{file("f", "kar k KAr")}, false},
		{"box", "", []string{file("g", long+"a bOX")}, true},
		{"box x", "", []string{file("h", long+"X bo")}, false},
		{"quiz cart", "", []string{file("i", "QUIZ"), file("j", "CART")}, true},
		{"größe", "", []string{border}, true}, // JSON may escape it
		{"größe absent", "", []string{border}, false},
		{"absent", "here", []string{border}, true}, // the words may be in another transcript
		{"absent", "nowhere", []string{border}, false},
		{"absent", "", []string{filepath.Join(dir, "missing")}, true},
		{"one two", "", []string{file("a", "ONE"), file("b", "Two")}, true},
		{"z", "", []string{file("c", "[`{Z")}, true},
		{"az", "", []string{file("d", "@[`{AaZz\x01")}, true},
	} {
		s := &thread.Stored{Texts: tt.files, Elsewhere: tt.elsewhere}
		if got := mayContain(t.Context(), s, words.Parse(tt.query)); got != tt.want {
			t.Errorf("%q in %q: got %v, want %v", tt.query, tt.files, got, tt.want)
		}
	}
}
