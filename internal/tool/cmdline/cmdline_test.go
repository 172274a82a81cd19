package cmdline

import (
	"slices"
	"testing"
)

func TestEqual(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"go test ./...", "go test ./...", true},
		{"go test ./...", "  go  test\t'./...' ", true},
		{`go test "./..."`, "go test ./...", true},
		{"go test ./...", "go test ./... | tail", false},
		{"go test ./...", "go test ./... || true", false},
		{"go test ./...", "go test ./...; true", false},
		{"go test ./...", "go test ./...\ntrue", false},
		{"go test ./...", "go test ./... # comment", false},
		{"go test ./...", "go test $PKG", false},
		{"go test ./...", "go test `echo ./...`", false},
		{"go test ./...", "true", false},
		{"go test ./...", "", false},
		{"cd a && make", "cd a && make ", true},
		{"cd a && make", "cd a  && make", false},
		{"echo 'a b'", "echo a b", false},
		{"echo ''", "echo", false},
		{"echo 'a", "echo a", false},
	} {
		if got := Equal(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q: got %t, want %t", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestDigest(t *testing.T) {
	for _, tt := range []struct {
		argv []string
		line string
		want bool
	}{
		{[]string{"go", "test", "./..."}, "go test ./...", true},
		{[]string{"sh", "-c", "go test ./..."}, "go test ./...", true},
		{[]string{"sh", "-c", "echo fine"}, "sh -c 'echo fine'", true},
		{[]string{"/bin/bash", "-lc", "cd a && make"}, "cd a && make", true},
		{[]string{"bash", "-x", "go test ./..."}, "go test ./...", false},
		{[]string{"go", "test", "./... && x"}, "go test ./... && x", false},
		{[]string{"echo", "it's", ""}, `echo "it's" ''`, true},
		{[]string{"true"}, "go test ./...", false},
	} {
		if got := Digest(tt.argv) == LineDigest(tt.line); got != tt.want {
			t.Errorf("%q and %q: got %t, want %t", tt.argv, tt.line, got, tt.want)
		}
	}
}

// FuzzSplit checks that what is joined is split into the same arguments.
func FuzzSplit(f *testing.F) {
	f.Add("go", "test ./...")
	f.Add("it's", `a"b\c$d`)
	f.Add("", "é\x00\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		argv := []string{"x", a, b}
		got, ok := Split(Join(argv))
		if !ok || !slices.Equal(got, argv) {
			t.Errorf("%q: got %q, %t from %s", argv, got, ok, Join(argv))
		}
	})
}
