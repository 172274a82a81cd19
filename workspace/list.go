package workspace

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/internal/trace/provenance"
	"github.com/agent-handoff/handoff/thread"
)

// A Filter selects artifacts in the words of a caller. Its fields are combined
// with AND; the zero value selects every active artifact.
type Filter struct {
	Channel, Kind, Tag, Name string

	// Producer selects by fields of the producer, by their names in JSON or as in
	// handoff.SlotNames, or by any ID of the harness that an artifact has.
	Producer map[string]string

	Path   string // of the file that it was published from, as the caller names it, in any worktree
	Label  string // it has this label now
	From   string // a ref of an artifact that it was made from
	UsedBy string // an agent, a session or run, or the URI of a thread, that read it
	Stale  bool   // it was made from something that was replaced or withdrawn since

	Competing bool // it is active, and another revision of it too

	Notice handoff.NoticeCode // of one of its notices

	Status          string // active, superseded or withdrawn; "" for active
	IncludeInactive bool   // every status, if Status is ""

	Since, Until string // a time, see ParseTime: at or after, before
}

// query returns the query that a filter means. Kind: Invalid.
func (w *Workspace) query(ctx context.Context, f Filter) (q handoff.ArtifactQuery, err error) {
	q = handoff.ArtifactQuery{Channel: f.Channel, Kind: f.Kind, Tag: f.Tag, Name: f.Name, Label: f.Label, Stale: f.Stale,
		Competing: f.Competing, IncludeInactive: f.IncludeInactive, Producer: map[string]string{}}
	if f.UsedBy != "" {
		if q.UsedBy, err = w.sessions.ResolveProducer(ctx, "agent", f.UsedBy, w.c.Dir); err != nil {
			return q, err
		}
	}
	if f.From != "" {
		if q.Parent, err = w.Resolve(ctx, f.From); err != nil {
			return q, err
		}
	}
	if f.Path != "" {
		file, err := w.recordedPath(ctx, f.Path)
		if err != nil {
			return q, err
		}
		q.Paths = []string{file}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Producer)) {
		field, value := handoff.SlotName(name), f.Producer[name]
		if field == "session" || field == "run" {
			if value, err = w.sessions.ResolveProducer(ctx, field, value, w.c.Dir); err != nil {
				return q, err
			}
		}
		if old, twice := q.Producer[field]; twice && old != value {
			return q, handoff.E("producer", name+"="+value, handoff.Invalid, errors.New("the "+field+" is already "+old),
				handoff.Advice("leave one of them out"))
		}
		q.Producer[field] = value
	}
	q.Status = handoff.Status(f.Status)
	if f.Name != "" {
		if _, err := names.Clean(f.Name); err != nil {
			return q, err
		}
	}
	if q.Status != "" { // of all, just these
		q.IncludeInactive = false
	}
	if q.Since, q.Until, err = config.ParsePeriod(f.Since, f.Until, w.c.Now()); err != nil {
		return q, err
	}
	return q, q.CheckIn(ctx, w.c.Anonymous)
}

// recordedPath returns the path that records have of a file: relative to the worktree
// that it is in, or else to the directory of the caller's session. Kind: Invalid.
func (w *Workspace) recordedPath(ctx context.Context, name string) (file string, err error) {
	for _, root := range w.c.Dirs.Worktrees() {
		relative, outside := w.c.Inside(root, name)
		if outside == nil && (file == "" || len(relative) < len(file)) { // a worktree may be in another one
			file = relative
		}
		err = cmp.Or(err, outside)
	}
	if file != "" {
		return file, nil
	}
	dir, unresolved := filepath.EvalSymlinks(w.c.OwnFolder(ctx))
	if unresolved != nil {
		return "", err
	}
	return w.c.Inside(dir, name)
}

// ParseTime parses a time as people type it: a duration before now (2h, 90m,
// 3d), a date, a date and time, or RFC 3339. "" is the zero time. The name is
// used in errors. Kind: Invalid.
func ParseTime(name, text string, now time.Time) (time.Time, error) {
	return config.ParseTime(name, text, now)
}

