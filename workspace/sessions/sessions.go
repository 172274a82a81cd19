package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/lineage"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/storage"
)

// Stalled is the status of a session that was not closed and shows no activity.
const Stalled = lifecycle.Stalled

// Statuses returns the statuses that a session can have: those with which
// it is closed, running, and stalled for one that shows no activity.
func Statuses() []string { return append([]string(nil), lifecycle.Statuses...) }

// OutputTypes returns the types of a session's outputs.
func OutputTypes() []string { return append([]string(nil), lifecycle.Types...) }

// Notices returns the codes of the notices of sessions, the worst first.
func Notices() []string { return append([]string(nil), lifecycle.NoticeCodes...) }

// A Change is the result of changing a session.
type Change struct {
	ID       string   `json:"id"`
	Warnings []string `json:"warnings,omitempty"`
}

// Resolve returns the ID of the session or run that a ref names: its ID, a
// prefix of its ID of at least six characters, WORKFLOW#2 for the second execution
// of a workflow, or the path of its folder. "" is the caller's session.
//
// Kinds: NotFound, Conflict (several match; the hint lists them), Invalid (the
// caller has no session).
func (s Sessions) Resolve(ctx context.Context, ref string) (string, error) {
	if ref = cmp.Or(ref, s.c.OwnSession()); ref == "" {
		return "", handoff.E("find session", "", handoff.Invalid, errors.New("no session given"),
			handoff.Advice("name a session").OrSet("HANDOFF_SESSION"))
	}
	found, err := s.all.Resolve(ctx, ref, s.c.Dir)
	return found.ID, err
}

// changeSession changes one session, by default the caller's.
func (s Sessions) changeSession(ctx context.Context, ref string,
	change func(ss *lifecycle.Sessions, id string) ([]string, error)) (Change, error) {
	id, err := s.Resolve(ctx, ref)
	if err != nil {
		return Change{}, err
	}
	warnings, err := change(s.recorder(), id)
	if err != nil {
		return Change{}, err
	}
	return Change{id, append(warnings, s.c.Finish(ctx, "")...)}, nil
}

// A Output is a file to register as an output of a session.
type Output struct {
	File        string // as the caller types it; relative to the session's folder if it is not in it
	Type        string // one of OutputTypes
	Description string // one line
	Channel     string // by default handoff
	Title       string
	Key         string // adding again under one key returns the first artifact
	Tags        []string
	Replaces    []string // refs of the artifacts that it takes the place of
	From        []string // refs of the artifacts that it was made from
}

// AddOutput publishes a file in a session's folder as an artifact of the session
// and lists it in the manifest. An empty ID is the caller's session.
//
// Kinds: Invalid (also a file outside the folder), NotFound, and those of
// Publish.
func (s Sessions) AddOutput(ctx context.Context, id string, o Output) (handoff.Published, error) {
	id, err := s.Resolve(ctx, id)
	if err != nil {
		return handoff.Published{}, err
	}
	add := lifecycle.Addition{Type: o.Type, Description: o.Description, Channel: o.Channel, Title: o.Title, Key: o.Key,
		Tags: o.Tags}
	if add.Parents, err = s.c.ResolveAll(ctx, o.From); err != nil {
		return handoff.Published{}, err
	}
	if add.Replaces, err = s.c.ResolveAll(ctx, o.Replaces); err != nil {
		return handoff.Published{}, err
	}
	p := s.c.Producer
	add.File, p.Agent, err = s.all.Locate(ctx, id, p, s.c.Dir, o.File)
	if err != nil {
		return handoff.Published{}, err
	}
	done, err := s.all.As(p).Add(ctx, id, p, add)
	if err == nil {
		done.Warnings = append(done.Warnings, s.c.Finish(ctx, "")...)
	}
	return done, err
}

// A Note has what to update of a session. A nil field stays as it is.
type Note struct {
	Name         *string        // one line of at most handoff.MaxTitle characters, "" for the computed one
	Tags         []string       // to add
	Untag        []string       // tags to remove
	UserSummary  *string        // the user's first message
	MessageCount *int           // the number of messages
	Metadata     map[string]any // keys to set
	Links        []string       // sessions that it builds on: session refs, or artifacts of them
}

