package workspace

import (
	"cmp"
	"context"
	"io"
	"os"
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

	// A PipelineStageResult is what was done of one stage.
	PipelineStageResult = pipeline.StageView

	// A PipelineList has the runs of the workspace, open and archived.
	PipelineList = pipeline.RunList

	// A PipelineRunSummary is one run in a list.
	PipelineRunSummary = pipeline.RunSummary

	// A PipelineStep is the next step of a run: the agent, the files it reads and
	// writes, and the reason.
	PipelineStep = pipeline.Step

	// A PipelineGate is the result of a gate: its findings and whether it passes.
	PipelineGate = pipeline.GateResult

	// A PipelineHistory has the attempts of a run, oldest first.
	PipelineHistory = pipeline.History

	// A PipelineAttempt is one attempt of a stage.
	PipelineAttempt = pipeline.HistoryEntry

	// A PipelineTrace has the durations and retries of a run.
	PipelineTrace = pipeline.Trace

	// PipelineNotes are the content of state.yaml as derived from the artifacts,
	// with the differences from the existing file.
	PipelineNotes = pipeline.Notes

	// A PipelineMove is the move of a run's folder.
	PipelineMove = pipeline.Move

	// A PipelineAdoption has the artifacts that Adopt recorded.
	PipelineAdoption = pipeline.Adoption

	// ArchiveOptions say which runs Archive moves.
	ArchiveOptions = pipeline.ArchiveOptions

	// A PipelineStage is a stage of the workspace's pipeline.
	PipelineStage = pipeline.StageSummary

	// A PipelineRun is the folder of a run.
	PipelineRun = pipeline.Started

	// A PipelineFile is the file of a stage's artifact.
	PipelineFile = pipeline.File

	// A PipelineBrief is the text that tells an agent which files to read and
	// write.
	PipelineBrief = pipeline.BriefText
)

