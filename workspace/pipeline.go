package workspace

import (
	"cmp"
	"context"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/plainfile"
)

// Pipelines are the pipeline runs of a workspace, as its caller uses them. A
// linked worktree uses the runs of the main worktree. Paths in results are
// relative to the workspace, and absolute in a linked worktree.
//
// Every method returns an error of kind Invalid for an invalid issue ID, an
// unknown stage, or a mistake in the project's pipeline files, NotFound if the
// issue has no run, and Unavailable.
type Pipelines struct{ w *Workspace }

// Pipelines returns the pipeline runs of the workspace.
func (w *Workspace) Pipelines() Pipelines { return Pipelines{w} }

// The results of pipeline operations.
type (
	// A PipelineOverview is the summary of a run: its stages, what is stale, and
	// what comes next.
	PipelineOverview = pipeline.Overview

	// A PipelineStep is the next step of a run: the agent, the files it reads and
	// writes, and the reason.
	PipelineStep = pipeline.Step

	// A PipelineGate is the result of a gate: its findings and whether it passes.
	PipelineGate = pipeline.GateResult

	// A PipelineAttempt is one attempt of a stage.
	PipelineAttempt = pipeline.HistoryEntry

	// A PipelineTrace has the durations and retries of a run.
	PipelineTrace = pipeline.Trace

	// PipelineNotes are the content of state.yaml as derived from the artifacts,
	// with the differences from the existing file.
	PipelineNotes = pipeline.Notes

	// A PipelineMove is the move of a run's folder.
	PipelineMove = pipeline.Move

	// ArchiveOptions say which runs Archive moves.
	ArchiveOptions = pipeline.ArchiveOptions
)

// A PipelineStage is a stage of the workspace's pipeline.
type PipelineStage struct {
	Name    string `json:"name"`
	Purpose string `json:"purpose"`
}

// A PipelineRun is the folder of a run.
type PipelineRun struct {
	Issue string `json:"issue"`
	Path  string `json:"path"`
}

// A PipelineFile is the file of a stage's artifact.
type PipelineFile struct {
	Issue string `json:"issue"`
	Stage string `json:"stage"`
	Path  string `json:"path"`
}

// A PipelineHistory has the attempts of a run, oldest first.
type PipelineHistory struct {
	Issue    string            `json:"issue"`
	Attempts []PipelineAttempt `json:"attempts"`
}

// A PipelineBrief is the text that tells an agent which files to read and write.
type PipelineBrief struct {
	Issue string `json:"issue"`
	Agent string `json:"agent"`
	Brief string `json:"brief"`
}

// A Submission is an artifact to submit for a stage: the bytes of Body, or of the
// file at Path.
type Submission struct {
	Issue string
	Stage string // its name, or that of its file
	Path  string // as the caller types it
	Body  io.Reader
	From  []string // refs of what it was made from; by default what its writer reads
}

// A Submitted is the answer to Put. Its JSON is that of the artifact.
type Submitted struct {
	handoff.Published
	File   string // the stage's file
	Report ValidationReport

	// SavedEdits are revisions that were made of edits to the file that no record
	// had, before it was written.
	SavedEdits []handoff.Artifact
}

// Stages returns the stages of the pipeline, in order.
func (p Pipelines) Stages() (stages []PipelineStage, err error) {
	err = p.with(func(r *pipeline.Runs) error {
		for _, s := range r.Pipeline.Stages {
			stages = append(stages, PipelineStage{s.Name, s.Purpose})
		}
		return nil
	})
	return stages, err
}

// Issues returns the issues that have a run that is not archived, sorted.
func (p Pipelines) Issues() (issues []string, err error) {
	err = p.with(func(r *pipeline.Runs) error {
		issues = folder.Open(r.Files)
		return nil
	})
	return issues, err
}

// Init creates the folder of a run, unless it exists. With a complexity (trivial,
// standard or complex) it also creates state.yaml, and returns an error of kind
// Conflict if that exists.
func (p Pipelines) Init(issue, complexity string) (run PipelineRun, err error) {
	err = p.with(func(r *pipeline.Runs) error {
		name, err := folder.Init(r.Files, issue, complexity)
		run = PipelineRun{issue, path.Join(p.base(), name)}
		return err
	})
	return run, err
}