// ListOptions select a page of artifacts.
type ListOptions struct {
	Filter
	Limit  int    // the maximum number; 0 for no limit
	Cursor string // where an earlier page ended

	// Text is words that must all be found, as in SearchOptions. The newest 200 artifacts that
	// have them are looked at.
	Text string

	// Threads are the threads whose reads UsedBy selects, besides the uses that
	// are recorded, if there is an index of them. They are added as inferred.
	Threads *thread.Set
}

// textMost is how many artifacts with the words of a list are looked at.
const textMost = 200

// List returns a page of the artifacts that a filter selects, newest first.
//
// Kinds: Invalid, and those of reading the log.
func (w *Workspace) List(ctx context.Context, o ListOptions) (handoff.ArtifactPage, error) {
	q, err := w.query(ctx, o.Filter)
	if err != nil {
		return handoff.ArtifactPage{}, err
	}
	if o.Limit < 0 {
		return handoff.ArtifactPage{}, handoff.E("limit", strconv.Itoa(o.Limit), handoff.Invalid, errors.New("is negative"),
			handoff.Advice("0 lists all"))
	}
	q.Limit, q.Cursor = o.Limit, o.Cursor
	if q, err = w.inParentWork(ctx, q); err != nil {
		return handoff.ArtifactPage{}, err
	}
	isCut := false
	if o.Text != "" {
		found, err := w.Search(ctx, SearchOptions{Text: o.Text, In: []string{InArtifacts}, Limit: textMost,
			IncludeInactive: q.IncludeInactive || q.Status != ""})
		if err != nil {
			return handoff.ArtifactPage{}, err
		}
		q.IDs, isCut = []string{}, found.More
		for _, m := range found.Matches {
			q.IDs = append(q.IDs, m.Artifact.ID)
		}
	}
	if o.Threads != nil && q.UsedBy != "" {
		s := provenance.Sources{Reader: w.c.Anonymous, Conversations: w.transcripts(o.Threads).Archive(false),
			Roots: w.c.Dirs.Worktrees()}
		return s.Used(ctx, q, w.threadsOf(ctx, q.UsedBy))
	}
	page, err := w.selected(ctx, q, o.Notice)
	page.IsCut = isCut
	w.attribution(w.threads).Attribute(ctx, page.Artifacts...)
	return page, err
}

// selected returns the artifacts that q selects, with a code of a notice, "" for any.
func (w *Workspace) selected(ctx context.Context, q handoff.ArtifactQuery, code handoff.NoticeCode) (
	handoff.ArtifactPage, error) {
	read := w.c.Anonymous.Artifacts
	if _, ok := q.Producer["agent"]; ok {
		read = w.attribution(w.threads).ByAgent
	}
	if code != "" {
		return noticed(ctx, read, q, code)
	}
	return read(ctx, q)
}

// Limits of looking for artifacts with a notice, in pages of the log.
const (
	noticedPage  = 200
	noticedPages = 50
)

// noticed returns those of the artifacts that q selects that have a notice with a code. A page
// may have fewer than the limit, and a cursor, because finding more takes long.
func noticed(ctx context.Context, read func(context.Context, handoff.ArtifactQuery) (handoff.ArtifactPage, error),
	q handoff.ArtifactQuery, code handoff.NoticeCode) (found handoff.ArtifactPage, err error) {
	switch code {
	case handoff.NoticeCompeting:
		q.Competing = true
	case handoff.NoticeStale:
		q.Stale = true
	case handoff.NoticeContradicted, handoff.NoticeAttestFailed, handoff.NoticeAsserted, handoff.NoticeVerified:
		q.Claimed = true
	case handoff.NoticeChangesRequested, handoff.NoticeReviewAsked, handoff.NoticeCommented, handoff.NoticeReviewed,
		handoff.NoticeApproved:
		q.Discussed = true
	}
	limit := q.Limit
	q.Limit = noticedPage
	for range noticedPages {
		page, err := read(ctx, q)
		if err != nil {
			return found, err
		}
		found.Damaged = page.Damaged
		for _, a := range page.Artifacts {
			if !slices.Contains(handoff.Codes(a.Notices()), code) {
				continue
			}
			if found.Artifacts = append(found.Artifacts, a); len(found.Artifacts) == limit {
				found.Cursor = handoff.NewCursor(a.Seq)
				return found, nil
			}
		}
		if found.Cursor, q.Cursor = page.Cursor, page.Cursor; q.Cursor == "" {
			break
		}
	}
	return found, ctx.Err()
}

