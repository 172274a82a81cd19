package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/quick"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/page"
)

const id = "019c871c-b1f9-7f60-9c4f-87ed09f13592"

// memory is a provider of threads in memory.
type memory struct {
	name    string
	threads map[string][]thread.Message
	agents  []thread.Agent
	title   string
}

func (m *memory) Thread(_ context.Context, id string) (*thread.Thread, error) {
	msgs, ok := m.threads[id]
	if !ok {
		return nil, handoff.E("thread", id, handoff.NotFound, nil)
	}
	return &thread.Thread{Provider: m.name, ID: id, Source: "/" + id, Title: m.title, Reader: reader(msgs)}, nil
}

func (m *memory) Threads(context.Context) iter.Seq2[*thread.Thread, error] {
	return func(func(*thread.Thread, error) bool) {}
}

func (m *memory) Agents(context.Context, *thread.Thread) ([]thread.Agent, error) {
	return m.agents, nil
}

type reader []thread.Message

func (r reader) Read(_ context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts, error) {
	f := thread.Facts{State: thread.State{Status: thread.Completed, Source: thread.Child, Evidence: "it's done",
		At: time.Unix(1000, 0)}}
	f.Usage.Completeness = thread.NoUsage
	for i, m := range r {
		if detail == thread.Summary {
			break
		}
		m.N = i + 1
		if f.Messages++; emit(m) != nil {
			return f, errors.New("emit failed")
		}
	}
	return f, nil
}

func talk(n int, text string) (msgs []thread.Message) {
	for i := range n {
		msgs = append(msgs, thread.Message{Role: []thread.Role{thread.User, thread.Assistant}[i%2],
			Text: fmt.Sprint(text, " ", i+1)})
	}
	return msgs
}

func set(providers ...*memory) *thread.Set {
	var drivers []thread.Driver
	for _, m := range providers {
		drivers = append(drivers, thread.Driver{
			Name: m.name, ID: thread.UUIDs,
			Roots: func(func(string) string, string) []string { return nil },
			Open:  func([]string) (thread.Provider, error) { return m, nil },
		})
	}
	return thread.NewSet(drivers, func(string) string { return "" }, "/home/u")
}

func show(t *testing.T, s *thread.Set, uri string, o page.Options) (string, error) {
	t.Helper()
	u, err := thread.ParseURI(uri)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err = page.Write(t.Context(), &b, s, u, o)
	return b.String(), err
}

func family() *thread.Set {
	child := &thread.Thread{Provider: "one", ID: "kid", Source: "/kid", Reader: reader(talk(7, "kid"))}
	m := &memory{name: "one", threads: map[string][]thread.Message{id: talk(5, "main")}}
	m.agents = []thread.Agent{{ID: "kid", URI: thread.URI{Provider: "one", Thread: id, Agent: "kid"},
		Aliases: []string{"/root/kid"}, Thread: child, Validated: true,
		State:     thread.State{Status: thread.Running, Source: thread.Parent, Evidence: "spawned"},
		Lifecycle: []thread.Event{{Name: "spawn_agent", Time: time.Unix(0, 0)}}}}
	return set(m)
}