// Put validates an artifact, records it as the newest attempt of its stage and
// writes it to the run's folder. The caller must be the writer of the stage, or
// unknown. Submitting the same content made from the same inputs again changes
// nothing. If the artifact is invalid, Submitted.Report has every problem.
//
// Kinds: Invalid, NotFound (the file, a ref), Conflict (the issue is the ID of a
// session or run; an ambiguous ref), and those of Publish.
func (p Pipelines) Put(ctx context.Context, sub Submission) (done Submitted, err error) {
	read := pipeline.Submission{Issue: sub.Issue, Stage: sub.Stage, Agent: p.w.caller.Producer.Agent}
	if read.Body, err = p.read(sub.Path, sub.Body); err != nil {
		return done, err
	}
	if read.From, err = p.w.resolveAll(ctx, sub.From); err != nil {
		return done, err
	}
	err = p.with(func(r *pipeline.Runs) error {
		receipt, err := r.Put(ctx, read)
		done = Submitted{Published: receipt.Published, Report: receipt.Report, SavedEdits: receipt.SavedEdits}
		return err
	})
	if err == nil {
		done.File = path.Join(p.base(), done.Path)
		done.Warnings = append(done.Warnings, p.w.finish(ctx, p.w.caller.Producer.Session)...)
	}
	return done, err
}

// Get returns the path of a stage's artifact. Kinds: NotFound (the stage has not
// been done), Unavailable (its file is missing).
func (p Pipelines) Get(ctx context.Context, issue, stage string) (f PipelineFile, err error) {
	err = p.with(func(r *pipeline.Runs) error {
		file, err := r.Path(ctx, issue, stage)
		f = PipelineFile{issue, stage, path.Join(p.base(), file)}
		return err
	})
	return f, err
}

// Gate checks whether a stage is ready to build on. If the stage has the
// check changes or merge, it compares the files that changed since base, a commit,
// by default the merge base of HEAD and the main branch; otherwise base must be
// empty.
// The gate of a broken artifact, or of one whose verdict is FAIL, is not an error:
// see PipelineGate.Pass.
func (p Pipelines) Gate(ctx context.Context, issue, stage, base string) (g PipelineGate, err error) {
	err = p.with(func(r *pipeline.Runs) error {
		g, err = r.Gate(ctx, issue, stage, base)
		return err
	})
	return g, err
}

// Next returns the next step of a run. Unless acceptStale is set, a stage whose
// inputs have changed since is repeated first.
func (p Pipelines) Next(ctx context.Context, issue string, acceptStale bool) (step PipelineStep, err error) {
	err = p.run(ctx, issue, (*pipeline.Runs).Read, func(r *pipeline.Runs, s pipeline.State) error {
		s.AcceptStale = acceptStale
		step = pipeline.Next(r.Pipeline, s)
		return nil
	})
	return step, err
}

// Brief returns the paths that an agent reads and writes, each with a one-line
// summary, in at most limit bytes. Kind: Invalid (an unknown agent, a limit that
// is too small).
func (p Pipelines) Brief(ctx context.Context, issue, agent string, limit int) (b PipelineBrief, err error) {
	err = p.run(ctx, issue, (*pipeline.Runs).Read, func(r *pipeline.Runs, s pipeline.State) error {
		text, err := pipeline.Brief(r.Pipeline, s, agent, limit)
		b = PipelineBrief{issue, agent, text}
		return err
	})
	return b, err
}

// History returns every attempt of a run, archived or not.
func (p Pipelines) History(ctx context.Context, issue string) (h PipelineHistory, err error) {
	err = p.run(ctx, issue, (*pipeline.Runs).Find, func(r *pipeline.Runs, s pipeline.State) error {
		h = PipelineHistory{issue, pipeline.HistoryOf(r.Pipeline, s)}
		return nil
	})
	return h, err
}

// Trace returns the durations and retries of a run, archived or not.
func (p Pipelines) Trace(ctx context.Context, issue string) (t PipelineTrace, err error) {
	err = p.run(ctx, issue, (*pipeline.Runs).Find, func(r *pipeline.Runs, s pipeline.State) error {
		t = pipeline.TraceOf(r.Pipeline, s)
		return nil
	})
	return t, err
}

// Notes returns the state.yaml that follows from the artifacts of a run, archived
// or not, and the differences from the existing file.
func (p Pipelines) Notes(ctx context.Context, issue string) (n PipelineNotes, err error) {
	err = p.run(ctx, issue, (*pipeline.Runs).Find, func(r *pipeline.Runs, s pipeline.State) (err error) {
		n, err = pipeline.Compare(r.Pipeline, s)
		return err
	})
	return n, err
}

// Archive moves the folder of a run to .pipeline/completed. Its artifacts keep
// their refs. Kinds: Conflict (the run is not finished or its last gate fails,
// without Force), and those of Log.Append.
func (p Pipelines) Archive(ctx context.Context, issue string, o ArchiveOptions) (PipelineMove, error) {
	return p.move(ctx, func(r *pipeline.Runs) (PipelineMove, error) { return r.Archive(ctx, issue, o) })
}

