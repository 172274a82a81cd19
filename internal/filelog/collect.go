package filelog

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/content"
)

// A KeptBody is a body as it lies in its directory.
type KeptBody struct {
	Digest    handoff.Digest    `json:"digest"`
	SizeBytes int64             `json:"sizeBytes"`
	Need      content.Reference `json:"need"`
	modTime   time.Time
	name      string // below the runtime directory
	aside     bool   // a collection was about to remove it
}

// asideSuffix marks a body on its way out.
const asideSuffix = ".aside"

// list returns every body, and what doesn't belong among them.
func (b *Bodies) list(needs *content.References) (bodies []KeptBody, strays []string, err error) {
	dirs, err := b.entries(bodiesDir)
	for _, dir := range dirs {
		name := bodiesDir + "/" + dir.Name()
		if !dir.IsDir() {
			strays = append(strays, name)
			continue
		}
		files, err := b.entries(name)
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			rest, aside := strings.CutSuffix(file.Name(), asideSuffix)
			k := KeptBody{Digest: handoff.Digest{Algorithm: handoff.SHA256, Value: dir.Name() + rest}, name: name + "/" + file.Name(), aside: aside}
			if len(dir.Name()) != 2 || !isDigest(k.Digest) || !file.Type().IsRegular() {
				strays = append(strays, k.name)
				continue
			}
			info, err := file.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			k.SizeBytes, k.modTime, k.Need = info.Size(), info.ModTime(), needs.Of(k.Digest)
			bodies = append(bodies, k)
		}
	}
	return bodies, strays, err
}

// entries lists a directory, which need not exist.
func (b *Bodies) entries(dir string) ([]fs.DirEntry, error) {
	list, err := os.ReadDir(b.log.path(dir))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return list, err
}

// Unneeded returns the bodies that no artifact needs but those that were
// withdrawn, the largest first. Those of the last hour are left out: they may
// belong to a publish that is under way. It changes nothing.
//
// Its kinds are Unavailable, and Corrupt where anything is wrong with the log:
// a record that can't be read may need any body.
func (b *Bodies) Unneeded(ctx context.Context, now time.Time) ([]KeptBody, error) {
	c, err := b.log.examine(ctx)
	if err != nil {
		return nil, b.failure("collect", err)
	}
	if !c.report.Sound() {
		first := c.report.Findings[slices.IndexFunc(c.report.Findings, func(f Finding) bool { return !f.Note })]
		return nil, &handoff.Error{Op: "collect", Name: first.Name, Kind: handoff.Corrupt, Err: errors.New("something is wrong with the log: " + first.Text),
			Hint: handoff.Advice("handoff check tells all of it")}
	}
	bodies, _, err := b.list(&c.needs)
	if err != nil {
		return nil, b.failure("collect", err)
	}
	if c.report.Records == 0 && len(bodies) > 0 && !b.log.identified() {
		return nil, &handoff.Error{Op: "collect", Name: b.log.dir, Kind: handoff.Corrupt, Err: errors.New("there are bodies, and no log that could need them"),
			Hint: handoff.Advice("handoff check tells what is missing")}
	}
	bodies = slices.DeleteFunc(bodies, func(k KeptBody) bool { return k.Need == content.Referenced || now.Sub(k.modTime) < staleAfter })
	slices.SortFunc(bodies, func(x, y KeptBody) int { return cmp.Compare(y.SizeBytes, x.SizeBytes) })
	return bodies, nil
}

// identified reports whether there is a log.
func (l *Log) identified() bool {
	id, err := l.ID()
	return err == nil && id != ""
}

// Collect removes bodies that Unneeded returned for the same time, and returns
// those that it removed. One that was kept anew meanwhile stays.
func (b *Bodies) Collect(ctx context.Context, bodies []KeptBody, now time.Time) (gone []KeptBody, err error) {
	for _, k := range bodies {
		if err := ctx.Err(); err != nil {
			return gone, err
		}
		removed, err := b.collect(k, now)
		if err != nil {
			return gone, b.failure("collect", err)
		}
		if removed {
			gone = append(gone, k)
		}
	}
	return gone, nil
}

// collect sets a body aside before it looks at its age: whoever keeps it anew
// from then on finds it missing and writes it again, and whoever did before has
// made it young.
func (b *Bodies) collect(k KeptBody, now time.Time) (removed bool, err error) {
	_, name := b.place(k.Digest)
	aside := b.log.path(name + asideSuffix)
	if !k.aside {
		err = os.Rename(b.log.path(name), aside)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(aside)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // another collection was here
	}
	if err != nil {
		return false, err
	}
	if now.Sub(info.ModTime()) < staleAfter {
		if err := os.Link(aside, b.log.path(name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		return false, os.Remove(aside)
	}
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, nil
}
