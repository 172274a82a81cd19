package engine

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// A Store is where a program keeps transcripts.
type Store struct {
	// Pattern is the path of a transcript below a root, such as
	// "projects/*/chats/{id}.jsonl". A part of it has at most one of * (any text), {id},
	// the ID of the thread, and {parent}, that of its parent; a part ** is any number of
	// directories. Without {id}, ID or Program.Head determines the ID. A second {id} is the
	// same text.
	Pattern string

	// ID returns the ID for the text of {id}, or of the last *. ok is false if the file is
	// no transcript. nil is thread.LowerUUID.
	ID func(text string) (id string, ok bool)

	// Narrow returns patterns that find what is wanted in fewer directories; none if
	// Pattern must be used. It may be nil.
	Narrow func(Query) []string

	// Beside is the end of the name of a file that a transcript depends on, instead of the
	// end of its pattern. "" if there is none.
	Beside string

	// Set sets what else is known of a transcript by its path. It may be nil.
	Set func(f *Found)

	Open func(w *thread.Walk, t *thread.Thread) // Found.Open

	Proof string // how the store shows that a transcript with {parent} is of a subagent
	Rank  int    // Found.Rank
}

// A Query says which transcripts are wanted. The zero Query wants all.
type Query struct {
	ID       string
	Main     bool      // subagents need not be found
	Parent   string    // the session whose subagents are wanted
	Beside   string    // path of its transcript, with Parent
	From, To time.Time // when they were started, if From is not zero
}

// A Found is a transcript that was found, and not yet read.
type Found struct {
	ID     string   // "" if only its head has it
	Named  string   // the ID that its name suggests, if its head decides
	Short  string   // the beginning of the ID, as in its name; "" if it has none
	Path   string   // absolute
	Start  int64    // offset of the thread in the file
	Parent string   // ID of the session, if it is a subagent
	Proof  []string // how the store or the head shows that it is a subagent of Parent
	Alias  string   // another name; "" if there is none
	Sort   string   // lists are ordered by it, the last first; "" to keep the order in which transcripts are found
	Begun  string   // when it was started, as in its name, in the layout of Program.Begun; "" if unknown
	Rank   int      // of several copies, one with the lowest counts
	Local  bool     // the ID identifies a subagent only together with Parent
	Packed bool     // its words are not in the file, which is compressed
	Hidden bool     // a subagent whose parent is not recorded; it is not listed
	Whole  bool     // no records of other threads are in it, whatever Program.Inside and Starts are
	Err    error    // why it can't be read; it is then not listed
	Deeper bool     // another subagent may have started it; if so, only that one mentions it
	Prompt uint64   // Mention.Prompt, if nothing else may connect it with its parent; 0 otherwise

	Modified time.Time // when it was last changed, if the store records that
	Head     any       // what Program.Head read

	// Also returns the files that it depends on. nil are those beside it with similar names.
	Also func() []string

	// Open sets the metadata and the Reader of the thread. The other fields, and the
	// time of modification, are set before. nil is Program.Open.
	Open func(w *thread.Walk, t *thread.Thread)

	stat   thread.FileStat
	beside *thread.FileStat // of the file that is named by Store.Beside; nil if there can be none
	headed bool             // the head was read
}

// A place is a directory that matches the first parts of a pattern.
type place struct{ path, id, parent string }

// A segment is a part of a pattern.
type segment struct{ before, wild, after string }

func parseSegment(text string) segment {
	for _, wild := range []string{"{id}", "{parent}", "*"} {
		if before, after, ok := strings.Cut(text, wild); ok {
			return segment{before, wild, after}
		}
	}
	return segment{before: text}
}

// match returns the text that the wild part of p has in a name.
func (p segment) match(name string) (text string, ok bool) {
	text, ok = strings.CutPrefix(name, p.before)
	if !ok {
		return "", false
	}
	text, ok = strings.CutSuffix(text, p.after)
	return text, ok && (text != "" || p.wild == "*" || p.wild == "")
}

// with returns the place of a name that p matches with a text.
func (p segment) with(at place, name, text string) place {
	at.path = at.path + string(filepath.Separator) + name
	switch p.wild {
	case "{id}":
		at.id = text
	case "{parent}":
		at.parent = text
	}
	return at
}

const maxDepth = 8 // of directories that ** stands for

// find returns the transcripts of a store in a root. stat reports whether the state of
// each file is wanted. Of an ID, only those with it in their names are found.
func (s Store) find(w *thread.Walk, root string, q Query, stat bool) (list []*Found) {
	patterns := []string{s.Pattern}
	if s.Narrow != nil {
		if narrow := s.Narrow(q); narrow != nil {
			patterns = narrow
		}
	}
	for _, pattern := range patterns {
		list = append(list, s.match(w, filepath.Clean(root), strings.Split(pattern, "/"), q.ID, stat)...)
	}
	return list
}

