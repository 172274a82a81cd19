// Package pullrequest shows what is behind a pull request: the sessions and artifacts
// that it names, and the artifacts of the files that it changes.
//
// Whoever opened the pull request wrote its texts, and whoever published an artifact
// wrote the texts of that. Neither is trusted: the comment has every value in a code
// span, in which nothing is a mention, a link, a reference or HTML.
package pullrequest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/trace"
)

// The limits of what is read of a pull request, and shown.
const (
	maxInput = 32 << 20 // bytes
	maxNamed = 200      // IDs, and files
	maxShown = 50       // sessions, and artifacts
	maxValue = 160      // characters

	// GitHub refuses comments of more than 65,536 characters.
	maxClaims, maxArtifacts, maxComment = 20_000, 40_000, 60_000
)

// A Request is what matters here of a pull request.
type Request struct {
	Named []string // the IDs of sessions and artifacts in its texts
	Files []string // that it changes; none if it comes from another repository
	More  bool     // some IDs or files were left out
}

// ids are the IDs in a text that are complete. A shorter one could be guessed.
var ids = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`\bart_[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b`)
})

// Parse reads the answers of GitHub's API for a pull request, its commits and its
// files, one after the other. The files of a pull request from another repository are
// left out: anybody could name a file and learn the titles of its artifacts. Its kind
// is Invalid.
func Parse(r io.Reader) (Request, error) {
	type repository struct {
		Repo struct {
			Name string `json:"full_name"`
		}
	}
	type item struct {
		Filename string
		Commit   struct{ Message string }
	}
	var pull struct {
		Number     int
		Title      string
		Body       string
		Head, Base repository
	}
	var request Request
	var files []string
	name := func(text string) {
		for _, id := range ids().FindAllString(text, -1) {
			if len(request.Named) <= maxNamed && !slices.Contains(request.Named, id) {
				request.Named = append(request.Named, id)
			}
		}
		if len(request.Named) > maxNamed {
			request.Named, request.More = request.Named[:maxNamed], true
		}
	}
	d := json.NewDecoder(io.LimitReader(r, maxInput))
	for {
		var value json.RawMessage
		err := d.Decode(&value)
		if errors.Is(err, io.EOF) {
			break
		}
		var items []item
		if err == nil && value[0] == '[' {
			err = json.Unmarshal(value, &items)
		} else if err == nil {
			err = json.Unmarshal(value, &pull)
		}
		if err != nil {
			return request, invalid("not an answer of the API: " + err.Error())
		}
		for _, i := range items {
			if name(i.Commit.Message); i.Filename != "" && len(files) <= maxNamed {
				files = append(files, i.Filename)
			}
		}
	}
	if pull.Number == 0 {
		return request, invalid("has no pull request")
	}
	name(pull.Title + "\n" + pull.Body)
	if pull.Head.Repo.Name != "" && pull.Head.Repo.Name == pull.Base.Repo.Name {
		request.More = request.More || len(files) > maxNamed
		request.Files = files[:min(len(files), maxNamed)]
	}
	return request, nil
}

func invalid(reason string) error {
	return handoff.E("read pull request", "", handoff.Invalid, errors.New(reason),
		handoff.Advice("pass the answers of the API for the pull request, its commits and its files, as action.yml does"))
}

// Behind are the sessions and artifacts behind a pull request, in the order in which
// they were found.
type Behind struct {
	Sessions  []session.View // as they are recorded
	Artifacts []handoff.Artifact
	Kept      []string // URIs of the threads of which the log has a copy
	More      bool     // some were not looked up
}

// Find returns what is behind a pull request: the sessions and artifacts that it names,
// the active artifacts of these sessions and of the files that it changes, and the
// sessions of all these artifacts. Kinds: those of the reader.
func Find(ctx context.Context, reader handoff.Reader, r Request) (Behind, error) {
	f := finder{reader: reader, seen: map[string]bool{}, found: Behind{More: r.More}}
	for _, id := range r.Named {
		if handoff.IsArtifactID(id) {
			f.artifact(reader.Artifact(ctx, id))
		} else {
			f.session(ctx, id)
		}
	}
	if len(r.Files) > 0 {
		f.query(ctx, handoff.ArtifactQuery{Paths: r.Files})
	}
	for _, s := range slices.Clone(f.found.Sessions) {
		f.query(ctx, handoff.ArtifactQuery{Producer: map[string]string{"session": s.ID}})
	}
	for _, a := range f.found.Artifacts {
		if a.Producer.Session != "" {
			f.session(ctx, a.Producer.Session)
		}
	}
	if kept, ok := reader.(handoff.KeptThreadLister); ok && f.err == nil {
		var list []handoff.KeptThread
		list, f.err = kept.KeptThreads(ctx, "")
		for _, k := range list {
			f.found.Kept = append(f.found.Kept, k.Thread)
		}
	}
	return f.found, f.err
}

