package progress

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/agent-handoff/handoff/pipeline"
)

// The artifact of a stage with a pattern is a set of files. Each file is an artifact of its
// own, whose record has the digests of the set; an attempt is the records with the same set.

// maxFiles is how many files an attempt of a stage has at most.
const maxFiles = 1000

// outputOfFiles returns the output of a stage with a pattern: the files in the folder of a
// run that match it. Links and what handoff keeps there are left out.
func outputOfFiles(dir *os.Root, stage *contract.Stage) (gate.Output, error) {
	out := gate.Output{File: stage.Artifact, Files: map[string]string{}}
	bodies := map[string][]byte{}
	err := eachFile(dir, stage, func(name string) error {
		if len(bodies) == maxFiles {
			return fmt.Errorf("more than %d files match %s", maxFiles, stage.Artifact)
		}
		b, err := readFile(dir, name)
		if err != nil {
			return err
		}
		bodies[name], out.Files[name] = b, digestOf(b)
		return nil
	})
	out.Report, out.Digest = validateFiles(stage, bodies), setDigest(out.Files)
	return out, err
}

// eachFile calls do for each regular file below dir that a stage with a pattern writes.
func eachFile(dir *os.Root, stage *contract.Stage, do func(name string) error) error {
	from := path.Clean("./" + stage.Prefix())
	return fs.WalkDir(dir.FS(), from, func(name string, e fs.DirEntry, err error) error {
		reserved := []string{contract.RunDefinition, contract.StateFile, contract.TraceFile}
		switch {
		case name == from && (errors.Is(err, fs.ErrNotExist) || e != nil && !e.IsDir()):
			return nil
		case err != nil:
			return err
		case e.Type().IsRegular() && stage.Owns(name) && !slices.Contains(reserved, name):
			return do(name)
		}
		return nil
	})
}

// validateFiles returns the report about the files of a stage with a pattern.
func validateFiles(stage *contract.Stage, bodies map[string][]byte) pipeline.Report {
	all := pipeline.Report{Errors: []jsonschema.Problem{}, Warnings: []jsonschema.Problem{}, Value: map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		for _, p := range stage.Validate(bodies[name]).Errors {
			p.Text = name + " " + p.Text
			all.Errors = append(all.Errors, p)
		}
	}
	return all
}

// setDigest returns the digest of a set of files, by their names and digests.
func setDigest(files map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%s  %s\n", files[name], name)
	}
	return digestOf([]byte(b.String()))
}

// paths returns the paths of the files of an output, as answers show them.
func (s State) paths(out gate.Output) []string {
	if out.Files == nil {
		return []string{s.file(out.File)}
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(out.Files)) {
		list = append(list, s.file(name))
	}
	return list
}

// withSet returns the IDs of artifacts together with the other files of their attempts.
func (s State) withSet(ids []string) []string {
	var all []string
	for _, id := range ids {
		for _, a := range s.Attempts {
			if a.ID == id {
				all = append(all, a.Others...)
			}
		}
		all = append(all, id)
	}
	return all
}
