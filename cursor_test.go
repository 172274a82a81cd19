package handoff

import "testing"

func FuzzCursor(f *testing.F) {
	for _, s := range []string{"", "c", "c1", "c0", "c-1", "czz", "C1", "c+1", "c1y2p0ij32e8e7", "c1y2p0ij32e8e8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		seq, err := ParseCursor(s)
		if err != nil || s == "" {
			return
		}
		if seq < 1 {
			t.Errorf("ParseCursor(%q) = %d", s, seq)
		}
		if again, err := ParseCursor(NewCursor(seq)); err != nil || again != seq {
			t.Errorf("ParseCursor(%q) = %d, and of its own cursor %d, %v", s, seq, again, err)
		}
	})
}

func FuzzSessionCursor(f *testing.F) {
	for _, s := range []string{"", "t", "t1.1", "t-1.1", "t1.0", "t.1", "t+1.1", "t1.01", "c1",
		"t1y2p0ij32e8e7.1y2p0ij32e8e7", "t-1y2p0ij32e8e8.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := ParseSessionCursor(s)
		if err == nil && s != "" && (o.Opened < 1 || o.Cursor() != s) {
			t.Errorf("ParseSessionCursor(%q) = %+v, whose cursor is %q", s, o, o.Cursor())
		}
	})
}
