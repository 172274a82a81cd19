package pullrequest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/session"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// hostile are values that would be something else than text in a comment.
var hostile = []string{
	"@octocat and @org/team", "#1 and GH-2 and owner/repo#3 and 0123456789abcdef0123456789abcdef01234567",
	"https://evil.example/x www.evil.example mail@evil.example", "[click](https://evil.example)",
	"![x](https://evil.example/p.png)",
	"<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "<!-- handoff: behind this pull request -->",
	"</code><b>", "&lt;b&gt; &#64;octocat",
	"`@octocat`", "``` @octocat", "a ` @octocat ` b", "``", "`", "\\`@octocat\\`", "| a | b |", "**bold** _em_ ~~x~~",
	"# heading", "- item", "> quote",
	"line\n\n@octocat", "line\r\n# heading", "\u202eright\u2066to left", "x\x00\x1b[31m", " ", "", strings.Repeat("`",
		300), strings.Repeat("@octocat ", 100),
	"[x]: https://evil.example", "$$x$$ $`x`$", ":smile: /cc @octocat", "\xff\xfe",
}

func artifact(i int, text string) handoff.Artifact {
	return handoff.Artifact{
		Record:            handoff.Record{ID: text, Producer: handoff.Producer{Agent: text, Thread: text}},
		ArtifactPublished: handoff.ArtifactPublished{Title: text, Path: text, Channel: text},
		Status:            handoff.Status(text), Revision: i, Labels: []string{text, text},
	}
}

// TestHostileValues renders a comment with values that try to be something else: what
// is not a part of the comment is in code.
func TestHostileValues(t *testing.T) {
	inCode := regexp.MustCompile(`(?s)<code>.*?</code>`)
	tags := regexp.MustCompile(`<(/?[a-z0-9]+)[^>]*>`)
	for _, value := range hostile {
		claimed := artifact(2, value)
		claimed.Status, claimed.Claims = handoff.Active, []handoff.Claim{{Text: value}}
		b := Behind{Kept: []string{value}, Artifacts: []handoff.Artifact{artifact(1, value), claimed}}
		b.Sessions = []session.View{{Session: handoff.Session{
			ID: value, Producer: handoff.Producer{Thread: value}, Title: value, Name: value, Agent: handoff.SessionAgent{
				Name: value}, Workflow: handoff.SessionWorkflow{Name: value}, Status: value, Tags: []string{value},
		}}}
		comment := Comment(b)
		var page bytes.Buffer
		if err := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe())).
			Convert([]byte(comment), &page); err != nil {
			t.Fatal(err)
		}
		rest := inCode.ReplaceAllString(strings.TrimPrefix(page.String(), Marker), "")
		for _, tag := range tags.FindAllStringSubmatch(rest, -1) {
			if !slices.Contains([]string{"h3", "p", "strong", "ul", "li"}, strings.TrimPrefix(tag[1], "/")) {
				t.Errorf("%q: the comment has the element %s\n%s", value, tag[0], page.String())
			}
		}
		for _, part := range []string{"@", "octocat", "evil", "script", "#1", "0123456789abcdef", "onerror", "http", "<!--",
			"\x1b", "\u202e"} {
			if strings.Contains(rest, part) {
				t.Errorf("%q: %q is not in code\n%s", value, part, page.String())
			}
		}
		if n := strings.Count(page.String(), "<li>"); n != 4 {
			t.Errorf("%q: %d items, want 4\n%s", value, n, page.String())
		}
	}
}

// TestLength shows a part of what is a lot. GitHub refuses comments of more than 65,536
// characters.
func TestLength(t *testing.T) {
	var b Behind
	for i := range 300 {
		b.Artifacts = append(b.Artifacts, artifact(i, strings.Repeat(fmt.Sprintf("%d ` ", i), 100)))
		b.Sessions = append(b.Sessions, session.View{Session: handoff.Session{ID: fmt.Sprint(i),
			Name: strings.Repeat("x", 1000)}})
	}
	if comment := Comment(b); len([]rune(comment)) > 65536 || strings.Count(comment, " more\n") != 2 {
		t.Errorf("the comment has %d characters", len([]rune(comment)))
	}
}

const sessionID = "01234567-89ab-4cde-8f01-23456789abcd"

func input(head string) string {
	return fmt.Sprintf(
		`{"number": 7, "title": "Fix", "body": "see art_01K00000000000000000000001, art_01K and %s", "head": {"repo": {"full_name": %q}}, "base": {"repo": {"full_name": "o/r"}}}
		[{"sha": "1", "commit": {"message": "x\n\nHandoff: art_01K00000000000000000000002"}}]
		[{"filename": "docs/a.md"}, {"filename": "b.md"}] []`, sessionID, head)
}

