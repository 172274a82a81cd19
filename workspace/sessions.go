package workspace

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
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/names/lineage"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/internal/session/manifest"
)

// The statuses with which a session is closed.
const (
	Completed = session.Completed
	Failed    = session.Failed
	Cancelled = session.Cancelled
)

// Stalled is the status of a session that was not closed and shows no activity.
const Stalled = session.Stalled

// SessionStatuses returns the statuses that a session can have: those with which
// it is closed, running, and stalled for one that shows no activity.
func SessionStatuses() []string { return append([]string(nil), session.Statuses...) }

// OutputTypes returns the types of a session's outputs.
func OutputTypes() []string { return append([]string(nil), session.Types...) }

// A SessionChange is the result of changing a session.
type SessionChange struct {
	ID       string   `json:"id"`
	Warnings []string `json:"warnings,omitempty"`
}

// ResolveSession returns the ID of the session or run that a ref names: its ID, a
// prefix of its ID of at least six characters, WORKFLOW#2 for the second execution
// of a workflow, or the path of its folder. "" is the caller's session.
//
// Kinds: NotFound, Conflict (several match; the hint lists them), Invalid (the
// caller has no session).
func (w *Workspace) ResolveSession(ctx context.Context, ref string) (string, error) {
	if ref = cmp.Or(ref, w.ownSession()); ref == "" {
		return "", handoff.E("find session", "", handoff.Invalid, errors.New("no session given"),
			handoff.Advice("name a session, or set HANDOFF_SESSION"))
	}
	s, err := w.sessions.Resolve(ctx, ref, w.caller.Dir)
	return s.ID, err
}

// changeSession changes one session, by default the caller's.
func (w *Workspace) changeSession(ctx context.Context, ref string,
	change func(ss *session.Sessions, id string) ([]string, error)) (SessionChange, error) {
	id, err := w.ResolveSession(ctx, ref)
	if err != nil {
		return SessionChange{}, err
	}
	warnings, err := change(w.sessions.As(w.caller.Producer), id)
	if err != nil {
		return SessionChange{}, err
	}
	return SessionChange{id, append(warnings, w.finish(ctx, "")...)}, nil
}

// ownSession returns the ID of the caller's session, "" for none. A harness's own
// ID is not that of a session that handoff opened.
func (w *Workspace) ownSession() string {
	if p := w.caller.Producer; p.Source != handoff.FromHarness && p.Source != handoff.FromInherited {
		return p.Session
	}
	return ""
}

