package reviews

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/git"
)

// The limits of what is imported.
const (
	maxRequest    = 64 << 20 // bytes
	maxImported   = 5000     // comments
	maxCandidates = 200      // artifacts that are compared with a comment
	maxSource     = 500      // bytes of an address
)

// An Import is what an import of the comments of a pull request recorded.
type Import struct {
	Comments []string   `json:"comments"`           // their IDs, and those of replies
	Existing int        `json:"existing"`           // how many were imported before
	Unplaced []Unplaced `json:"unplaced,omitempty"` // those that were not imported
	Warnings []string   `json:"warnings,omitempty"`
}

// An Unplaced is a comment that was not imported.
type Unplaced struct {
	Source string `json:"source"` // its address
	Reason string `json:"reason"`
}

// A requestComment is a review comment of a pull request, as GitHub's REST API has it. The
// lines are those of the blob of the path, and the hunk ends at the last of them.
type requestComment struct {
	ID        int64
	InReplyTo int64 `json:"in_reply_to_id"`
	User      struct{ Login string }
	Body      string
	HTMLURL   string `json:"html_url"`
	Path      string
	Side      string
	Line      int
	First     int    `json:"start_line"`
	Original  int    `json:"original_line"`
	FirstOrig int    `json:"original_start_line"`
	Commit    string `json:"original_commit_id"`
	Hunk      string `json:"diff_hunk"`
}

// lines returns the first and the last line, 0 for the file.
func (c requestComment) lines() (int, int) {
	end := cmp.Or(c.Original, c.Line)
	start := cmp.Or(c.FirstOrig, c.First, end)
	if start > end || start < 0 || end-start > len(c.Hunk) {
		start = end
	}
	return start, end
}

func (c requestComment) side() string {
	if c.Side == "LEFT" {
		return handoff.SideOld
	}
	return handoff.SideNew
}

// Import records the review comments of a pull request, as GitHub's API lists them, on the
// artifacts with the bytes that they are about. A comment that no artifact fits is one on the
// artifact that ref names, or is not imported if ref is "". What was imported before is left
// alone.
//
// Kinds: Invalid (not such a list), those of Workspace.Resolve, and those of Log.Append.
func (d Reviews) Import(ctx context.Context, in io.Reader, ref string) (done Import, err error) {
	done.Comments = []string{}
	list, err := parseRequest(in)
	if err != nil {
		return done, err
	}
	m := matcher{d: d, texts: map[string]string{}, blobs: map[string]string{}}
	if ref != "" {
		id, err := d.o.Resolve(ctx, ref)
		if err == nil {
			m.fallback, err = d.o.Hub.Artifact(ctx, id)
		}
		if err != nil {
			return done, err
		}
	}
	ids := map[int64]imported{}
	for _, c := range list {
		if err := d.importOne(ctx, &m, c, ids, &done); err != nil {
			return done, err
		}
	}
	done.Warnings = append(done.Warnings, d.o.Finish(ctx, "")...)
	return done, nil
}

// imported is the comment that one of a pull request became.
type imported struct{ artifact, id string }

// importOne records a comment, unless it was before or nothing fits.
func (d Reviews) importOne(ctx context.Context, m *matcher, c requestComment, ids map[int64]imported,
	done *Import) error {
	if !isSource(c.HTMLURL) {
		done.Unplaced = append(done.Unplaced, Unplaced{Source: fmt.Sprint(c.ID), Reason: "it has no address"})
		return nil
	}
	known, err := d.imported(ctx, c.HTMLURL)
	if err != nil {
		return err
	}
	if known.id != "" {
		ids[c.ID] = known
		done.Existing++
		return nil
	}
	fact := &handoff.ArtifactCommented{User: first(strings.ToValidUTF8(cmp.Or(c.User.Login, "unknown"), ""), 100),
		Via: c.HTMLURL}
	text := handoff.CommentText{Text: importedText(c.Body)}
	var parent imported
	if c.InReplyTo != 0 { // 0 is also the ID of each comment without one
		if parent = ids[c.InReplyTo]; parent.id == "" {
			if parent, err = d.imported(ctx, parentSource(c)); err != nil {
				return err
			}
		}
	}
	if parent.id != "" {
		fact.ArtifactID, fact.ReplyTo = parent.artifact, parent.id
	} else if fact.ArtifactID, fact.Place, err = m.match(ctx, c, &text); err != nil {
		return err
	}
	if fact.ArtifactID == "" {
		done.Unplaced = append(done.Unplaced, Unplaced{c.HTMLURL, "no artifact has its lines"})
		return nil
	}
	if fact.Body, err = d.keep(ctx, text); err != nil {
		return err
	}
	rec, warnings, err := d.o.Hub.Record(ctx, fact)
	if err != nil {
		return err
	}
	ids[c.ID] = imported{fact.ArtifactID, cmp.Or(parent.id, rec.ID)}
	done.Comments, done.Warnings = append(done.Comments, rec.ID), append(done.Warnings, warnings...)
	return nil
}

