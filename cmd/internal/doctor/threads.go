package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/thread"
)

// newestThreads is how many transcripts of each program are read.
const newestThreads = 4

// findThreads looks for transcripts that can't be read, and for records of types that this
// version does not know in the newest ones of each program.
func findThreads(ctx context.Context, m *Machine, f *findings) {
	set := m.Options.Threads
	if set == nil {
		return
	}
	for _, name := range set.Names() {
		stored, err := transcripts(ctx, set, name)
		if err != nil {
			f.warn(err.Error(), hintOf(err))
		}
		slices.SortFunc(stored, func(a, b *thread.Stored) int { return b.Modified.Compare(a.Modified) })
		stored = stored[:min(len(stored), newestThreads)]
		types, err := unknownTypes(ctx, stored)
		if err != nil {
			f.warn(err.Error(), hintOf(err))
		}
		if len(types) > 0 {
			n := 0
			for _, count := range types {
				n += count
			}
			names := strings.Join(slices.Sorted(maps.Keys(types)), ", ")
			f.warn(fmt.Sprintf("%s: the newest threads have %s of types that this version does not know (%s)",
				name, textfmt.Count(n, "record"), names), handoff.Advice("install the newest handoff"))
		}
	}
}

// transcripts returns those of a program.
func transcripts(ctx context.Context, set *thread.Set, name string) (list []*thread.Stored, err error) {
	p, err := set.Provider(name)
	if err != nil {
		return nil, err
	}
	for s, failed := range thread.StoredIn(ctx, name, p) {
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		list = append(list, s)
	}
	return list, err
}

// unknownTypes counts the records of types that are not known in transcripts. The error is that
// of the first transcript that can't be read; one that was removed meanwhile is left out.
func unknownTypes(ctx context.Context, stored []*thread.Stored) (types map[string]int, err error) {
	types = map[string]int{}
	for _, s := range stored {
		threads, failed := s.Open(ctx)
		for _, t := range threads {
			if failed == nil {
				failed = t.Load(ctx)
			}
			for name, n := range t.Unknown {
				types[name] += n
			}
		}
		if err == nil && !errors.Is(failed, handoff.NotFound) && !errors.Is(failed, fs.ErrNotExist) {
			err = failed
		}
	}
	return types, err
}
