// Package pipelines has the operations on the pipeline runs of a workspace, which
// Workspace.Pipelines of package workspace returns.
package pipelines

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/pipeline"
)

// Options are what pipelines use of a workspace, on behalf of one caller.
type Options struct {
	Hub       *handoff.Hub // whose records name the caller
	Producer  handoff.Producer
	Workspace string // the directory of the workspace
	// the directory that .pipeline is in: a linked worktree uses that of the main worktree
	Root string
	// the folders that handoff writes to, relative to Workspace
	Own     func() []string
	Path    func(typed string) string                                  // a path as the caller types it, absolute
	Resolve func(ctx context.Context, refs []string) ([]string, error) // the IDs of artifacts
	Finish  func(ctx context.Context, session string) []string         // what follows a record; returns warnings
	Now     func() time.Time
	Session string // the caller's session of handoff, "" for none

	// Conclude returns work with the status of what has no end.
	Conclude func(context.Context, []handoff.Work) []handoff.Work

	// Verify returns the verdict on a command in a directory of the workspace, with the reason.
	Verify func(ctx context.Context, argv []string, dir string) (v handoff.Verdict, reason string, err error)
}

// Runs are the pipeline runs of a workspace, as its caller uses them. Paths
// in results are relative to the workspace, and absolute in a linked worktree.
//
// Every method returns an error of kind Invalid for an invalid issue ID, an
// unknown stage, or a mistake in the project's pipeline files, NotFound if the
// issue has no run, and Unavailable.
type Runs struct {
	o   Options
	run string // the name of the run that is used, "" for none
}

// New returns the pipeline runs that o describes. Workspace.Pipelines of package
// workspace calls it.
func New(o Options) Runs { return Runs{o: o} }

// A Submission is an artifact to submit for a stage: the bytes of Body, or of the
// file at Path. A stage with a pattern takes the directory or file at Path.
type Submission struct {
	Issue string
	Stage string // its name, or that of its file
	Path  string // as the caller types it
	Body  io.Reader

	Outcome string // one word about an artifact that is not JSON, such as FAIL

	From []string // refs of what it was made from; by default what its writer reads

	// Ticket is that of the step that the artifact is the result of, in place of From. By
	// default it is that of the caller's open work on the stage; see Start.
	Ticket string

	// Lenient records an artifact that violates its contract; what it violates is a
	// warning, in the report and for gates.
	Lenient bool
}

// A Submitted is the answer to Put. Its JSON is that of the artifact.
type Submitted struct {
	handoff.Published
	File   string // the stage's file
	Report pipeline.Report

	// SavedEdits are revisions that were made of edits to the file that no record
	// had, before it was written.
	SavedEdits []handoff.Artifact
}

// Stages returns the stages of the pipeline of a run, in order; without one, of the pipeline
// that a new run has.
func (p Runs) Stages(run string) ([]pipeline.Stage, error) {
	return in(p.of(run), func(r *progress.Runs) ([]pipeline.Stage, error) { return r.Stages(), nil })
}

// List returns the runs of the workspace: the open ones, then the archived ones. In a linked
// worktree, those with a folder only there are the last.
func (p Runs) List(ctx context.Context) (pipeline.List, error) {
	list := func(p Runs) (pipeline.List, error) {
		return in(p, func(r *progress.Runs) (pipeline.List, error) { return r.List(ctx), nil })
	}
	all, err := list(p)
	if p.o.Root == p.o.Workspace || err != nil {
		return all, err
	}
	known := p.o.Root
	p.o.Root = p.o.Workspace
	own, err := list(p)
	for _, run := range own.Runs {
		if folder.Exists(known, run.Name) || run.Archived && folder.IsArchived(known, run.Name) {
			continue
		}
		all.Runs = append(all.Runs, run)
		for _, warning := range own.Warnings {
			if strings.HasPrefix(warning, run.Name+": ") {
				all.Warnings = append(all.Warnings, warning)
			}
		}
	}
	return all, err
}

// Issues returns the issues that have a run that is not archived, sorted.
func (p Runs) Issues() ([]string, error) {
	open := func(p Runs) ([]string, error) {
		return in(p, func(r *progress.Runs) ([]string, error) { return folder.Open(r.Files), nil })
	}
	all, err := open(p)
	if p.o.Root == p.o.Workspace || err != nil {
		return all, err
	}
	p.o.Root = p.o.Workspace
	own, err := open(p)
	return slices.Compact(slices.Sorted(slices.Values(append(all, own...)))), err
}

