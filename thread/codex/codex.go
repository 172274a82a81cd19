// Package codex reads the threads of Codex CLI. Each is a rollout: a file with
// one JSON record per line.
//
// Rollouts are in sessions/YYYY/MM/DD and archived_sessions in the home directory
// of the tool, ~/.codex or $CODEX_HOME. Those that were idle for a week are
// compressed with zstd. A file name ends in the ID of the thread; its date is in
// local time. A subagent is a thread with its own rollout, whose first record
// names its parent. The SQLite files of the tool repeat what rollouts contain and
// are updated later, so they are not read.
//
// The format is undocumented. docs/threads.md lists the facts this package relies
// on, which were found in published rollouts of versions 0.47 to 0.171 and in the
// public source of the tool.
package codex

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name     = "codex"
	env      = "CODEX_HOME"
	plain    = ".jsonl"
	packed   = ".zst"
	uuidLen  = 36
	archived = 2 // rank of an archived rollout

	stampLayout = "2006-01-02T15-04-05" // of the local time in a name
)

// Driver returns the driver of Codex CLI.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs, Roots: thread.Home(env, ".codex"), Resume: []string{name, "resume"},
		Open: func(roots []string) (thread.Provider, error) { return newArchive(roots).Provider, nil },
	}
}

// An archive is the rollouts in directories.
type archive struct {
	*engine.Provider
	origin atomic.Pointer[history] // of the last thread that another one was forked from
}

func newArchive(roots []string) *archive {
	a := new(archive)
	a.Provider = engine.Program{
		Name: name, Env: env, Begun: stampLayout, Elsewhere: "history_base", Plain: true, Alone: true, Named: true,
		Stores: []engine.Store{
			{Pattern: "sessions/**/*", ID: rolloutID, Set: describe, Narrow: days},
			{Pattern: "archived_sessions/*", ID: rolloutID, Set: describe, Rank: archived},
		},
		Head: readHead, Open: a.open, Relate: relate,
	}.Provider(roots)
	return a
}

// rolloutID returns the ID in the name of a file, "" if it does not end in a UUID. ok
// reports whether the file may be a rollout.
func rolloutID(name string) (id string, ok bool) {
	stem, ok := strings.CutSuffix(strings.TrimSuffix(name, packed), plain)
	if at := len(stem) - uuidLen; ok && at >= 0 && thread.IsUUID(stem[at:]) {
		id = strings.ToLower(stem[at:])
	}
	return id, ok
}

// describe sets what the name of a rollout shows. Of several copies, live ones are before
// archived ones, and plain ones before compressed ones.
func describe(f *engine.Found) {
	if f.Packed = strings.HasSuffix(f.Path, packed); f.Packed {
		f.Rank++
	}
	stem, named := strings.CutPrefix(filepath.Base(f.Path), "rollout-")
	if named && len(stem) >= len(stampLayout) {
		f.Begun = stem[:len(stampLayout)]
		f.Sort = f.Begun
	}
}

// days returns the directories of the days in which a rollout was started: those of an ID
// with a time (UUID version 7), or around a range. The day is in an unknown local time.
func days(q engine.Query) (patterns []string) {
	from, to := q.From, q.To
	if q.ID != "" {
		if len(q.ID) != uuidLen || q.ID[14] != '7' {
			return nil
		}
		ms, err := strconv.ParseInt(q.ID[:8]+q.ID[9:13], 16, 64)
		if err != nil {
			return nil
		}
		day := time.UnixMilli(ms).UTC()
		from, to = day.AddDate(0, 0, -1), day.AddDate(0, 0, 1)
	}
	const most = 62 * 24 * time.Hour
	if from.IsZero() || to.Sub(from) > most {
		return nil
	}
	for day := from.UTC().Truncate(24 * time.Hour); !day.After(to); day = day.AddDate(0, 0, 1) {
		patterns = append(patterns, day.Format("sessions/2006/01/02/*"))
	}
	return patterns
}

// readHead sets what the first record of a rollout shows.
func readHead(_ *thread.Walk, f *engine.Found, _ jsonl.Value) {
	m, err := readMeta(f)
	if err != nil {
		f.Err = thread.UnreadableError(f.Path, err)
		return
	}
	f.Head, f.ID = m, cmp.Or(f.ID, m.id)
	f.Parent, f.Alias = m.parent, m.path
	f.Hidden = m.subagent && m.parent == ""
	if m.parent != "" {
		f.Proof = []string{"child session_meta points to main thread"}
	}
}

// open sets the metadata of a thread.
func (a *archive) open(_ *thread.Walk, f *engine.Found, t *thread.Thread) {
	m := f.Head.(meta)
	t.Cwd, t.Branch = m.cwd, m.branch
	t.Commit, t.Repository = m.commit, m.repository
	t.Version, t.Started = m.version, m.started
	t.AgentName, t.AgentRole = m.nickname, m.role
	t.Archived, t.ForkedFrom = f.Rank >= archived, cmp.Or(m.forkedFrom, m.base.thread)
	if m.id != "" && m.id != f.ID {
		t.WarnID(f.ID, m.id)
	}
	t.Reader = a.reader(f, m)
}

// relate adds the names of a subagent in its team.
func relate(_ *thread.Thread, a *thread.Agent, child *thread.Thread) {
	if path := child.Reader.(*engine.Reader).Found().Alias; path != "" {
		a.Aliases = names(path)
	}
}

// names returns the names of the subagent at a path in a team.
func names(path string) []string {
	if path == "" {
		return nil
	}
	return []string{path, path[strings.LastIndexByte(path, '/')+1:]}
}