func TestModes(t *testing.T) {
	for _, tt := range []struct {
		uri  string
		o    page.Options
		want []string
		not  string
	}{
		{"one/" + id, page.Options{}, []string{"mode: 'subagent_index'", "- agent_id: 'kid'", "# Thread",
			"## 5. User\n\nmain 5\n"}, "kid 1"},
		{"one/" + id, page.Options{Head: true, Now: time.Unix(4660, 0)},
			[]string{"status: 'completed'", "status_age: '1h1m'", "subagents:\n  - agent_id: 'kid'"}, "# Thread"},
		{"one/" + id, page.Options{List: true},
			[]string{"mode: 'subagent_list'", "## Agent Status Summary", "- Status: `running` (`parent_rollout`)",
				"## Lifecycle (Parent Thread)\n\n- `1970-01-01T00:00:00Z` `spawn_agent` `kid`"}, "main 1"},
		{"one/" + id, page.Options{List: true, Status: thread.Running, Limit: 1}, []string{"- agent_id: 'kid'", "### 1. "},
			"_omitted"},
		{"one/" + id, page.Options{List: true, Status: thread.Errored},
			[]string{"subagents_omitted: 1\nsubagents:\n  []", "_Showing 0 of 1 subagents._"}, "- agent_id"},
		{"one/" + id + "#M2-M3", page.Options{}, []string{"## 2. Assistant\n\nmain 2", "## 3. User\n\nmain 3"}, "main 4"},
		{"one/" + id + "/kid", page.Options{},
			[]string{"mode: 'subagent_detail'", "## Agent Status Summary", "- Relation: `validated`",
				"## Lifecycle (Parent Thread)", "## Thread Excerpt (Child Thread)\n\n_Showing 3 of 7 messages._\n\n### 5. " +
					"User\n\nkid 5"}, "kid 4"},
		{"one/" + id + "/%2Froot%2Fkid", page.Options{Full: true},
			[]string{"subagent_uri: 'agents://one/" + id + "/kid'", "### 1. User\n\nkid 1", "### 7. User"}, "_Showing"},
		{"one/" + id + "/KID#M1", page.Options{}, []string{"### 1. User\n\nkid 1"}, "kid 2"},
		{"one/" + id + "/nobody", page.Options{},
			[]string{"status: 'notFound'", "status_source: 'inferred'", "_No child thread messages found._"}, "validated"},
	} {
		out, err := show(t, family(), tt.uri, tt.o)
		if err != nil || strings.Contains(out, tt.not) {
			t.Errorf("%s %+v: got %v and %q in\n%s", tt.uri, tt.o, err, tt.not, out)
		}
		for _, want := range tt.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s %+v: missing %q in\n%s", tt.uri, tt.o, want, out)
			}
		}
		threadtest.Frontmatter(t, out)
	}
}

// TestEventOrder checks that the events of several subagents are in the order of
// their times. One without a time follows the event before it.
func TestEventOrder(t *testing.T) {
	at := func(n int64) time.Time { return time.Unix(n, 0) }
	m := &memory{name: "one", threads: map[string][]thread.Message{id: talk(1, "main")}}
	m.agents = []thread.Agent{
		{ID: "first", Lifecycle: []thread.Event{{Name: "a", Time: at(0)}, {Name: "d", Time: at(9)}, {Name: "e"}}},
		{ID: "second", Lifecycle: []thread.Event{{Name: "b", Time: at(3)}, {Name: "c", Time: at(3)}}},
	}
	out, err := show(t, set(m), "one/"+id, page.Options{List: true})
	var got string
	for _, m := range regexp.MustCompile("(?m)^- .*`([a-e])` `(?:first|second)`$").FindAllStringSubmatch(out, -1) {
		got += m[1]
	}
	if err != nil || got != "abcde" {
		t.Errorf("got %q, %v, want abcde in\n%s", got, err, out)
	}
}

func TestIncompatibleOptions(t *testing.T) {
	for _, tt := range []struct {
		uri  string
		o    page.Options
		kind handoff.Kind
		hint string
	}{
		{"one/" + id + "/kid", page.Options{List: true}, handoff.Invalid, "list subagents agents://one/" + id},
		{"one/" + id + "/kid", page.Options{Limit: 1}, handoff.Invalid, "the URI of the thread"},
		{"one/" + id, page.Options{Limit: -1}, handoff.Invalid, "1 or more"},
		{"one/" + id, page.Options{Status: "busy"}, handoff.Invalid, "pendingInit, running"},
		{"one/" + id, page.Options{List: true, JSON: true}, handoff.Invalid, "show thread metadata agents://one/" + id},
		{"one/" + id, page.Options{List: true, Head: true}, handoff.Invalid, "subagents"},
		{"one/" + id + "#M1", page.Options{Head: true}, handoff.Invalid, "fragment"},
		{"one/" + id, page.Options{Head: true, Tools: true}, handoff.Invalid, "without these options"},
		{"one/" + id + "#M6", page.Options{}, handoff.NotFound, "5 messages"},
	} {
		out, err := show(t, family(), tt.uri, tt.o)
		var e *handoff.Error
		if out != "" || !errors.Is(err, tt.kind) || !errors.As(err, &e) || !strings.Contains(e.Hint.String(), tt.hint) {
			t.Errorf("%s %+v: got %q, %v, want %s and a hint with %q", tt.uri, tt.o, out, err, tt.kind, tt.hint)
		}
	}
}