// InitOptions say how Init creates a run.
type InitOptions struct {
	// Complexity is that of the issue: trivial, standard or complex. It is written to
	// state.yaml, and the kind is Conflict if that exists.
	Complexity string

	// Pipeline is the name of the run's pipeline in handoff.pipeline.yaml, or jg, the built-in
	// one. By default it is the pipeline at the top level of that file; without the file, jg.
	Pipeline string
}

// Init creates the folder of a run, unless it exists, with the definition of its pipeline,
// which the run keeps. Kinds: Invalid (no such pipeline, a mistake in its definition),
// Conflict (the run has another definition).
func (p Runs) Init(ctx context.Context, issue string, o InitOptions) (pipeline.Run, error) {
	return in(p.of(issue), func(r *progress.Runs) (pipeline.Run, error) {
		return r.Init(ctx, issue, o.Complexity, o.Pipeline)
	})
}

// Restore writes the missing files of a run whose folder was removed, from the
// records of its newest attempts. Kinds: NotFound (there are none), and those of
// Put.
func (p Runs) Restore(ctx context.Context, issue string) (pipeline.Run, error) {
	return in(p.of(issue), func(r *progress.Runs) (pipeline.Run, error) { return r.Restore(ctx, issue) })
}

// Put validates an artifact, records it as the newest attempt of its stage and
// writes it to the run's folder. The caller must be the writer of the stage, or
// unknown. Submitting the same content made from the same inputs again changes
// nothing. If the artifact is invalid, Submitted.Report has every problem.
//
// Kinds: Invalid, NotFound (the file, a ref), Conflict (the issue is the ID of a
// session or run; an ambiguous ref), and those of Publish.
func (p Runs) Put(ctx context.Context, sub Submission) (done Submitted, err error) {
	if sub.Body != nil && sub.Path != "" {
		return done, handoff.E("submit", sub.Path, handoff.Invalid, errors.New("has both a path and a body"),
			handoff.Advice("leave one of them out"))
	}
	read := progress.Submission{Issue: sub.Issue, Stage: sub.Stage, Agent: p.o.Producer.Agent, Lenient: sub.Lenient,
		Ticket: sub.Ticket, Outcome: sub.Outcome}
	if read.From, err = p.o.Resolve(ctx, sub.From); err != nil {
		return done, err
	}
	receipt, err := in(p.of(sub.Issue), func(r *progress.Runs) (_ progress.Receipt, err error) {
		stage, unknown := r.Pipeline.Stage(sub.Stage)
		if unknown == nil && stage.IsPattern() && sub.Body == nil {
			folder := filepath.Join(p.of(sub.Issue).o.Root, filepath.FromSlash(r.Pipeline.Folder), sub.Issue)
			read.Files, err = progress.FilesAt(stage, folder, p.o.Path(sub.Path))
		} else {
			read.Body, err = p.read(sub.Path, sub.Body)
		}
		if err != nil {
			return progress.Receipt{}, err
		}
		return r.Put(ctx, read)
	})
	done = Submitted{Published: receipt.Published, Report: receipt.Report, SavedEdits: receipt.SavedEdits}
	if err == nil {
		done.File = path.Join(p.of(sub.Issue).base(), done.Path)
		done.Warnings = append(done.Warnings, p.o.Finish(ctx, p.o.Producer.Session)...)
	}
	return done, err
}

// Adopt records the artifacts in the folder of a run as they are, so that a run of
// another tool continues from its state. With dryRun it returns what it would record,
// without IDs, and records nothing.
func (p Runs) Adopt(ctx context.Context, issue string, dryRun bool) (pipeline.Adoption, error) {
	done, err := in(p.of(issue), func(r *progress.Runs) (pipeline.Adoption, error) {
		if dryRun {
			return r.Adoptable(ctx, issue)
		}
		return r.Adopt(ctx, issue)
	})
	if err == nil && !dryRun {
		done.Warnings = append(done.Warnings, p.o.Finish(ctx, p.o.Producer.Session)...)
	}
	return done, err
}

// Get returns the path of a stage's artifact in a run, archived or not. Kinds:
// NotFound (the stage has not been done), Unavailable (its file is missing).
func (p Runs) Get(ctx context.Context, issue, stage string) (pipeline.File, error) {
	return in(p.of(issue), func(r *progress.Runs) (pipeline.File, error) { return r.Get(ctx, issue, stage) })
}

// RestoreStage writes the newest attempt of a stage to its file, if that is missing
// or has the content of an earlier attempt. Kinds: Conflict (the file has an edit
// that is not recorded), and those of Get.
func (p Runs) RestoreStage(ctx context.Context, issue, stage string) (pipeline.File, error) {
	return in(p.of(issue), func(r *progress.Runs) (pipeline.File, error) { return r.RestoreStage(ctx, issue, stage) })
}

