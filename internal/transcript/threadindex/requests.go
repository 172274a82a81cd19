package threadindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex/store"
	"github.com/agent-handoff/handoff/thread"
)

// A ThreadUsage is what a thread or a subagent used, without its subagents.
type ThreadUsage struct {
	URI          string
	Self         string // URI without the one that started a subagent
	Shell        string // URI that its shells have of a subagent, "" for Self
	Agent        string // name or role of a subagent
	Main         string // URI of the thread that a subagent, also one of a subagent, belongs to
	By           string // URI of the thread or subagent that started it
	Cwd          string
	Started      time.Time
	Modified     time.Time // of its transcript
	Completeness thread.Completeness
	Reason       string           // why it is not exact
	Requests     []thread.Request // without those in a copied history, and without the numbers of messages
	Missing      bool             // the subagent was started, and has no transcript
}

func (e *entry) usage() ThreadUsage {
	u := ThreadUsage{URI: e.URI.String(), Self: e.Thread.URI().String(), Cwd: e.Cwd,
		Started: timeOf(nanos(e.Started)), Modified: timeOf(nanos(e.Modified)),
		Completeness: e.Usage.Completeness, Reason: e.Usage.Reason, Requests: e.Requests}
	u.Agent, u.Main = e.agent()
	u.Shell = shellURI(e.Provider, e.ShellID)
	for i := range u.Requests {
		u.Requests[i].N = 0
	}
	return u
}

// shellURI returns the URI of a subagent by the ID in its shells, "" for none.
func shellURI(provider, id string) string {
	if id == "" {
		return ""
	}
	return thread.URI{Provider: provider, Thread: id}.String()
}

// agent returns the name or role of a subagent, and the URI of its thread.
func (e *entry) agent() (name, main string) {
	if e.IsAgent() {
		name = e.ProducerAgent()
	}
	if e.Parent != "" {
		main = thread.URI{Provider: e.Provider, Thread: e.Parent}.String()
	}
	return name, main
}

// EachUsage calls use with the usage of the threads that q selects by provider,
// directory and time, and of their subagents, newest first. Each is counted once, from
// its own transcript. Transcripts that can't be read are warnings. Kind: Unsupported (a
// provider), or the error is one of use.
func (f *Files) EachUsage(ctx context.Context, q Query, use func(ThreadUsage) error) (warnings []string, err error) {
	all, err := f.find(ctx, q.Providers)
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(slices.Clone(newestFirst(all.stored)), func(s *thread.Stored) bool {
		return !q.inTime(s.Modified)
	})
	read, errs := make([][]*entry, len(found)), make([]error, len(found))
	thread.Parallel(len(found), func(i int) {
		if ctx.Err() == nil {
			read[i], errs[i] = readUsage(ctx, found[i])
		}
	})
	seen, selected := map[string]bool{}, map[string]bool{} // by URI
	parents, started := parentOf{}, startedBy{}
	var list []ThreadUsage
	for i, entries := range read {
		if errs[i] != nil && !errors.Is(errs[i], handoff.NotFound) {
			all.warnings = append(all.warnings, errs[i].Error())
		}
		for _, e := range entries {
			if uri := e.URI.String(); !seen[uri] {
				seen[uri], selected[uri] = true, q.selects(e.Thread)
				u := e.usage()
				started.add(u.Self, spawned{u.Main, e.Spawned})
				if e.IsAgent() {
					parents.add(u.Self, u.Main)
				}
				list = append(list, u)
			}
		}
	}
	counted := startedBy{}
	err = ctx.Err()
	for _, u := range list {
		u.By, u.Main = u.Main, parents.main(u.Main)
		if err == nil && (selected[u.URI] || selected[u.Main]) {
			counted.add(u.Self, started[u.Self])
			err = use(u)
		}
	}
	if err != nil {
		return all.warnings, err
	}
	for _, u := range all.missing(counted, parents, list) {
		if err := use(u); err != nil {
			return all.warnings, err
		}
	}
	return all.warnings, nil
}

