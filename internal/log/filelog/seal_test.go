package filelog

import (
	"bytes"
	"testing"

	"github.com/agent-handoff/handoff"
)

// TestEveryBitIsSealed flips every bit of a record's file: it is damaged then,
// or has no checksum, which check reports.
func TestEveryBitIsSealed(t *testing.T) {
	r := newRecord()
	b, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	file := sealed(b)
	for i := range len(file) * 8 {
		flipped := bytes.Clone(file)
		flipped[i/8] ^= 1 << (i % 8)
		got, vouched := stored(1, bytes.Clone(flipped))
		if _, damaged := got.Fact.(*handoff.Damaged); vouched && !damaged {
			t.Errorf("bit %d of %q: read as an intact record", i, flipped)
		}
	}
	got, was, err := unsealed(bytes.Clone(file))
	if err != nil || !was || !bytes.Equal(got, b) {
		t.Errorf("unsealed %q, %v, %v, want %q", got, was, err, b)
	}
}

func FuzzSeal(f *testing.F) {
	for _, s := range []string{"{}", `{"a":1}` + "\n", "", "}", `{"a":{}} ` + "\n\n", `{"crc32c":"00000000"}`,
		`,"crc32c":"00000000"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file := sealed(bytes.Clone(b))
		got, was, err := unsealed(bytes.Clone(file))
		if err != nil || !bytes.Equal(got, b) || was != bytes.ContainsRune(b, '}') {
			t.Errorf("sealed %q is %q, unsealed %q, %v, %v", b, file, got, was, err)
		}
	})
}