// parentSource returns the address of the comment that a comment replies to.
func parentSource(c requestComment) string {
	return strings.TrimSuffix(c.HTMLURL, fmt.Sprint(c.ID)) + fmt.Sprint(c.InReplyTo)
}

// imported returns the comment that was imported from an address, or whose reply was.
func (d Reviews) imported(ctx context.Context, source string) (imported, error) {
	page, err := d.o.Hub.Artifacts(ctx, handoff.ArtifactQuery{Comment: source, IncludeInactive: true, Limit: 1})
	if err != nil || len(page.Artifacts) == 0 {
		return imported{}, err
	}
	for _, c := range page.Artifacts[0].Comments {
		for _, r := range append([]handoff.Reply{{By: c.By}}, c.Replies...) {
			if r.By.Via == source {
				return imported{page.Artifacts[0].ID, c.ID}, nil
			}
		}
	}
	return imported{}, nil
}

// parseRequest decodes the lists of comments, one for each page that was asked for.
func parseRequest(in io.Reader) (list []requestComment, err error) {
	invalid := func(reason string) error {
		return handoff.E("import", "", handoff.Invalid, errors.New(reason),
			handoff.Advice("pass what gh api repos/OWNER/REPO/pulls/N/comments prints"))
	}
	limited := &io.LimitedReader{R: in, N: maxRequest}
	for decoder := json.NewDecoder(limited); ; {
		var page []requestComment
		err := decoder.Decode(&page)
		switch {
		case limited.N == 0:
			return nil, invalid(fmt.Sprintf("more than %d MiB", maxRequest>>20))
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, invalid("not a list of the review comments of a pull request")
		}
		if list = append(list, page...); len(list) > maxImported {
			return nil, invalid(fmt.Sprintf("more than %d comments", maxImported))
		}
	}
}

// isSource reports whether a text is an address that a record can have.
func isSource(text string) bool {
	return strings.HasPrefix(text, "https://") && len(text) <= maxSource &&
		!strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// importedText returns the text of a comment as it is kept: without secrets, and not too long.
func importedText(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "")
	text, _ = handoff.RedactText(strings.TrimSpace(text))
	if utf8.RuneCountInString(text) > handoff.MaxComment {
		text = first(text, handoff.MaxComment-1) + "…"
	}
	return text
}

// A matcher finds the artifacts that comments of a pull request are about.
type matcher struct {
	d        Reviews
	fallback handoff.Artifact
	texts    map[string]string // of artifacts, by ID
	blobs    map[string]string // SHA-256 of a path in a commit
	patches  []handoff.Artifact
	listed   bool
}

// match returns the artifact of a comment, "" for none, and the place, whose quote it adds
// to the text: the newest artifact with the bytes that the path has in the commit, otherwise
// one with the lines of the hunk at their numbers, of the file or of a patch.
func (m *matcher) match(ctx context.Context, c requestComment, text *handoff.CommentText) (string, handoff.Place,
	error) {
	files, err := m.files(ctx, c)
	if err != nil {
		return "", handoff.Place{}, err
	}
	if err := m.listPatches(ctx); err != nil {
		return "", handoff.Place{}, err
	}
	start, end := c.lines()
	if c.side() == handoff.SideNew || end == 0 {
		for _, a := range files {
			if content, ok := m.text(ctx, a); ok && hasHunk(content, c) {
				return a.ID, lineQuote(text, content, start, end), nil
			}
		}
	}
	for _, a := range m.patches {
		content, ok := m.text(ctx, a)
		if !ok || end == 0 || !patchHasHunk(content, c) {
			continue
		}
		if from, to, err := sideSpan(content, c.Path, c.side(), start, end); err == nil {
			where, _ := sidePlace(content, c.Path, c.side(), from, to)
			setQuote(text, content, where)
			return a.ID, where, nil
		}
	}
	if lines := hunkLines(c.Hunk, c.side(), start, end); len(lines) > 0 {
		text.Quote = first(strings.Join(lines, "\n"), handoff.MaxQuote)
	}
	return m.fallback.ID, handoff.Place{}, ctx.Err()
}

