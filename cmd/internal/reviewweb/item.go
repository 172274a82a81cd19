package reviewweb

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/access"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/preview"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// An item is what the page of an artifact shows.
type item struct {
	handoff.Artifact
	Title    string
	Files    []preview.File         // the lines, by the files that they are about
	Note     string                 // why there are no lines, or not all
	General  []reviews.ShownComment // about the artifact as a whole, or at no line that is shown
	Open     int                    // comments that are not resolved
	History  []handoff.Artifact     // newest first
	From     *handoff.Artifact      // the revision that the lines are compared with
	Inputs   []handoff.Artifact
	At       string // the lines that the form is about: 12 or 12-14
	Quote    string // the text that it is about
	Text     string // that was written, if it was refused
	ReplyTo  string // the comment that the form answers
	Failure  *cli.Failure
	Next     string     // the ID of the next artifact that waits
	Query    url.Values // of what is shown, for links
	IsDiff   bool       // the lines are of a diff
	Split    bool       // its two texts are side by side
	Rendered *preview.Preview
	Via      string

	texts    [2]string // see preview.TextsOf
	from, to int       // the lines of At
	placed   map[int][]reviews.ShownComment
	pages    *template.Template
}

// contentLimit is how much of a content is read.
const contentLimit = 1<<20 + 1

// item shows an artifact with its comments.
func (s *Server) item(r *http.Request) (page, error) {
	v, err := s.find(r.Context(), r.PathValue("id"), r.URL.Query())
	return page{Name: "item", Title: v.Title, Poll: pollTime, Data: v, Scripts: v.scripts()}, err
}