// Gate checks whether a stage of a run, archived or not, is ready to build on. If
// the stage has the check changes or merge, it compares the files that changed
// since base, a commit, by default the merge base of HEAD and the main branch;
// otherwise base must be empty. The gate of a broken artifact, or of one whose
// verdict is FAIL, is not an error: see Gate.Pass.
func (p Runs) Gate(ctx context.Context, issue, stage, base string) (pipeline.Gate, error) {
	return in(p.of(issue), func(r *progress.Runs) (pipeline.Gate, error) { return r.Gate(ctx, issue, stage, base) })
}

// Overview returns what is known of a run, archived or not: its stages, every attempt, what is
// stale, and what comes next. If its folder was removed, the attempts come from the records,
// and there is a warning. If only the next step can't be read, the rest is returned with the error.
func (p Runs) Overview(ctx context.Context, issue string) (pipeline.Overview, error) {
	return in(p.of(issue), func(r *progress.Runs) (pipeline.Overview, error) { return r.Overview(ctx, issue) })
}

// Next returns the next step of a run. Unless acceptStale is set, a stage whose
// inputs have changed since is repeated first.
func (p Runs) Next(ctx context.Context, issue string, acceptStale bool) (pipeline.Step, error) {
	return in(p.of(issue), func(r *progress.Runs) (pipeline.Step, error) { return r.Next(ctx, issue, acceptStale) })
}

// StartOptions say how Start starts a stage.
type StartOptions struct {
	Again   bool            // also if its work is open
	Process handoff.Process // of the caller's program, zero if it is not known
}

// Start records that the caller works on the next attempt of a stage, and returns the step
// as Next does, with the new work as the last one in Step.Open. Put by the same run, session
// or thread, or else by the same agent, records the inputs of the ticket and ends the work.
//
// Kinds: Invalid, Conflict (work with this ticket was started less than 30 minutes ago and
// is open; not with Again), and those of Log.Append.
func (p Runs) Start(ctx context.Context, issue, stage string, o StartOptions) (pipeline.Step, error) {
	step, err := in(p.of(issue), func(r *progress.Runs) (pipeline.Step, error) {
		r.Process = o.Process
		return r.Start(ctx, issue, stage, o.Again)
	})
	if err == nil {
		step.Warnings = append(step.Warnings, p.o.Finish(ctx, p.o.Producer.Session)...)
	}
	return step, err
}

// Notes returns the state.yaml that follows from the artifacts of a run, archived
// or not, and the differences from the existing file.
func (p Runs) Notes(ctx context.Context, issue string) (pipeline.Notes, error) {
	return in(p.of(issue), func(r *progress.Runs) (pipeline.Notes, error) { return r.Notes(ctx, issue) })
}

// Archive moves the folder of a run to .pipeline/completed. Its artifacts keep
// their refs. Kinds: Conflict (the run is not finished or its last gate fails,
// without Force), and those of Log.Append.
func (p Runs) Archive(ctx context.Context, issue string, o pipeline.ArchiveOptions) (pipeline.Move, error) {
	return p.of(issue).move(ctx, func(r *progress.Runs) (pipeline.Move, error) { return r.Archive(ctx, issue, o) })
}

// Unarchive moves an archived run back, by the name of its folder. Kinds: NotFound,
// Conflict (the issue has a run), and those of Log.Append.
func (p Runs) Unarchive(ctx context.Context, name string) (pipeline.Move, error) {
	archived := path.Join(contract.Completed, strings.TrimPrefix(name, contract.Completed+"/"))
	return p.of(archived).move(ctx, func(r *progress.Runs) (pipeline.Move, error) { return r.Unarchive(ctx, name) })
}

func (p Runs) move(ctx context.Context, do func(*progress.Runs) (pipeline.Move, error)) (pipeline.Move, error) {
	m, err := in(p, do)
	if err == nil {
		m.From, m.To = path.Join(p.base(), m.From), path.Join(p.base(), m.To)
		m.Warnings = append(m.Warnings, p.o.Finish(ctx, "")...)
	}
	return m, err
}

// read returns the content of a body or of a file, up to one byte more than an
// artifact may have.
func (p Runs) read(name string, body io.Reader) ([]byte, error) {
	if body != nil {
		return io.ReadAll(io.LimitReader(body, contract.MaxArtifact+1))
	}
	return contract.ReadFile(p.o.Path(name), name)
}