// A Submission is an artifact to submit for a stage: the bytes of Body, or of the
// file at Path.
type Submission struct {
	Issue string
	Stage string // its name, or that of its file
	Path  string // as the caller types it
	Body  io.Reader
	From  []string // refs of what it was made from; by default what its writer reads

	// Lenient records an artifact that violates its contract; what it violates is a
	// warning, in the report and for gates.
	Lenient bool
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
func (p Pipelines) Stages() ([]PipelineStage, error) {
	return in(p, func(r *pipeline.Runs) ([]PipelineStage, error) { return r.Stages(), nil })
}

// List returns the runs of the workspace: the open ones, then the archived ones.
func (p Pipelines) List(ctx context.Context) (PipelineList, error) {
	return in(p, func(r *pipeline.Runs) (PipelineList, error) { return r.List(ctx), nil })
}

// Issues returns the issues that have a run that is not archived, sorted.
func (p Pipelines) Issues() ([]string, error) {
	return in(p, func(r *pipeline.Runs) ([]string, error) { return folder.Open(r.Files), nil })
}

// Init creates the folder of a run, unless it exists. With a complexity (trivial,
// standard or complex) it also creates state.yaml, and returns an error of kind
// Conflict if that exists.
func (p Pipelines) Init(issue, complexity string) (PipelineRun, error) {
	return in(p, func(r *pipeline.Runs) (PipelineRun, error) { return r.Init(issue, complexity) })
}

// Restore writes the missing files of a run whose folder was removed, from the
// records of its newest attempts. Kinds: NotFound (there are none), and those of
// Put.
func (p Pipelines) Restore(ctx context.Context, issue string) (PipelineRun, error) {
	return in(p, func(r *pipeline.Runs) (PipelineRun, error) { return r.Restore(ctx, issue) })
}

// Put validates an artifact, records it as the newest attempt of its stage and
// writes it to the run's folder. The caller must be the writer of the stage, or
// unknown. Submitting the same content made from the same inputs again changes
// nothing. If the artifact is invalid, Submitted.Report has every problem.
//
// Kinds: Invalid, NotFound (the file, a ref), Conflict (the issue is the ID of a
// session or run; an ambiguous ref), and those of Publish.
func (p Pipelines) Put(ctx context.Context, sub Submission) (done Submitted, err error) {
	read := pipeline.Submission{Issue: sub.Issue, Stage: sub.Stage, Agent: p.w.caller.Producer.Agent, Lenient: sub.Lenient}
	if read.Body, err = p.read(sub.Path, sub.Body); err != nil {
		return done, err
	}
	if read.From, err = p.w.resolveAll(ctx, sub.From); err != nil {
		return done, err
	}
	receipt, err := in(p, func(r *pipeline.Runs) (pipeline.Receipt, error) { return r.Put(ctx, read) })
	done = Submitted{Published: receipt.Published, Report: receipt.Report, SavedEdits: receipt.SavedEdits}
	if err == nil {
		done.File = path.Join(p.base(), done.Path)
		done.Warnings = append(done.Warnings, p.w.finish(ctx, p.w.caller.Producer.Session)...)
	}
	return done, err
}

// Adopt records the artifacts in the folder of a run as they are, so that a run of
// another tool continues from its state.
func (p Pipelines) Adopt(ctx context.Context, issue string) (PipelineAdoption, error) {
	done, err := in(p, func(r *pipeline.Runs) (PipelineAdoption, error) { return r.Adopt(ctx, issue) })
	if err == nil {
		done.Warnings = append(done.Warnings, p.w.finish(ctx, p.w.caller.Producer.Session)...)
	}
	return done, err
}

// Get returns the path of a stage's artifact in a run, archived or not. Kinds:
// NotFound (the stage has not been done), Unavailable (its file is missing).
func (p Pipelines) Get(ctx context.Context, issue, stage string) (PipelineFile, error) {
	return in(p, func(r *pipeline.Runs) (PipelineFile, error) { return r.Get(ctx, issue, stage) })
}

// Gate checks whether a stage of a run, archived or not, is ready to build on. If
// the stage has the check changes or merge, it compares the files that changed
// since base, a commit, by default the merge base of HEAD and the main branch;
// otherwise base must be empty. The gate of a broken artifact, or of one whose
// verdict is FAIL, is not an error: see PipelineGate.Pass.
func (p Pipelines) Gate(ctx context.Context, issue, stage, base string) (PipelineGate, error) {
	return in(p, func(r *pipeline.Runs) (PipelineGate, error) { return r.Gate(ctx, issue, stage, base) })
}

// Overview returns the summary of a run, archived or not: its stages, what is
// stale, and what comes next.
func (p Pipelines) Overview(ctx context.Context, issue string) (PipelineOverview, error) {
	return in(p, func(r *pipeline.Runs) (PipelineOverview, error) { return r.Overview(ctx, issue) })
}

// Next returns the next step of a run. Unless acceptStale is set, a stage whose
// inputs have changed since is repeated first.
func (p Pipelines) Next(ctx context.Context, issue string, acceptStale bool) (PipelineStep, error) {
	return in(p, func(r *pipeline.Runs) (PipelineStep, error) { return r.Next(ctx, issue, acceptStale) })
}

// Brief returns the paths that an agent reads and writes, each with a one-line
// summary, in at most limit bytes. Kind: Invalid (an unknown agent, a limit that
// is too small).
func (p Pipelines) Brief(ctx context.Context, issue, agent string, limit int) (PipelineBrief, error) {
	return in(p, func(r *pipeline.Runs) (PipelineBrief, error) { return r.Brief(ctx, issue, agent, limit) })
}

// History returns every attempt of a run, archived or not. If its folder was
// removed, the attempts come from the records, and there is a warning.
func (p Pipelines) History(ctx context.Context, issue string) (PipelineHistory, error) {
	return in(p, func(r *pipeline.Runs) (PipelineHistory, error) { return r.History(ctx, issue) })
}

// Trace returns the durations and retries of a run, archived or not.
func (p Pipelines) Trace(ctx context.Context, issue string) (PipelineTrace, error) {
	return in(p, func(r *pipeline.Runs) (PipelineTrace, error) { return r.Trace(ctx, issue) })
}

// Notes returns the state.yaml that follows from the artifacts of a run, archived
// or not, and the differences from the existing file.
func (p Pipelines) Notes(ctx context.Context, issue string) (PipelineNotes, error) {
	return in(p, func(r *pipeline.Runs) (PipelineNotes, error) { return r.Notes(ctx, issue) })
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

func (p Pipelines) move(ctx context.Context, do func(*pipeline.Runs) (PipelineMove, error)) (PipelineMove, error) {
	m, err := in(p, do)
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

// files opens the directory that .pipeline is in.
func (p Pipelines) files() (*os.Root, error) {
	if err := p.w.hub.Closed(); err != nil {
		return nil, err
	}
	return openRoot(p.root())
}

// base returns the prefix of the paths in results.
func (p Pipelines) base() string {
	if dir := p.root(); dir != p.w.dirs.Root {
		return filepath.ToSlash(dir)
	}
	return ""
}

// in returns the result of do for the runs of the workspace.
func in[T any](p Pipelines, do func(*pipeline.Runs) (T, error)) (result T, err error) {
	files, err := p.files()
	if err != nil {
		return result, err
	}
	defer files.Close()
	dir, err := p.w.settings.PipelineDir(p.w.dirs)
	if err != nil {
		return result, err
	}
	stages, err := contract.Load(plainfile.FS(dir, contract.MaxFile))
	if err != nil {
		return result, err
	}
	repository := gate.Repository{Git: gate.RunGit, Workspace: p.w.dirs.Root, Own: p.w.ownFolders()}
	return do(&pipeline.Runs{Hub: p.w.as, Files: files, Pipeline: stages, Repository: repository, Base: p.base()})
}

// ownFolders returns the folders that handoff writes to, relative to the
// workspace.
func (w *Workspace) ownFolders() []string {
	own := []string{contract.Folder, ".handoff", below(w.dirs.Root, w.dirs.Runtime)}
	if variables, err := w.launcher().Variables(VariableOptions{}); err == nil {
		if outputs, _, err := variables.Resolve("{agent_outputs_folder}"); err == nil {
			own = append(own, below(w.dirs.Root, outputs))
		}
	}
	return own
}

// isRunning reports whether an issue has a run that is not archived.
func (w *Workspace) isRunning(issue string) bool { return folder.Exists(w.Pipelines().root(), issue) }

// isPastRun reports whether a ref names a run that was archived, or whose folder
// was removed.
func (w *Workspace) isPastRun(ctx context.Context, ref string) bool {
	name := strings.TrimPrefix(ref, contract.Completed+"/")
	if contract.CheckIssue(name) != nil || handoff.IsArtifactIDPrefix(ref) {
		return false
	}
	page, err := w.hub.Artifacts(ctx, handoff.ArtifactQuery{Namespace: ref, IncludeInactive: true, Limit: 1})
	if err != nil || len(page.Artifacts) == 0 && !folder.HasArchive(w.Pipelines().root()) {
		return false
	}
	_, err = in(w.Pipelines(), func(r *pipeline.Runs) (pipeline.State, error) { return r.Find(ctx, ref) })
	return err == nil
}

// overview returns the run of an issue, or the one that was archived last.
func (w *Workspace) overview(ctx context.Context, issue string) (PipelineOverview, error) {
	return w.Pipelines().Overview(ctx, issue)
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
