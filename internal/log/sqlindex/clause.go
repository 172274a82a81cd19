package sqlindex

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
)

// A clause is the FROM and WHERE part of a query. Its rows are those of
// artifacts; or those of a label, joined with artifacts if a term needs it.
type clause struct {
	from     string
	labelled bool // the rows are those of a label
	joined   bool
	terms    []string
	args     []any
	equals   bool // a column is equal to a value: its index ends in status
	times    bool // the time is in a range
	narrow   bool // another term has an index
	byPath   bool // the index of paths is used, which ends in status
	ranged   bool // the key of the rows is in a range, which is searched without an index
}

// and adds a term on columns of artifacts.
func (w clause) and(term string, args ...any) clause {
	w.joined = true
	return w.also(term, args...)
}

func (w clause) also(term string, args ...any) clause {
	w.terms = append(slices.Clip(w.terms), term)
	w.args = append(slices.Clip(w.args), args...)
	return w
}

// equal selects rows by the value of a column, unless the value is "".
func (w clause) equal(column, value string) clause {
	if value == "" {
		return w
	}
	w.equals = true
	return w.and("a."+column+" = ?", value)
}

// status selects artifacts by status. SQLite prefers the index of status because
// it is in log order; where a term has a more selective index, the unary plus
// prevents that.
func (w clause) status(is string, args ...any) clause {
	switch {
	case w.labelled:
		return w.also("l.status "+is, args...)
	case w.times && !w.equals:
		w.from += " INDEXED BY by_created"
	case w.narrow && !w.byPath:
		return w.and("+a.status "+is, args...)
	}
	return w.and("a.status "+is, args...)
}

// key returns the column that is in log order.
func (w clause) key() string {
	if w.labelled {
		return "l.seq"
	}
	return "a.seq"
}

// label selects artifacts that have a label. The first label drives the query:
// its rows are in log order.
func (w clause) label(space, value string) clause {
	if w.labelled || w.ranged {
		return w.and("EXISTS (SELECT 1 FROM labels "+
			"WHERE space = ? AND value = ? AND status = a.status AND seq = a.seq)", space, value)
	}
	w.labelled = true
	return w.also("l.space = ? AND l.value = ?", space, value)
}

func (w clause) String() string {
	from := w.from
	switch {
	case w.labelled && w.joined:
		from = "labels l CROSS JOIN artifacts a ON a.seq = l.seq"
	case w.labelled:
		from = "labels l"
	}
	if len(w.terms) == 0 {
		return " FROM " + from
	}
	return " FROM " + from + " WHERE " + strings.Join(w.terms, " AND ")
}

// revision selects artifacts by their number, which a family or a name has once.
func (w clause) revision(q handoff.ArtifactQuery) clause {
	number := strconv.Itoa(q.Revision)
	switch {
	case q.Revision == 0:
		return w
	case q.Revision == 1:
		return w.and("a.revision IS NULL")
	case q.Family != "" || q.Name != "":
		return w.and("+a.revision = ?", number)
	}
	w.narrow = true // with a channel
	return w.and("a.revision = ?", number)
}

// lists selects artifacts by the lists of a query.
func (w clause) lists(s *store, q handoff.ArtifactQuery) (clause, error) {
	w, err := w.paths(s, q.Paths)
	if err != nil {
		return w, err
	}
	if w, err = w.among("a.id IN (SELECT value FROM json_each(?))", q.IDs); err != nil {
		return w, err
	}
	if q.UsedBy != "" {
		w.narrow, w.times = true, false
		w = w.and("a.id IN (SELECT id FROM users WHERE user = ?)", q.UsedBy)
	}
	if w, err = w.among(newestIn(), q.NewestIn); err != nil {
		return w, err
	}
	return w.among("a.seq IN (SELECT seq FROM labels WHERE space = '"+parentSpace+
		"' AND value IN (SELECT value FROM json_each(?)))", q.AnyParent)
}

// newestIn is the term that selects the artifacts that were published last in sessions or runs. The
// index of each column is in log order for each status.
func newestIn() string {
	var last []string
	for _, column := range []string{"session", "run"} {
		for _, status := range statuses {
			last = append(last, "coalesce((SELECT seq FROM artifacts WHERE "+column+" = place.value AND status = '"+
				string(status)+"' ORDER BY seq DESC LIMIT 1), 0)")
		}
	}
	return "a.seq IN (SELECT max(" + strings.Join(last, ", ") + ") FROM json_each(?) place)"
}

// paths selects artifacts by their path, also before moves, unless paths is nil.
func (w clause) paths(s *store, paths []string) (clause, error) {
	if paths == nil {
		return w, nil
	}
	paths, err := fold.RecordedPaths(s, paths)
	if err != nil {
		return w, err
	}
	if !w.ranged { // SQLite has no statistics, and does not know that a path has few artifacts
		w.from += " INDEXED BY by_path"
		w.byPath = true
	}
	return w.among("a.path IN (SELECT value FROM json_each(?))", paths)
}

// among adds a term on a list of values, unless the list is nil.
func (w clause) among(term string, values []string) (clause, error) {
	if values == nil {
		return w, nil
	}
	list, err := encode(values)
	w.narrow, w.times = true, false
	return w.and(term, list), err
}

// suffix selects artifacts by the end of their ID.
func (w clause) suffix(text string) clause {
	w.times = false
	if len(text) >= suffixLength {
		w.narrow = true
		w = w.and(suffixOfID+" = ?", text[len(text)-suffixLength:])
	}
	return w.and("substr(a.id, -length(?)) = ?", text, text)
}

// after selects artifacts by position: usually the few newest, whatever else they
// are selected by.
func (w clause) after(seq handoff.Seq) clause {
	if seq == 0 {
		return w
	}
	w.ranged, w.narrow = true, true
	w.from += " NOT INDEXED"
	return w.and("a.seq > ?", int64(seq))
}

func (w clause) slot(slot, value string) clause {
	slot = handoff.SlotName(slot)
	column := strings.ReplaceAll(slot, "-", "_")
	isColumn := slices.Contains(columnSlots, column) && slotName(column) == slot
	switch {
	case isColumn && value == "":
		return w.and("a." + column + " IS NULL")
	case isColumn:
		return w.equal(column, value)
	case value == "":
		return w.and("NOT EXISTS (SELECT 1 FROM labels WHERE space = ? AND seq = a.seq)", slotSpace(slot))
	}
	return w.label(slotSpace(slot), value)
}

// placed returns the query of the positions that a clause selects, one more than the limit.
func placed(w clause, limit int) (string, []any) {
	query := "SELECT " + w.key() + w.String() + " ORDER BY " + w.key() + " DESC"
	if limit > 0 {
		return query + " LIMIT ?", append(slices.Clip(w.args), limit+1)
	}
	return query, w.args
}
