package progress

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/agent-handoff/handoff/pipeline"
)

// The artifact of a stage with a pattern is a set of files. Each file is an artifact of its
// own, whose record has the digests of the set; an attempt is the records with the same set.

// The limits of the files of an attempt of a stage: they are in memory together.
const (
	maxFiles = 1000
	maxTotal = 64 << 20 // bytes
)

// A fileSet has the contents of files of a stage with a pattern, by name.
type fileSet struct {
	stage  *contract.Stage
	bodies map[string][]byte
	size   int
}

// add reads a file below dir and adds it under another name.
func (f *fileSet) add(dir *os.Root, file, name string) error {
	if len(f.bodies) == maxFiles {
		return fmt.Errorf("more than %d files match %s", maxFiles, f.stage.Artifact)
	}
	b, err := readFile(dir, file)
	if err != nil {
		return err
	}
	if f.size += len(b); f.size > maxTotal {
		return fmt.Errorf("the files that match %s have more than %d MiB together", f.stage.Artifact, maxTotal>>20)
	}
	f.bodies[name] = b
	return nil
}

// outputOfFiles returns the output of a stage with a pattern: the files in the folder of a
// run that match it. Links and what handoff keeps there are left out.
func outputOfFiles(dir *os.Root, stage *contract.Stage) (gate.Output, error) {
	out := gate.Output{File: stage.Artifact, Files: map[string]string{}}
	found := fileSet{stage: stage, bodies: map[string][]byte{}}
	err := eachFile(dir, stage, func(name string) error { return found.add(dir, name, name) })
	for name, b := range found.bodies {
		out.Files[name] = digestOf(b)
	}
	out.Report, out.Digest = validateFiles(stage, found.bodies), setDigest(out.Files)
	return out, err
}

// eachFile calls do for each regular file below dir that a stage with a pattern writes.
func eachFile(dir *os.Root, stage *contract.Stage, do func(name string) error) error {
	from := path.Clean("./" + stage.Prefix())
	return fs.WalkDir(dir.FS(), from, func(name string, e fs.DirEntry, err error) error {
		switch {
		case name == from && (errors.Is(err, fs.ErrNotExist) || e != nil && !e.IsDir()):
			return nil
		case err != nil:
			return err
		case e.Type().IsRegular() && stage.Owns(name):
			return do(name)
		}
		return nil
	})
}

// FilesAt returns the files of a stage with a pattern at a path: one file, or those below a
// directory. A file in folder, that of the run, keeps its name there; the name of another
// one is relative to the directory, or to the one that all files of the pattern are in.
// Kinds: NotFound and Unavailable.
func FilesAt(stage *contract.Stage, folder, file string) (map[string][]byte, error) {
	unavailable := func(err error) error {
		kind := handoff.Unavailable
		if errors.Is(err, fs.ErrNotExist) {
			kind = handoff.NotFound
		}
		return handoff.E("read", file, kind, durable.Reason(err), handoff.Advice("name a readable file or directory"))
	}
	dir, from := file, "."
	if info, err := os.Stat(file); err != nil {
		return nil, unavailable(err)
	} else if !info.IsDir() {
		dir, from = filepath.Split(file)
	}
	base := ""
	if rel, err := filepath.Rel(folder, dir); err == nil && filepath.IsLocal(rel) {
		base = filepath.ToSlash(rel)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unavailable(err)
	}
	defer root.Close()
	found := fileSet{stage: stage, bodies: map[string][]byte{}}
	err = fs.WalkDir(root.FS(), from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		for _, own := range []string{path.Join(base, name), name, stage.Prefix() + name} {
			if stage.Owns(own) {
				return found.add(root, name, own)
			}
		}
		return nil
	})
	if err != nil {
		return nil, unavailable(err)
	}
	return found.bodies, nil
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
