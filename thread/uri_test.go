package thread_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

const id = "019c871c-b1f9-7f60-9c4f-87ed09f13592"

func TestParseURI(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want thread.URI
	}{
		{"agents://codex/" + id, thread.URI{Provider: "codex", Thread: id}},
		{"codex/" + id, thread.URI{Provider: "codex", Thread: id}},
		{"codex://" + id, thread.URI{Provider: "codex", Thread: id}},
		{"codex://threads/" + id, thread.URI{Provider: "codex", Thread: id}},
		{"agents://codex/threads/" + id, thread.URI{Provider: "codex", Thread: id}},
		{"codex/threads/" + id, thread.URI{Provider: "codex", Thread: id}},
		{"codex/threads/" + id + "/x", thread.URI{Provider: "codex", Thread: id, Agent: "x"}},
		{"codex://threads/" + id + "/x", thread.URI{Provider: "codex", Thread: id, Agent: "x"}},
		{"codex://" + id + "/" + strings.ToUpper(id), thread.URI{Provider: "codex", Thread: id, Agent: id}},
		{"agents://codex/" + id + "/x#M3-M9", thread.URI{Provider: "codex", Thread: id, Agent: "x", From: 3, To: 9}},
		{"codex/threads", thread.URI{Provider: "codex", Thread: "threads"}},
		{"pi/" + id + "/0000002A", thread.URI{Provider: "pi", Thread: id, Agent: "0000002A"}},
		{"gemini://" + id, thread.URI{Provider: "gemini", Thread: id}},
		{"amp/t-" + id, thread.URI{Provider: "amp", Thread: "t-" + id}},
		{"opencode/ses_4a/ses_4B", thread.URI{Provider: "opencode", Thread: "ses_4a", Agent: "ses_4B"}},
		{"codex/" + strings.ToUpper(id), thread.URI{Provider: "codex", Thread: id}},
		{"claude://" + id + "/a4f21c7", thread.URI{Provider: "claude", Thread: id, Agent: "a4f21c7"}},
		{id, thread.URI{Thread: id}},
		{id + "/x", thread.URI{Thread: id, Agent: "x"}},
		{"agents://" + id, thread.URI{Thread: id}},
		{"ses_4A", thread.URI{Thread: "ses_4A"}},
		{"T-" + id + "#M3", thread.URI{Thread: "T-" + id, From: 3, To: 3}},
		{"opencode/ses_4A#M3-M9", thread.URI{Provider: "opencode", Thread: "ses_4A", From: 3, To: 9}},
		{"codex/" + id + "/%2Froot%2Fx%20y", thread.URI{Provider: "codex", Thread: id, Agent: "/root/x y"}},
	} {
		got, err := thread.ParseURI(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("ParseURI(%q) = %+v, %v, want %+v", tt.in, got, err, tt.want)
		}
	}
}

func TestParseURIRefuses(t *testing.T) {
	for _, tt := range []struct {
		in   string
		kind handoff.Kind
	}{
		{"", handoff.Invalid},
		{"agents://", handoff.Invalid},
		{"codex://", handoff.Invalid},
		{"codex/", handoff.Invalid},
		{"codex/" + id + "/", handoff.Invalid},
		{"codex//" + id, handoff.Invalid},
		{"codex/" + id + "/a/b", handoff.Invalid},
		{"Codex/" + id, handoff.Invalid},
		{"codex/%zz", handoff.Invalid},
		{"codex/a%00b", handoff.Invalid},
		{"codex/%ff", handoff.Invalid},
		{"agents://codex//" + id, handoff.Invalid},
		{"agents://codex/" + id + "/a/b", handoff.Invalid},
		{"codex://" + id + "/a/b", handoff.Invalid},
		{"codex://threads/", handoff.Invalid},
		{"1codex/" + id, handoff.Invalid},
		{"co_dex/" + id, handoff.Invalid},
		{"://" + id, handoff.Invalid},
		{"codex/x#", handoff.Invalid},
		{"codex/x#M", handoff.Invalid},
		{"codex/x#M01", handoff.Invalid},
		{"codex/x#M+1", handoff.Invalid},
		{"codex/x#M3-", handoff.Invalid},
		{"codex/x#M3-9", handoff.Invalid},
		{"codex/x#M1-M2-M3", handoff.Invalid},
		{"codex/x#M1234567890", handoff.Invalid},
		{"codex/x#3", handoff.Invalid},
		{"codex/x#M0", handoff.Invalid},
		{"codex/x#M9-M3", handoff.Invalid},
		{"codex/" + strings.Repeat("x", 5000), handoff.Invalid},
		{"codex?q=x", handoff.Unsupported},
		{"agents:///home/u", handoff.Unsupported},
		{"agents://.", handoff.Unsupported},
		{"agents://~/x", handoff.Unsupported},
		{"../x", handoff.Unsupported},
	} {
		u, err := thread.ParseURI(tt.in)
		var e *handoff.Error
		if !errors.Is(err, tt.kind) || !errors.As(err, &e) || e.Hint.IsZero() {
			t.Errorf("ParseURI(%q) = %+v, %v, want %s and a hint", tt.in, u, err, tt.kind)
		}
	}
}

// FuzzURI: what parses, prints as something that parses to the same.
func FuzzURI(f *testing.F) {
	for _, s := range []string{"agents://codex/" + id + "/x#M1-M2", "codex://threads/" + id, id, "a/b/c", "x/%2e%2e", "~",
		"a/threads/threads", "agents://threads/x/y", "a#M7", id + "/threads/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := thread.ParseURI(s)
		if err != nil {
			return
		}
		again, err := thread.ParseURI(u.String())
		if err != nil || again != u {
			t.Errorf("%q is %+v, prints as %q, which is %+v, %v", s, u, u, again, err)
		}
	})
}