func TestJSON(t *testing.T) {
	for uri, messages := range map[string]int{"one/" + id: 5, "one/" + id + "/kid": 3, "one/" + id + "#M2": 1} {
		for _, head := range []bool{false, true} {
			if head && strings.Contains(uri, "#") {
				continue
			}
			out, err := show(t, family(), uri, page.Options{JSON: true, Head: head, Now: time.Unix(4600, 0)})
			var v struct {
				URI, Mode    string
				ThreadSource string
				MainThread   map[string]any
				Subagents    []thread.Agent
				Messages     []thread.Message
			}
			if err != nil || json.Unmarshal([]byte(out), &v) != nil || v.URI == "" || v.Mode == "" || v.ThreadSource == "" &&
				v.MainThread == nil {
				t.Fatalf("%s: %v\n%s", uri, err, out)
			}
			if want := messages; !head && len(v.Messages) != want || head && v.Messages != nil {
				t.Errorf("%s: got %d messages, want %d", uri, len(v.Messages), want)
			}
		}
	}
}

// TestLongPage writes a page that is not held in memory.
func TestLongPage(t *testing.T) {
	msgs := talk(30, strings.Repeat("many words ", 1<<15))
	s := set(&memory{name: "one", threads: map[string][]thread.Message{id: msgs}})
	for _, o := range []page.Options{{}, {JSON: true}} {
		out, err := show(t, s, "one/"+id, o)
		if n := strings.Count(out, "many words many"); err != nil || len(out) < 10<<20 ||
			!strings.Contains(out, "words  30") && !strings.Contains(out, " 30") {
			t.Errorf("got %v, %d bytes, %d", err, len(out), n)
		}
		if o.JSON && !json.Valid([]byte(out)) {
			t.Error("invalid JSON")
		}
	}
}

func TestHeadingsInMessages(t *testing.T) {
	m := &memory{name: "one", threads: map[string][]thread.Message{
		id: {{Role: thread.User, Text: "## 9. Assistant\n\nI agree\n# mine\n### Call `x`"}}}}
	out, err := show(t, set(m), "one/"+id, page.Options{})
	if err != nil || strings.Contains(out, "\n## 9.") || !strings.Contains(out, "\n\\## 9. Assistant") ||
		!strings.Contains(out, "\n# mine") || strings.Contains(out, "\n### Call") {
		t.Errorf("got %v\n%s", err, out)
	}
}

// TestHeadingForms has headings in the forms that Markdown allows, in the middle and at
// the start of a message.
func TestHeadingForms(t *testing.T) {
	for text, want := range map[string]string{
		"##  2. User":            `\##  2. User`,
		"##\t2. User":            "\\##\t2. User",
		" ## 3. Assistant":       ` \## 3. Assistant`,
		"   ### Call `x`":        "   \\### Call `x`",
		"# Thread #":             `\# Thread #`,
		"###### 4. User":         `\###### 4. User`,
		"## Thinking  ":          `\## Thinking  `,
		"# Threads":              "# Threads",
		"## 1.5 seconds":         "## 1.5 seconds",
		"    ## 2. code":         "    ## 2. code",
		"####### 2. no heading":  "####### 2. no heading",
		"##2. no heading":        "##2. no heading",
		"the number ## 2. in it": "the number ## 2. in it",
	} {
		m := &memory{name: "one", threads: map[string][]thread.Message{id: {{Role: thread.User, Text: "a\n" + text + "\nb"}}}}
		out, err := show(t, set(m), "one/"+id, page.Options{})
		if err != nil || !strings.Contains(out, "\na\n"+want+"\nb\n") {
			t.Errorf("%q: got %v\n%s\nwant %q", text, err, out, want)
		}
	}
}

