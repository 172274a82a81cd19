package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/session"
)

// delivered reports whether a session has an active artifact, not known to be
// empty, with the given name. It may be a name that was written, a path in the
// session's folder, or a path in the workspace or in the directory where it was named.
func delivered(s handoff.Session, artifacts []handoff.Artifact, name string) bool {
	for _, a := range artifacts {
		file, _ := manifest.FileOf(s, a)
		file = strings.TrimPrefix(file, manifest.UpToSession)
		empty := a.SizeBytes != nil && *a.SizeBytes == 0
		inWorkspace := a.Root == "" && (a.Path == name || a.Path == path.Join(s.Dir, name))
		if a.Status == handoff.Active && !empty && (a.Name == name || file == name || inWorkspace) {
			return true
		}
	}
	return false
}

// The limits of what a session is expected to leave: it is in a record that every
// reader shows.
const (
	maxExpected     = 100
	maxExpectedName = 1000
)

func checkExpected(names []string) error {
	if len(names) > maxExpected {
		return handoff.E("open session", "", handoff.Invalid,
			fmt.Errorf("%d outputs are expected, more than %d", len(names), maxExpected),
			handoff.Advice("name a directory, or the most important ones"))
	}
	for _, name := range names {
		if name == "" || len(name) > maxExpectedName {
			return handoff.E("open session", fmt.Sprintf("%.100q", name), handoff.Invalid,
				errors.New("not the name of an output"), handoff.Advice("use a name or a path of at most 1,000 bytes"))
		}
	}
	return nil
}

// Expectations returns which of its expected outputs a session has, by its
// artifacts.
func Expectations(s handoff.Session, artifacts []handoff.Artifact) []session.Expected {
	var list []session.Expected
	for _, name := range s.Expected {
		list = append(list, session.Expected{Name: name, Delivered: delivered(s, artifacts, name)})
	}
	return list
}

// Missing returns the expected outputs that a session or run does not have. Error
// kind: NotFound.
func Missing(ctx context.Context, reader handoff.Reader, id string) ([]session.Expected, error) {
	s, err := reader.Session(ctx, id)
	if err != nil || len(s.Expected) == 0 {
		return nil, err
	}
	artifacts, err := read(ctx, reader, s)
	list := slices.DeleteFunc(Expectations(s, artifacts), func(e session.Expected) bool { return e.Delivered })
	return list, err
}

// undelivered returns the names of the outputs that were not delivered.
func undelivered(list []session.Expected) (names []string) {
	for _, e := range list {
		if !e.Delivered {
			names = append(names, e.Name)
		}
	}
	return names
}

// deliverHint suggests how to deliver an expected output of a session or run: by
// registering a file in its folder, or by writing the name, from the file of that
// name in dir if there is one. Top is the session that contains a run.
func deliverHint(s, top handoff.Session, folder, dir, name string) handoff.Hint {
	isFile := func(file string) bool {
		info, err := os.Stat(file)
		return err == nil && info.Mode().IsRegular() && info.Size() > 0
	}
	if filepath.IsLocal(name) && isFile(filepath.Join(folder, name)) {
		return handoff.Suggest("", handoff.ActionAdd, name, guessType(name), s.ID)
	}
	if above := filepath.Join(folder, manifest.UpToSession, name); s.Parent != "" && filepath.IsLocal(name) &&
		isFile(above) {
		return handoff.Suggest("", handoff.ActionAdd, name, guessType(name), top.ID)
	}
	file, given := "FILE", name
	if !filepath.IsAbs(given) {
		given = filepath.Join(dir, given)
	}
	if isFile(given) {
		file = name
	}
	if s.Parent != "" {
		return handoff.Suggest("", handoff.ActionWriteRun, name, file, top.ID, s.ID)
	}
	return handoff.Suggest("", handoff.ActionWriteFor, name, file, top.ID)
}

// guessType guesses the type of an output by the name of its file.
func guessType(file string) string {
	switch path.Ext(file) {
	case ".md", ".txt", ".html", ".pdf", ".adoc", ".rst":
		return "document"
	case ".json", ".jsonl", ".csv", ".yaml", ".yml", ".xml":
		return "data"
	}
	return "artifact"
}
