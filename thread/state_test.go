package thread_test

import (
	"testing"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

func TestMergeStates(t *testing.T) {
	at := func(s thread.Status, src thread.StatusSource, sec int64) thread.State {
		return thread.State{Status: s, Source: src, At: time.Unix(sec, 0)}
	}
	for _, tt := range []struct{ parent, child, want thread.State }{
		{at(thread.Completed, thread.Parent, 5), at(thread.Completed, thread.Child, 9),
			at(thread.Completed, thread.Parent, 5)},
		{at(thread.Completed, thread.Parent, 5), at(thread.Running, thread.Child, 9), at(thread.Running, thread.Child, 9)},
		{at(thread.Completed, thread.Parent, 5), at(thread.Running, thread.Child, 4), at(thread.Completed, thread.Parent, 5)},
		{at(thread.Running, thread.Parent, 5), at(thread.Completed, thread.Child, 4), at(thread.Completed, thread.Child, 4)},
		{at(thread.Errored, thread.Parent, 5), at(thread.Completed, thread.Child, 9), at(thread.Completed, thread.Child, 9)},
		{at(thread.Shutdown, thread.Parent, 5), at(thread.Errored, thread.Child, 9), at(thread.Shutdown, thread.Parent, 5)},
		{at(thread.PendingInit, thread.Parent, 5), thread.State{}, at(thread.PendingInit, thread.Parent, 5)},
	} {
		if got := thread.MergeStates(tt.parent, tt.child); got != tt.want {
			t.Errorf("MergeStates(%v, %v) = %v, want %v", tt.parent, tt.child, got, tt.want)
		}
	}
}
