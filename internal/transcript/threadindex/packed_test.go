package threadindex

import (
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// FuzzDecodeRequests decodes what a damaged index may have.
func FuzzDecodeRequests(f *testing.F) {
	list := []thread.Request{
		{N: 3, ModelUsage: thread.ModelUsage{Model: "m", Provider: "p",
			Tokens: thread.Tokens{Input: 5, Calls: 1, Cost: 0.5}}}, {N: 2}}
	f.Add(encodeRequests(list))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeRequests(b)
		if err != nil {
			return
		}
		if again, err := decodeRequests(encodeRequests(got)); err != nil || len(again) != len(got) {
			t.Errorf("got %d requests again (%v), want %d", len(again), err, len(got))
		}
	})
}

// TestShortRequests decodes every beginning of a list, and one with more bytes.
func TestShortRequests(t *testing.T) {
	b := encodeRequests([]thread.Request{
		{N: 3, ModelUsage: thread.ModelUsage{Model: "m", Provider: "p",
			Tokens: thread.Tokens{Input: 500, Output: 9, Calls: 1}}}, {N: 4}})
	if list, err := decodeRequests(b); err != nil || len(list) != 2 {
		t.Fatalf("got %d requests, %v, want 2", len(list), err)
	}
	for n := 1; n < len(b); n++ {
		if list, err := decodeRequests(b[:n]); err == nil {
			t.Errorf("%d of %d bytes: got %d requests, want an error", n, len(b), len(list))
		}
	}
	if _, err := decodeRequests(append(b, 0)); err == nil {
		t.Error("got no error with another byte")
	}
}
