package git

import "testing"

func FuzzParse(f *testing.F) {
	f.Add([]byte("c1\x00p1 p2\x001\x002\x00subject\x00\n:100644 100644 587b 0000 M\x00a\x00"))
	f.Add([]byte("587b 1 2 1\nauthor n\nfilename \"b \\\"c\"\n\tline\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if list, err := parseLog(b); err == nil && len(b) > 0 && len(list) == 0 {
			t.Error("got no commit and no error")
		}
		if l, err := parseBlame(b); err == nil && l.Path == "" {
			t.Error("got a line without a path")
		}
	})
}
