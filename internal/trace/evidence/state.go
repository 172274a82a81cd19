package evidence

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/agent-handoff/handoff"
)

// A State is the tree of a worktree as it was read, with its files.
type State struct {
	handoff.Tree
	Untracked int // files that git neither tracks nor ignores

	files  Files
	commit Files // of Tree.Commit, without the folders of handoff
	w      *worktree
}

// compareCommit sets what depends on the commit that HEAD names, if there is one.
func (s *State) compareCommit(ctx context.Context) {
	out, err := s.w.git(ctx, s.w.top, "rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}")
	if err != nil {
		return
	}
	commit := strings.TrimSpace(string(out))
	if files, err := s.w.commitFiles(ctx, commit); err == nil {
		s.Commit, s.commit, s.Clean = commit, files, s.w.isClean(ctx, files)
	}
}

// isClean reports whether the tracked files are those of a commit.
func (w *worktree) isClean(ctx context.Context, commit Files) bool {
	clean := true
	pairs(commit, w.files, func(name, want, entry string) bool {
		switch {
		case entry == want, want == "" && w.untracked[name], entry != "" && want != "" && w.same[name] == want:
		case w.modules[name] != nil && want != "" && entry != "" && w.modules[name].isAt(ctx, want):
		default:
			clean = false
		}
		return clean
	})
	return clean
}

// isAt reports whether a submodule has exactly the files of a commit, as its parent
// names it, without the untracked ones.
func (w *worktree) isAt(ctx context.Context, entry string) bool {
	_, commit, _ := strings.Cut(entry, " ")
	head, err := w.git(ctx, w.top, "rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}")
	if err != nil || strings.TrimSpace(string(head)) != commit {
		return false
	}
	files, err := w.commitFiles(ctx, commit)
	return err == nil && w.isClean(ctx, files)
}

// commitFiles returns the files of a commit, without those of handoff.
func (w *worktree) commitFiles(ctx context.Context, commit string) (Files, error) {
	list, err := w.list(ctx, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit+"^{tree}")
	if err != nil {
		return nil, err
	}
	files := make(Files, 0, len(list))
	for _, line := range list { // mode, type, object, path
		head, name, _ := strings.Cut(line, "\t")
		mode, object, _ := strings.Cut(head, " ")
		if _, id, ok := strings.Cut(object, " "); ok && !w.isOwn(name) {
			files = append(files, File{name, mode + " " + id})
		}
	}
	return files, nil
}

// Without returns the state without a file or directory, which is relative to the
// directory that was read. An artifact is left out of the tree of its claims.
func (s *State) Without(ctx context.Context, name string) *State {
	if name == "" || name == "." {
		return s
	}
	name = s.inRepository(name)
	if len(without(s.files, name)) == len(s.files) {
		return s
	}
	left := *s
	left.files, left.commit = without(s.files, name), without(s.commit, name)
	left.Digest = left.files.digest()
	if !s.Clean && s.commit != nil {
		w := *s.w
		w.files = left.files
		left.Clean = w.isClean(ctx, left.commit)
	}
	return &left
}

// inRepository returns the path in the repository of a file of the directory that was
// read.
func (s *State) inRepository(name string) string { return path.Join(s.w.prefix, name) }

// deleted is the entry of a file of the commit that the worktree does not have.
const deleted = "deleted"

// maxChanges is how many files an attestation lists that differ from its commit.
const maxChanges = 20_000

// maxList is how many bytes of a list of files are read.
const maxList = 256 << 20

// changes returns the files that differ from the commit, in the form that docs/format.md
// describes. It is nil if there are more than maxChanges.
func (s *State) changes() []byte {
	differ := compare(s.commit, s.files)
	if len(differ) > maxChanges {
		return nil
	}
	list := []byte{}
	for _, c := range differ {
		list = fmt.Appendf(list, "%s\t%s\x00", cmp.Or(s.files.get(c.path), deleted), c.path)
	}
	return list
}

// filesOf returns the files of an attested tree: those of its commit with the changes
// that were kept. It fails if the commit is not in this repository, or the list is not
// known.
func (s *State) filesOf(ctx context.Context, bodies handoff.Bodies, tree handoff.Tree, ofCommit bool) (Files, error) {
	var files, changes Files
	if tree.Commit != "" {
		var err error
		if files, err = s.w.commitFiles(ctx, tree.Commit); err != nil {
			return nil, fmt.Errorf("commit %s is not in this repository", tree.Commit)
		}
	}
	switch {
	case ofCommit:
		return files, nil
	case tree.Changes == "" || bodies == nil:
		return nil, errors.New("its files were not recorded")
	}
	d := handoff.Digest{Algorithm: handoff.SHA256, Value: tree.Changes}
	if f, ok := bodies.(handoff.BodyFetcher); ok {
		if err := f.Fetch(ctx, d, maxList); err != nil {
			return nil, err
		}
	}
	body, err := bodies.Open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	for in := bufio.NewReader(io.LimitReader(body, maxList)); ; {
		line, err := in.ReadBytes(0)
		if len(line) == 0 && err == io.EOF {
			return files.with(sorted(changes)), nil
		}
		entry, name, ok := bytes.Cut(bytes.TrimSuffix(line, []byte{0}), []byte{'\t'})
		if err != nil || !ok {
			return nil, errors.New("the list of its files is damaged")
		}
		changes = append(changes, File{string(name), string(entry)})
	}
}

// tracked returns the files that git tracks: those that are as in the commit with its
// entries.
func (s *State) tracked() Files {
	var files Files
	pairs(s.commit, s.files, func(name, want, entry string) bool {
		switch {
		case entry == "" || s.w.untracked[name]:
		case s.Clean, want != "" && s.w.same[name] == want:
			files = append(files, File{name, want})
		default:
			files = append(files, File{name, entry})
		}
		return true
	})
	return files
}
