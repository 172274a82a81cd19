// Package session gives each execution of an agent's workflow a folder, a
// manifest, an end, and names by which people and later agents find it.
//
// A session is an id and the facts about it; [handoff.Session] is their fold.
// This package is what is computed from that fold: the manifest, which is
// rendered and never read back, the names for people, and whether a session's
// process is gone. [Sessions] writes the facts.
package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
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
}

// Pending tracks which manifests are out of date, so that another process can
// render them if this one is killed.
type Pending interface {
	// Rendered reports that a session's manifest includes all records up to
	// upTo.
	Rendered(ctx context.Context, id string, upTo handoff.Seq) error
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

// An Opening is what a new session is told of itself. Only its folder and the
// names of agent and workflow are needed, which a run has from its parent.
type Opening struct {
	ID        string // a UUID v4, minted where it is ""; of a run any text
	Parent    string // the session that a run is part of
	Agent     handoff.SessionAgent
	Workflow  handoff.SessionWorkflow
	User      string
	Inputs    map[string]json.RawMessage
	Folder    string          // slash-separated, below the book's Files
	StartedAt time.Time       // zero for now
	Process   handoff.Process // of handoff, where it waits for the session's end
}

// ManifestName is the name of the manifest in a session's folder.
const ManifestName = "manifest.json"

var uuidV4 = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
})

// isID reports whether s is written as the id of a session: a version 4 UUID
// in lower case.
func isID(s string) bool { return uuidV4().MatchString(s) }

// NewID returns the id of a session that has none yet: a version 4 UUID (RFC
// 9562).
func NewID(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}

// Open records that a session began, makes its folder and renders its
// manifest. Once it returns nil, the record is on stable storage; what failed
// after it comes as warnings.
//
// Kinds: Invalid, Conflict (the id is taken), NotFound (the parent),
// Unavailable, and those of Log.Append.
func (ss *Sessions) Open(ctx context.Context, o Opening) (handoff.Session, []string, error) {
	if err := ss.fill(ctx, &o); err != nil {
		return handoff.Session{}, nil, err
	}
	if known, err := ss.hub.Session(ctx, o.ID); err == nil && known.Opened != 0 {
		return known, nil, refuse("open session", o.ID, handoff.Conflict, "was opened before", "leave the id out; a new one is minted")
	}
	if err := ss.Files.MkdirAll(o.Folder, 0o777); err != nil {
		return handoff.Session{}, nil, refuse("open session", o.Folder, handoff.Unavailable, reason(err), "name a folder that can be made below the workspace")
	}
	warnings, err := ss.record(ctx, o.ID, &handoff.SessionOpened{
		SessionID: o.ID, Parent: o.Parent, Agent: o.Agent, Workflow: o.Workflow, User: o.User,
		Inputs: o.Inputs, Folder: o.Folder, StartedAt: o.StartedAt, Process: o.Process,
	})
	if err != nil {
		return handoff.Session{}, nil, err
	}
	s, err := ss.hub.Session(ctx, o.ID)
	return s, warnings, err
}

// fill completes an opening and checks it.
func (ss *Sessions) fill(ctx context.Context, o *Opening) (err error) {
	if o.ID == "" {
		if o.ID, err = NewID(ss.Rand); err != nil {
			return err
		}
	}
	if o.Parent != "" {
		parent, err := ss.session(ctx, o.Parent)
		if err != nil {
			return err
		}
		o.Agent.Name, o.Workflow.Name = cmp.Or(o.Agent.Name, parent.Agent.Name), cmp.Or(o.Workflow.Name, parent.Workflow.Name)
	} else if !isID(o.ID) {
		return refuse("open session", o.ID, handoff.Invalid, "is no version 4 UUID in lower case", "leave the id out; a new one is minted")
	}
	if o.Agent.Name == "" || o.Workflow.Name == "" {
		return refuse("open session", o.ID, handoff.Invalid, "has no agent or no workflow", "name both: --agent NAME --workflow NAME")
	}
	o.Agent.Title = cmp.Or(o.Agent.Title, o.Agent.Name)
	if o.Folder != path.Clean(o.Folder) || o.Folder == "." || !filepath.IsLocal(filepath.FromSlash(o.Folder)) {
		return refuse("open session", o.Folder, handoff.Invalid, "folder leaves the workspace", "name a folder below the workspace")
	}
	return nil
}

