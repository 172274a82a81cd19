package cursor

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// FuzzWalk follows the hashes in any bytes, which also are every other blob.
func FuzzWalk(f *testing.F) {
	hash := bytes.Repeat([]byte("a"), hashLen)
	f.Add(append([]byte("\x0a\x20"), hash...), []byte(`{"role":"user"}`))
	f.Add([]byte("\x08\x80\x01\x0a\x00\x11........\x1d....\x0a\x7f"), []byte{})
	f.Fuzz(func(t *testing.T, root, other []byte) {
		reads, used := 0, 0
		s := &store{seen: map[string]bool{}, get: func(_ string, args ...any) ([]byte, error) {
			if reads++; args[0] == "root" {
				return root, nil
			}
			return other, nil
		}, use: func(n int, v jsonl.Value) bool {
			if used++; n != used || v.Kind() != jsonl.Object {
				t.Fatalf("message %d is passed as %d: %.40s", used, n, v)
			}
			return true
		}}
		if err := s.walk("root", 0); err != nil || reads > len(s.seen) || used > reads {
			t.Errorf("got %d messages, %d reads of %d blobs, %v", used, reads, len(s.seen), err)
		}
		size := 0
		for b := range fields(root) {
			size += len(b)
		}
		if size > len(root) {
			t.Errorf("fields have %d bytes of %d", size, len(root))
		}
	})
}

// TestFields reads fields of every type, up to a damaged one.
func TestFields(t *testing.T) {
	for data, want := range map[string]string{
		"\x0a\x01a\x08\x80\x01\x12\x02bc":                    "a bc",
		"\x11........\x1d....\x0a\x01a":                      "a",
		"\x0a\x01a\x0a\x05b":                                 "a", // too short
		"\x0a\x01a\x0bx\x0a\x01b":                            "a", // a group
		"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + "a": "",  // longer than memory
		"\xff": "",
	} {
		var list []string
		for b := range fields([]byte(data)) {
			list = append(list, string(b))
		}
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%s: got %q, want %q", hex.EncodeToString([]byte(data)), got, want)
		}
	}
}
