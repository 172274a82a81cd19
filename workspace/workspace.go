// Package workspace is the SDK of handoff: it opens a workspace and defines what
// every operation means. The command line, and every other surface, parses
// arguments, calls this package and prints the result.
//
// # Lifetime
//
// [Open] finds the workspace of a directory. It writes nothing; the first
// operation that records something creates the runtime directory. [Workspace.As]
// returns the same workspace on behalf of another [Caller]. Close the opened
// workspace when the last operation has returned: it renders manifests that are
// due and releases files. Every operation after that fails with kind Unavailable.
// A process that runs for long and records nothing calls Tidy of [Workspace.Store] now and
// then, which completes the work of processes that were killed.
//
// # Concurrency
//
// A Workspace is safe for concurrent use by several goroutines, and a workspace
// directory by several processes. A record that an operation reports is on
// stable storage, and every operation that starts later sees it, in any process.
//
// # Operations
//
//   - Artifacts: [Workspace.Publish], [Workspace.Withdraw], [Workspace.Redact], [Workspace.Label],
//     [Workspace.List], [Workspace.Show], [Workspace.Lineage], [Workspace.History].
//   - Bodies: [Workspace.Read]; [Body.Save] and [Body.Restore] write one to a file.
//   - Names of a run or session: [Workspace.Write].
//   - Waiting: [Workspace.Watch] and [Workspace.Wait].
//   - Searching: [Workspace.Search].
//   - Where something comes from: [Workspace.Why].
//
// The operations on one subject are methods of a value, in a package beside this one:
//
//   - [Workspace.Sessions], [Workspace.Runs]: sessions, and commands that run in them.
//   - [Workspace.Pipelines]: pipeline runs.
//   - [Workspace.Threads], [Workspace.Work]: threads of agents, and what they used and cost.
//   - [Workspace.Reviews]: reviews and comments of artifacts, and artifacts that compete.
//   - [Workspace.Claims]: what is known to be true of an artifact.
//   - [Workspace.Store]: checking, repairing, what is not needed, the queue of the log.
//
// Package places has the answers for all workspaces that the user has opened.
//
// Functions that need no open workspace: [Settings], [SetSetting], [TrustLog], [CopyLog],
// [CopyRedactedLog].
//
// The thread that an artifact came from is its Producer.Thread, a URI that
// package thread reads.
//
// # Callers, paths and refs
//
// Operations take what a caller has. A path is resolved against Caller.Dir. A
// ref names an artifact: by its ID or a part of it, a name, a path or a channel.
// [Workspace.Resolve] states the rules.
//
// # Errors
//
// Errors are of type [*handoff.Error] with one of its kinds, possibly wrapped;
// test them with errors.Is(err, handoff.NotFound). What goes wrong after a record
// is stored (an index or a manifest that could not be updated) is not an error
// but a warning in the result.
package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/internal/transcript/keep"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/thread"
)

// A Workspace is an open workspace, as one caller uses it.
type Workspace struct {
	c        *core.Core
	sessions *lifecycle.Sessions
	copies   *keep.Copies
	threads  *thread.Set // nil for none
	caller   Caller
}

// Options configure Open. The zero value is usable.
type Options struct {
	// Getenv returns a variable of the environment that names the workspace,
	// the log and the caller. nil is an empty environment.
	Getenv func(string) string

	Now  func() time.Time // nil for the system's clock
	Rand io.Reader        // nil for the system's randomness

	// Threads are the threads whose transcripts show which subagent published an artifact,
	// see handoff.Attribution. nil for none.
	Threads *thread.Set

	// Backends are the kinds of log that HANDOFF_LOG can select, beside file:.
	Backends []storage.Backend

	// Checks may refuse an artifact before anything is written.
	Checks []handoff.Check

	// AllowSecrets records titles, summaries, tags and metadata that look like a
	// secret, with a warning. Otherwise they are refused.
	AllowSecrets bool

	// Progress is called while an index catches up with the log or with the
	// threads, with the number of records or transcripts that are indexed and
	// the number there are.
	Progress func(done, total handoff.Seq)

	// Fetching is called while a body of another machine is copied to this one, with
	// the number of bytes that were copied and its size.
	Fetching func(done, total int64)

	// Copying is called while a file or directory is read to publish or verify it, or a kept copy is
	// written, with the number of bytes that were read and the size.
	Copying func(done, total int64)

	// Warn is called with what delays an operation, such as an index that another
	// process has locked. nil for no warnings.
	Warn func(warning string)
}

// Find returns the directory of the workspace that Open would open, and its runtime
// directory, whosever that is. Its kinds are NotFound and Invalid.
func Find(dir string, o Options) (root, runtime string, err error) {
	found, err := config.Find(dir, o.environment())
	return found.Root, found.Runtime, err
}

