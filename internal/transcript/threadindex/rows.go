package threadindex

import (
	"cmp"
	"database/sql"
	"fmt"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex/store"
	"github.com/agent-handoff/handoff/thread"
)

// Calls are what was found, in the order of time.
type Calls[T any] struct {
	List     []T      `json:"list"`
	Warnings []string `json:"warnings,omitempty"` // what could not be read
}

func (p Place) place() Place { return p }

// placed is a row of Calls.
type placed interface{ place() Place }

// sortCalls orders rows by time. Those of one message keep their order.
func sortCalls[T placed](list []T, warnings []string) Calls[T] {
	if list == nil {
		list = []T{}
	}
	order.Sort(list, func(a, b T) int {
		p, q := a.place(), b.place()
		return cmp.Or(p.At.Compare(q.At), cmp.Compare(p.URI.String(), q.URI.String()))
	})
	return Calls[T]{list, warnings}
}

const touchColumns = "r.path, r.access"

func scanTouch(rows *sql.Rows) (t Touch, err error) {
	var access int
	t.Place, _, err = scanPlace(rows, &t.Path, &access)
	t.Access = accessOf(access)
	return t, err
}

func accessOf(stored int) action.Access { return accesses[uint(stored)%uint(len(accesses))] }

// accesses are the accesses as they are stored. The last ones are those that change a file.
var accesses = []action.Access{action.Named, action.Read, action.Written, action.Inferred}

const mentionColumns = `r.name, r.place, coalesce((SELECT CASE count(*) WHEN 1 THEN max(c.line) END FROM commands c
	WHERE r.place = 'commit' AND c.thread = r.thread AND c.n = r.n AND instr(c.line, 'commit')), '')`

func scanMention(rows *sql.Rows) (m Mention, err error) {
	m.Place, _, err = scanPlace(rows, &m.Name, &m.Where, &m.Command)
	return m, err
}

// named returns conditions, one of which is true for a mention of one of the names.
func named(names ...string) (c condition) {
	for _, name := range names {
		c.add("r.name = ?", name)
		if !action.IsCommit(name) {
			continue
		}
		c.add("r.name >= ? AND r.name < ?", name, name+"g") // g follows the digits
		for n := action.ShortCommit; n < len(name); n++ {
			c.add("r.name = ?", name[:n])
		}
	}
	return c
}

// scanPlace scans a row: its place and the directory of its thread, then further
// columns.
func scanPlace(rows *sql.Rows, more ...any) (p Place, cwd string, err error) {
	var uri string
	var n int
	var at int64
	if err := rows.Scan(append([]any{&uri, &cwd, &n, &at}, more...)...); err != nil {
		return p, "", err
	}
	if p.URI, err = thread.ParseURI(uri); err != nil {
		err = fmt.Errorf("%w: %v", store.ErrValue, err)
	}
	p.URI.From, p.URI.To, p.At = n, n, timeOf(at)
	return p, cwd, err
}
