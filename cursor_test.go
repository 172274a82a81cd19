package handoff

import "testing"

func FuzzCursor(f *testing.F) {
	for _, s := range []string{"", "c", "c1", "c0", "c-1", "czz", "C1", "c+1", "c1y2p0ij32e8e7", "c1y2p0ij32e8e8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		seq, err := decodeCursor(s)
		if err != nil {
			return
		}
		if seq < 1 {
			t.Errorf("decodeCursor(%q) = %d", s, seq)
		}
		if again, err := decodeCursor(encodeCursor(seq)); err != nil || again != seq {
			t.Errorf("decodeCursor(%q) = %d, and of its own cursor %d, %v", s, seq, again, err)
		}
	})
}