func (n Note) onlyLinks() bool {
	return n.Name == nil && len(n.Tags)+len(n.Untag)+len(n.Metadata) == 0 && n.UserSummary == nil && n.MessageCount == nil
}

// Set updates a session. An empty ID is the caller's session. A linked session
// that is not recorded here causes a warning.
//
// Kinds: Invalid, NotFound, Conflict (an ambiguous ref).
func (s Sessions) Set(ctx context.Context, id string, n Note) (Change, error) {
	fact := handoff.SessionNoted{Name: n.Name, Tags: n.Tags, RemovedTags: n.Untag, UserSummary: n.UserSummary,
		MessageCount: n.MessageCount}
	if n.Name != nil {
		name := strings.Join(strings.Fields(*n.Name), " ")
		if n := len([]rune(name)); n > handoff.MaxTitle {
			return Change{}, handoff.E("set session", id, handoff.Invalid, fmt.Errorf("name has %d characters", n),
				handoff.Advice(fmt.Sprintf("shorten it (max %d characters)", handoff.MaxTitle)))
		}
		fact.Name = &name
	}
	var err error
	if fact.Metadata, err = lifecycle.EncodeValues(n.Metadata); err != nil {
		return Change{}, handoff.E("set session", id, handoff.Invalid, errors.New("invalid metadata: "+err.Error()),
			handoff.Advice("use values that can be encoded as JSON"))
	}
	targets := make([]string, len(n.Links))
	for i, ref := range n.Links {
		if targets[i], err = s.all.ResolveLink(ctx, ref, s.c.Dir, s.c.Resolve); err != nil {
			return Change{}, err
		}
	}
	return s.changeSession(ctx, id, func(ss *lifecycle.Sessions, id string) (warnings []string, err error) {
		if len(targets) == 0 || !n.onlyLinks() {
			fact.SessionID = id
			warnings, err = ss.Note(ctx, fact)
		}
		for i := 0; i < len(targets) && err == nil; i++ {
			var more []string
			more, err = ss.Link(ctx, id, targets[i])
			warnings = append(warnings, more...)
		}
		return warnings, err
	})
}

// Close records that a session ended as Completed, Failed or Cancelled.
// The first close determines its status. An empty ID is the caller's session.
//
// Kinds: Invalid, NotFound.
func (s Sessions) Close(ctx context.Context, id, status, reason string) (Change, error) {
	return s.changeSession(ctx, id, func(ss *lifecycle.Sessions, id string) ([]string, error) {
		return ss.Close(ctx, id, status, reason, time.Time{})
	})
}

// Adoptions are the results for the session folders in a directory.
type Adoptions struct {
	Sessions []session.Adoption    `json:"sessions"`
	Names    []storage.AdoptedName `json:"names,omitempty"` // files of runs that another engine wrote
	Warnings []string              `json:"warnings,omitempty"`
}

// Adopt imports session folders that another engine created: the given
// one, or each one inside a directory. From then on handoff renders their
// manifests; fields that handoff does not know are kept. In a directory, a folder
// that can't be imported is in the result with its problems. In a directory without
// session folders, the files in artifacts/RUN, as pi writes them, become names of the
// runs; it may be outside the workspace. No file is moved.
//
// Kinds: Invalid, NotFound, Unavailable, Conflict (the ID of another session).
func (s Sessions) Adopt(ctx context.Context, dir string, o session.AdoptOptions) (Adoptions, error) {
	if err := s.c.Hub.Closed(); err != nil {
		return Adoptions{}, err
	}
	if names.HasArtifacts(s.c.Path(dir)) {
		list, err := names.AdoptAll(ctx, s.c.Hub, s.c.Dirs.Root, s.c.Path(dir), o.DryRun)
		return Adoptions{Sessions: []session.Adoption{}, Names: list}, err
	}
	folder, err := s.c.Inside(s.c.Dirs.Home(), dir)
	if err != nil {
		return Adoptions{}, handoff.E("adopt session", dir, handoff.Invalid, errors.New("folder is outside the workspace"),
			handoff.Advice("name a session's folder inside "+s.c.Dirs.Home()))
	}
	var done Adoptions
	adopt := func() (err error) {
		done.Sessions, done.Warnings, err = s.recorder().Adopt(ctx, folder, o)
		return err
	}
	if o.DryRun {
		err = adopt()
	} else if err = s.all.Locked(ctx, adopt); err == nil { // so that two processes don't record the same
		done.Warnings = append(done.Warnings, s.c.Finish(ctx, "")...)
	}
	return done, err
}

