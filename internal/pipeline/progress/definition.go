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

// Of returns r with the pipeline of a run, by its name: the definition that was recorded,
// whatever the file in its folder says, otherwise that file. A folder without one is that of
// the preset, and a run that does not exist yet has the default pipeline.
func (r *Runs) Of(ctx context.Context, name string) (*Runs, error) {
	own := *r
	base := strings.TrimPrefix(name, contract.Completed+"/")
	issue := contract.IssueOf(base)
	if name != "" && contract.CheckIssue(issue) != nil {
		own.Pipeline = contract.Preset() // the error comes later
		return &own, nil
	}
	var err error
	for _, dir := range []string{path.Join(contract.Folder, base), path.Join(contract.Folder, contract.Completed, base)} {
		if name == "" || base != name && path.Base(path.Dir(dir)) != contract.Completed || !exists(r.Files, dir) {
			continue
		}
		own.Pipeline, err = own.pipelineIn(ctx, issue, dir)
		return &own, err
	}
	if name != "" {
		own.Pipeline, err = own.recordedPipeline(ctx, issue, path.Join(contract.Folder, base))
	}
	if err == nil && own.Pipeline == nil {
		own.Pipeline, err = r.defaultPipeline(name != "")
	}
	return &own, err
}

// defaultPipeline returns the pipeline of a run that does not exist yet. Of a run whose name is
// known it is the preset if the definitions can't be read.
func (r *Runs) defaultPipeline(named bool) (*contract.Pipeline, error) {
	own, err := r.Definitions()
	if several := err == nil && len(own) > 1 && own[""] == nil; several || err != nil && named {
		return contract.Preset(), nil
	}
	return r.Definitions.Named("")
}

// pipelineIn returns the pipeline of a run in a folder, and notes whether its file has it.
func (r *Runs) pipelineIn(ctx context.Context, issue, dir string) (*contract.Pipeline, error) {
	file := path.Join(dir, contract.RunDefinition)
	b, failed := plainfile.ReadIn(r.Files, file, contract.MaxFile)
	p, err := r.recordedPipeline(ctx, issue, dir)
	switch {
	case err != nil:
		return nil, err
	case p != nil:
		if failed != nil || !bytes.Equal(b, p.Source()) {
			r.edited = &pipeline.Outdated{Stage: contract.RunDefinition, Path: path.Join(r.Base, file),
				Ref: issue + "/" + contract.RunDefinition, Rev: 1}
		}
		return p, nil
	case errors.Is(failed, fs.ErrNotExist):
		return contract.Preset(), nil
	case failed != nil:
		return nil, handoff.E("read pipeline", file, handoff.Unavailable, durable.Reason(failed),
			handoff.Advice("make it a readable file"))
	}
	return contract.ParseRun(file, b)
}

// recordedPipeline returns the definition that was recorded first for the run with a folder, nil
// for none: who works on a run can't change it, nor withdraw it.
func (r *Runs) recordedPipeline(ctx context.Context, issue, dir string) (*contract.Pipeline, error) {
	page, err := r.Hub.Artifacts(ctx, handoff.ArtifactQuery{Namespace: issue, Name: contract.RunDefinition,
		IncludeInactive: true})
	for _, a := range slices.Backward(page.Artifacts) {
		if a.Root == "" && a.Path == path.Join(dir, contract.RunDefinition) {
			r.definition = &a
			break
		}
	}
	if err != nil || r.definition == nil {
		return nil, err
	}
	body, err := r.Hub.Open(ctx, r.definition.ID)
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
// Conflict if it has another one. The definition is recorded, see Of.
func (r *Runs) Init(ctx context.Context, issue, complexity, name string) (pipeline.Run, error) {
	run := pipeline.Run{Issue: issue}
	if p := r.Pipeline; name == "" && exists(r.Files, path.Join(contract.Folder, issue)) {
		return r.initWith(ctx, issue, complexity, p)
	}
	p, err := r.Definitions.Named(name)
	if err != nil {
		return run, err
	}
	known := contract.CheckIssue(issue) == nil && exists(r.Files, path.Join(contract.Folder, issue))
	if (known || r.isDefined(issue)) && !bytes.Equal(p.Source(), r.Pipeline.Source()) {
		return run, handoff.E("init", issue, handoff.Conflict,
			errors.New("the run exists with another definition, which it keeps"),
			handoff.Suggest("archive it first", handoff.ActionArchive, issue))
	}
	return r.initWith(ctx, issue, complexity, p)
}

// initWith is Init with a pipeline.
func (r *Runs) initWith(ctx context.Context, issue, complexity string, p *contract.Pipeline) (pipeline.Run, error) {
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
	own := *r
	own.Pipeline = p
	return run, own.recordDefinition(ctx, issue)
}

// isDefined reports whether the definition of a run that is not archived is recorded.
func (r *Runs) isDefined(issue string) bool {
	return r.definition != nil && path.Dir(r.definition.Path) == path.Join(contract.Folder, issue)
}

// recordDefinition records the definition of a run, once, and creates its file.
func (r *Runs) recordDefinition(ctx context.Context, issue string) error {
	source := r.Pipeline.Source()
	if source == nil || r.isDefined(issue) {
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