// files opens the directory that .pipeline is in.
func (p Runs) files() (*os.Root, error) {
	if err := p.o.Hub.Closed(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.o.Root)
	if err != nil {
		return nil, handoff.E("open pipelines", p.o.Root, handoff.Unavailable, err,
			handoff.Hint{}.OrSet("HANDOFF_WORKSPACE to another directory"))
	}
	return root, nil
}

// of returns p for the run of an issue, or for an archived one by the name of its folder. In a
// linked worktree, a folder that was made there by hand is used where it is, unless the main
// worktree has that run. An archived run is that of an issue only if neither has another.
func (p Runs) of(name string) Runs {
	p.run = name
	for _, has := range []func(dir, name string) bool{folder.Exists, folder.IsArchived} {
		if has(p.o.Root, name) {
			return p
		}
		if has(p.o.Workspace, name) {
			p.o.Root = p.o.Workspace
			return p
		}
	}
	return p
}

// base returns the prefix of the paths in results.
func (p Runs) base() string {
	if p.o.Root != p.o.Workspace {
		return filepath.ToSlash(p.o.Root)
	}
	return ""
}

// in returns the result of do for the runs of the workspace.
func in[T any](p Runs, do func(*progress.Runs) (T, error)) (result T, err error) {
	files, err := p.files()
	if err != nil {
		return result, err
	}
	defer files.Close()
	r := &progress.Runs{Hub: p.o.Hub, Files: files, Definitions: p.definitions(files), Base: p.base(),
		Verify: p.o.Verify, Producer: p.o.Producer, Session: p.o.Session, Now: p.o.Now, Conclude: p.o.Conclude}
	if r, err = r.Of(context.Background(), p.run); err != nil {
		return result, err
	}
	own := append([]string{contract.Folder}, p.o.Own()...)
	if r.Pipeline.Folder != contract.Folder {
		own = append(own, r.Pipeline.Folder)
	}
	r.Repository = gate.Repository{Git: git.Run, Workspace: p.o.Workspace, Own: own}
	return do(r)
}

// Unapproved returns the IDs of the artifacts whose approval the gates of open runs need.
func Unapproved(ctx context.Context, p Runs) ([]string, error) {
	return in(p, func(r *progress.Runs) ([]string, error) { return r.Unapproved(ctx) })
}

// IsOpen reports whether an issue has a run that is not archived.
func (p Runs) IsOpen(issue string) bool { return folder.Exists(p.of(issue).o.Root, issue) }

// IsPast reports whether a ref names a run that was archived, or whose folder was
// removed.
func (p Runs) IsPast(ctx context.Context, ref string) bool {
	name := strings.TrimPrefix(ref, contract.Completed+"/")
	if issue := contract.IssueOf(name); contract.CheckIssue(issue) != nil || handoff.IsArtifactIDPrefix(ref) {
		return false
	}
	page, err := p.o.Hub.Artifacts(ctx, handoff.ArtifactQuery{Namespace: ref, IncludeInactive: true, Limit: 1})
	if err != nil || len(page.Artifacts) == 0 && !folder.HasArchive(p.of(ref).o.Root) {
		return false
	}
	_, err = in(p.of(ref), func(r *progress.Runs) (progress.State, error) { return r.Find(ctx, ref) })
	return err == nil
}

// IsStage reports whether an artifact is that of a stage in the folder of a run.
func IsStage(a handoff.Artifact) bool {
	var metadata struct {
		Stage string `json:"stage"`
	}
	if a.Root == "" && strings.HasPrefix(a.Path, path.Join(contract.Folder, a.Namespace)+"/") {
		return true
	}
	_ = json.Unmarshal(a.Metadata, &metadata) // that of others may be anything
	return a.Root == "" && metadata.Stage != "" && metadata.Stage == a.Channel &&
		strings.HasSuffix(a.Path, "/"+a.Namespace+"/"+a.Name)
}

// Stale reports whether the file of a stage's artifact was not rendered by the
// process that recorded it, because that was killed before. With render, it
// renders the file.
func (p Runs) Stale(ctx context.Context, a handoff.Artifact, render bool) (bool, error) {
	return in(p.of(a.Namespace), func(r *progress.Runs) (bool, error) {
		stale, err := r.Stale(ctx, a)
		if stale && render {
			_, err = r.RestoreStage(ctx, a.Namespace, a.Name)
		}
		return stale, err
	})
}

// OpenFile opens the file of a stage in the folder of a run, and returns its path.
func (p Runs) OpenFile(issue, name string) (*os.File, string, error) {
	if err := p.o.Hub.Closed(); err != nil {
		return nil, "", err
	}
	return folder.OpenFile(p.of(issue).o.Root, issue, name)
}