// Unrecorded returns the session folders in {agent_outputs_folder} that
// are not recorded: those that can be imported, those whose manifest is invalid,
// and those without a manifest, by the UUID that is their name.
//
// Kinds: Invalid, Unavailable.
func (s Sessions) Unrecorded(ctx context.Context) (Adoptions, error) {
	if err := s.c.Hub.Closed(); err != nil {
		return Adoptions{}, err
	}
	outputs, err := s.outputs()
	if err != nil {
		return Adoptions{}, err
	}
	list, err := s.all.Unrecorded(ctx, outputs)
	return Adoptions{Sessions: list}, err
}

// A Filter selects sessions. Its fields are combined with AND; the zero
// value selects every session that is not a run.
type Filter struct {
	Agent, User, Tag string
	Workflow         string // a regular expression that the workflow's name matches
	Status           string // one of Statuses
	Text             string // words that must all be found, as by a search: of the newest 200 that have them
	OutputType       string // one of OutputTypes: sessions with an active output of it
	Notice           string // one of Notices: sessions with this notice
	Parent           string // the ID of a session or run: the runs directly in it
	Since, Until     string // a time, see ParseTime: started at or after, before
	IncludeRuns      bool   // not needed with Agent, Workflow or OutputType
	Archived         bool   // those in the archive instead
	Deleted          bool   // those in the trash instead
	WithOutputs      bool   // return the outputs of each session
	WithCounts       bool   // count what each session published, and look up whether it left what it should
	Limit            int    // the maximum number; 0 for no limit
	Cursor           string // the end of an earlier page
}

// Find returns a page of the sessions that a filter selects, newest
// first. A filter for what agents do, by agent, workflow or type of output, also
// selects runs inside sessions. An agent that no session has is the title of one. The folder
// of each session is absolute, as Open returns it. Kind: Invalid.
func (s Sessions) Find(ctx context.Context, f Filter) (session.Page, error) {
	q := lifecycle.Query{OutputType: f.OutputType, Notice: f.Notice, Outputs: f.WithOutputs, Expected: f.WithCounts,
		Observer: lifecycle.ThisObserver(), Now: s.c.Now()}
	q.SessionQuery = handoff.SessionQuery{Agent: f.Agent, User: f.User, Tag: f.Tag, Status: f.Status, Parent: f.Parent,
		IncludeRuns: f.IncludeRuns || f.Agent+f.Workflow+f.OutputType != "", Limit: f.Limit, Cursor: f.Cursor,
		IncludeArchived: f.Archived || f.Deleted}
	q.Archived, q.Deleted = f.Archived, f.Deleted
	var err error
	if q.Workflow, err = lifecycle.WorkflowPattern(f.Workflow); err != nil {
		return session.Page{}, err
	}
	if q.Since, q.Until, err = config.ParsePeriod(f.Since, f.Until, s.c.Now()); err != nil {
		return session.Page{}, err
	}
	isCut := false
	if f.Text != "" {
		if q.IDs, isCut, err = s.matching(ctx, f.Text, q.IncludeArchived); err != nil {
			return session.Page{}, err
		}
	}
	page, err := lifecycle.Find(ctx, s.c.Hub, q)
	if err == nil && f.Agent != "" && len(page.Sessions) == 0 {
		if q.Agent, err = s.titled(ctx, f.Agent); err == nil && q.Agent != "" {
			page, err = lifecycle.Find(ctx, s.c.Hub, q)
		}
	}
	page.IsCut = isCut
	for i, v := range page.Sessions {
		if v.Folder != "" {
			page.Sessions[i].Folder = s.c.Folder(v.Session)
		}
	}
	if err != nil || !f.WithCounts {
		return page, err
	}
	var ids []string
	for _, v := range page.Sessions {
		ids = append(ids, v.ID)
	}
	counts, err := s.c.Index.CountIn(ctx, ids)
	for i, v := range page.Sessions {
		page.Sessions[i].Published = counts[v.ID]
	}
	return page, err
}

// textMost is how many sessions with the words of a list are looked at.
const textMost = 200