// inParentWork adds to the artifacts that q selects by the parent work of their
// producers those of the work whose record names this parent.
func (w *Workspace) inParentWork(ctx context.Context, q handoff.ArtifactQuery) (handoff.ArtifactQuery, error) {
	const parentWork = "parent-work"
	parent := q.Producer[parentWork]
	if parent == "" {
		return q, nil
	}
	units, err := w.c.Anonymous.WorkIn(ctx, "")
	if err != nil {
		return q, err
	}
	by := []map[string]string{{parentWork: parent}}
	for _, unit := range units {
		if unit.Parent == parent {
			by = append(by, map[string]string{"work": unit.ID, "harness": unit.Harness})
		}
	}
	q.IDs = []string{}
	for _, producer := range by {
		page, err := w.c.Anonymous.Artifacts(ctx, handoff.ArtifactQuery{Producer: producer, IncludeInactive: true})
		if err != nil {
			return q, err
		}
		for _, a := range page.Artifacts {
			q.IDs = append(q.IDs, a.ID)
		}
	}
	q.Producer = maps.Clone(q.Producer)
	delete(q.Producer, parentWork)
	return q, nil
}

// threadsOf returns the URIs of the threads that worked or published in a
// session or run, none if there is no such session, and a URI as it is.
func (w *Workspace) threadsOf(ctx context.Context, name string) []string {
	_, artifacts, err := w.sessions.Read(ctx, name)
	if err != nil {
		return []string{name}
	}
	units, _ := w.c.Anonymous.WorkIn(ctx, name) // what can't be read is left out
	return cost.Threads(units, artifacts)
}

// listPage is the number of artifacts that Pages reads at a time.
const listPage = 500

// Pages yields what List returns. Without a limit it yields it in several pages,
// so that a caller never holds a long list; each shows the state of its artifacts
// when it is read, and none is after the newest one of the first page.
func (o ListOptions) Pages(ctx context.Context, w *Workspace) iter.Seq2[handoff.ArtifactPage, error] {
	return func(yield func(handoff.ArtifactPage, error) bool) {
		all := o.Limit == 0
		if all {
			o.Limit = listPage
		}
		for {
			page, err := w.List(ctx, o)
			if !yield(page, err) || err != nil || !all || page.Cursor == "" {
				return
			}
			o.Cursor = page.Cursor
		}
	}
}

// A Channel is a channel with the number of artifacts in it.
type Channel struct {
	Name    string `json:"name"`
	Count   int    `json:"count"`
	Purpose string `json:"purpose,omitempty"`
}

// A ChannelList has every channel that is in use or that has a purpose.
type ChannelList struct {
	Channels []Channel     `json:"channels"`
	Damaged  []handoff.Seq `json:"damaged,omitempty"` // positions of unreadable records
}

// Channels counts the artifacts that a filter selects by channel. Channels with a
// purpose come first, then the others by name.
//
// Kinds: those of List.
func (w *Workspace) Channels(ctx context.Context, f Filter) (ChannelList, error) {
	q, err := w.query(ctx, f)
	if err != nil {
		return ChannelList{}, err
	}
	newest, err := w.c.Anonymous.Artifacts(ctx, handoff.ArtifactQuery{Limit: 1}) // brings the index up to the log
	if err != nil {
		return ChannelList{}, err
	}
	_, byAgent := q.Producer["agent"]
	if byAgent && w.threads != nil {
		if err := w.attribution(w.threads).IndexNewest(ctx); err != nil {
			return ChannelList{}, err
		}
	}
	count, err := w.c.Index.CountByChannel(ctx, q)
	if byAgent && err == nil {
		err = w.attribution(w.threads).CountByAgent(ctx, q, count)
	}
	if err != nil {
		return ChannelList{}, err
	}
	list := ChannelList{Damaged: newest.Damaged, Channels: []Channel{}}
	for _, known := range w.c.Settings.Purposes() {
		list.Channels = append(list.Channels, Channel{known[0], count[known[0]], known[1]})
		delete(count, known[0])
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		list.Channels = append(list.Channels, Channel{Name: name, Count: count[name]})
	}
	return list, nil
}
