package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/manifest"
)

// The length of the shortest prefix of an ID that is a ref, and the number of
// candidates that an error lists.
const (
	minPrefix  = 6
	candidates = 5
)

// Resolve returns the session or run that a ref names: its ID, a prefix of its ID
// of at least six characters, WORKFLOW#2 for the second execution of a workflow, or
// the path of its folder, absolute or relative to dir. Error kinds: NotFound, Conflict
// (several match; the hint lists them).
func (ss *Sessions) Resolve(ctx context.Context, ref, dir string) (handoff.Session, error) {
	s, err := ss.Session(ctx, ref)
	if err == nil || !errors.Is(err, handoff.NotFound) {
		return s, err
	}
	if len(ref) >= minPrefix {
		page, err := ss.hub.Sessions(ctx, handoff.SessionQuery{IDPrefix: ref, IncludeRuns: true, IncludeArchived: true,
			Limit: candidates + 1})
		switch {
		case err != nil:
			return handoff.Session{}, err
		case len(page.Sessions) == 1:
			return page.Sessions[0], nil
		case len(page.Sessions) > 1:
			return handoff.Session{}, ambiguous("ID", ref, page.Sessions)
		}
	}
	if s, ok, err := ss.execution(ctx, ref); ok || err != nil {
		return s, err
	}
	if s, ok, err := ss.inFolder(ctx, ref, dir); ok || err != nil {
		return s, err
	}
	return handoff.Session{}, handoff.E("find session", ref, handoff.NotFound, errors.New("no such session"),
		handoff.Suggest("list the sessions", handoff.ActionSessions))
}

// execution returns the execution of a workflow that a ref such as WORKFLOW#2 names.
// Error kind: Conflict (several agents have a workflow of this name).
func (ss *Sessions) execution(ctx context.Context, ref string) (handoff.Session, bool, error) {
	i := strings.LastIndexByte(ref, '#')
	n, err := strconv.Atoi(ref[i+1:])
	if err != nil || n < 1 || i < 1 {
		return handoff.Session{}, false, nil
	}
	name := regexp.MustCompile("^" + regexp.QuoteMeta(ref[:i]) + "$")
	page, err := ss.hub.Sessions(ctx, handoff.SessionQuery{Workflow: name, IncludeRuns: true, IncludeArchived: true})
	list := slices.DeleteFunc(page.Sessions, func(s handoff.Session) bool { return s.Execution != n })
	switch {
	case err != nil || len(list) == 0:
		return handoff.Session{}, false, err
	case len(list) > 1:
		return handoff.Session{}, false, ambiguous("execution", ref, list)
	}
	return list[0], true, nil
}

// ResolveLink returns the ID of the session to link to: the one that a ref names,
// or that published the artifact that it names; artifact returns its ID. A valid
// ID need not be recorded. Error kinds: NotFound, Conflict, and those of artifact.
func (ss *Sessions) ResolveLink(ctx context.Context, ref, dir string,
	artifact func(context.Context, string) (string, error)) (string, error) {
	s, err := ss.Resolve(ctx, ref, dir)
	switch {
	case err == nil:
		return s.ID, nil
	case !errors.Is(err, handoff.NotFound):
		return "", err
	case isID(ref):
		return ref, nil
	}
	id, notArtifact := artifact(ctx, ref)
	if errors.Is(notArtifact, handoff.NotFound) {
		return "", err
	}
	if notArtifact != nil {
		return "", notArtifact
	}
	a, err := ss.hub.Artifact(ctx, id)
	if err != nil {
		return "", err
	}
	for _, id := range []string{a.Producer.RunID, a.Producer.Session} {
		if s, err := ss.Session(ctx, id); err == nil {
			return s.ID, nil
		}
	}
	return "", handoff.E("find session", ref, handoff.NotFound, errors.New("was not published in a recorded session"),
		handoff.Suggest("list the sessions", handoff.ActionSessions))
}

// ResolveProducer returns the ID of the session that a ref names in a field of a
// producer. A value that a producer has, or that names no session, may be an ID
// that a harness gave, and is returned as it is. Error kind: Conflict.
func (ss *Sessions) ResolveProducer(ctx context.Context, field, ref, dir string) (string, error) {
	page, err := ss.hub.Artifacts(ctx, handoff.ArtifactQuery{
		Producer: map[string]string{field: ref}, IncludeInactive: true, Limit: 1})
	if err != nil || ref == "" || len(page.Artifacts) > 0 {
		return ref, err
	}
	s, err := ss.Resolve(ctx, ref, dir)
	if errors.Is(err, handoff.NotFound) {
		return ref, nil
	}
	return s.ID, err
}

// inFolder returns the session whose folder a path names.
func (ss *Sessions) inFolder(ctx context.Context, name, dir string) (handoff.Session, bool, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return handoff.Session{}, false, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	rel, err := filepath.Rel(ss.Files.Name(), name)
	if err != nil || !filepath.IsLocal(rel) {
		return handoff.Session{}, false, nil
	}
	folder := filepath.ToSlash(rel)
	if s, err := ss.Session(ctx, path.Base(folder)); err == nil && s.Folder == folder {
		return s, true, nil
	}
	if info, err := ss.Files.Stat(rel); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return handoff.Session{}, false, nil
	}
	// the ID need not be the folder's name
	page, err := ss.hub.Sessions(ctx, handoff.SessionQuery{IncludeRuns: true, IncludeArchived: true})
	for _, s := range page.Sessions {
		if s.Folder == folder {
			return s, true, err
		}
	}
	return handoff.Session{}, false, err
}

func ambiguous(what, ref string, list []handoff.Session) error {
	count := fmt.Sprint(len(list))
	if len(list) > candidates {
		count = fmt.Sprintf("more than %d", candidates)
	}
	var matches []string
	for _, s := range list[:min(len(list), candidates)] {
		matches = append(matches, fmt.Sprintf("%s (%s: %s, %s)", s.ID, s.Agent.Name, s.Workflow.Name,
			manifest.FormatTime(s.OpenedAt)))
	}
	return handoff.E("find session", ref, handoff.Conflict, errors.New("ambiguous "+what+": "+count+" sessions match"),
		handoff.Advice("use one of these IDs: "+strings.Join(matches, "; ")))
}