// Close records that a session ended: completed, failed or cancelled. The
// first end stands; a later one is recorded, shown apart, and warned about.
// Kinds: Invalid, NotFound.
func (ss *Sessions) Close(ctx context.Context, id, status, why string, endedAt time.Time) ([]string, error) {
	switch status {
	case Completed, Failed, Cancelled:
	default:
		return nil, refuse("close session", id, handoff.Invalid, fmt.Sprintf("no status %q", status), "the statuses are completed, failed and cancelled")
	}
	s, err := ss.session(ctx, id)
	if err != nil {
		return nil, err
	}
	var warnings []string
	if s.Closed != 0 {
		warnings = append(warnings, fmt.Sprintf("session %s was closed before, as %s; that stands", id, s.Status))
	}
	more, err := ss.record(ctx, id, &handoff.SessionClosed{SessionID: id, Status: status, Reason: why, EndedAt: endedAt})
	return append(warnings, more...), err
}

// Note adds to what is known of a session. The key "handoff" of its metadata
// is the manifest's own. Kinds: Invalid, NotFound.
func (ss *Sessions) Note(ctx context.Context, n handoff.SessionNoted) ([]string, error) {
	if _, err := ss.session(ctx, n.SessionID); err != nil {
		return nil, err
	}
	for _, tag := range append(n.Tags, n.RemovedTags...) {
		if tag != strings.Join(strings.Fields(tag), "-") || tag == "" {
			return nil, refuse("note session", fmt.Sprintf("%q", tag), handoff.Invalid, "is no tag", "a tag is one word without white space")
		}
	}
	if _, ok := n.Metadata[extensionKey]; ok {
		return nil, refuse("note session", extensionKey, handoff.Invalid, "the key is handoff's own", "choose another key")
	}
	if n.MessageCount != nil && *n.MessageCount < 0 {
		return nil, refuse("note session", n.SessionID, handoff.Invalid, "counts fewer than 0 messages", "")
	}
	return ss.record(ctx, n.SessionID, &n)
}

// Link records that a session builds on another, which need not be known
// here. Kinds: Invalid (a session and itself), NotFound.
func (ss *Sessions) Link(ctx context.Context, id, to string) ([]string, error) {
	if id == to {
		return nil, refuse("link session", id, handoff.Invalid, "builds on itself", "name the session that it builds on")
	}
	if !isID(to) {
		if _, err := ss.session(ctx, to); err != nil {
			return nil, err
		}
	}
	s, err := ss.session(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, known := range s.Links {
		if known == to {
			return nil, nil
		}
	}
	return ss.record(ctx, id, &handoff.SessionLinked{SessionID: id, To: to})
}

// Top returns the session that a run is part of, however deep; of a session
// itself that one.
func (ss *Sessions) Top(ctx context.Context, s handoff.Session) (handoff.Session, error) {
	for seen := map[string]bool{}; s.Parent != "" && !seen[s.ID]; {
		seen[s.ID] = true
		parent, err := ss.session(ctx, s.Parent)
		if err != nil {
			return s, err
		}
		s = parent
	}
	return s, nil
}

// record appends a fact about a session and renders its manifest.
func (ss *Sessions) record(ctx context.Context, id string, f handoff.Fact) ([]string, error) {
	_, warnings, err := ss.hub.Record(ctx, f)
	if err != nil {
		return nil, err
	}
	switch f.(type) {
	case *handoff.SessionOpened, *handoff.SessionClosed:
		err = ss.Render(ctx, id)
	default:
		err = ss.Changed(ctx, id)
	}
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	return warnings, nil
}

// session returns a session that was opened, or kind NotFound.
func (ss *Sessions) session(ctx context.Context, id string) (handoff.Session, error) {
	s, err := ss.hub.Session(ctx, id)
	if errors.Is(err, handoff.NotFound) || err == nil && s.Opened == 0 {
		return s, refuse("find session", id, handoff.NotFound, "no such session", "handoff session find lists them; handoff session open begins one")
	}
	return s, err
}

func refuse(op, name string, kind handoff.Kind, why, hint string) error {
	return &handoff.Error{Op: op, Name: name, Kind: kind, Err: errors.New(why), Hint: handoff.Advice(hint)}
}

// reason strips the operation and the path from an error of the file system.
func reason(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