// files returns the artifacts with the path of a comment, those with its bytes in the commit
// of the comment first.
func (m *matcher) files(ctx context.Context, c requestComment) (list []handoff.Artifact, err error) {
	page, err := m.d.o.Hub.Artifacts(ctx, handoff.ArtifactQuery{Paths: []string{path.Clean(c.Path)}, IncludeInactive: true,
		Limit: maxCandidates})
	if err != nil {
		return nil, err
	}
	digest := m.blob(ctx, c)
	for _, a := range page.Artifacts {
		if a.Digest.Algorithm == handoff.SHA256 && a.Digest.Value == digest {
			list = append(list, a)
		}
	}
	return append(list, page.Artifacts...), nil
}

// blob returns the SHA-256 of a path in a commit, "" if this clone does not have it.
func (m *matcher) blob(ctx context.Context, c requestComment) string {
	if n := len(c.Commit); n != 40 && n != 64 || strings.Trim(c.Commit, "0123456789abcdef") != "" {
		return ""
	}
	name := c.Commit + ":" + c.Path
	digest, ok := m.blobs[name]
	if !ok {
		if b, err := git.Run(ctx, m.d.o.Dir, "cat-file", "blob", name); err == nil {
			sum := sha256.Sum256(b)
			digest = hex.EncodeToString(sum[:])
		}
		m.blobs[name] = digest
	}
	return digest
}

func (m *matcher) listPatches(ctx context.Context) error {
	if m.listed {
		return nil
	}
	q := handoff.ArtifactQuery{Kind: "patch", IncludeInactive: true, Limit: maxCandidates}
	page, err := m.d.o.Hub.Artifacts(ctx, q)
	m.patches, m.listed = page.Artifacts, true
	return err
}

// text returns the text of an artifact that can be read.
func (m *matcher) text(ctx context.Context, a handoff.Artifact) (string, bool) {
	content, known := m.texts[a.ID]
	if !known {
		content, _ = m.d.content(ctx, a, "")
		m.texts[a.ID] = content
	}
	return content, content != ""
}

// hunkLines returns lines of one side of a hunk, by their numbers, without marks.
func hunkLines(hunk, side string, start, end int) (lines []string) {
	for _, l := range patchLines(hunk, "") {
		if n := l.number(side); n >= start && n <= end && n > 0 {
			lines = append(lines, strings.TrimSuffix(hunk[min(l.start+1, l.end):l.end], "\r"))
		}
	}
	return lines
}

// hasHunk reports whether a text has the lines of the new side of the hunk of a comment at
// their numbers.
func hasHunk(content string, c requestComment) bool {
	lines := strings.Split(content, "\n")
	found := false
	for _, l := range patchLines(c.Hunk, "") {
		if l.new == 0 {
			continue
		}
		if l.new > len(lines) || !equalLine(lines[l.new-1], c.Hunk[min(l.start+1, l.end):l.end]) {
			return false
		}
		found = true
	}
	return found
}

// patchHasHunk reports whether a patch has the lines of a comment, on their side.
func patchHasHunk(content string, c requestComment) bool {
	start, end := c.lines()
	want := hunkLines(c.Hunk, c.side(), start, end)
	n := 0
	for _, l := range patchLines(content, c.Path) {
		if at := l.number(c.side()); at < start || at > end || at == 0 {
			continue
		}
		if n >= len(want) || !equalLine(content[min(l.start+1, l.end):l.end], want[n]) {
			return false
		}
		n++
	}
	return n > 0 && n == len(want)
}

func equalLine(a, b string) bool { return strings.TrimSuffix(a, "\r") == strings.TrimSuffix(b, "\r") }

// lineQuote returns the place of lines of a text, and adds the quote.
func lineQuote(text *handoff.CommentText, content string, start, end int) handoff.Place {
	from, to, lines := lineSpan(content, start, end)
	if start < 1 || end > lines {
		return handoff.Place{}
	}
	where := newPlace(content, "", from, to)
	setQuote(text, content, where)
	return where
}
