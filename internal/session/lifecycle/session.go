// Package lifecycle gives each execution of an agent's workflow a folder, a
// manifest, an end, and names by which people and later agents find it.
//
// A session is an ID and the facts about it; [handoff.Session] is their fold.
// From that fold this package computes the manifest, which is rendered and
// never read back, the display names, and whether a session's processes still
// exist. [Sessions] records the facts.
package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/session"
)

// Sessions opens, changes and closes the sessions of one workspace. It records
// facts through a hub and renders manifests; it is not an index, and asks the
// hub for everything it returns.
type Sessions struct {
	Options
	hub      *handoff.Hub
	throttle *throttle
}

// Options are what Sessions takes from its workspace.
type Options struct {
	Files   *os.Root // the directory that contains the folders of all sessions
	Root    string   // the workspace, absolute; a file outside it is recorded relative to its session's folder
	Now     func() time.Time
	Rand    io.Reader
	Pending Pending // nil if nothing tracks which manifests are out of date

	Runtime func() (*os.Root, error) // opens the runtime directory, whose lock Locked holds
}

// Pending tracks which manifests are out of date, so that another process can
// render them if this one is killed.
type Pending interface {
	// Rendered reports that a session's manifest, whose digest is sum, includes all
	// records up to upTo. It returns true if the manifest must be rendered again.
	Rendered(ctx context.Context, id string, upTo handoff.Seq, sum string) (again bool, err error)
	// Extendable returns the digest of a session's manifest as it was last rendered, "" if
	// since then more happened than that artifacts were published.
	Extendable(ctx context.Context, id string) (sum string, err error)
}

// New returns the sessions of a workspace whose log hub writes to.
func New(hub *handoff.Hub, o Options) *Sessions {
	return &Sessions{Options: o, hub: hub, throttle: newThrottle(o.Now)}
}

// As returns the same sessions with p as the producer of what it records.
func (ss *Sessions) As(p handoff.Producer) *Sessions {
	as := *ss
	as.hub = ss.hub.As(p)
	return &as
}

// Flush renders the manifests whose rendering was delayed.
func (ss *Sessions) Flush() { ss.throttle.flush() }

// An Opening describes a new session. Only its folder and the names of agent
// and workflow are required; a run takes those names from its parent.
type Opening struct {
	ID        string // a version 4 UUID, generated if ""; for a run any text
	Parent    string // the session that a run is part of
	Agent     handoff.SessionAgent
	Workflow  handoff.SessionWorkflow
	User      string
	Inputs    map[string]json.RawMessage
	Folder    string          // slash-separated, in Options.Files
	Expected  []string        // names or paths of the outputs that it should leave
	Dir       string          // the directory in the workspace that they may be relative to
	StartedAt time.Time       // zero means the current time
	Process   handoff.Process // handoff itself, if it waits for the end of the session
}

var uuidV4 = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
})

// isID reports whether s has the form of a session ID: a version 4 UUID in
// lower case.
func isID(s string) bool { return uuidV4().MatchString(s) }

// NewID returns a new session ID, a version 4 UUID (RFC 9562).
func NewID(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}