// matching returns the IDs of the newest textMost sessions and runs that have all words, and
// whether there are more.
func (s Sessions) matching(ctx context.Context, words string, archived bool) (ids []string, more bool, err error) {
	ids = []string{}
	if _, err = s.c.Hub.Newest(ctx); err != nil { // which brings the index up to the log
		return ids, false, err
	}
	found, err := s.c.Index.SearchSessions(ctx,
		sqlindex.Query{Text: words, IncludeInactive: archived, Limit: textMost + 1})
	for _, m := range found[:min(len(found), textMost)] {
		ids = append(ids, m.Session.ID)
	}
	return ids, len(found) > textMost, err
}

// titled returns the name of the agent with a title, in any case, "" if no session has one.
func (s Sessions) titled(ctx context.Context, title string) (string, error) {
	ids, _, err := s.matching(ctx, title, true)
	if errors.Is(err, handoff.Invalid) { // it has no word
		return "", nil
	}
	if err != nil || len(ids) == 0 {
		return "", err
	}
	found, err := s.c.Hub.Sessions(ctx, handoff.SessionQuery{IDs: ids, IncludeRuns: true, IncludeArchived: true})
	for _, v := range found.Sessions {
		if strings.EqualFold(v.Agent.Title, title) {
			return v.Agent.Name, err
		}
	}
	return "", err
}

// Files returns what is in the folder of a session or run, sorted by path,
// and OpenFile opens one of the files. Links are listed and not followed.
// A folder outside {agent_outputs_folder} is not read; one inside that is not recorded is
// named by its UUID.
//
// Kinds: NotFound, Unavailable, and Invalid (the folder; the path is not that of a
// regular file in it).
func (s Sessions) Files(ctx context.Context, id string) ([]session.File, error) {
	found, err := s.withFolder(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.all.List(found)
}

// OpenFile is described at Files.
func (s Sessions) OpenFile(ctx context.Context, id, name string) (*os.File, error) {
	found, err := s.withFolder(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.all.OpenFile(found, name)
}

// withFolder returns a session whose folder may be read. A folder that is not recorded,
// whose name is the UUID of a session, is one. A record can name any folder of the
// workspace: one that is not where sessions have their folders is an error.
func (s Sessions) withFolder(ctx context.Context, id string) (handoff.Session, error) {
	outputs, err := s.outputs()
	if err != nil {
		return handoff.Session{}, err
	}
	found, err := s.all.Session(ctx, id)
	if errors.Is(err, handoff.NotFound) {
		unrecorded, failed := s.all.Unrecorded(ctx, outputs)
		for _, folder := range unrecorded {
			if folder.ID == id && failed == nil {
				found, err = handoff.Session{ID: id, Folder: folder.Folder}, nil
			}
		}
	}
	if err != nil {
		return handoff.Session{}, err
	}
	if !strings.HasPrefix(found.Folder, outputs+"/") {
		return handoff.Session{}, handoff.E("open session folder", cmp.Or(found.Folder, id), handoff.Invalid,
			errors.New("is not in the folder for the outputs of agents"), handoff.Advice("set agent_outputs_folder"))
	}
	return found, nil
}

// LatestOutput returns the newest active output of a type, and its file, from
// the newest completed session that has one. The session is of the given agent
// and the name of its workflow matches a regular expression. An empty argument
// matches all.
//
// Kinds: Invalid, NotFound.
func (s Sessions) LatestOutput(ctx context.Context, agent, workflow, outputType string) (a handoff.Artifact,
	file string, err error) {
	re, err := lifecycle.WorkflowPattern(workflow)
	if err != nil {
		return handoff.Artifact{}, "", err
	}
	if a, err = lifecycle.LatestOutput(ctx, s.c.Hub, agent, re, outputType); err != nil {
		return handoff.Artifact{}, "", err
	}
	return a, s.c.File(ctx, a), nil
}

// Graph returns the sessions that a session builds on and those that
// build on it. An empty ID is the caller's session, whose ID is returned too.
//
// Kinds: Invalid, NotFound.
func (s Sessions) Graph(ctx context.Context, id string) (string, lineage.Graph, error) {
	id, err := s.Resolve(ctx, id)
	if err != nil {
		return "", lineage.Graph{}, err
	}
	g, err := lineage.OfSession(ctx, s.c.Hub, id)
	return id, g, err
}
