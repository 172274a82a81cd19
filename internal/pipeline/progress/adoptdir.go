package progress

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/pipeline"
)

// at returns the pipeline whose runs are in a directory, relative to the workspace, and the
// names of those runs. The directory is that of all runs, one above it, or that of one run.
// The pipelines of the repository come before those of known tools. Its kind is NotFound.
func (r *Runs) at(dir string) (*contract.Pipeline, []string, error) {
	own, err := r.Definitions()
	if err != nil {
		return nil, nil, err
	}
	tools, err := contract.Tools()
	if err != nil {
		return nil, nil, err
	}
	dir = path.Clean(dir)
	for _, known := range []map[string]*contract.Pipeline{own, tools} {
		for _, name := range slices.Sorted(maps.Keys(known)) {
			p := known[name]
			switch {
			case p.Folder == contract.Folder || !exists(r.Files, p.Folder):
			case dir == p.Folder, dir == path.Dir(p.Folder):
				return p, r.runsIn(p.Folder), nil
			case path.Dir(dir) == p.Folder && contract.CheckIssue(path.Base(dir)) == nil && exists(r.Files, dir):
				return p, []string{path.Base(dir)}, nil
			}
		}
	}
	return nil, nil, handoff.E("adopt", dir, handoff.NotFound, errors.New("no pipeline has its runs here"),
		handoff.Advice("name openspec, specs or .kiro, or the folder of a pipeline in "+contract.Definition))
}

// runsIn returns the folders of runs in a directory that is not handoff's. Other tools keep
// finished ones in archive.
func (r *Runs) runsIn(dir string) (names []string) {
	entries, _ := fs.ReadDir(r.Files.FS(), dir)
	for _, e := range entries {
		if e.IsDir() && e.Name() != "archive" && contract.CheckIssue(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names
}

// AdoptAt records the files of the runs in a directory as they are; see at and Adopt. A run
// that has no definition gets the one of the pipeline. One that was archived is left out. With
// dryRun it returns what it would record for the runs that have one, and writes nothing. With
// define it writes the definition of the tool; the kind is Conflict if the repository has
// definitions.
func (r *Runs) AdoptAt(ctx context.Context, dir string, dryRun, define bool) (pipeline.AdoptionList, error) {
	list := pipeline.AdoptionList{Runs: []pipeline.Adoption{}, DryRun: dryRun}
	p, issues, err := r.at(dir)
	if err == nil && define {
		list.Defined, err = r.define(p)
	}
	if err != nil {
		return list, err
	}
	for _, issue := range issues {
		if !exists(r.Files, path.Join(contract.Folder, issue)) && folder.IsArchived(r.Files.Name(), issue) {
			list.Runs = append(list.Runs, pipeline.Adoption{Issue: issue, Adopted: []pipeline.AdoptedStage{}, DryRun: dryRun,
				Warnings: []string{path.Join(p.Folder, issue) + " is left out: its run is archived"}})
			continue
		}
		own := *r
		own.Pipeline = p
		if !dryRun {
			if _, err := own.initWith(ctx, issue, "", p); err != nil {
				return list, err
			}
		}
		current, err := r.Of(ctx, issue)
		if err != nil {
			return list, err
		}
		if current.Pipeline.Folder != p.Folder && !dryRun {
			return list, handoff.E("adopt", path.Join(p.Folder, issue), handoff.Conflict,
				errors.New("there is another run with this ID"),
				handoff.Suggest("archive it first", handoff.ActionArchive, issue))
		}
		if dryRun && current.Pipeline.Folder != p.Folder {
			continue
		}
		done := pipeline.Adoption{Issue: issue, Adopted: []pipeline.AdoptedStage{}, DryRun: dryRun}
		done, err = current.adoptAll(ctx, done)
		if err != nil {
			return list, err
		}
		list.Runs = append(list.Runs, done)
	}
	return list, nil
}

// define writes the definition of a pipeline and returns its path.
func (r *Runs) define(p *contract.Pipeline) (string, error) {
	err := durable.Create(r.Files, contract.Definition, func(w io.Writer) error {
		_, err := w.Write(p.Source())
		return err
	})
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", handoff.E("define", contract.Definition, handoff.Conflict, errors.New("it exists"),
			handoff.Advice("add the pipeline to it by hand"))
	case err != nil:
		return "", handoff.E("define", contract.Definition, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("make the directory writable"))
	}
	return path.Join(r.Base, contract.Definition), nil
}

// adoptFiles records the files of a stage with a pattern that are new or have changed.
func (r *Runs) adoptFiles(ctx context.Context, adoption *pipeline.Adoption, stage *contract.Stage, s State) error {
	out := s.Outputs[stage.Name]
	at := s.last(stage.Name)
	var known map[string]string
	number := 1
	if at >= 0 && s.Attempts[at].ID != "" {
		if s.Attempts[at].Digest == out.Digest {
			return nil
		}
		known = s.Attempts[at].Files
	}
	for _, a := range s.Attempts {
		if a.Stage == stage.Name && a.ID != "" {
			known, number = a.Files, a.Number+1
		}
	}
	draft := draftOf(stage, adoption.Issue, out.Report.Value, r.assume(stage, &s), true)
	draft.Metadata["adopted"], draft.Metadata["files"], draft.Metadata["attempt"] = true, out.Files, number
	draft.Parents = s.withSet(draft.Parents)
	for _, name := range slices.Sorted(maps.Keys(out.Files)) {
		if known[name] == out.Files[name] {
			continue
		}
		one := pipeline.AdoptedStage{Stage: stage.Name, Path: s.file(name), Problems: out.Report.Errors}
		if !adoption.DryRun {
			draft.Name = name
			written, err := r.writer(adoption.Issue).Adopt(ctx, draft)
			if err != nil {
				return err
			}
			one.ID = written.ID
			adoption.Warnings = append(adoption.Warnings, written.Warnings...)
		}
		adoption.Adopted = append(adoption.Adopted, one)
	}
	return nil
}

// carry adds to an attempt of a stage with a pattern the files that its earlier records have,
// or without one those of the attempt before that it still has.
func (a *Attempt) carry(name string, attempts []Attempt) {
	ids := map[string]string{}
	at := slices.IndexFunc(attempts, a.sameSet)
	for i := len(attempts) - 1; at < 0 && i >= 0; i-- {
		if attempts[i].Stage == a.Stage {
			at = i
		}
	}
	if at >= 0 {
		for file, id := range attempts[at].ids {
			if a.Files[file] != "" && a.Files[file] == attempts[at].Files[file] {
				ids[file] = id
			}
		}
	}
	ids[name] = a.ID
	a.ids, a.Others = ids, nil
	for _, file := range slices.Sorted(maps.Keys(ids)) {
		if id := ids[file]; id != a.ID {
			a.Others = append(a.Others, id)
		}
	}
}