// A SessionOutput is a file to register as an output of a session.
type SessionOutput struct {
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
func (w *Workspace) AddOutput(ctx context.Context, id string, o SessionOutput) (handoff.Published, error) {
	id, err := w.ResolveSession(ctx, id)
	if err != nil {
		return handoff.Published{}, err
	}
	add := session.Addition{Type: o.Type, Description: o.Description, Channel: o.Channel, Title: o.Title, Key: o.Key,
		Tags: o.Tags}
	if add.Parents, err = w.resolveAll(ctx, o.From); err != nil {
		return handoff.Published{}, err
	}
	if add.Replaces, err = w.resolveAll(ctx, o.Replaces); err != nil {
		return handoff.Published{}, err
	}
	p := w.caller.Producer
	add.File, p.Agent, err = w.sessions.Locate(ctx, id, p, w.caller.Dir, o.File)
	if err != nil {
		return handoff.Published{}, err
	}
	done, err := w.sessions.As(p).Add(ctx, id, p, add)
	if err == nil {
		done.Warnings = append(done.Warnings, w.finish(ctx, "")...)
	}
	return done, err
}

// A SessionNote has what to update of a session. A nil field stays as it is.
type SessionNote struct {
	Name         *string        // one line of at most handoff.MaxTitle characters, "" for the computed one
	Tags         []string       // to add
	Untag        []string       // tags to remove
	UserSummary  *string        // the user's first message
	MessageCount *int           // the number of messages
	Metadata     map[string]any // keys to set
	Links        []string       // sessions that it builds on: session refs, or artifacts of them
}

func (n SessionNote) onlyLinks() bool {
	return n.Name == nil && len(n.Tags)+len(n.Untag)+len(n.Metadata) == 0 && n.UserSummary == nil && n.MessageCount == nil
}

// SetSession updates a session. An empty ID is the caller's session. A linked session
// that is not recorded here causes a warning.
//
// Kinds: Invalid, NotFound, Conflict (an ambiguous ref).
func (w *Workspace) SetSession(ctx context.Context, id string, n SessionNote) (SessionChange, error) {
	fact := handoff.SessionNoted{Name: n.Name, Tags: n.Tags, RemovedTags: n.Untag, UserSummary: n.UserSummary,
		MessageCount: n.MessageCount}
	if n.Name != nil {
		name := strings.Join(strings.Fields(*n.Name), " ")
		if n := len([]rune(name)); n > handoff.MaxTitle {
			return SessionChange{}, handoff.E("set session", id, handoff.Invalid, fmt.Errorf("name has %d characters", n),
				handoff.Advice(fmt.Sprintf("shorten it (max %d characters)", handoff.MaxTitle)))
		}
		fact.Name = &name
	}
	var err error
	if fact.Metadata, err = session.EncodeValues(n.Metadata); err != nil {
		return SessionChange{}, handoff.E("set session", id, handoff.Invalid, errors.New("invalid metadata: "+err.Error()),
			handoff.Advice("use values that can be encoded as JSON"))
	}
	targets := make([]string, len(n.Links))
	for i, ref := range n.Links {
		if targets[i], err = w.sessions.ResolveLink(ctx, ref, w.caller.Dir, w.Resolve); err != nil {
			return SessionChange{}, err
		}
	}
	return w.changeSession(ctx, id, func(ss *session.Sessions, id string) (warnings []string, err error) {
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

// CloseSession records that a session ended as Completed, Failed or Cancelled.
// The first close determines its status. An empty ID is the caller's session.
//
// Kinds: Invalid, NotFound.
func (w *Workspace) CloseSession(ctx context.Context, id, status, reason string) (SessionChange, error) {
	return w.changeSession(ctx, id, func(ss *session.Sessions, id string) ([]string, error) {
		return ss.Close(ctx, id, status, reason, time.Time{})
	})
}

// AdoptOptions change what AdoptSessions imports.
type AdoptOptions = session.AdoptOptions

// An Adoption is the result of importing or checking one folder.
type Adoption = session.Adoption

// Statuses of an Adoption.
const (
	Adopted   = session.Adopted
	Unadopted = session.Unadopted // its manifest is invalid
)

// Adoptions are the results for the session folders in a directory.
type Adoptions struct {
	Sessions []Adoption    `json:"sessions"`
	Names    []AdoptedName `json:"names,omitempty"` // files of runs that another engine wrote
	Warnings []string      `json:"warnings,omitempty"`
}

// An AdoptedName is a file in artifacts/RUN of a directory, recorded as a name of the
// run.
type AdoptedName = names.Adopted

// AdoptSessions imports session folders that another engine created: the given
// one, or each one inside a directory. From then on handoff renders their
// manifests; fields that handoff does not know are kept. In a directory, a folder
// that can't be imported is in the result with its problems. In a directory without
// session folders, the files in artifacts/RUN, as pi writes them, become names of the
// runs; it may be outside the workspace. No file is moved.
//
// Kinds: Invalid, NotFound, Unavailable, Conflict (the ID of another session).
func (w *Workspace) AdoptSessions(ctx context.Context, dir string, o AdoptOptions) (Adoptions, error) {
	if err := w.hub.Closed(); err != nil {
		return Adoptions{}, err
	}
	if names.HasArtifacts(w.path(dir)) {
		list, err := names.AdoptAll(ctx, w.as, w.dirs.Root, w.path(dir), o.DryRun)
		return Adoptions{Sessions: []Adoption{}, Names: list}, err
	}
	folder, err := w.inside(w.dirs.Home(), dir)
	if err != nil {
		return Adoptions{}, handoff.E("adopt session", dir, handoff.Invalid, errors.New("folder is outside the workspace"),
			handoff.Advice("name a session's folder inside "+w.dirs.Home()))
	}
	var done Adoptions
	adopt := func() (err error) {
		done.Sessions, done.Warnings, err = w.sessions.As(w.caller.Producer).AdoptTree(ctx, folder, o)
		return err
	}
	if o.DryRun {
		err = adopt()
	} else if err = w.mover().Locked(ctx, adopt); err == nil { // so that two processes don't record the same
		done.Warnings = append(done.Warnings, w.finish(ctx, "")...)
	}
	return done, err
}

// UnrecordedSessions returns the session folders in {agent_outputs_folder} that
// are not recorded: those that can be imported, those whose manifest is invalid,
// and those without a manifest, by the UUID that is their name.
//
// Kinds: Invalid, Unavailable.
func (w *Workspace) UnrecordedSessions(ctx context.Context) (Adoptions, error) {
	if err := w.hub.Closed(); err != nil {
		return Adoptions{}, err
	}
	outputs, err := w.launcher().Explain("agent_outputs_folder", VariableOptions{})
	if err != nil {
		return Adoptions{}, err
	}
	list, err := w.sessions.Unrecorded(ctx, below(w.dirs.Home(), outputs.Value))
	return Adoptions{Sessions: list}, err
}

// A SessionView is a session with its status and names as of now.
type SessionView = session.View

// A SessionPage is a page of sessions.
type SessionPage = session.Page

// A SessionFilter selects sessions. Its fields are combined with AND; the zero
// value selects every session that is not a run.
type SessionFilter struct {
	Agent, User, Tag string
	Workflow         string // a regular expression that the workflow's name matches
	Status           string // one of SessionStatuses
	OutputType       string // one of OutputTypes: sessions with an active output of it
	Parent           string // the ID of a session or run: the runs directly in it
	Since, Until     string // a time, see ParseTime: started at or after, before
	IncludeRuns      bool   // not needed with Agent, Workflow or OutputType
	Archived         bool   // those in the archive instead
	Deleted          bool   // those in the trash instead
	WithOutputs      bool   // return the outputs of each session
	Limit            int    // the maximum number; 0 for no limit
	Cursor           string // the end of an earlier page
}

// FindSessions returns a page of the sessions that a filter selects, newest
// first. A filter for what agents do, by agent, workflow or type of output, also
// selects runs inside sessions. Kind: Invalid.
func (w *Workspace) FindSessions(ctx context.Context, f SessionFilter) (SessionPage, error) {
	q := session.Query{OutputType: f.OutputType, Outputs: f.WithOutputs, Observer: session.ThisObserver(), Now: w.now()}
	q.Agent, q.User, q.Tag, q.Status, q.IncludeRuns, q.Limit, q.Cursor = f.Agent, f.User, f.Tag, f.Status, f.IncludeRuns ||
		f.Agent+f.Workflow+f.OutputType != "", f.Limit, f.Cursor
	q.Parent = f.Parent
	q.Archived, q.Deleted, q.IncludeArchived = f.Archived, f.Deleted, f.Archived || f.Deleted
	var err error
	if q.Workflow, err = session.WorkflowPattern(f.Workflow); err != nil {
		return SessionPage{}, err
	}
	if q.Since, q.Until, err = config.ParsePeriod(f.Since, f.Until, w.now()); err != nil {
		return SessionPage{}, err
	}
	return session.Find(ctx, w.hub, q)
}

// A SessionOutputFile is a file that a session's manifest lists as an output.
type SessionOutputFile = manifest.Output

// A SessionFile is one file or directory of a session's folder.
type SessionFile = session.Entry

// SessionFiles returns what is in the folder of a session or run, sorted by path,
// and OpenSessionFile opens one of the files. Links are listed and not followed.
// A folder outside {agent_outputs_folder} is not read.
//
// Kinds: NotFound, Unavailable, and Invalid (the folder; the path is not that of a
// regular file in it).
func (w *Workspace) SessionFiles(ctx context.Context, id string) ([]SessionFile, error) {
	if err := w.checkFolder(ctx, id); err != nil {
		return nil, err
	}
	return w.sessions.List(ctx, id)
}

// OpenSessionFile is described at SessionFiles.
func (w *Workspace) OpenSessionFile(ctx context.Context, id, name string) (*os.File, error) {
	if err := w.checkFolder(ctx, id); err != nil {
		return nil, err
	}
	return w.sessions.OpenFile(ctx, id, name)
}

// checkFolder returns an error if the folder of a session is not where sessions
// have their folders: a record can name any folder of the workspace.
func (w *Workspace) checkFolder(ctx context.Context, id string) error {
	s, err := w.sessions.Session(ctx, id)
	if err != nil {
		return err
	}
	outputs, err := w.launcher().Explain("agent_outputs_folder", VariableOptions{})
	if err != nil {
		return err
	}
	if !strings.HasPrefix(s.Folder, below(w.dirs.Home(), outputs.Value)+"/") {
		return handoff.E("open session folder", cmp.Or(s.Folder, id), handoff.Invalid,
			errors.New("is not in the folder for the outputs of agents"), handoff.Advice("set agent_outputs_folder"))
	}
	return nil
}

// LatestOutput returns the newest active output of a type, and its file, from
// the newest completed session that has one. The session is of the given agent
// and the name of its workflow matches a regular expression. An empty argument
// matches all.
//
// Kinds: Invalid, NotFound.
func (w *Workspace) LatestOutput(ctx context.Context, agent, workflow, outputType string) (a handoff.Artifact,
	file string, err error) {
	re, err := session.WorkflowPattern(workflow)
	if err != nil {
		return handoff.Artifact{}, "", err
	}
	if a, err = session.LatestOutput(ctx, w.hub, agent, re, outputType); err != nil {
		return handoff.Artifact{}, "", err
	}
	return a, w.File(ctx, a), nil
}

// SessionGraph returns the sessions that a session builds on and those that
// build on it. An empty ID is the caller's session, whose ID is returned too.
//
// Kinds: Invalid, NotFound.
func (w *Workspace) SessionGraph(ctx context.Context, id string) (string, Graph, error) {
	id, err := w.ResolveSession(ctx, id)
	if err != nil {
		return "", Graph{}, err
	}
	g, err := lineage.OfSession(ctx, w.hub, id)
	return id, g, err
}
