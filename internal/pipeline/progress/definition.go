package progress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/pipeline"
)

// Definitions returns the pipelines of the repository, by their names.
type Definitions func() (map[string]*contract.Pipeline, error)

// Named returns the pipeline with a name. Without a name it is the one at the top level of
// the repository's definition, otherwise the only one in it; without a definition, the
// preset. Its kinds are Invalid and those of reading the definitions.
func (d Definitions) Named(name string) (*contract.Pipeline, error) {
	own, err := d()
	if err != nil {
		return nil, err
	}
	p, ok := own[name]
	switch {
	case ok:
		return p, nil
	case name == contract.PresetJG, name == "" && len(own) == 0:
		return contract.Preset(), nil
	case name == "" && len(own) == 1:
		for _, p := range own {
			return p, nil
		}
	}
	known := append(slices.Sorted(maps.Keys(own)), contract.PresetJG)
	known = slices.DeleteFunc(known, func(name string) bool { return name == "" })
	return nil, handoff.E("find pipeline", name, handoff.Invalid, errors.New("no such pipeline"),
		handoff.Advice("use "+strings.Join(known, ", ")))
}

// Of returns r with the pipeline of a run, by its name: the definition that it has in its
// folder, or, if the folder was removed, in its records. A folder without one is that of
// the preset, and a run that does not exist yet has the default pipeline.
func (r *Runs) Of(ctx context.Context, name string) (*Runs, error) {
	own := *r
	var err error
	own.Pipeline, err = r.pipelineOf(ctx, name)
	return &own, err
}

func (r *Runs) pipelineOf(ctx context.Context, name string) (*contract.Pipeline, error) {
	if name == "" {
		p, err := r.Definitions.Named("")
		if own, failed := r.Definitions(); failed == nil && len(own) > 1 && own[""] == nil {
			return contract.Preset(), nil
		}
		return p, err
	}
	base := strings.TrimPrefix(name, contract.Completed+"/")
	issue := contract.IssueOf(base)
	if contract.CheckIssue(issue) != nil {
		return contract.Preset(), nil // the error comes later
	}
	for _, dir := range []string{path.Join(contract.Folder, base), path.Join(contract.Folder, contract.Completed, base)} {
		if base != name && path.Base(path.Dir(dir)) != contract.Completed || !exists(r.Files, dir) {
			continue
		}
		b, err := plainfile.ReadIn(r.Files, path.Join(dir, contract.RunDefinition), contract.MaxFile)
		if errors.Is(err, fs.ErrNotExist) {
			return contract.Preset(), nil
		}
		if err != nil {
			return nil, handoff.E("read pipeline", path.Join(dir, contract.RunDefinition), handoff.Unavailable,
				durable.Reason(err), handoff.Advice("make it a readable file"))
		}
		return contract.ParseRun(path.Join(dir, contract.RunDefinition), b)
	}
	page, err := r.Hub.Artifacts(ctx, handoff.ArtifactQuery{Namespace: issue, Name: contract.RunDefinition, Limit: 1})
	if err != nil || len(page.Artifacts) == 0 {
		p, failed := r.Definitions.Named("")
		if failed != nil && len(page.Artifacts) == 0 {
			p, failed = contract.Preset(), nil
		}
		return p, errors.Join(err, failed)
	}
	body, err := r.Hub.Open(ctx, page.Artifacts[0].ID)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	b, err := io.ReadAll(io.LimitReader(body, contract.MaxFile+1))
	if err != nil {
		return nil, err
	}
	return contract.ParseRun(issue+"/"+contract.RunDefinition, b)
}

