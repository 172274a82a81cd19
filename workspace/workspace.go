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
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/log/queue"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/internal/transcript/keep"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/thread"
)

// A Workspace is an open workspace, as one caller uses it.
type Workspace struct {
	*core
	caller Caller
	as     *handoff.Hub // whose records name the caller
}

// core is what all callers of an open workspace share. Its members are
// unexported, because Workspace would promote them to its API.
type core struct {
	dirs     config.Workspace
	settings config.Config
	hub      *handoff.Hub   // whose records name nobody
	log      handoff.Log    // creates the runtime directory before the first record
	bodies   handoff.Bodies // likewise

	remote     bool           // other machines may use the log
	rawLog     handoff.Log    // as its backend opened it
	checked    handoff.Log    // rawLog with a check that also finds what this machine knows and the log has lost
	rawBodies  handoff.Bodies // likewise
	queue      *queue.Log     // nil if nothing is queued while the log can't be reached
	runtimeDir *localstate.Dir

	files     *os.Root // the workspace's directory
	published *content.Files
	home      *os.Root // that the folders of sessions are in
	now       func() time.Time
	rand      io.Reader
	cache     string // directory of the index of threads, "" for none
	state     string // of the user, "" for none
	userHome  string // the home directory of the user
	progress  func(done, total handoff.Seq)
	copying   func(done, total int64)
	index     *localstate.Index
	sessions  *lifecycle.Sessions
	copies    keep.Copies
	threads   *thread.Set // nil for none

	mu     sync.Mutex
	tidied time.Time // when the work of killed processes was last completed
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
	c := &core{dirs: found, settings: settings, remote: opened.Backend.Remote, rawLog: opened.Log,
		rawBodies: opened.Bodies, queue: queued, runtimeDir: localstate.NewDir(found.Runtime, o.Rand),
		files: files, home: home, now: o.Now, rand: o.Rand, cache: userdir.Cache(o.Getenv),
		state: userdir.State(o.Getenv), userHome: o.Getenv("HOME"), progress: o.Progress, copying: o.Copying,
		threads: o.Threads}
	memory := localstate.NewMemory(log, opened.Backend, settings.Log, found.Runtime, o.Getenv)
	c.index = localstate.NewIndex(memory, found.Runtime, o.Getenv, o.Progress, o.Warn)
	c.checked = localstate.CheckedLog(opened.Log, c.index)
	c.log, c.bodies = c.runtimeDir.GuardLog(c.index), localstate.GuardBodies(bodies, c.runtimeDir, o.Fetching)
	caller := CallerFrom(dir, o.Getenv, handoff.Producer{})
	c.published = c.publishedFiles(o, caller)
	if f, ok := bodies.(handoff.BodyFetcher); ok {
		c.published.Here = f.Fetched
	}
	c.hub = handoff.New(c.log, c.index, c.bodies,
		handoff.Options{Now: o.Now, Rand: o.Rand, Checks: o.Checks, Files: c.published, AllowSecrets: o.AllowSecrets})
	c.sessions = lifecycle.New(c.hub,
		lifecycle.Options{Files: home, Root: found.Root, Now: o.Now, Rand: o.Rand, Pending: c.index.Manifests(),
			Runtime: c.runtime})
	caller.Warnings = append(warnings, caller.Warnings...)
	return (&Workspace{core: c}).As(caller), nil
}

// publishedFiles returns the files from which artifacts are published and read.
func (c *core) publishedFiles(o Options, caller Caller) *content.Files {
	found, settings := c.dirs, c.settings
	return &content.Files{
		Root: c.files, Now: o.Now, Reading: o.Copying, Runtime: c.runtime, RuntimeDir: found.Runtime,
		RuntimePath: below(found.Root, found.Runtime),
		Linked:      found.Linked, Worktree: found.Worktree, Branch: found.Branch, Origin: c.runtimeDir.Origin,
		SessionDir: func(ctx context.Context, p handoff.Producer) string {
			if p.Session == caller.Producer.Session && caller.SessionDir != "" {
				return cmp.Or(c.folderOf(ctx, p), caller.SessionDir)
			}
			return c.dirOf(ctx, cmp.Or(p.Session, p.RunID))
		},
		Keep: settings.Keep, DigestLimit: int64(settings.Limits.Digest),
		WorktreeKeep: int64(settings.Limits.WorktreeKeep),
	}
}

// As returns the workspace on behalf of another caller. It shares everything
// with w and needs no Close of its own.
func (w *Workspace) As(c Caller) *Workspace {
	return &Workspace{core: w.core, caller: c, as: w.hub.As(c.Producer)}
}

// Caller returns on whose behalf the operations of w run.
func (w *Workspace) Caller() Caller { return w.caller }

// Root returns the workspace's directory, absolute and without symbolic links.
func (w *Workspace) Root() string { return w.dirs.Root }

// Note adds the workspace, or the repository that it would be in, to those that the user has
// opened, and remembers its directories and those of other repositories that were seen. A program
// calls it after what the user asked for succeeded; what is refused leaves nothing behind.
func (w *Workspace) Note() {
	w.dirs.NoteOpened()
	w.dirs.Remember()
}

// Hub returns the engine that w is built on, for programs that record facts of
// their own. It takes IDs and recorded paths instead of refs and typed paths, its
// records name nobody, and it renders no manifest. It is the handoff.Reader that displays
// are built on.
func (w *Workspace) Hub() *handoff.Hub { return w.hub }

// Close renders the manifests that are due and releases what Open opened. Every
// later operation fails with kind Unavailable; closing again does nothing.
func (w *Workspace) Close() error {
	if w.hub.Closed() != nil {
		return nil
	}
	w.sessions.Flush()
	w.hub.Close()
	return errors.Join(w.copies.Close(), w.index.Close(), localstate.CloseLog(w.rawLog), w.home.Close(), w.files.Close())
}

func openRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, handoff.E("open workspace", dir, handoff.Unavailable, err,
			handoff.Hint{}.OrSet("HANDOFF_WORKSPACE to another directory"))
	}
	return root, nil
}

// runtime opens the runtime directory and creates it if it is missing.
func (w *core) runtime() (*os.Root, error) {
	if err := w.runtimeDir.Create(context.Background()); err != nil {
		return nil, err
	}
	return os.OpenRoot(w.dirs.Runtime)
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
