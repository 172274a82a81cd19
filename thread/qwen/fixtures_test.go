package qwen_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/qwen"
)

// TestRealClients compares the threads of a real client with what the server sent. Its
// protocol has no cache writes. Answer 90 is that to the memory extractor. The answer of 2 was
// killed before it was complete.
func TestRealClients(t *testing.T) {
	home, l := threadtest.Client(t, "qwen-0.24.4")
	threadtest.CheckUnchanged(t, home)
	for n, tokens := range l {
		tokens.CacheWrite = 0
		l[n] = tokens
	}
	p := provider(t, home)
	for _, c := range []struct {
		id        string
		status    thread.Status
		main, sub []int
	}{
		{"5904419c-7bce-4287-ab9e-9437afb4ccfb", thread.Completed, []int{1, 5, 16, 20}, []int{9, 13}},
		{"1eeb7fae-af26-42ed-aee8-61f075ecacd1", thread.Completed, []int{23, 27, 38, 42}, []int{31, 35}},
		{"4d6543b0-69ec-45e8-a98d-4fc4e2fa8d91", thread.Completed, []int{45, 49}, nil},
		{"057258a4-1b3b-44cc-bbde-05e778aef116", thread.Running, []int{76}, nil},
		{"a58df69f-8fef-44ec-8e98-3ab22b9171d6", thread.Errored, nil, nil},
		{"d1cf7545-cfac-4530-8194-c71fc0f3284b", thread.Completed, []int{87, 90}, nil},
	} {
		threadtest.CheckLedger(t, p, l, c.id, c.status, c.main, c.sub)
	}
	hello := threadtest.Load(t, p, "1b171d81-168a-4451-b1b9-a613eb88fb53") // before the ledger was started
	threadtest.CheckUsage(t, hello, thread.Tokens{Input: 13, CacheRead: 20, Output: 7, Calls: 2}, thread.Exact, "")
}

// TestRealThreads reads the published chats, which are invented or have replaced texts.
func TestRealThreads(t *testing.T) {
	want := map[string]int{ // messages
		"019f0000-0000-7000-8000-000000000001": 3, "019f0000-0000-7000-8000-000000000002": 1,
		"019f0000-0000-7000-8000-000000000004": 5,
		"019f0000-0000-7000-8000-000000000005": 2, "019f0000000070008000000000000003": 1, "qwen_code": 2,
		"system_telemetry": 1,
	}
	for _, home := range threadtest.Homes(t, "qwen", ".qwen") {
		threadtest.CheckUnchanged(t, home)
		p := provider(t, home)
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			said := threadtest.CheckThread(t, p, th.ID)
			if len(said) != want[th.ID] {
				t.Errorf("%s: got %q, want %d messages", th.ID, said, want[th.ID])
			}
			delete(want, th.ID)
		}
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

func TestRealTruncated(t *testing.T) { threadtest.CheckAllTruncated(t, qwen.Driver(), ".qwen") }