// Holder returns the run in whose folder a file is, "" for none, and the name of the file
// there, without a run the file. The file is relative to the workspace.
func (r *Runs) Holder(ctx context.Context, file string) (run, name string) {
	if rest, ok := strings.CutPrefix(file, contract.Folder+"/"); ok {
		archive := ""
		if in, ok := strings.CutPrefix(rest, contract.Completed+"/"); ok {
			archive, rest = contract.Completed+"/", in
		}
		run, name, ok = strings.Cut(rest, "/")
		if issue := contract.IssueOf(run); ok && contract.CheckIssue(issue) == nil {
			return archive + run, name
		}
		return "", file
	}
	name = file
	_ = r.each(ctx, func(own *Runs, issue string) error {
		if in, ok := strings.CutPrefix(file, path.Join(own.Pipeline.Folder, issue)+"/"); ok {
			run, name = issue, in
		}
		return nil
	})
	return run, name
}

// Init creates the folder of a run with folder.Init, and its definition, unless it has the
// preset. With a name the run has that pipeline. A run keeps its definition: the kind is
// Conflict if it has another one.
func (r *Runs) Init(issue, complexity, name string) (pipeline.Run, error) {
	run := pipeline.Run{Issue: issue}
	if p := r.Pipeline; name == "" && exists(r.Files, path.Join(contract.Folder, issue)) {
		return r.initWith(issue, complexity, p)
	}
	p, err := r.Definitions.Named(name)
	if err != nil {
		return run, err
	}
	if known := contract.CheckIssue(issue) == nil && exists(r.Files, path.Join(contract.Folder, issue)); known &&
		!bytes.Equal(p.Source(), r.Pipeline.Source()) {
		return run, handoff.E("init", issue, handoff.Conflict,
			errors.New("the run exists with another definition, which it keeps"),
			handoff.Suggest("archive it first", handoff.ActionArchive, issue))
	}
	return r.initWith(issue, complexity, p)
}

// initWith is Init with a pipeline.
func (r *Runs) initWith(issue, complexity string, p *contract.Pipeline) (pipeline.Run, error) {
	run := pipeline.Run{Issue: issue}
	if complexity != "" && p.Planner == "" {
		return run, handoff.E("init", issue, handoff.Invalid,
			errors.New("the pipeline has no planner, who needs a complexity"), handoff.Advice("leave the complexity out"))
	}
	known := contract.CheckIssue(issue) == nil && exists(r.Files, path.Join(contract.Folder, issue))
	dir, err := folder.Init(r.Files, issue, complexity)
	run.Path, run.Pipeline = path.Join(r.Base, dir), p.Name
	if err != nil || known || p.Source() == nil {
		return run, err
	}
	file := path.Join(dir, contract.RunDefinition)
	err = durable.Create(r.Files, file, func(w io.Writer) error {
		_, err := w.Write(p.Source())
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return run, handoff.E("init", file, handoff.Unavailable, durable.Reason(err), handoff.Advice(folder.WritableHint))
	}
	return run, nil
}

// recordDefinition records the definition of a run, once, and creates its file.
func (r *Runs) recordDefinition(ctx context.Context, issue string) error {
	source := r.Pipeline.Source()
	if source == nil {
		return nil
	}
	d := handoff.Draft{Channel: "pipeline", Name: contract.RunDefinition, Title: title("definition", issue),
		Key: fmt.Sprintf("definition of %s %s", issue, digestOf(source)), MediaType: "application/yaml"}
	w := r.definitionWriter(issue)
	_, err := r.Files.Lstat(path.Join(contract.Folder, issue, contract.RunDefinition))
	if errors.Is(err, fs.ErrNotExist) {
		d.Body = bytes.NewReader(source)
		_, err = w.Write(ctx, d)
		return err
	}
	_, err = w.Adopt(ctx, d)
	return err
}

// definitionWriter returns the writer of the definition of a run.
func (r *Runs) definitionWriter(issue string) names.Writer {
	own := *r
	own.Pipeline = &contract.Pipeline{Folder: contract.Folder}
	return own.writer(issue)
}

// each calls do for each open run, with its pipeline.
func (r *Runs) each(ctx context.Context, do func(r *Runs, issue string) error) error {
	for _, issue := range folder.Open(r.Files) {
		own, err := r.Of(ctx, issue)
		if err != nil {
			continue // reading the run reports it
		}
		if err := do(own, issue); err != nil {
			return err
		}
	}
	return nil
}