// Open creates a session's folder, records that the session started and
// renders its manifest. When Open returns nil the record is on stable storage;
// failures after that are returned as warnings.
//
// Error kinds: Invalid, Conflict (the ID exists), NotFound (the parent),
// Unavailable, and those of Log.Append.
func (ss *Sessions) Open(ctx context.Context, o Opening) (handoff.Session, []string, error) {
	if err := ss.complete(ctx, &o); err != nil {
		return handoff.Session{}, nil, err
	}
	if err := handoff.CheckSessionFolder(o.Folder); err != nil {
		return handoff.Session{}, nil, err
	}
	exists := handoff.E("open session", o.ID, handoff.Conflict, errors.New("session already exists"),
		handoff.Advice("omit the ID to generate a new one"))
	if known, err := ss.hub.Session(ctx, o.ID); err == nil && known.Opened != 0 {
		return known, nil, exists
	}
	created := ss.missing(o.Folder)
	if err := ss.Files.MkdirAll(o.Folder, 0o777); err != nil {
		return handoff.Session{}, nil, handoff.E("open session", o.Folder, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("choose a folder inside the workspace that can be created"))
	}
	r, warnings, err := ss.append(ctx, o.ID, &handoff.SessionOpened{
		SessionID: o.ID, Parent: o.Parent, Agent: o.Agent, Workflow: o.Workflow, User: o.User,
		Inputs: o.Inputs, Folder: o.Folder, Expected: o.Expected, Dir: o.Dir, StartedAt: o.StartedAt, Process: o.Process,
	})
	if err != nil {
		for _, dir := range created {
			_ = ss.Files.Remove(dir) // unless something is in it
		}
		return handoff.Session{}, nil, err
	}
	s, err := ss.hub.Session(ctx, o.ID)
	if err != nil { // the session is recorded; append has warned
		s = handoff.Session{ID: o.ID, Parent: o.Parent, Agent: o.Agent, Workflow: o.Workflow, User: o.User, Folder: o.Folder,
			Status: handoff.Running, Opened: r.Seq, OpenedAt: r.CreatedAt, Newest: r.Seq, NewestAt: r.CreatedAt}
	}
	if s.Opened < r.Seq && s.Opened != 0 { // by another process, after the check
		return s, nil, exists
	}
	return s, warnings, nil
}