// EachUsage is Files.EachUsage. If the index is not nearly up to date, it uses one of
// the usage alone, which is built much faster.
func (x *Index) EachUsage(ctx context.Context, q Query, use func(ThreadUsage) error) (warnings []string, err error) {
	if err := x.files.check(q); err != nil {
		return nil, err
	}
	all, err := x.files.find(ctx, nil)
	if err != nil {
		return nil, err
	}
	var failed error            // of use: it is not a reason to read the files
	passed := map[string]bool{} // by URI, before the index was found to be damaged
	once := func(u ThreadUsage) error {
		if passed[u.URI] {
			return nil
		}
		passed[u.URI] = true
		return use(u)
	}
	do := func(a answer) error {
		return a.eachUsage(ctx, q, func(u ThreadUsage) bool {
			failed = once(u)
			return failed == nil
		})
	}
	used, warnings, err := x.askFound(ctx, all, Quick, do)
	if err == nil && !used {
		alone := *x
		alone.file, alone.read, alone.tails = filepath.Join(filepath.Dir(x.file), "usage-"+filepath.Base(x.file)), readUsage,
			false
		used, warnings, err = alone.askFound(ctx, all, 0, do)
	}
	if err == nil && !used {
		var more []string
		more, failed = x.files.EachUsage(ctx, q, once)
		warnings = append(warnings, more...)
	}
	return warnings, errors.Join(err, failed)
}

func (a answer) eachUsage(ctx context.Context, q Query, use func(ThreadUsage) bool) error {
	parents, err := a.parents(ctx, q)
	if err != nil {
		return err
	}
	c, err := a.counted(ctx, q, parents)
	if err != nil {
		return err
	}
	rows, err := a.QueryContext(ctx,
		`SELECT t.uri, t.self, t.provider, t.shell, t.spawned, t.agent_name, t.parent, t.cwd,
			t.started, t.modified, t.completeness, t.reason, r.list
		FROM threads t LEFT JOIN requests r ON r.thread = t.id WHERE `+c.String()+" ORDER BY t.modified DESC, t.key, t.id", c.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	started := startedBy{}
	for rows.Next() {
		var u ThreadUsage
		var provider, shell, agents string
		var start, modified int64
		var requests sql.RawBytes
		if err := rows.Scan(&u.URI, &u.Self, &provider, &shell, &agents, &u.Agent, &u.Main, &u.Cwd, &start, &modified,
			&u.Completeness, &u.Reason, &requests); err != nil {
			return err
		}
		u.Shell, u.By, u.Main = shellURI(provider, shell), u.Main, parents.main(u.Main)
		u.Started, u.Modified = timeOf(start), timeOf(modified)
		if u.Requests, err = decodeRequests(requests); err != nil {
			return fmt.Errorf("%w: %w", store.ErrValue, err)
		}
		for i := range u.Requests {
			u.Requests[i].N = 0
		}
		started.add(u.Self, spawned{u.By, strings.Fields(agents)})
		if !use(u) {
			return nil
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	missing, err := a.missing(ctx, started, parents)
	if err != nil {
		return err
	}
	for _, u := range missing {
		if !use(u) {
			return nil
		}
	}
	return nil
}

// counted returns the condition for the threads whose usage q selects.
func (a answer) counted(ctx context.Context, q Query, parents parentOf) (condition, error) {
	c, older, err := a.where(ctx, Query{Providers: q.Providers, Since: q.Since, Until: q.Until})
	if err != nil {
		return c, err
	}
	c.newest(older)
	if q.In == nil {
		return c, nil
	}
	in, _, err := a.where(ctx, Query{In: q.In})
	if err != nil {
		return c, err
	}
	mains, _, err := a.where(ctx, Query{Providers: q.Providers, In: q.In, Since: q.Since, Until: q.Until})
	if err != nil {
		return c, err
	}
	mains.newest(older)
	selected, known := "SELECT t.uri FROM threads t WHERE "+mains.String(), map[string]bool{}
	if len(parents) > 0 {
		uris, err := a.strings(ctx, selected, mains.args...)
		if err != nil {
			return c, err
		}
		for _, uri := range uris {
			known[uri] = true
		}
	}
	c.add("("+in.String()+" OR t.parent IN ("+selected+") OR t.parent IN (SELECT value FROM json_each(?)))",
		append(slices.Concat(in.args, mains.args), list(parents.inside(known)))...)
	return c, nil
}