// A finder collects sessions and artifacts, each once. After an error it does nothing.
type finder struct {
	reader handoff.Reader
	seen   map[string]bool
	found  Behind
	err    error
}

func (f *finder) session(ctx context.Context, id string) {
	if f.err != nil || f.seen[id] {
		return
	}
	f.seen[id] = true
	s, err := f.reader.Session(ctx, id)
	if errors.Is(err, handoff.NotFound) {
		return
	}
	var missing []session.Expected
	if err == nil {
		missing, err = lifecycle.Missing(ctx, f.reader, id)
	}
	if f.err = err; err == nil {
		v := session.View{Session: s}
		lifecycle.SetNotices(&v, missing)
		f.found.Sessions = append(f.found.Sessions, v)
	}
}

func (f *finder) artifact(a handoff.Artifact, err error) {
	if f.err != nil || errors.Is(err, handoff.NotFound) || f.seen[a.ID] {
		return
	}
	if f.err = err; err == nil {
		f.seen[a.ID] = true
		f.found.Artifacts = append(f.found.Artifacts, a)
	}
}

func (f *finder) query(ctx context.Context, q handoff.ArtifactQuery) {
	if f.err != nil {
		return
	}
	q.Limit = maxNamed
	page, err := f.reader.Artifacts(ctx, q)
	f.err, f.found.More = err, f.found.More || page.Cursor != ""
	for _, a := range page.Artifacts {
		f.artifact(a, nil)
	}
}

// Marker starts every comment, so that the next run finds its own.
const Marker = "<!-- handoff: behind this pull request -->"

// NoLog is the comment where no log is shared.
const NoLog = Marker +
	"\nThis job has no shared log that it can read, so the artifacts behind this pull request are not known.\n"

// Comment returns the comment, in GitHub's Markdown.
func Comment(b Behind) string {
	var out strings.Builder
	out.WriteString(Marker + "\n")
	if len(b.Sessions)+len(b.Artifacts) == 0 {
		out.WriteString("The shared log has no artifact or session behind this pull request.\n")
		return out.String()
	}
	fmt.Fprintf(&out, "### Behind this pull request: %s, %s\n", count(len(b.Artifacts), "artifact"),
		count(len(b.Sessions), "session"))
	if claimed := b.active(false); len(claimed) > 0 {
		section(&out, "Claims: "+tally(b.Verdicts(false)), maxClaims, len(claimed), func(i int) string {
			return claimsLine(claimed[i])
		})
	}
	section(&out, "Artifacts", maxArtifacts, len(b.Artifacts), func(i int) string {
		return b.artifactLine(b.Artifacts[i])
	})
	section(&out, "Sessions", maxComment, len(b.Sessions), func(i int) string { return b.sessionLine(b.Sessions[i]) })
	if b.More {
		fmt.Fprintf(&out, "\nNot everything was looked up: at most %d names, %d files, and %d artifacts of the files and "+
			"of each session.\n", maxNamed, maxNamed, maxNamed)
	}
	return out.String()
}

// active returns the active artifacts: those with claims, or all.
func (b Behind) active(all bool) []handoff.Artifact {
	return slices.DeleteFunc(slices.Clone(b.Artifacts), func(a handoff.Artifact) bool {
		return len(a.Claims) == 0 && !all || a.Status != handoff.Active
	})
}

