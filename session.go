package handoff

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/safepath"
)

// A Session is a view of one execution of an agent's workflow or, if it has a
// parent, of a run inside a session.
type Session struct {
	ID       string          `json:"id"`
	Parent   string          `json:"parent,omitempty"`
	Title    string          `json:"title,omitempty"`
	Agent    SessionAgent    `json:"agent,omitzero"`
	Workflow SessionWorkflow `json:"workflow,omitzero"`
	User     string          `json:"user,omitempty"`
	// its number, from 1, among those of its workflow by its agent; 0 for a part of its parent's
	Execution int                        `json:"execution,omitempty"`
	Inputs    map[string]json.RawMessage `json:"inputs,omitempty"`
	Folder    string                     `json:"folder,omitempty"`
	Expected  []string                   `json:"expected,omitempty"` // names or paths of the outputs that it should leave
	// the directory in the workspace that they may be relative to
	Dir      string                     `json:"dir,omitempty"`
	Process  Process                    `json:"process,omitzero"`
	Child    Process                    `json:"child,omitzero"`
	Adopted  json.RawMessage            `json:"adopted,omitempty"` // the manifest of the folder that it was imported from
	Status   string                     `json:"status"`            // Running, or the status of its SessionClosed
	Reason   string                     `json:"reason,omitempty"`
	OpenedAt time.Time                  `json:"startedAt,omitzero"`
	ClosedAt time.Time                  `json:"completedAt,omitzero"`
	Opened   Seq                        `json:"openedSeq"` // the record that opened it; 0 if only other records name it
	Closed   Seq                        `json:"closedSeq,omitempty"`
	Newest   Seq                        `json:"newestSeq"` // the newest record about it, except artifacts
	NewestAt time.Time                  `json:"newestAt,omitzero"`
	Reclosed []SessionClosed            `json:"reclosed,omitempty"` // later ends, which had no effect
	Links    []string                   `json:"links,omitempty"`
	Tags     []string                   `json:"tags,omitempty"`
	Name     string                     `json:"name,omitempty"` // set by a user
	Summary  string                     `json:"userSummary,omitempty"`
	Messages int                        `json:"messageCount,omitempty"`
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	Archived bool                       `json:"archived,omitempty"`
	Deleted  bool                       `json:"deleted,omitempty"` // it is in the trash
	// when the session itself, not one that it is in, was archived and deleted
	ArchivedAt time.Time `json:"archivedAt,omitzero"`
	DeletedAt  time.Time `json:"deletedAt,omitzero"`
	Producer   Producer  `json:"producer,omitzero"`
}

// Running is the status of a session that is not closed.
const Running = "running"

// ProcessGone is the reason of an end that an observer concluded because none of
// the session's processes was left. It counts until an end is reported.
const ProcessGone = "process gone"

// LastSeen is the reason of a status that is concluded because nothing was seen of a
// session, work or a thread for a time.
func LastSeen(silent time.Duration) string {
	n, unit := int(silent/time.Minute), "min"
	switch {
	case silent >= 48*time.Hour:
		n, unit = int(silent/(24*time.Hour)), "days"
	case silent >= 3*time.Hour:
		n, unit = int(silent/time.Hour), "h"
	}
	return "last seen " + strconv.Itoa(n) + " " + unit + " ago"
}

// CheckSessionFolder returns an error of kind Invalid unless a session can have
// the folder, a slash-separated path: it leaves no directory, and it is not in
// the directories of git and handoff. "" is valid.
func CheckSessionFolder(folder string) error {
	reason := ""
	if folder != "" && !filepath.IsLocal(filepath.FromSlash(folder)) {
		reason = "leaves the workspace"
	}
	if err := safepath.Check(folder); err != nil {
		reason = err.Error()
	}
	if reason == "" {
		return nil
	}
	return E("session folder", folder, Invalid, errors.New(reason), Advice("use a folder of the project"))
}

// A SessionQuery selects sessions that match all of its fields. The zero value
// selects every session that is neither archived nor deleted, without runs.
type SessionQuery struct {
	Status          string         // of the view: Running, or that of SessionClosed
	Agent           string         // the name of the agent
	Workflow        *regexp.Regexp // matches the name of the workflow
	User            string
	Tag             string
	Parent          string   // the session of a run
	IDPrefix        string   // of the ID
	IDs             []string // the session has one of these IDs, unless this is nil
	LinksTo         string   // a session that it builds on
	IncludeRuns     bool     // not needed with Parent
	IncludeArchived bool     // and those in the trash
	BootID          string   // running sessions whose process was started in this boot of the machine
	// sessions with an active artifact whose kind it accepts; called in any order
	HasKind      func(kind string) bool
	Since, Until time.Time // opened at or after Since and before Until
	Limit        int       // of sessions on the page; 0 for no limit
	Cursor       string    // of the previous page
}

// A SessionPage is one page of a list, in the order of SessionOrder.
type SessionPage struct {
	Sessions []Session `json:"sessions"`
	Cursor   string    `json:"cursor,omitempty"` // of the next page, "" at the end
}

// A SessionOrder is the position of a session in a list: the one that started
// last comes first, and of those that started at the same time the one that was
// recorded last.
type SessionOrder struct {
	Start  int64 // in nanoseconds since 1970, or the nearest int64
	Opened Seq
}

// Order returns the position of a session in lists.
func (s *Session) Order() SessionOrder { return SessionOrder{instant(s.OpenedAt), s.Opened} }

// Compare returns a negative number if o comes after p in a list.
func (o SessionOrder) Compare(p SessionOrder) int {
	return cmp.Or(cmp.Compare(o.Start, p.Start), cmp.Compare(o.Opened, p.Opened))
}

// Cursor returns the cursor for the page after one whose last session is at o.
func (o SessionOrder) Cursor() string {
	return "t" + strconv.FormatInt(o.Start, 36) + "." + strconv.FormatInt(int64(o.Opened), 36)
}

// ParseSessionCursor returns the position that all sessions of a page come after,
// zero for "". Error kind: Invalid.
func ParseSessionCursor(text string) (SessionOrder, error) {
	if text == "" {
		return SessionOrder{}, nil
	}
	start, opened, _ := strings.Cut(strings.TrimPrefix(text, "t"), ".")
	at, err := strconv.ParseInt(start, 36, 64)
	seq, errSeq := strconv.ParseInt(opened, 36, 64)
	o := SessionOrder{at, Seq(seq)}
	if err != nil || errSeq != nil || seq < 1 || o.Cursor() != text {
		return SessionOrder{}, invalidCursor(text)
	}
	return o, nil
}

// instant returns a time as nanoseconds since 1970, or the nearest int64.
func instant(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}