// missing returns the directories of a path that do not exist, innermost first.
func (ss *Sessions) missing(folder string) (dirs []string) {
	for ; folder != "."; folder = path.Dir(folder) {
		if _, err := ss.Files.Lstat(filepath.FromSlash(folder)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dirs = append(dirs, filepath.FromSlash(folder))
	}
	return dirs
}

// complete sets the defaults of an opening and checks it.
func (ss *Sessions) complete(ctx context.Context, o *Opening) (err error) {
	if o.ID == "" {
		if o.ID, err = NewID(ss.Rand); err != nil {
			return err
		}
	}
	if o.Parent != "" {
		parent, err := ss.Session(ctx, o.Parent)
		if err != nil {
			return err
		}
		o.Agent.Name, o.Workflow.Name = cmp.Or(o.Agent.Name, parent.Agent.Name), cmp.Or(o.Workflow.Name, parent.Workflow.Name)
	} else if !isID(o.ID) {
		return handoff.E("open session", o.ID, handoff.Invalid, errors.New("not a lower-case version 4 UUID"),
			handoff.Advice("omit the ID to generate a new one"))
	}
	missing := "agent"
	if o.Agent.Name != "" {
		missing = "workflow"
	}
	if o.Agent.Name == "" || o.Workflow.Name == "" {
		return handoff.E("open session", "", handoff.Invalid, errors.New(missing+" is missing"),
			handoff.Suggest("name both", handoff.ActionOpen))
	}
	o.Agent.Title = cmp.Or(o.Agent.Title, o.Agent.Name)
	if o.Folder != path.Clean(o.Folder) || o.Folder == "." || !filepath.IsLocal(filepath.FromSlash(o.Folder)) {
		return handoff.E("open session", o.Folder, handoff.Invalid, errors.New("folder is outside the workspace"),
			handoff.Advice("choose a folder inside the workspace"))
	}
	return checkExpected(o.Expected)
}

// Close records that a session ended as completed, failed or cancelled. The
// first close determines the session's status, unless it was concluded by an
// observer; a later one is recorded and causes a warning. Error kinds: Invalid, NotFound.
func (ss *Sessions) Close(ctx context.Context, id, status, reason string, endedAt time.Time) ([]string, error) {
	switch status {
	case session.Completed, session.Failed, session.Cancelled:
	default:
		return nil, handoff.E("close session", id, handoff.Invalid, fmt.Errorf("invalid status %q", status),
			handoff.Advice("use completed, failed or cancelled"))
	}
	s, err := ss.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	var warnings []string
	if s.Closed != 0 && s.Reason != handoff.ProcessGone {
		warnings = append(warnings, fmt.Sprintf("session %s is already closed as %s; its status does not change", id,
			s.Status))
	}
	more, err := ss.record(ctx, id, &handoff.SessionClosed{SessionID: id, Status: status, Reason: reason,
		EndedAt: endedAt})
	return append(warnings, more...), err
}

// Note updates a session's name, summary, tags, message count or metadata. The
// metadata key "handoff" is reserved. Error kinds: Invalid, NotFound.
func (ss *Sessions) Note(ctx context.Context, n handoff.SessionNoted) ([]string, error) {
	if _, err := ss.Session(ctx, n.SessionID); err != nil {
		return nil, err
	}
	for _, tag := range append(n.Tags, n.RemovedTags...) {
		if tag != strings.Join(strings.Fields(tag), "-") || tag == "" {
			return nil, handoff.E("note session", fmt.Sprintf("%q", tag), handoff.Invalid, errors.New("invalid tag"),
				handoff.Advice("a tag is one word without white space"))
		}
	}
	if _, ok := n.Metadata[manifest.ExtensionKey]; ok {
		return nil, handoff.E("note session", manifest.ExtensionKey, handoff.Invalid, errors.New("metadata key is reserved"),
			handoff.Advice("choose another key"))
	}
	if n.MessageCount != nil && *n.MessageCount < 0 {
		return nil, handoff.E("note session", n.SessionID, handoff.Invalid, errors.New("message count is negative"),
			handoff.Hint{})
	}
	return ss.record(ctx, n.SessionID, &n)
}

// Link records that a session builds on another one. One with a valid ID need not
// be in this log, which causes a warning. Error kinds: Invalid (a session and itself), NotFound.
func (ss *Sessions) Link(ctx context.Context, id, to string) ([]string, error) {
	if id == to {
		return nil, handoff.E("link session", id, handoff.Invalid, errors.New("a session cannot build on itself"),
			handoff.Advice("name the session that it builds on"))
	}
	var warnings []string
	switch _, err := ss.Session(ctx, to); {
	case errors.Is(err, handoff.NotFound) && isID(to):
		warnings = append(warnings, "session "+to+" is not recorded here")
	case err != nil:
		return nil, err
	}
	s, err := ss.Session(ctx, id)
	if err != nil || slices.Contains(s.Links, to) {
		return nil, err
	}
	more, err := ss.record(ctx, id, &handoff.SessionLinked{SessionID: id, To: to})
	return append(warnings, more...), err
}

// Top returns the session that contains a run, at any depth. A session that is
// not a run is returned as it is.
func (ss *Sessions) Top(ctx context.Context, s handoff.Session) (handoff.Session, error) {
	for seen := map[string]bool{}; s.Parent != "" && !seen[s.ID]; {
		seen[s.ID] = true
		parent, err := ss.Session(ctx, s.Parent)
		if err != nil {
			return s, err
		}
		s = parent
	}
	return s, nil
}

// record is append without the record.
func (ss *Sessions) record(ctx context.Context, id string, f handoff.Fact) ([]string, error) {
	_, warnings, err := ss.append(ctx, id, f)
	return warnings, err
}

// append appends a fact about a session and renders its manifest. What fails
// after the record is stored is returned as warnings.
func (ss *Sessions) append(ctx context.Context, id string, f handoff.Fact) (handoff.Record, []string, error) {
	r, warnings, err := ss.hub.Record(ctx, f)
	if err != nil {
		return r, nil, err
	}
	switch f.(type) {
	case *handoff.SessionOpened, *handoff.SessionClosed, *handoff.SessionArchived, *handoff.SessionDeleted,
		*handoff.SessionRestored:
		err = ss.Render(ctx, id)
	default:
		err = ss.Changed(ctx, id)
	}
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	return r, warnings, nil
}

// Session returns a session that was opened. Error kind: NotFound.
func (ss *Sessions) Session(ctx context.Context, id string) (handoff.Session, error) {
	s, err := ss.hub.Session(ctx, id)
	if errors.Is(err, handoff.NotFound) || err == nil && s.Opened == 0 {
		return s, handoff.E("find session", id, handoff.NotFound, errors.New("no such session"),
			handoff.Suggest("list the sessions", handoff.ActionSessions))
	}
	return s, err
}

// EncodeValues encodes each value as JSON. It returns nil for no values.
func EncodeValues(values map[string]any) (map[string]json.RawMessage, error) {
	var encoded map[string]json.RawMessage
	for key, value := range values {
		b, err := handoff.EncodeText(value)
		if err != nil {
			return nil, err
		}
		if encoded == nil {
			encoded = map[string]json.RawMessage{}
		}
		encoded[key] = b
	}
	return encoded, nil
}
