package threadindex

import (
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// FuzzUnpackRequests decodes what a damaged index may have.
func FuzzUnpackRequests(f *testing.F) {
	list := []thread.Request{{N: 3, ModelUsage: thread.ModelUsage{Model: "m", Provider: "p", Tokens: thread.Tokens{Input: 5, Calls: 1, Cost: 0.5}}}, {N: 2}}
	f.Add(packRequests(list))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := unpackRequests(b)
		if err != nil {
			return
		}
		if again, err := unpackRequests(packRequests(got)); err != nil || len(again) != len(got) {
			t.Errorf("got %d requests again (%v), want %d", len(again), err, len(got))
		}
	})
}