func TestParse(t *testing.T) {
	got, err := Parse(strings.NewReader(input("o/r")))
	named := []string{"art_01K00000000000000000000002", "art_01K00000000000000000000001", sessionID}
	if err != nil || !slices.Equal(got.Named, named) || !slices.Equal(got.Files, []string{"docs/a.md", "b.md"}) {
		t.Errorf("Parse = %+v, %v", got, err)
	}
	for _, head := range []string{"fork/r", ""} {
		if got, err := Parse(strings.NewReader(input(head))); err != nil || len(got.Files) > 0 || len(got.Named) != 3 {
			t.Errorf("of %q: Parse = %+v, %v, want no files", head, got, err)
		}
	}
	for _, text := range []string{"", "[]", "{", `{"number": "x"}`, "null", "7", `{"message": "Not Found"}`,
		strings.Repeat("[", 1<<20)} {
		if _, err := Parse(strings.NewReader(text)); !errors.Is(err, handoff.Invalid) {
			t.Errorf("Parse(%.20q) = %v, want kind Invalid", text, err)
		}
	}
	many := `{"number": 1, "body": "` + strings.Repeat(sessionID[:35]+"0 "+sessionID[:35]+"1 ", 1000) +
		`", "head": {"repo": null}}`
	if got, err := Parse(strings.NewReader(many)); err != nil || len(got.Named) != 2 {
		t.Errorf("Parse = %d IDs, %v", len(got.Named), err)
	}
}

// TestMore reads a pull request with more files, names or artifacts than are looked up:
// the comment states it.
func TestMore(t *testing.T) {
	var ids, files strings.Builder
	for i := range 250 {
		fmt.Fprintf(&ids, "%s%03d ", sessionID[:33], i)
		fmt.Fprintf(&files, `{"filename": "f%d"},`, i)
	}
	const named = `{"number": 1, "body": %q, "head": {"repo": {"full_name": "o/r"}}, "base": {"repo": {"full_name": %q}}} [%s]`
	for name, tt := range map[string]struct {
		input string
		more  bool
	}{
		"few":             {fmt.Sprintf(named, sessionID, "o/r", `{"filename": "f"}`), false},
		"names":           {fmt.Sprintf(named, ids.String(), "o/r", ""), true},
		"files":           {fmt.Sprintf(named, "", "o/r", strings.TrimSuffix(files.String(), ",")), true},
		"files of others": {fmt.Sprintf(named, "", "x/r", strings.TrimSuffix(files.String(), ",")), false},
	} {
		got, err := Parse(strings.NewReader(tt.input))
		if err != nil || got.More != tt.more || len(got.Named) > maxNamed || len(got.Files) > maxNamed {
			t.Errorf("%s: Parse = %d names, %d files, %t, %v", name, len(got.Named), len(got.Files), got.More, err)
		}
		found, err := Find(t.Context(), logtest.NewReference(), got)
		found.Artifacts = append(found.Artifacts, artifact(1, "x"))
		if comment := Comment(found); err != nil || strings.Contains(comment, "Not everything was looked up") != tt.more {
			t.Errorf("%s: %v, %s", name, err, comment)
		}
	}
}

// TestFind follows IDs and files to artifacts, and artifacts to sessions.
func TestFind(t *testing.T) {
	index := logtest.NewReference()
	add := func(seq handoff.Seq, f handoff.Fact, p handoff.Producer) handoff.Record {
		r := logtest.NewRecord("x")
		r.Seq, r.Fact, r.Producer = seq, f, p
		if _, ok := f.(*handoff.ArtifactPublished); !ok {
			r.ID = fmt.Sprintf("rec_%d", seq)
		}
		if err := index.Apply(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	in := handoff.Producer{Session: sessionID}
	add(1, &handoff.SessionOpened{SessionID: sessionID, Folder: "s"}, handoff.Producer{})
	a := add(2, &handoff.ArtifactPublished{Channel: "design", Path: "docs/a.md"}, in)
	b := add(3, &handoff.ArtifactPublished{Channel: "patch", Path: "other.md"}, in)
	c := add(4, &handoff.ArtifactPublished{Channel: "patch", Path: "c.md"}, handoff.Producer{})
	for name, tt := range map[string]struct {
		request   Request
		artifacts []string
		sessions  int
	}{
		"an artifact": {Request{Named: []string{b.ID}}, []string{b.ID}, 1},
		"a session":   {Request{Named: []string{sessionID}}, []string{b.ID, a.ID}, 1},
		"a file":      {Request{Files: []string{"docs/a.md", "none.md"}}, []string{a.ID}, 1},
		"both": {Request{Named: []string{c.ID, sessionID}, Files: []string{"docs/a.md"}}, []string{c.ID, a.ID, b.ID},
			1},
		"unknown names": {Request{Named: []string{"art_01K00000000000000000000009", "11234567-89ab-4cde-8f01-23456789abcd"}},
			nil, 0},
		"nothing": {},
	} {
		found, err := Find(t.Context(), index, tt.request)
		var got []string
		for _, a := range found.Artifacts {
			got = append(got, a.ID)
		}
		if err != nil || !slices.Equal(got, tt.artifacts) || len(found.Sessions) != tt.sessions {
			t.Errorf("%s: Find = %q and %d sessions, %v, want %q", name, got, len(found.Sessions), err, tt.artifacts)
		}
	}
	for i := range maxNamed + 1 {
		add(handoff.Seq(5+i), &handoff.ArtifactPublished{Channel: "patch", Path: fmt.Sprint(i)}, in)
	}
	if found, err := Find(t.Context(), index, Request{Named: []string{sessionID}}); err != nil || !found.More ||
		len(found.Artifacts) != maxNamed {
		t.Errorf("Find = %d artifacts, more: %t, %v", len(found.Artifacts), found.More, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Find(ctx, failing{index}, Request{Named: []string{a.ID}}); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("Find in an index that fails = %v", err)
	}
}

type failing struct{ handoff.Reader }

func (failing) Artifact(context.Context, string) (handoff.Artifact, error) {
	return handoff.Artifact{}, handoff.Unavailable
}
