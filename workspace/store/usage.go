package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/log/retention"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/storage"
)

// bodies returns what the index knows of bodies.
func (s Store) bodies(ctx context.Context, by string) (list sqlindex.Bodies, err error) {
	if by == "" {
		return list, nil
	}
	if _, err = s.c.Anonymous.Newest(ctx); err == nil { // the index is up to date
		list, err = s.c.Index.Bodies(ctx, by)
	}
	return list, err
}

// A namer is a body store that lists its bodies faster without their sizes.
type namer interface {
	Names(ctx context.Context, each func(d handoff.Digest, stat func() (handoff.StoredBody, error)) error) error
}

var errUnknown = errors.New("the index does not know a body")

// indexed returns the space that stored bodies take, from the index. It does not know it if one
// of them is not known to be the body of an artifact or the copy of a thread: the records of the
// log decide whether it is needed.
func (s Store) indexed(ctx context.Context, by string, index sqlindex.Bodies, bodies handoff.Bodies) (
	list []storage.DiskUsage, known bool, err error) {
	names, ok := bodies.(namer)
	if !ok || index.Owners == nil {
		return nil, false, nil
	}
	threads, err := s.c.Anonymous.KeptThreads(ctx, "")
	if err != nil {
		return nil, false, err
	}
	copies := map[string]bool{}
	for _, t := range threads {
		copies[t.Digest.Value] = t.Dropped == nil
	}
	var groups retention.Groups
	err = names.Names(ctx, func(d handoff.Digest, stat func() (handoff.StoredBody, error)) error {
		owner, owned := index.Owner(d)
		if !owned && !copies[d.Value] {
			return errUnknown
		}
		if !owned || owner.Size < 0 {
			b, err := stat()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			owner.Size = b.SizeBytes
		}
		if owned {
			groups.Add(by, cmp.Or(owner.Group, retention.NoName), owner.Size, !owner.Active)
		} else {
			groups.Add("threads", "", owner.Size, false)
		}
		return nil
	})
	if errors.Is(err, errUnknown) {
		return nil, false, nil
	}
	return groups.List(), err == nil, err
}

// others returns the space of what is no body that a record needs.
func (s Store) others(unneeded []storage.UnneededBody, trash []session.Summary, logBytes int64) (
	list []storage.DiskUsage) {
	add := func(u storage.DiskUsage) {
		if u.SizeBytes > 0 || u.Bodies > 0 {
			list = append(list, u)
		}
	}
	u := storage.DiskUsage{By: "unneeded", Bodies: len(unneeded)}
	for _, b := range unneeded {
		u.SizeBytes += b.SizeBytes
	}
	add(u)
	u = storage.DiskUsage{By: "trash"}
	for _, t := range trash {
		u.SizeBytes += t.SizeBytes
	}
	if len(trash) > 0 {
		list = append(list, u)
	}
	if _, err := os.Stat(filepath.Join(s.c.Dirs.Runtime, "log")); err == nil { // it is on this machine
		add(storage.DiskUsage{By: "log", SizeBytes: logBytes})
	}
	var index []string
	entries, _ := os.ReadDir(s.c.Dirs.Runtime)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), localstate.FileName) {
			index = append(index, filepath.Join(s.c.Dirs.Runtime, e.Name()))
		}
	}
	add(storage.DiskUsage{By: "index", SizeBytes: size(index...)})
	caches := []string{filepath.Join(s.c.Dirs.Runtime, "git"), filepath.Join(s.c.Dirs.Runtime, "cache")}
	if s.c.Cache != "" {
		caches = append(caches, s.c.Cache)
	}
	add(storage.DiskUsage{By: "caches", SizeBytes: size(caches...)})
	return list
}

// size returns the size of files and of the regular files in directories, as far as it can be read.
func size(names ...string) (n int64) {
	for _, name := range names {
		_ = filepath.WalkDir(name, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				n += info.Size()
			}
			return nil
		})
	}
	return n
}