// Unarchive moves an archived run back, by the name of its folder. Kinds: NotFound,
// Conflict (the issue has a run), and those of Log.Append.
func (p Pipelines) Unarchive(ctx context.Context, name string) (PipelineMove, error) {
	return p.move(ctx, func(r *pipeline.Runs) (PipelineMove, error) { return r.Unarchive(ctx, name) })
}

func (p Pipelines) move(ctx context.Context, do func(*pipeline.Runs) (PipelineMove, error)) (m PipelineMove, err error) {
	err = p.with(func(r *pipeline.Runs) error {
		m, err = do(r)
		return err
	})
	if err == nil {
		m.Warnings = append(m.Warnings, p.w.finish(ctx, "")...)
	}
	return m, err
}

// read returns the content of a body or of a file, up to one byte more than an
// artifact may have.
func (p Pipelines) read(name string, body io.Reader) ([]byte, error) {
	if body != nil {
		return io.ReadAll(io.LimitReader(body, contract.MaxArtifact+1))
	}
	return contract.ReadFile(p.w.path(name), name)
}

// root returns the directory that .pipeline is in. A linked worktree uses that of
// the main worktree, so that recycling it loses nothing.
func (p Pipelines) root() string { return cmp.Or(p.w.dirs.Worktree(""), p.w.dirs.Root) }

// base returns the prefix of the paths in results.
func (p Pipelines) base() string {
	if dir := p.root(); dir != p.w.dirs.Root {
		return filepath.ToSlash(dir)
	}
	return ""
}

// with runs do with the runs of the workspace.
func (p Pipelines) with(do func(*pipeline.Runs) error) error {
	stages, err := contract.Load(plainfile.FS(filepath.Join(p.w.dirs.Runtime, "pipelines"), contract.MaxFile))
	if err != nil {
		return err
	}
	files, err := openRoot(p.root())
	if err != nil {
		return err
	}
	defer files.Close()
	repository := gate.Repository{Git: gate.RunGit, Workspace: p.w.dirs.Root, Own: p.w.ownFolders()}
	return do(&pipeline.Runs{Hub: p.w.as, Files: files, Pipeline: stages, Repository: repository})
}

// ownFolders returns the folders that handoff writes to, relative to the
// workspace.
func (w *Workspace) ownFolders() []string {
	own := []string{contract.Folder, ".handoff", below(w.dirs.Root, w.dirs.Runtime)}
	if variables, err := w.variables(VariableOptions{}); err == nil {
		if outputs, _, err := variables.Resolve("{agent_outputs_folder}"); err == nil {
			own = append(own, below(w.dirs.Root, outputs))
		}
	}
	return own
}

// run runs do with the state of one run, which read reads.
func (p Pipelines) run(ctx context.Context, issue string, read func(*pipeline.Runs, context.Context, string) (pipeline.State, error), do func(*pipeline.Runs, pipeline.State) error) error {
	return p.with(func(r *pipeline.Runs) error {
		s, err := read(r, ctx, issue)
		if err != nil {
			return err
		}
		s.Base = p.base()
		return do(r, s)
	})
}

// isRunning reports whether an issue has a run that is not archived.
func (w *Workspace) isRunning(issue string) bool { return folder.Exists(w.Pipelines().root(), issue) }

// isArchived reports whether an issue has an archived run.
func (w *Workspace) isArchived(ctx context.Context, issue string) bool {
	p := w.Pipelines()
	if contract.CheckIssue(issue) != nil || handoff.IsArtifactIDPrefix(issue) || !folder.HasArchive(p.root()) {
		return false
	}
	return p.run(ctx, issue, (*pipeline.Runs).Find, func(*pipeline.Runs, pipeline.State) error { return nil }) == nil
}

// overview returns the run of an issue, or the one that was archived last.
func (w *Workspace) overview(ctx context.Context, issue string) (o PipelineOverview, err error) {
	err = w.Pipelines().run(ctx, issue, (*pipeline.Runs).Find, func(r *pipeline.Runs, s pipeline.State) error {
		o = pipeline.OverviewOf(r.Pipeline, s)
		return nil
	})
	return o, err
}

// stageFile opens the file that a ref, ISSUE/NAME, names in the folder of a run
// and that has no record.
func (w *Workspace) stageFile(ref string) (b Body, ok bool) {
	issue, name, _ := strings.Cut(ref, "/")
	f, file, err := folder.OpenFile(w.Pipelines().root(), issue, name)
	if err != nil {
		return b, false
	}
	return Body{Content: handoff.Content{ReadSeekCloser: f}, Unrecorded: file, record: handoff.Suggest("record it", handoff.ActionSubmit, issue, name, file)}, true
}
