package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/storage"
)

// others returns the space of what is no body that a record needs.
func (s Store) others(unneeded []storage.UnneededBody, trash []session.Summary) (list []storage.DiskUsage) {
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
	add(u)
	var records, index, caches int64
	sizes(s.o.Runtime, func(name string, size int64) {
		switch first, _, _ := strings.Cut(name, string(filepath.Separator)); {
		case first == "log":
			records += size
		case strings.HasPrefix(first, localstate.FileName):
			index += size
		case first == "git" || first == "cache":
			caches += size
		}
	})
	add(storage.DiskUsage{By: "log", SizeBytes: records})
	add(storage.DiskUsage{By: "index", SizeBytes: index})
	if s.o.Cache != "" {
		sizes(s.o.Cache, func(_ string, size int64) { caches += size })
	}
	add(storage.DiskUsage{By: "caches", SizeBytes: caches})
	return list
}

// sizes calls add for each regular file of a directory, as far as it can be read.
func sizes(dir string, add func(name string, size int64)) {
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if d.IsDir() && (name == "bodies" || name == "artifacts") { // bodies are listed, links are no copies
			return fs.SkipDir
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			add(filepath.FromSlash(name), info.Size())
		}
		return nil
	})
}
