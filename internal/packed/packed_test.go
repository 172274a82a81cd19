package packed_test

import (
	"testing"

	"github.com/agent-handoff/handoff/internal/packed"
	"github.com/agent-handoff/handoff/thread"
)

// FuzzDecode decodes what a damaged index may have.
func FuzzDecode(f *testing.F) {
	list := []thread.Request{{N: 3, ModelUsage: thread.ModelUsage{Model: "m", Provider: "p", Tokens: thread.Tokens{Input: 5, Calls: 1, Cost: 0.5}}}, {N: 2}}
	f.Add(packed.Encode(list))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := packed.Decode(b)
		if err != nil {
			return
		}
		if again, err := packed.Decode(packed.Encode(got)); err != nil || len(again) != len(got) {
			t.Errorf("got %d requests again (%v), want %d", len(again), err, len(got))
		}
	})
}
