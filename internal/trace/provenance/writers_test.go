package provenance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
)

// A recording is the threads of a test: what they did with files, and their
// messages.
type recording struct {
	threadindex.Lookup
	touches  []threadindex.Touch
	messages []thread.Message
}

func (r recording) Touches(context.Context, []string, string) ([]threadindex.Touch, error) {
	return r.touches, nil
}

func (r recording) Item(context.Context, thread.URI) (transcript.Item, error) {
	return transcript.Item{Thread: &thread.Thread{Cwd: "/work"}}, nil
}

func (r recording) Read(_ context.Context, _ thread.URI, emit func(thread.Message) error) error {
	for _, m := range r.messages {
		if err := emit(m); err != nil {
			return err
		}
	}
	return nil
}

// TestWritesOf checks that a call that failed or has no result, and one that a fork
// inherited, wrote nothing, and that an inferred one is known as such.
func TestWritesOf(t *testing.T) {
	call := func(content string) thread.Call {
		return thread.Call{Name: "Write", Input: `{"file_path":"a.go","content":"` + content + `"}`, Time: time.Unix(100, 0)}
	}
	failed := call("failed")
	failed.Failed = true
	pending, maybe := call("pending"), call("maybe")
	pending.Pending, maybe.Inferred = true, true
	patch := thread.Call{
		Name: "shell", Input: `{"command":["apply_patch","*** Begin Patch\n*** Add File: a.go\n+failed\n*** End Patch"]}`,
		Failed: true}
	r := &tracer{done: map[thread.URI][]write{}, conversations: recording{messages: []thread.Message{
		{N: 1, Tools: []thread.Call{call("inherited")}, Inherited: true},
		{N: 2, Tools: []thread.Call{failed, pending, patch, {Name: "Read", Input: `{"file_path":"a.go"}`}}},
		{N: 3, Tools: []thread.Call{call("written")}},
		{N: 4, Tools: []thread.Call{maybe}},
	}}}
	list := r.writesOf(t.Context(), thread.URI{Provider: "claude", Thread: "t"})
	if len(list) != 2 || list[0].edit.content != "written" || list[0].uri.From != 3 || list[0].path != "/work/a.go" {
		t.Errorf("got %+v, want the calls of messages 3 and 4 alone", list)
	}
	for i, want := range []trace.Certainty{trace.Exact, trace.Inferred} {
		if got := credits(list[i:i+1], ""); len(got) != 1 || got[0].certainty != want {
			t.Errorf("got credits %+v, want %s", got, want)
		}
	}
}

// TestAddUses checks that the thread that published an artifact is no reader of
// it, nor one that read the file before.
func TestAddUses(t *testing.T) {
	published := time.Unix(100, 0)
	touch := func(id string, at time.Time) threadindex.Touch {
		uri := thread.URI{Provider: "claude", Thread: id, From: 4, To: 4}
		return threadindex.Touch{Place: threadindex.Place{URI: uri, At: at}, Path: "/work/a.md", Access: action.Read}
	}
	var a handoff.Artifact
	a.Path, a.File, a.CreatedAt, a.Producer.Thread = "a.md", "/work/a.md", published, "agents://claude/publisher"
	_, err := AddUses(t.Context(), conversations{recording{touches: []threadindex.Touch{
		touch("early", published.Add(-time.Second)), touch("publisher", published.Add(time.Second)),
		touch("reader", published.Add(2*time.Second)), touch("reader", published.Add(3*time.Second)),
	}}}, &a)
	var readers []string
	for _, u := range a.UsedBy {
		readers = append(readers, u.Thread)
	}
	if want := []string{"agents://claude/reader#M4"}; err != nil || !slices.Equal(readers, want) {
		t.Errorf("got %q, %v, want %q", readers, err, want)
	}
}

// TestUsesOf checks that a list counts the first read of each thread after an artifact was
// published, and none of the thread that published it.
func TestUsesOf(t *testing.T) {
	published := time.Unix(100, 0)
	index := logtest.NewReference()
	r := logtest.NewRecord("x")
	r.Seq, r.CreatedAt, r.Producer.Thread = 1, published, "agents://claude/publisher"
	r.Fact = &handoff.ArtifactPublished{Path: "a.md", Channel: "x"}
	if err := index.Apply(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	touch := func(id string, from int, at time.Time) threadindex.Touch {
		uri := thread.URI{Provider: "claude", Thread: id, From: from, To: from}
		return threadindex.Touch{Place: threadindex.Place{URI: uri, At: at}, Path: "/work/a.md", Access: action.Read}
	}
	uses, err := Sources{Reader: inWork{index}, Roots: []string{"/work"}}.usesOf(t.Context(), recording{},
		[]threadindex.Touch{
			touch("reader", 1, published.Add(-time.Second)), touch("publisher", 2, published.Add(time.Second)),
			touch("reader", 3, published.Add(time.Second)), touch("reader", 4, published.Add(2*time.Second)),
		})
	var readers []string
	for _, u := range uses[r.ID] {
		readers = append(readers, u.Thread)
	}
	if want := []string{"agents://claude/reader#M3"}; err != nil || !slices.Equal(readers, want) {
		t.Errorf("got %q, %v, want %q", readers, err, want)
	}
}

// inWork is an index whose artifacts are files below /work.
type inWork struct{ *logtest.Reference }

func (x inWork) Artifacts(ctx context.Context, q handoff.ArtifactQuery) (handoff.ArtifactPage, error) {
	page, err := x.Reference.Artifacts(ctx, q)
	for i := range page.Artifacts {
		page.Artifacts[i].File = "/work/" + page.Artifacts[i].Path
	}
	return page, err
}

// threads are those of a recording.
type conversations struct{ recording }

func (c conversations) Lookup(_ context.Context, _ int, do func(threadindex.Lookup) error) ([]string, error) {
	return nil, do(c.recording)
}