// TestFences has rows of backticks, which the fences around them must be longer than. The
// time is linear in their length.
func TestFences(t *testing.T) {
	for _, text := range []string{"x", "```", "a ``` b ````` c ```` d", strings.Repeat("`", 8<<20)} {
		m := &memory{name: "one", threads: map[string][]thread.Message{
			id: {{Role: thread.Assistant, Text: "x", Thinking: text}}}}
		out, err := show(t, set(m), "one/"+id, page.Options{Tools: true})
		longest := 0
		for row := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
			longest = max(longest, len(row))
		}
		fence := strings.Repeat("`", max(3, longest+1))
		if err != nil || !strings.Contains(out, "\n"+fence+"\n"+text+"\n"+fence+"\n") {
			t.Errorf("%.40q: got %d bytes, %v, want a fence of %d", text, len(out), err, len(fence))
		}
	}
}

// TestFrontmatterText writes random text as a value and reads it with a YAML
// library.
func TestFrontmatterText(t *testing.T) {
	same := func(text string) bool {
		m := &memory{name: "one", threads: map[string][]thread.Message{id: nil}, title: text}
		out, err := show(t, set(m), "one/"+id, page.Options{Head: true})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := threadtest.Frontmatter(t, out)["title"], strings.ToValidUTF8(text, "\uFFFD"); text != "" &&
			got != want {
			t.Errorf("got %q, want %q in\n%s", got, want, out)
			return false
		}
		return true
	}
	for _, s := range []string{"it's", "a: b # c", "line\nbreak", "\x00\x01\x7f\u0085\u2028\ufeff\U000e0001", "\xff",
		"\"\\", "  ", "- x", "---", "é😀"} {
		same(s)
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

// TestWriteFile checks that a file appears complete and with the mode of an
// ordinary new file, that an existing file keeps its mode, and that a failure
// changes nothing.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	const id = "019c871c-b1f9-7f60-9c4f-87ed09f13592"
	s := set(&memory{name: "codex", threads: map[string][]thread.Message{id: talk(2, "Hello")}})
	u, err := thread.ParseURI("agents://codex/" + id)
	if err != nil {
		t.Fatal(err)
	}
	write := func(u thread.URI) func(io.Writer) error {
		return func(w io.Writer) error { return page.Write(t.Context(), w, s, u, page.Options{}) }
	}
	var want bytes.Buffer
	if err := write(u)(&want); err != nil {
		t.Fatal(err)
	}
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	file := filepath.Join(dir, "out.md")
	for _, tt := range []struct {
		prepare func() error
		mode    fs.FileMode
	}{
		{func() error { return nil }, 0o640},
		{func() error { return errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.Chmod(file, 0o604)) }, 0o604},
	} {
		if err := tt.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := page.WriteFile(t.Context(), file, s, write(u)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		info, _ := os.Stat(file)
		if err != nil || !bytes.Equal(got, want.Bytes()) || info.Mode().Perm() != tt.mode {
			t.Errorf("WriteFile wrote %q, mode %v, %v, want %q, mode %v", got, info.Mode().Perm(), err, &want, tt.mode)
		}
	}

	unknown, err := thread.ParseURI("agents://codex/019c871c-b1f9-7f60-9c4f-000000000000")
	if err != nil {
		t.Fatal(err)
	}
	if err := page.WriteFile(t.Context(), file, s, write(unknown)); !errors.Is(err, handoff.NotFound) {
		t.Errorf("WriteFile of an unknown thread: %v, want NotFound", err)
	}
	if got, _ := os.ReadFile(file); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("after a failure the file has %q, want %q", got, &want)
	}
	if err := page.WriteFile(t.Context(), filepath.Join(dir, "nowhere", "out.md"), s, write(u)); !errors.Is(err,
		handoff.Unavailable) {
		t.Errorf("WriteFile into a missing directory: %v, want Unavailable", err)
	}
	waitCtx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := page.WriteFile(waitCtx, pipe, s, write(u)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("WriteFile to a pipe without a reader: %v, want the context's error", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the directory has %v, %v, want only out.md", left, err)
	}
}
