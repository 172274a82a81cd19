// Package transfer exports a session with all its runs to a tar file, and imports such
// a file into another workspace.
//
// The file has, in this order: manifest.json; checksums.txt, with a line for each
// entry that follows; records.jsonl; the kept bodies, in bodies/sha256; and the
// session's folder with those of its runs, in files.
//
// An import verifies the complete file before it writes anything. Then it stores the
// bodies and the records, as package logcopy copies them, each with the ID of the import:
// such a record counts for nothing. Then it stores the files, and last it records
// session.imported. With that one record all of them count. An import that was killed
// before left nothing that counts; the same import repeated writes what is missing.
package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/logcopy"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/tool/safepath"
)

// The entries of a file.
const (
	manifestName  = "manifest.json"
	checksumsName = "checksums.txt"
	recordsName   = "records.jsonl"
	bodiesDir     = "bodies/sha256/"
	filesDir      = "files/"
)

// Limits of an import. A tar file is not compressed, so its size limits everything
// else.
const (
	maxEntries   = 100_000
	maxManifest  = 1 << 20
	maxChecksums = 64 << 20
	maxRecords   = 256 << 20
)

const (
	format        = "handoff-session"
	formatVersion = 1
)

// A Transfer exports and imports sessions of one workspace.
type Transfer struct {
	Hub      *handoff.Hub
	Sessions *lifecycle.Sessions
	Store    lifecycle.Store        // imported folders must be in its directory of outputs
	To       logcopy.Side           // of an import
	Origin   func() (string, error) // the ID of the runtime directory, if the log is on another machine; nil otherwise
}

// A tree selects the records of a session and its runs. Every record belongs to at
// most one session, so that several exports never have the same record.
type tree struct {
	sessions  map[string]bool
	artifacts map[string]bool // and copies of threads
	works     map[string]bool // by harness and ID
	bodies    map[string]bool // by digest
	withdrawn map[string]bool // artifacts
}

func newTree(list []handoff.Session) *tree {
	t := &tree{sessions: map[string]bool{}, artifacts: map[string]bool{}, works: map[string]bool{},
		bodies: map[string]bool{}, withdrawn: map[string]bool{}}
	for _, s := range list {
		t.sessions[s.ID] = true
	}
	return t
}

// has reports whether the next record of a log belongs to the tree. Where the files of
// a session are is a matter of its workspace, so those records don't.
func (t *tree) has(r handoff.Record) bool {
	made := t.sessions[r.Producer.Session] || r.Producer.Session == "" && t.sessions[r.Producer.RunID]
	switch f := r.Fact.(type) {
	case *handoff.SessionOpened:
		return t.sessions[f.SessionID]
	case *handoff.SessionClosed:
		return t.sessions[f.SessionID]
	case *handoff.SessionLinked:
		return t.sessions[f.SessionID]
	case *handoff.SessionNoted:
		return t.sessions[f.SessionID]
	case *handoff.ArtifactPublished:
		t.artifacts[r.ID] = made
		if made && f.Digest.Value != "" {
			t.bodies[strings.Clone(f.Digest.Value)] = true
		}
		return made
	case *handoff.ArtifactWithdrawn:
		t.withdrawn[f.ArtifactID] = true
		return t.artifacts[f.ArtifactID]
	case *handoff.ArtifactLabeled:
		return t.artifacts[f.ArtifactID]
	case *handoff.ArtifactAccepted:
		return t.artifacts[f.ArtifactID]
	case *handoff.ArtifactApplied:
		return t.artifacts[f.ArtifactID]
	case *handoff.ArtifactCommented:
		return t.artifacts[f.ArtifactID]
	case *handoff.ArtifactReviewed:
		return t.artifacts[f.ArtifactID]
	case *handoff.BodyRedacted:
		return t.artifacts[f.ArtifactID] || t.bodies[f.Digest.Value]
	case *handoff.RecordRedacted:
		return t.artifacts[f.ArtifactID]
	case *handoff.ThreadKept:
		t.artifacts[r.ID] = made
		return made
	case *handoff.BodiesDropped:
		return len(f.IDs()) > 0 && !slices.ContainsFunc(f.IDs(), func(id string) bool { return !t.artifacts[id] })
	case *handoff.ArtifactUsed:
		return made
	case *handoff.WorkStarted:
		if made || t.sessions[f.SessionID] || f.SessionID == "" && t.sessions[f.RunID] {
			t.works[r.Producer.Harness+"\x00"+f.WorkID] = true
			return true
		}
	case *handoff.WorkEnded:
		return made || t.works[r.Producer.Harness+"\x00"+f.WorkID]
	}
	return false
}

// check returns an error unless a record can be imported.
func (t *tree) check(r handoff.Record) error {
	if r.Fact == nil || r.Version > handoff.Version {
		return errors.New("is of a type or version that is not known")
	}
	if r.Import != "" || r.Origin != "" {
		return errors.New("names an import or an origin")
	}
	if !t.has(r) {
		return errors.New("does not belong to the session")
	}
	switch f := r.Fact.(type) {
	case *handoff.ArtifactPublished:
		if !handoff.IsArtifactID(r.ID) || !fs.ValidPath(f.Path) {
			return errors.New("has an invalid ID or path")
		}
		if err := safepath.Check(f.Path); err != nil && !content.IsStored(f.Path) {
			return fmt.Errorf("has a path that %w", err)
		}
		if f.SizeBytes != nil && *f.SizeBytes < 0 {
			return errors.New("has a negative size")
		}
	case *handoff.SessionOpened:
		if err := handoff.CheckSessionFolder(f.Folder); err != nil {
			return err
		}
	}
	return nil
}

// needed returns the digests of the bodies that an import can't be without, each with
// the ID of its artifact: gc collects those of withdrawn artifacts, and those that had a
// secret are removed.
func (t *tree) needed(records []handoff.Record) map[string]string {
	bodies := map[string]string{}
	var redacted handoff.Redactions
	var dropped handoff.Drops
	for _, r := range records {
		redacted.Add(r)
		dropped.Add(r)
	}
	for _, r := range records {
		_, published := r.Fact.(*handoff.ArtifactPublished)
		for _, d := range handoff.BodiesOf(r.Fact) {
			if _, gone := redacted.Body(r.Import, d); published && !t.withdrawn[r.ID] && !gone &&
				!dropped.Has(r.Import, r.ID, d) {
				bodies[d.Value] = r.ID
			}
		}
	}
	return bodies
}

// plain returns the bytes of a record without what its log added and without an earlier import.
func plain(r handoff.Record) ([]byte, error) {
	b, err := r.JSON()
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, err
	}
	delete(members, "import")
	delete(members, "origin")
	return handoff.EncodeJSON(members)
}

// checkName returns an error unless an entry has a name that an export writes.
func checkName(name string) error {
	clean := strings.TrimSuffix(name, "/")
	switch {
	case path.IsAbs(name):
		return errors.New("has an absolute name")
	case !fs.ValidPath(clean):
		return errors.New("has a name that leaves the archive, or is not clean")
	case strings.ContainsAny(name, "\\\x00\n"):
		return errors.New("has a backslash, NUL or line break in its name")
	case safepath.Check(name) != nil:
		return safepath.Check(name)
	case name == recordsName, strings.HasPrefix(name, filesDir):
		return nil
	case strings.HasPrefix(name, bodiesDir) && len(name) == len(bodiesDir)+64 &&
		strings.Trim(name[len(bodiesDir):], "0123456789abcdef") == "":
		return nil
	}
	return errors.New("is not an entry of an exported session")
}
