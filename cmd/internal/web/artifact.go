package web

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/preview"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// linkedShown is how many inputs, users and results of an artifact a page shows, and
// revisionsShown how many of its revisions.
const (
	linkedShown    = 50
	revisionsShown = 500
)

// artifactPage is what the page of an artifact shows.
type artifactPage struct {
	handoff.Artifact
	Preview  preview.Preview
	Download string             // the URL of the content
	Problem  string             // why the content can't be shown
	History  []handoff.Artifact // newest first
	Diff     *preview.Preview   // from From to this one
	From     handoff.Artifact
	Markdown bool   // both are Markdown, so that Diff can be of the blocks that they are rendered as
	Changed  string // how many lines differ from the revision before, "" if that is not known
	Inputs   []handoff.Artifact
	Lost     []string // IDs of inputs that the log does not have
	Results  []handoff.Artifact
	MoreMade bool // there are more results
	NoThread bool // the thread that its record names has no transcript here

	Verification *trace.Verification
	Discussion   []reviews.ShownComment
	Query        url.Values    // see viewOf
	Lines        template.HTML // with Discussion, if they were asked for
	LinesNote    string        // why there are no lines, or not all
	IsDiff       bool          // the lines are of a diff
	Split        bool          // its two texts are side by side
}

// artifact shows an artifact by any ref.
func (s *Server) artifact(r *http.Request) (page, error) {
	ctx, ref := r.Context(), r.PathValue("ref")
	art, err := s.find(ctx, ref)
	if err != nil {
		return page{}, err
	}
	p := page{Name: "artifact", Title: art.DisplayName(), Live: true, Section: "/channels", Styles: []string{previewStyle},
		Crumbs: []crumb{{"Channels", "/channels"}, {art.Channel, channelURL(art.Channel)}}}
	a := artifactPage{Artifact: art, Query: viewOf(r), Split: IsSplit(r.URL.Query())}
	known := func() workspace.Shown {
		one := art
		return workspace.Shown{Artifact: &one}
	}
	if shown := s.transcripts(&p, art.ID, known); shown.Artifact != nil {
		a.Attributed, a.UsedBy = shown.Artifact.Attributed, shown.Artifact.UsedBy
		a.NoThread, a.Verification = shown.NoThread, shown.Verification
	}
	if len(art.Comments) > 0 {
		p.Styles = append(p.Styles, "lines.css")
		shown, err := s.o.Source.Artifacts.Show(ctx, art.ID, false)
		p.warn(err)
		a.Discussion = shown.Discussion
	}
	history, err := s.o.Source.Artifacts.History(ctx, art.ID)
	p.warn(err)
	a.History = slices.Clone(history.Artifacts)
	slices.Reverse(a.History)
	s.addLinked(ctx, &p, &a)
	if from := a.Query.Get("diff"); from != "" {
		p.warn(s.addDiff(ctx, &a, from))
	}
	if a.Diff != nil {
		p.scripts(*a.Diff)
	} else {
		s.count(ctx, &a)
	}
	if a.Query.Has("lines") && a.Diff == nil && !a.IsDirectory() {
		p.warn(s.addLines(ctx, &p, &a))
	} else if a.Diff == nil {
		if err := s.showBody(r, &p, &a); err != nil {
			a.Problem = err.Error()
		}
	}
	p.Data = a
	return p, nil
}

// find returns the artifact that a ref names.
func (s *Server) find(ctx context.Context, ref string) (handoff.Artifact, error) {
	if handoff.IsArtifactID(ref) {
		return s.o.Source.Records.Artifact(ctx, ref)
	}
	shown, err := s.o.Source.Artifacts.Show(ctx, ref, false)
	if err == nil && shown.Artifact == nil {
		err = handoff.E("show", ref, handoff.NotFound, errors.New("names a session or an issue"),
			handoff.Suggest("list every artifact", handoff.ActionListAll))
	}
	if err != nil {
		return handoff.Artifact{}, err
	}
	return *shown.Artifact, nil
}

// showBody adds what an artifact published.
func (s *Server) showBody(r *http.Request, p *page, a *artifactPage) error {
	b, err := s.openBody(r.Context(), a.ID)
	if err != nil {
		return err
	}
	defer b.Close()
	a.Download = bodyURL(a.ID)
	a.Preview, err = p.preview(r, preview.Source{Body: b, Name: path.Base(a.Path), MediaType: a.MediaType,
		URL: a.Download + "?image"})
	return err
}