// Verdicts returns the verdicts of the active artifacts with claims, or of all, as far as
// the log shows them: no thread and no working tree is read.
func (b Behind) Verdicts(all bool) trace.VerificationList {
	list := trace.VerificationList{Items: []trace.Verification{}}
	for _, a := range b.active(all) {
		verdict, _, _ := fold.Recorded(a)
		v := trace.Verification{ID: a.ID, Verdict: verdict, Approved: a.IsApproved(), Reviews: a.Reviews}
		for _, c := range a.Claims {
			v.Claims = append(v.Claims, trace.Claim{Text: c.Text, Verdict: verdict})
		}
		list.Items = append(list.Items, v)
	}
	return list
}

// tally returns how many artifacts have each verdict, the weakest first.
func tally(all trace.VerificationList) string {
	var counts []string
	for _, verdict := range []handoff.Verdict{handoff.VerdictContradicted, handoff.VerdictAsserted, handoff.VerdictStale,
		handoff.VerdictVerified} {
		n := 0
		for _, v := range all.Items {
			if v.Verdict == verdict {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, fmt.Sprint(n, " ", verdict))
		}
	}
	return strings.Join(counts, ", ")
}

// maxClaimed is how many claims of an artifact are shown.
const maxClaimed = 5

// claimsLine returns the verdict of an artifact with its claims and the reason.
func claimsLine(a handoff.Artifact) string {
	verdict, reason, _ := fold.Recorded(a)
	parts := []string{part("", string(verdict))}
	if verdict == handoff.VerdictContradicted {
		parts[0] = "**" + parts[0] + "**"
	}
	for i, c := range a.Claims {
		if i == maxClaimed {
			parts = append(parts, fmt.Sprintf("and %d more", len(a.Claims)-i))
			break
		}
		parts = append(parts, part("", c.Text))
	}
	return join(append(parts, part("because", reason), part("", a.ID))...)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func section(out *strings.Builder, title string, limit, n int, line func(int) string) {
	if n == 0 {
		return
	}
	fmt.Fprintf(out, "\n**%s**\n\n", title)
	for i := range n {
		text := "- " + line(i) + "\n"
		if i == maxShown || out.Len()+len(text) > limit {
			fmt.Fprintf(out, "- and %d more\n", n-i)
			return
		}
		out.WriteString(text)
	}
}

func (b Behind) artifactLine(a handoff.Artifact) string {
	title, file := a.DisplayName(), a.Path
	if a.IsManaged() || file == title {
		file = ""
	}
	recorded := slices.DeleteFunc(a.Notices(), func(n handoff.Notice) bool { return n.Code.IsLocal() })
	by := a.PublishedBy()
	return join(notices(recorded),
		part("", title), part("", file), part("channel", a.Channel), part("revision", fmt.Sprintf("v%d", a.Revision)),
		part("status", string(a.Status)),
		part("labels", strings.Join(a.Labels, " ")), part("by", by.Agent), b.conversation(by), part("", a.ID))
}

// notices returns the codes of notices, in bold if one is a problem.
func notices(list []handoff.Notice) string {
	var codes []string
	for _, code := range handoff.Codes(list) {
		codes = append(codes, string(code))
	}
	text := part("", strings.Join(codes, " "))
	if len(list) > 0 && list[0].Severity == handoff.SeverityProblem {
		text = "**" + text + "**"
	}
	return text
}

func (b Behind) sessionLine(s session.View) string {
	name := s.Name
	if name == "" {
		name = s.Title
	}
	return join(notices(s.Notices), part("", name),
		part("agent", s.Agent.Name), part("workflow", s.Workflow.Name), part("status", s.Status),
		part("tags", strings.Join(s.Tags, " ")),
		b.conversation(s.Producer), part("", s.ID))
}

// thread returns the thread of a producer, and whether the log has a copy
// that other machines can read. A copy has the threads of subagents.
func (b Behind) conversation(p handoff.Producer) string {
	text := part("thread", p.Thread)
	if text != "" && slices.ContainsFunc(b.Kept,
		func(uri string) bool { return p.Thread == uri || strings.HasPrefix(p.Thread, uri+"/") }) {
		text += " (kept)"
	}
	return text
}

// part returns a value with its name, "" without a value.
func part(name, value string) string {
	value = printable.Code(value, maxValue)
	if value != "" && name != "" {
		return name + " " + value
	}
	return value
}

func join(parts ...string) string {
	parts = slices.Compact(slices.DeleteFunc(parts, func(p string) bool { return p == "" }))
	return strings.Join(parts, " · ")
}