func (s Store) match(w *thread.Walk, root string, parts []string, id string, stat bool) (list []*Found) {
	places, depth := []place{{path: root}}, 0
	last, repeated := parseSegment(parts[len(parts)-1]), slices.Contains(parts[:len(parts)-1], "{id}")
	for _, text := range parts[:len(parts)-1] {
		if text == "**" {
			depth = maxDepth
			continue
		}
		places = parseSegment(text).enter(w, places, id)
	}
	add := func(at place, text string, stat thread.FileStat) *Found {
		f := s.found(at, text, stat)
		if f != nil {
			list = append(list, f)
		}
		return f
	}
	switch {
	case last.wild == "", last.wild == "{id}" && depth == 0 && (isName(id) || repeated):
		for _, at := range places {
			name, id := last.before, cmp.Or(at.id, id)
			if last.wild != "" {
				name += id + last.after
			}
			at = last.with(at, name, id)
			if st := w.StatFile(at.path); st.Regular() {
				add(at, at.id, st)
			}
		}
	case stat || depth > 0:
		paths := make([]string, len(places))
		for i, at := range places {
			paths[i] = at.path
		}
		for _, folder := range w.Folders(paths, depth, func(name string) bool { return s.wants(last, name) }) {
			stats := s.besides(folder)
			for _, f := range folder.Files {
				text, ok := last.match(f.Name)
				if !ok {
					continue
				}
				at := last.with(places[folder.Root], f.Name, text)
				at.path = f.Path
				if found := add(at, text, f.FileStat); found != nil && stats != nil {
					beside := stats[strings.TrimSuffix(f.Name, last.after)]
					found.beside = &beside
				}
			}
		}
	default:
		for _, at := range places {
			for _, e := range w.ReadDir(at.path) {
				if text, ok := last.match(e.Name()); ok && thread.IsRegular(at.path, e) {
					add(last.with(at, e.Name(), text), text, thread.FileStat{})
				}
			}
		}
	}
	return list
}

// wants reports whether the state of a file is wanted: one that the last part of the
// pattern matches, or one beside that.
func (s Store) wants(last segment, name string) bool {
	_, ok := last.match(name)
	return ok || (s.Beside != "" && strings.HasSuffix(name, s.Beside))
}

// besides returns the states of the files beside transcripts in a directory, by the
// beginnings of their names; nil if there are none.
func (s Store) besides(in thread.Folder) map[string]thread.FileStat {
	if s.Beside == "" {
		return nil
	}
	stats := map[string]thread.FileStat{}
	for _, f := range in.Files {
		if stem, ok := strings.CutSuffix(f.Name, s.Beside); ok {
			stats[stem] = f.FileStat
		}
	}
	return stats
}

// enter returns the directories in places that p matches.
func (p segment) enter(w *thread.Walk, places []place, id string) (next []place) {
	for _, at := range places {
		switch {
		case p.wild == "":
			next = append(next, p.with(at, p.before, ""))
			continue
		case p.wild == "{id}" && isName(id):
			next = append(next, p.with(at, p.before+id+p.after, id))
			continue
		}
		for _, e := range w.ReadDir(at.path) {
			if text, ok := p.match(e.Name()); ok && !e.Type().IsRegular() {
				next = append(next, p.with(at, e.Name(), text))
			}
		}
	}
	return next
}

// isName reports whether an ID can be a part of a name.
func isName(id string) bool {
	return id != "" && id != "." && filepath.IsLocal(id) && !strings.ContainsAny(id, "/\\\x00*{}")
}

// found returns the transcript at a place, nil if it is none.
func (s Store) found(at place, text string, stat thread.FileStat) *Found {
	f := &Found{Path: at.path, Parent: thread.LowerUUID(at.parent), Rank: s.Rank, Open: s.Open, stat: stat}
	named := at.id != ""
	if named {
		text = at.id
	}
	switch {
	case s.ID != nil:
		id, ok := s.ID(text)
		if !ok {
			return nil
		}
		f.ID = id
	case named:
		f.ID = thread.LowerUUID(text)
	}
	if f.Parent != "" && s.Proof != "" {
		f.Proof = []string{s.Proof}
	}
	if s.Set != nil {
		s.Set(f)
	}
	return f
}

// find returns the transcripts of a program, in the order of the roots.
func (p *Provider) find(ctx context.Context, w *thread.Walk, q Query, stat bool) (list []*Found, err error) {
	for _, root := range p.roots {
		for _, s := range p.Stores {
			list = append(list, s.find(w, root, q, stat)...)
		}
	}
	if p.Find != nil {
		found, failed := p.Find(ctx, w, p.roots)
		list, err = append(list, found...), failed
	}
	slices.SortStableFunc(list, func(a, b *Found) int { return a.Rank - b.Rank })
	return list, err
}