// atPattern matches the lines of an address.
var atPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^L(\d{1,9})(?:-L(\d{1,9}))?$`)
})

func (s *Server) find(ctx context.Context, id string, q url.Values) (v item, err error) {
	if !handoff.IsArtifactID(id) {
		return v, handoff.E("review", id, handoff.NotFound, errors.New("not the ID of an artifact"), handoff.Hint{})
	}
	shown, err := s.o.Workspace.Show(ctx, id, false)
	if err != nil {
		return v, err
	}
	v = item{Artifact: *shown.Artifact, Quote: q.Get("quote"), ReplyTo: q.Get("reply"), Via: s.o.Via,
		Query: url.Values{}, Split: web.IsSplit(q), pages: s.pages}
	v.Title = v.DisplayName()
	history, err := s.o.Workspace.History(ctx, id)
	if err != nil {
		return v, err
	}
	v.History = slices.Clone(history.Artifacts)
	slices.Reverse(v.History)
	v.From = v.compared(q)
	for _, parent := range v.Parents[:min(20, len(v.Parents))] {
		if in, err := s.o.Workspace.Hub().Artifact(ctx, parent); err == nil {
			v.Inputs = append(v.Inputs, in)
		}
	}
	if at := atPattern().FindStringSubmatch(q.Get("at")); at != nil {
		v.At = strings.TrimSuffix(at[1]+"-"+at[2], "-")
	}
	if v.Split {
		v.Query.Set("view", "split")
	}
	if q.Has("rendered") {
		v.Query.Set("rendered", "")
		v.Rendered = s.rendered(ctx, v)
	} else {
		s.addLines(ctx, &v)
		if v.From != nil {
			v.Query.Set("diff", v.From.ID)
		} else if q.Has("diff") {
			v.Query.Set("diff", "")
		}
	}
	v.place(shown.Discussion)
	waiting, err := s.waiting(ctx)
	for i, a := range waiting.Waiting {
		if a.ID != v.ID && (v.Next == "" || i > 0 && waiting.Waiting[i-1].ID == v.ID) {
			v.Next = a.ID
		}
	}
	return v, err
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return "Artifact"
}

// compared returns the revision that the lines are compared with: the one that was asked for,
// or else the newest before this one that was reviewed or commented.
func (v item) compared(q url.Values) *handoff.Artifact {
	after := false
	for i, h := range v.History {
		if h.ID == v.ID {
			after = true
			continue
		}
		switch {
		case q.Has("diff") && q.Get("diff") == h.ID,
			!q.Has("diff") && after && (len(h.Reviews) > 0 || slices.ContainsFunc(h.Comments,
				func(c handoff.Comment) bool { return c.ArtifactID == h.ID })):
			return &v.History[i]
		}
	}
	return nil
}

func (s *Server) content(ctx context.Context, id string) ([]byte, error) {
	b, err := s.o.Workspace.Read(ctx, id, workspace.ReadOptions{})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return io.ReadAll(io.LimitReader(b, contentLimit))
}

func (s *Server) rendered(ctx context.Context, v item) *preview.Preview {
	b, err := s.o.Workspace.Read(ctx, v.ID, workspace.ReadOptions{})
	if err != nil {
		return &preview.Preview{Notes: []string{err.Error()}, Kind: preview.Empty}
	}
	defer b.Close()
	source := preview.Source{Body: b, Name: first(v.Name, v.Path), MediaType: v.MediaType}
	p, err := preview.Render(source, preview.Options{Split: v.Split})
	if err != nil {
		p.Notes = append(p.Notes, err.Error())
	}
	return &p
}

func (s *Server) addLines(ctx context.Context, v *item) {
	if v.IsDirectory() {
		v.Note = "this is a directory: comments are about all of it"
		return
	}
	text, err := s.content(ctx, v.ID)
	var lines []preview.Line
	if err == nil && v.From != nil {
		var before []byte
		if before, err = s.content(ctx, v.From.ID); err == nil {
			from, to := version(*v.From, before), version(v.Artifact, text)
			lines, v.Note = preview.ChangedLines(from, to)
			v.texts = preview.TextsOf(from, to)
		}
	} else if err == nil {
		lines, v.Note = preview.Lines(text)
	}
	if err != nil {
		v.Note = err.Error()
	}
	name := path.Base(first(v.Name, v.Path))
	if v.IsDiff = len(lines) > 0 && lines[0].Class != ""; v.IsDiff && v.From == nil {
		name = "" // a patch names its files
	}
	v.Files = preview.FilesOf(lines, name)
}

// Body returns the lines, with comments and the form at their place. p is the page that they are on.
func (v item) Body(p page) (template.HTML, error) {
	var failed error
	lines := preview.Layout{Split: v.Split, Texts: v.texts, From: v.from, To: v.to,
		Address: func(n int) string { return string(web.Address(v.Query, fmt.Sprintf("at=L%d", n))) + "#form" },
		Below: func(n int) template.HTML {
			comments, form := v.placed[n], v.At != "" && n == v.to
			if len(comments) == 0 && !form {
				return ""
			}
			var b strings.Builder
			err := v.pages.ExecuteTemplate(&b, "below", map[string]any{"Comments": comments, "Form": form, "Page": p})
			failed = errors.Join(failed, err)
			return template.HTML(b.String())
		}}.HTML(v.Files)
	return lines, failed
}

// Changed returns how many lines are added and removed, "" for a text.
func (v item) Changed() string {
	added, removed := 0, 0
	for _, f := range v.Files {
		added, removed = added+f.Added, removed+f.Removed
	}
	if added+removed == 0 {
		return ""
	}
	return textfmt.Changed(added, removed)
}

// scripts returns what the page needs: for lines of code, what colors them.
func (v item) scripts() []string {
	if preview.LanguageOf(v.Files) != "" {
		return []string{"vendor/highlight.min.js", "preview.js"}
	}
	return []string{"preview.js"}
}

// version returns the text of a revision to compare.
func version(a handoff.Artifact, text []byte) preview.Version {
	return preview.Version{Title: "v" + strconv.Itoa(a.Revision), URL: "/bodies/" + a.ID, Text: text}
}

// place selects the lines where comments are shown, and the form.
func (v *item) place(list []reviews.ShownComment) {
	placed, rest := reviews.ByLine(list)
	v.General, v.placed = rest, placed
	isShown := map[int]bool{}
	for _, f := range v.Files {
		for _, l := range f.Lines {
			isShown[l.N] = l.N > 0
		}
	}
	for _, c := range list {
		if c.State == handoff.CommentOpen {
			v.Open++
		}
		isRest := slices.ContainsFunc(rest, func(r reviews.ShownComment) bool { return r.ID == c.ID })
		if !isRest && !isShown[c.Place.LastLine] {
			v.General = append(v.General, c)
		}
	}
	from, last, ok := strings.Cut(v.At, "-")
	if !ok {
		last = from
	}
	v.from, _ = strconv.Atoi(from)
	if v.to, _ = strconv.Atoi(last); !isShown[v.to] {
		v.At, v.from, v.to = "", 0, 0
	}
}

// Several reports whether the form is about several lines.
func (v item) Several() bool { return strings.Contains(v.At, "-") }

// decisions are what the buttons of a form decide.
var decisions = map[string]handoff.Decision{"approve": handoff.Approved, "changes": handoff.ChangesRequested,
	"dismiss": handoff.Dismissed}

// post records what a form has, and leads back to the page.
func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.refuse(w, http.StatusBadRequest, "the form is too large or malformed")
		return
	}
	f := r.PostForm
	if !access.Equal(f.Get("token"), s.token) {
		s.refuse(w, http.StatusForbidden, "the form is not of this server")
		return
	}
	id, comment, text := r.PathValue("id"), f.Get("comment"), strings.ReplaceAll(f.Get("text"), "\r\n", "\n")
	d := reviews.Draft{Text: text, User: s.o.User, Via: s.o.Via, AllowSecret: s.o.AllowSecret}
	switch action := f.Get("action"); action {
	case "comment":
		d.Quote, d.Lines = strings.ReplaceAll(f.Get("quote"), "\r\n", "\n"), f.Get("lines")
	case "reply":
		d.ReplyTo = comment
	case "resolve":
		d.Resolve = []string{comment}
	case "reopen":
		d.Reopen = []string{comment}
	default:
		if d.Decision = decisions[action]; d.Decision == "" {
			s.refuse(w, http.StatusBadRequest, "the form has no known action")
			return
		}
	}
	var done reviews.RecordedReview
	_, err := s.find(r.Context(), id, nil)
	if err == nil {
		done, err = s.o.Workspace.Reviews().Review(r.Context(), id, d)
	}
	q, _ := url.ParseQuery(f.Get("view"))
	if err != nil {
		s.refused(w, r, id, q, d, err)
		return
	}
	to := "/artifacts/" + id
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	anchor := "decision"
	if comment != "" {
		anchor = comment
	} else if d.Decision == "" && len(done.Comments) > 0 {
		anchor = done.Comments[0]
	}
	http.Redirect(w, r, to+"#"+anchor, http.StatusSeeOther)
}

// refused shows the page again, with what was written and why it was not recorded.
func (s *Server) refused(w http.ResponseWriter, r *http.Request, id string, q url.Values, d reviews.Draft, err error) {
	if d.Lines != "" {
		from, to, _ := strings.Cut(d.Lines, "-")
		q.Set("at", strings.TrimSuffix(fmt.Sprintf("L%s-L%s", from, to), "-L"))
	}
	v, unknown := s.find(r.Context(), id, q)
	if unknown != nil {
		s.page(func(*http.Request) (page, error) { return page{}, err }).ServeHTTP(w, r)
		return
	}
	failure := cli.NewFailure(err)
	v.Failure, v.Text, v.Quote = &failure, d.Text, d.Quote
	for _, c := range v.Comments {
		if c.ID == d.ReplyTo {
			v.ReplyTo = c.ID
		}
	}
	s.render(w, page{Name: "item", Title: v.Title, Data: v, Status: statusOf(err)})
}

// body answers with the text of an artifact, from which a script takes the colors of its lines.
func (s *Server) body(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !handoff.IsArtifactID(id) {
		s.refuse(w, http.StatusNotFound, "not the ID of an artifact")
		return
	}
	text, err := s.content(r.Context(), id)
	if err != nil {
		s.refuse(w, statusOf(err), "the content can't be read")
		return
	}
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(text)
}

// contextPage is what is known beside an artifact: it takes longer than its page.
type contextPage struct {
	ID           string
	Verification *trace.Verification
	Receipt      *trace.Receipt
	Attributed   *trace.Origin
	Warnings     []string
}

// context shows the claims of an artifact, what it cost, and where it comes from.
func (s *Server) context(r *http.Request) (page, error) {
	ctx, id := r.Context(), r.PathValue("id")
	v := contextPage{ID: id}
	if !handoff.IsArtifactID(id) {
		return page{}, handoff.E("review", id, handoff.NotFound, errors.New("not the ID of an artifact"), handoff.Hint{})
	}
	shown, err := s.o.Workspace.Show(ctx, id, false)
	if err != nil {
		return page{}, err
	}
	if err := s.o.Workspace.AddTranscripts(ctx, s.o.Threads, &shown); err != nil {
		v.Warnings = append(v.Warnings, err.Error())
	}
	v.Verification, v.Receipt = shown.Verification, shown.Receipt
	origin, err := s.o.Workspace.Why(ctx, s.o.Threads, id)
	if err != nil {
		v.Warnings = append(v.Warnings, err.Error())
	}
	v.Attributed = &origin
	return page{Name: "context", Title: "Behind " + id, Data: v}, nil
}