// addLines adds the lines of an artifact, with the comments at their place; the others stay
// in the discussion.
func (s *Server) addLines(ctx context.Context, p *page, a *artifactPage) error {
	text, err := s.text(ctx, a.ID)
	if err != nil {
		return err
	}
	lines, note := preview.Lines(text)
	if a.LinesNote = note; len(lines) == 0 {
		return nil
	}
	at, rest := reviews.ByLine(a.Discussion)
	a.Discussion = rest
	name := path.Base(a.Path)
	if a.IsDiff = lines[0].Class != ""; a.IsDiff {
		name = "" // it names its files
	}
	files := preview.FilesOf(lines, name)
	a.Lines = preview.Layout{Split: a.Split, Below: func(n int) template.HTML {
		if len(at[n]) == 0 {
			return ""
		}
		var b strings.Builder
		if failed := s.templates["artifact"].ExecuteTemplate(&b, "said", at[n]); failed != nil {
			err = failed
		}
		return template.HTML(b.String())
	}}.HTML(files)
	p.scripts(preview.Preview{Kind: preview.Diff, Language: preview.LanguageOf(files), Files: len(files)})
	return err
}

// addLinked adds what an artifact was made from, and what was made from it.
func (s *Server) addLinked(ctx context.Context, p *page, a *artifactPage) {
	for _, id := range a.Parents[:min(linkedShown, len(a.Parents))] {
		in, err := s.o.Source.Artifacts.Show(ctx, id, false)
		if err != nil || in.Artifact == nil {
			a.Lost = append(a.Lost, id)
			continue
		}
		a.Inputs = append(a.Inputs, *in.Artifact)
	}
	made, err := s.o.Source.Artifacts.List(ctx,
		workspace.ListOptions{Filter: workspace.Filter{From: a.ID, IncludeInactive: true}, Limit: linkedShown})
	p.warn(err)
	a.Results, a.MoreMade = made.Artifacts, made.Cursor != ""
}

// addDiff compares an artifact with another revision of it, by lines or as it is rendered.
func (s *Server) addDiff(ctx context.Context, a *artifactPage, from string) error {
	at := slices.IndexFunc(a.History, func(h handoff.Artifact) bool { return h.ID == from })
	if at < 0 {
		return nil
	}
	a.From = a.History[at]
	var both [2]preview.Version
	a.Markdown = true
	for i, one := range []handoff.Artifact{a.From, a.Artifact} {
		text, err := s.text(ctx, one.ID)
		if err != nil {
			return err
		}
		both[i] = preview.Version{Title: revisionName(one), Name: path.Base(one.Path), Text: text, URL: bodyURL(one.ID)}
		a.Markdown = a.Markdown &&
			preview.IsMarkdown(preview.Source{Name: both[i].Name, MediaType: one.MediaType}, text)
	}
	var d preview.Preview
	if a.Markdown && a.Query.Has("rendered") {
		d = preview.MarkdownChanges(both[0].Text, both[1].Text)
	} else {
		d = preview.Changes(both[0], both[1], preview.Layout{Split: a.Split})
	}
	a.Diff = &d
	return nil
}

// countLimit is the size of the largest contents whose differences are counted for each page.
const countLimit = 64 << 10

// count counts the lines that differ from the revision before, unless one of the two is large
// or is not text.
func (s *Server) count(ctx context.Context, a *artifactPage) {
	older := a.Older(a.ID)
	if older == nil {
		return
	}
	var texts [2][]byte
	for i, one := range []handoff.Artifact{*older, a.Artifact} {
		if one.IsDirectory() || one.SizeBytes == nil || *one.SizeBytes > countLimit {
			return
		}
		var err error
		if texts[i], err = s.text(ctx, one.ID); err != nil {
			return // the page shows the error of its own content
		}
	}
	if added, removed, ok := preview.Counts(texts[0], texts[1]); ok {
		a.Changed = textfmt.Changed(added, removed)
	}
}

// Revisions returns the newest revisions, and Earlier how many there are before them.
func (a artifactPage) Revisions() []handoff.Artifact {
	return a.History[:min(revisionsShown, len(a.History))]
}

// Earlier is described at Revisions.
func (a artifactPage) Earlier() int { return len(a.History) - len(a.Revisions()) }

// Commands returns the commands that review an active artifact, for people to copy.
func (a artifactPage) Commands() []shellCommand {
	if a.Status != handoff.Active {
		return nil
	}
	review := cli.Name() + " review " + a.ID
	return []shellCommand{{"comment on it", review + " -m TEXT", "c"}, {"approve it", review + " --approve", "a"},
		{"request changes", review + " --request-changes -m TEXT", "r"}}
}

// Older returns the revision before one of the page, if there is one.
func (a artifactPage) Older(id string) *handoff.Artifact {
	for i, h := range a.History {
		if h.ID == id && i+1 < len(a.History) {
			return &a.History[i+1]
		}
	}
	return nil
}
