package web

import (
	"context"
	"iter"
	"os"
	"time"

	"github.com/agent-handoff/handoff/lineage"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/candidates"
	"github.com/agent-handoff/handoff/workspace/news"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/agent-handoff/handoff/workspace/threads"
	"github.com/agent-handoff/handoff/workspace/work"
)

// A Source is what the viewer shows. Nothing in it changes the workspace.
type Source struct {
	Root      string // the workspace's directory
	Records   handoff.Reader
	Artifacts Artifacts
	Bodies    Bodies
	Sessions  Sessions
	News      News
	Costs     Costs
	Pipelines Pipelines
	Previous  func(ctx context.Context, session string) (*session.Comparison, error) // with the execution before
	Choices   func(ctx context.Context, refs []string) (candidates.CandidateList, error)
	Why       func(ctx context.Context, of string) (trace.Origin, error)       // where a file or an artifact comes from
	Progress  func(ctx context.Context) ([]pipeline.Progress, []string, error) // of pipelines
	Boards    func(context.Context, []pipeline.RunSummary) ([]pipelines.Board, []pipeline.RunSummary)
	Draw      func(run string) (pipelines.Drawing, error) // the pipeline of a run
	Log       Log
	Once      func(context.Context) (context.Context, error) // see Hub.CatchUpOnce
	Threads   *thread.Set                                    // nil if threads are not served

	Conversations Conversations
}

// NewSource returns a Source of a workspace, with threads from threads, nil if
// they are not served.
func NewSource(w *workspace.Workspace, threads *thread.Set) Source {
	w = w.As(workspace.Caller{Dir: w.Root()}) // the viewer is no agent, and has no names of its own
	c := w.Threads(threads)
	if threads = c.Set(); threads != nil {
		threads.SetFallback(c.OpenKept)
	}
	served := threads
	if served == nil { // what is in the log only
		served = thread.NewSet(nil, func(string) string { return "" }, "")
	}
	return Source{Root: w.Root(), Records: w.Hub(), Artifacts: w, Bodies: w, Sessions: w.Sessions(), News: w.News(served),
		Costs: w.Work(served), Pipelines: w.Pipelines(), Log: w.Store(), Threads: threads, Conversations: c,
		Previous: func(ctx context.Context, id string) (*session.Comparison, error) {
			return sessions.Previous(ctx, w.Sessions(), id)
		}, Choices: w.Reviews().Candidates(served).Compare,
		Why: func(ctx context.Context, of string) (trace.Origin, error) { return w.Why(ctx, served, of) },
		Progress: func(ctx context.Context) ([]pipeline.Progress, []string, error) {
			return pipelines.Progress(ctx, w.Pipelines())
		},
		Boards: func(ctx context.Context, list []pipeline.RunSummary) ([]pipelines.Board, []pipeline.RunSummary) {
			return pipelines.Boards(ctx, w.Pipelines(), list)
		},
		Once: w.Hub().CatchUpOnce,
		Draw: func(run string) (pipelines.Drawing, error) { return w.Pipelines().Contracts(run).Draw("") }}
}

// Artifacts finds artifacts.
type Artifacts interface {
	Show(ctx context.Context, ref string, files bool) (workspace.Shown, error)
	List(ctx context.Context, o workspace.ListOptions) (handoff.ArtifactPage, error)
	History(ctx context.Context, ref string) (workspace.Revisions, error)
	Surrounding(ctx context.Context, ref string, o lineage.NearOptions) (lineage.Surrounding, error)
	Channels(ctx context.Context, f workspace.Filter) (workspace.ChannelList, error)
}

// Bodies has what was published, and what transcripts add to it.
type Bodies interface {
	// Read is called with IDs of artifacts only.
	Read(ctx context.Context, id string, o workspace.ReadOptions) (workspace.Body, error)
	Search(ctx context.Context, o workspace.SearchOptions) (workspace.SearchResult, error)
	AddTranscripts(ctx context.Context, set *thread.Set, s *workspace.Shown) error
}

// Sessions finds sessions and runs.
type Sessions interface {
	Find(ctx context.Context, f sessions.Filter) (session.Page, error)
	Unrecorded(ctx context.Context) (sessions.Adoptions, error)
	Graph(ctx context.Context, id string) (string, lineage.Graph, error)
	Files(ctx context.Context, id string) ([]session.File, error)
	OpenFile(ctx context.Context, id, name string) (*os.File, error)
}

// News finds what is going on, what needs a person and what was done. Nothing is noted as seen.
type News interface {
	Report(ctx context.Context, o news.ReportOptions) (news.Report, error)
	Activity(ctx context.Context, threads []trace.RunningThread, most int) (trace.Activity, error)
	Commits(ctx context.Context, since time.Time, most int) ([]news.Commit, error)
}

// Costs finds what was used.
type Costs interface {
	Cost(ctx context.Context, o work.CostOptions) (work.CostReport, error)
}

// Pipelines shows pipeline runs.
type Pipelines interface {
	List(ctx context.Context) (pipeline.List, error)
	Overview(ctx context.Context, issue string) (pipeline.Overview, error)
	Stages(run string) ([]pipeline.Stage, error)
}

// A Log reports new records, and what is damaged.
type Log interface {
	Facts(ctx context.Context, after string) iter.Seq2[handoff.Record, error]
	Position(ctx context.Context, after string) (handoff.Seq, error)
	Check(ctx context.Context) (handoff.Report, error)
}

// Conversations finds the threads of a repository.
type Conversations interface {
	List(ctx context.Context, o threads.ListOptions) (transcript.Page, error)
	Search(ctx context.Context, o threads.SearchOptions) (transcript.Matches, error)
	Activities
	Collisions(ctx context.Context, o threads.ListOptions) (transcript.Collisions, error)
	Belonging
	Continuing
}

// Continuing returns what is needed to continue a thread, and which threads continue it.
type Continuing interface {
	Brief(ctx context.Context, v *thread.View, tokens int) (transcript.Brief, error)
	Chain(ctx context.Context, v *thread.View) (thread.Chain, error)
	DirectoryGone(t *thread.Thread) bool
}

// Activities are what threads do, and what they changed.
type Activities interface {
	Running(ctx context.Context) (list []trace.RunningThread, warnings []string, err error)
	Changed(ctx context.Context, since time.Time) (list []transcript.Active, warnings []string, err error)
	Concurrency(ctx context.Context, since, until time.Time, slot time.Duration) (trace.Concurrency, []string, error)
}

// Belonging opens threads of the repository, and knows its directories.
type Belonging interface {
	InRepository(path string) bool
	Belongs(t *thread.Thread) bool
	LastCall(ctx context.Context, uri string) (*thread.Call, error)
	UsageOf(ctx context.Context, t *thread.Thread) (trace.Usage, error)
}
