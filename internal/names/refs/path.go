package refs

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/tool/nearest"
)

// isPath reports whether a ref can only be a path.
func isPath(ref string) bool {
	ref = filepath.ToSlash(ref)
	return filepath.IsAbs(ref) || ref == ".." || strings.HasPrefix(ref, "./") || strings.HasPrefix(ref, "../")
}

// atPath returns the newest artifact that was published at a path, if possible
// one that was not withdrawn. The path may be in any directory whose artifacts
// the log has: a worktree, the folder of a session.
func (r Resolver) atPath(ctx context.Context, ref string) ([]names.Candidate, error) {
	if ref == "" || strings.ContainsRune(ref, 0) {
		return nil, nil
	}
	file := ref
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.Dir, file)
	}
	file = resolveDir(filepath.Clean(file))
	// A recorded path is relative to a directory that its record implies, so it
	// is one of the tails of the absolute path.
	q := handoff.ArtifactQuery{Paths: tails(file), IncludeInactive: true, Limit: 50}
	var withdrawn []names.Candidate
	for {
		page, err := r.Reader.Artifacts(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, a := range page.Artifacts {
			switch {
			case a.File != file:
			case a.Status != handoff.Withdrawn:
				return recorded(a), nil
			case withdrawn == nil:
				withdrawn = recorded(a)
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return withdrawn, nil
		}
	}
}

// resolveDir follows the symbolic links of the directory of a file, as far as it
// exists. The file itself may be a link that was published as such.
func resolveDir(file string) string {
	dir, base := filepath.Split(file)
	dir = filepath.Clean(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(real, base)
	}
	if dir == file {
		return file
	}
	return filepath.Join(resolveDir(dir), base)
}

// tails returns the relative paths that an absolute path ends with, with
// slashes.
func tails(file string) []string {
	list := []string{}
	file = strings.TrimPrefix(filepath.ToSlash(file), "/")
	for ok := true; ok && file != ""; _, file, ok = strings.Cut(file, "/") {
		list = append(list, file)
	}
	return list
}

// notFound is the error for a ref without a match. Its hint lists refs that are
// similar, otherwise the newest ones.
func (r Resolver) notFound(ctx context.Context, ref string) error {
	e := handoff.E("find", ref, handoff.NotFound, errors.New("no such artifact"),
		handoff.Suggest("list every artifact", handoff.ActionListAll))
	if _, ok := idPart(ref); ok && len(ref) < minPart {
		e.Err = errors.New("no such artifact; a part of an ID needs at least 6 characters")
	}
	page, err := r.Reader.Artifacts(ctx, handoff.ArtifactQuery{Limit: compared})
	if err != nil || len(page.Artifacts) == 0 {
		return e
	}
	var texts []string
	meant := map[string][]string{} // refs, by the text that is compared
	add := func(text, ref string) {
		texts = append(texts, text)
		if !slices.Contains(meant[text], ref) {
			meant[text] = append(meant[text], ref)
		}
	}
	for _, a := range page.Artifacts {
		own := r.refOf(a)
		for _, text := range []string{own, a.Name, a.Path} {
			add(text, own)
		}
		for _, label := range append([]string{handoff.LatestLabel}, a.Labels...) {
			add(a.Channel+":"+label, a.Channel+":"+label)
		}
	}
	var list []string
	similar := nearest.Of(ref, texts, shown)
	if channel, _, ok := strings.Cut(ref, ":"); ok {
		for _, text := range texts {
			if strings.HasPrefix(text, channel+":") {
				similar = append(similar, text)
			}
		}
	}
	for _, text := range similar {
		for _, ref := range meant[text] {
			if !slices.Contains(list, ref) && len(list) < shown {
				list = append(list, ref)
			}
		}
	}
	if len(list) > 0 {
		e.Hint = handoff.Advice("did you mean " + strings.Join(list, " or ") + "?")
		return e
	}
	for _, a := range page.Artifacts {
		if ref := r.refOf(a); !slices.Contains(list, ref) && len(list) < shown {
			list = append(list, ref)
		}
	}
	e.Hint = handoff.Advice("the newest artifacts are " + strings.Join(list, ", "))
	return e
}

// compared is the number of the newest artifacts that a ref without a match is
// compared with.
const compared = 200

// refOf returns the most readable ref of an artifact: its name, else its path for
// the caller, else its ID.
func (r Resolver) refOf(a handoff.Artifact) string {
	if a.Name != "" {
		return names.Candidate{Artifact: a}.Ref()
	}
	file := a.File
	if file == "" || a.Root != "" || a.IsStored() {
		return a.ID
	}
	if rel, err := filepath.Rel(r.Dir, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}