// Open opens the workspace that a directory belongs to: the nearest directory
// with a .handoff, upward to the root of the git repository; otherwise that
// root; otherwise dir. HANDOFF_WORKSPACE names another. The caller is the one
// that the environment names, with paths relative to dir.
//
// Kinds: NotFound (the directory), Invalid (settings, a .handoff of another program),
// Corrupt (a .handoff with links or other irregular files), Unavailable.
func Open(dir string, o Options) (*Workspace, error) {
	o.Getenv = o.environment()
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Rand = cmp.Or[io.Reader](o.Rand, rand.Reader)
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	found, settings, warnings, err := localstate.Find(dir, o.Getenv)
	if err != nil {
		return nil, err
	}
	trusted := func(destinations []string) error { return settings.CheckLog(found, o.Getenv, destinations) }
	opened, err := localstate.OpenBackend(settings, o.Backends, trusted,
		storage.BackendOptions{Root: found.Root, Runtime: found.Runtime, Rand: o.Rand, Getenv: o.Getenv, Warn: o.Warn})
	if err != nil {
		return nil, err
	}
	files, err := openRoot(found.Root)
	if err != nil {
		return nil, err
	}
	home, err := openRoot(found.Home())
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	log, bodies, queued := openQueue(settings, opened, found.Runtime, o)
	memory := localstate.NewMemory(log, opened.Backend, settings.Log, found.Runtime, o.Getenv)
	index := localstate.NewIndex(memory, found.Runtime, o.Getenv, o.Progress, o.Warn)
	runtimeDir := localstate.NewDir(found.Runtime, o.Rand)
	c := &core.Core{Dirs: found, Settings: settings, Now: o.Now, Rand: o.Rand,
		Cache: userdir.Cache(o.Getenv), State: userdir.State(o.Getenv), UserHome: o.Getenv("HOME"),
		Log: runtimeDir.GuardLog(index), Bodies: localstate.GuardBodies(bodies, runtimeDir, o.Fetching), Index: index,
		RawLog: opened.Log, Checked: localstate.CheckedLog(opened.Log, index), RawBodies: opened.Bodies, Queue: queued,
		Remote: opened.Backend.Remote, RuntimeDir: runtimeDir, Files: files, Home: home,
		Progress: o.Progress, Copying: o.Copying, Tidied: &core.Tidied{}}
	caller := CallerFrom(dir, o.Getenv, handoff.Producer{})
	c.Published = publishedFiles(c, caller)
	if f, ok := bodies.(handoff.BodyFetcher); ok {
		c.Published.Here = f.Fetched
	}
	c.Anonymous = handoff.New(c.Log, c.Index, c.Bodies,
		handoff.Options{Now: o.Now, Rand: o.Rand, Checks: o.Checks, Files: c.Published, AllowSecrets: o.AllowSecrets})
	c.Hub = c.Anonymous
	caller.Warnings = append(warnings, caller.Warnings...)
	w := &Workspace{c: c, copies: &keep.Copies{}, threads: o.Threads,
		sessions: lifecycle.New(c.Anonymous, lifecycle.Options{Files: home, Root: found.Root, Now: o.Now, Rand: o.Rand,
			Pending: c.Index.Manifests(), Runtime: c.Runtime})}
	c.Followers = []core.Follower{lifecycle.Follower{Sessions: w.sessions}, redactions{}}
	c.Finders = []core.Finder{stages{w}}
	return w.As(caller), nil
}

// publishedFiles returns the files from which artifacts are published and read.
func publishedFiles(c *core.Core, caller Caller) *content.Files {
	return &content.Files{
		Root: c.Files, Now: c.Now, Reading: c.Copying, Runtime: c.Runtime, RuntimeDir: c.Dirs.Runtime,
		RuntimePath: below(c.Dirs.Root, c.Dirs.Runtime),
		Linked:      c.Dirs.Linked, Worktree: c.Dirs.Worktree, Branch: c.Dirs.Branch, Origin: c.RuntimeDir.Origin,
		SessionDir: func(ctx context.Context, p handoff.Producer) string {
			if p.Session == caller.Producer.Session && caller.SessionDir != "" {
				return cmp.Or(c.FolderOf(ctx, p), caller.SessionDir)
			}
			return c.FolderByID(ctx, cmp.Or(p.Session, p.RunID))
		},
		Keep: c.Settings.Keep, DigestLimit: int64(c.Settings.Limits.Digest),
		WorktreeKeep: int64(c.Settings.Limits.WorktreeKeep),
	}
}

// As returns the workspace on behalf of another caller. It shares everything
// with w and needs no Close of its own.
func (w *Workspace) As(caller Caller) *Workspace {
	as, c := *w, *w.c
	c.Hub, c.Producer = c.Anonymous.As(caller.Producer), caller.Producer
	c.Dir, c.SessionDir = caller.Dir, caller.SessionDir
	c.Within = caller.Within
	as.c, as.caller = &c, caller
	return &as
}

// Caller returns on whose behalf the operations of w run.
func (w *Workspace) Caller() Caller { return w.caller }

// Root returns the workspace's directory, absolute and without symbolic links.
func (w *Workspace) Root() string { return w.c.Dirs.Root }

// Note adds the workspace, or the repository that it would be in, to those that the user has
// opened, and remembers its directories and those of other repositories that were seen. A program
// calls it after what the user asked for succeeded; what is refused leaves nothing behind.
func (w *Workspace) Note() {
	w.c.Dirs.NoteOpened()
	w.c.Dirs.Remember()
}

// Hub returns the engine that w is built on, for programs that record facts of
// their own. It takes IDs and recorded paths instead of refs and typed paths, its
// records name nobody, and it renders no manifest. It is the handoff.Reader that displays
// are built on.
func (w *Workspace) Hub() *handoff.Hub { return w.c.Anonymous }

// Close renders the manifests that are due and releases what Open opened. Every
// later operation fails with kind Unavailable; closing again does nothing.
func (w *Workspace) Close() error {
	if w.c.Anonymous.Closed() != nil {
		return nil
	}
	w.sessions.Flush()
	w.c.Anonymous.Close()
	return errors.Join(w.copies.Close(), w.c.Index.Close(), localstate.CloseLog(w.c.RawLog), w.c.Home.Close(),
		w.c.Files.Close())
}

func openRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, handoff.E("open workspace", dir, handoff.Unavailable, err,
			handoff.Hint{}.OrSet("HANDOFF_WORKSPACE to another directory"))
	}
	return root, nil
}

// below returns the path of name inside root, slash-separated, or "" if it
// is elsewhere.
func below(root, name string) string {
	rel, err := filepath.Rel(root, name)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}
