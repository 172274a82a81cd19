package cli

import (
	"strings"
	"testing"
)

func FuzzPairs(f *testing.F) {
	for _, text := range []string{"", "a=b", "a=b\nc=d", "a=b\na=c", "=b", "a", "a=", "a==b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := strings.Split(text, "\n")
		got, err := Pairs("--meta", list)
		if err != nil {
			return
		}
		for _, pair := range list {
			key, value, _ := strings.Cut(pair, "=")
			if v, ok := got[key]; !ok || v != value || key == "" {
				t.Errorf("Pairs(%q) has %q for %q", list, v, key)
			}
		}
		if len(got) != len(list) {
			t.Errorf("Pairs(%q) = %v, of another length", list, got)
		}
	})
}
