package e2e

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/e2e/model"
)

// What the second program takes from the brief: the file, the command that failed, and the ref.
var (
	briefFile    = regexp.MustCompile("(?m)^- `([a-z.]+)`.* untracked")
	briefCommand = regexp.MustCompile("(?m)^- `([^`]+)` exit 1 ")
	briefRef     = regexp.MustCompile("(?m)^- ([0-9A-Z]{10}) in `patch` ")
)

// TestContinue lets a program write a file that does not pass its check, and another one go on with
// the brief of the first thread, from which it has all that it uses.
func TestContinue(t *testing.T) {
	for _, pair := range []struct {
		first, second client
		end           string // of the first thread: the text that continue has for it, "" for well
	}{{claude, codex, ""}, {codex, claude, ""}, {opencode, gemini, ""}, {gemini, pi, ""},
		{codex, claude, killed}, {claude, codex, atLimit}} {
		first, second := pair.first, pair.second
		t.Run(strings.Trim(first.name+"-"+second.name+"-"+pair.end, "-"), func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.write(h.work+"/check.sh", "grep -q cap retry.txt\n")
			h.must(nil, "git", "add", "check.sh")
			h.must(nil, "git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "check")
			goOn := func(r model.Request) any {
				text, found := r.Turns[len(r.Turns)-1].Text, []string{}
				for _, part := range []*regexp.Regexp{briefFile, briefCommand, briefRef} {
					m := part.FindStringSubmatch(text)
					if m == nil {
						t.Errorf("the brief has nothing of the form %s:\n%s", part, text)
						return second.shell("false").Input
					}
					found = append(found, m[1])
				}
				file, command, ref := found[0], found[1], found[2]
				return second.shell("echo cap >> " + file + " && " + command + " && handoff publish " + file +
					" --channel patch --replaces " + ref).Input
			}
			waiting, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			once := sync.OnceFunc(func() { close(waiting) })
			last := model.Step{Text: "The cap is missing.", Usage: model.Usage{Input: 7, Output: 3}}
			switch pair.end {
			case killed: // while it waits for the model
				last.Calls = []model.Call{{Name: first.shell("").Name, InputFrom: func(model.Request) any {
					once()
					<-release
					return first.shell("false").Input
				}}}
			case atLimit:
				last = model.Step{Text: "You've hit your limit · resets 6pm (Europe/Berlin)", Fail: 429}
			}
			s := h.serve(model.Script{
				"first": {
					{Text: "I write it.", Calls: []model.Call{
						first.shell("echo retry > retry.txt && handoff publish retry.txt --channel patch")},
						Usage: model.Usage{Input: 100, Output: 10}},
					{Text: "I check it.", Calls: []model.Call{first.shell("sh check.sh")}, Usage: model.Usage{Input: 20, Output: 5}},
					last,
				},
				"second": {
					{Text: "I add it.", Calls: []model.Call{{Name: second.shell("").Name, InputFrom: goOn}},
						Usage: model.Usage{Input: 200, Output: 20}},
					{Text: "Done.", Usage: model.Usage{Input: 9, Output: 4}},
				}})
			for _, c := range []client{first, second} {
				h.must(nil, "handoff", "init", "--agent", c.name, "--allow")
				c.configure(h, s.URL)
			}
			prompt := first.prompt("[[first]] Write the retries.")
			switch pair.end {
			case killed:
				kill := h.start(first.env(s.URL), prompt...)
				select {
				case <-waiting:
				case <-time.After(limit):
					t.Fatal("the model was not asked")
				}
				kill()
			case atLimit:
				_, _ = h.run(first.env(s.URL), prompt...) // which fails
			default:
				h.must(first.env(s.URL), prompt...)
			}
			before := newestThread(h)
			if pair.end != "" {
				checkEnd(t, h, before, pair.end)
			}
			h.must(second.env(s.URL), second.prompt(h.must(nil, "handoff", "continue", before)+"\n[[second]]")...)
			after := newestThread(h)
			if before == after || !strings.HasPrefix(after, "agents://"+second.provider+"/") {
				t.Fatalf("got %s after %s", after, before)
			}
			checkChain(t, h, before, after)
		})
	}
}

// The ends of a first thread.
const (
	killed  = "killed"
	atLimit = "at-its-limit"
)

// checkEnd checks that the brief and the news have the end of a thread, and how it goes on.
func checkEnd(t *testing.T, h *home, uri, end string) {
	var brief struct {
		URI string
		End struct {
			Status, Text, Resets string
			AtLimit              bool
		}
	}
	if h.handoff(&brief, "continue", "--json"); brief.URI != uri || brief.End.AtLimit != (end == atLimit) ||
		(end == atLimit) != (brief.End.Resets == "6pm (Europe/Berlin)") || brief.End.Status == "completed" {
		t.Errorf("continue has %+v, want the end of %s, %s", brief, uri, end)
	}
	var status struct {
		Needs []struct{ Ref, Settle string }
	}
	h.handoff(&status, "status", "--json")
	goesOn := "continue " + uri
	if end == killed {
		goesOn = " resume " + uri[strings.LastIndex(uri, "/")+1:] // the command of its own program
	}
	if len(status.Needs) != 1 || status.Needs[0].Ref != uri || !strings.Contains(status.Needs[0].Settle, goesOn) {
		t.Errorf("status has %+v, want %s", status.Needs, goesOn)
	}
}

func newestThread(h *home) string {
	var list struct{ Threads []struct{ URI string } }
	h.handoff(&list, "thread", "--json")
	if len(list.Threads) == 0 {
		h.t.Fatal("no thread")
	}
	return list.Threads[0].URI
}

// checkChain checks that a thread continues another one on each surface, and that no sum has both.
func checkChain(t *testing.T, h *home, before, after string) {
	var page struct {
		Continues   string
		ContinuedBy []string
	}
	h.must(nil, "handoff", "search", "retries") // builds the index of threads
	if h.handoff(&page, "thread", after, "--json"); page.Continues != before {
		t.Errorf("%s continues %q, want %s", after, page.Continues, before)
	}
	if h.handoff(&page, "thread", before, "--json"); len(page.ContinuedBy) != 1 || page.ContinuedBy[0] != after {
		t.Errorf("%s is continued by %q, want %s", before, page.ContinuedBy, after)
	}
	var origin struct{ Hops []struct{ Hop, Ref string } }
	h.handoff(&origin, "why", "patch:latest", "--json")
	found := false
	for _, hop := range origin.Hops {
		found = found || hop.Hop == "continues" && hop.Ref == before
	}
	if !found {
		t.Errorf("why has no hop to %s: %+v", before, origin.Hops)
	}
	type cost struct {
		Total         struct{ Usage struct{ TotalTokens int64 } }
		WithContinued struct{ TotalTokens int64 }
	}
	var all, one, other cost
	h.handoff(&all, "cost", "--json")
	h.handoff(&one, "cost", after, "--json")
	h.handoff(&other, "cost", before, "--json")
	sum := one.Total.Usage.TotalTokens + other.Total.Usage.TotalTokens
	if all.Total.Usage.TotalTokens != sum || one.WithContinued.TotalTokens != sum || other.WithContinued.TotalTokens != 0 {
		t.Errorf("the costs are %+v in all, %+v and %+v", all, one, other)
	}
}
