package threadindex

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A ThreadUsage is what a conversation or a subagent used, without its subagents.
type ThreadUsage struct {
	URI          string
	Agent        string // name or role of a subagent
	Main         string // URI of the conversation of a subagent
	Cwd          string
	Started      time.Time
	Modified     time.Time // of its transcript
	Completeness thread.Completeness
	Reason       string           // why it is not exact
	Requests     []thread.Request // without those in a copied history, and without the numbers of messages
}

func (e *entry) usage() ThreadUsage {
	u := ThreadUsage{URI: e.URI.String(), Cwd: e.Cwd, Started: stored(nanos(e.Started)), Modified: stored(nanos(e.Modified)),
		Completeness: e.Usage.Completeness, Reason: e.Usage.Reason, Requests: e.Requests}
	u.Agent, u.Main = e.agent()
	for i := range u.Requests {
		u.Requests[i].N = 0
	}
	return u
}

// agent returns the name or role of a subagent, and the URI of its conversation.
func (e *entry) agent() (name, main string) {
	if e.IsAgent() {
		name = cmp.Or(e.AgentName, e.AgentRole)
	}
	if e.Parent != "" {
		main = thread.URI{Provider: e.Provider, Thread: e.Parent}.String()
	}
	return name, main
}

// EachUsage calls use with the usage of the conversations that q selects by provider,
// directory and time, and of their subagents, newest first. Each is counted once, from
// its own transcript. Transcripts that can't be read are warnings. Kind: Unsupported (a
// provider), or the error is one of use.
func (f *Files) EachUsage(ctx context.Context, q Query, use func(ThreadUsage) error) (warnings []string, err error) {
	all, err := f.find(ctx, q.Providers)
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(newestFirst(all.stored), func(s *thread.Stored) bool { return !q.inTime(s.Modified) })
	read, errs := make([][]*entry, len(found)), make([]error, len(found))
	thread.Parallel(len(found), func(i int) {
		if ctx.Err() == nil {
			read[i], errs[i] = readUsage(ctx, *found[i])
		}
	})
	seen, selected := map[string]bool{}, map[string]bool{} // by URI
	var list []ThreadUsage
	for i, entries := range read {
		if errs[i] != nil && !errors.Is(errs[i], handoff.NotFound) {
			all.warnings = append(all.warnings, errs[i].Error())
		}
		for _, e := range entries {
			if uri := e.URI.String(); !seen[uri] {
				seen[uri], selected[uri] = true, q.selects(e.Thread)
				list = append(list, e.usage())
			}
		}
	}
	err = ctx.Err()
	for _, u := range list {
		if err == nil && (selected[u.URI] || selected[u.Main]) {
			err = use(u)
		}
	}
	return all.warnings, err
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
	var failed error // of use: it is not a reason to read the files
	do := func(a answer) error {
		return a.eachUsage(ctx, q, func(u ThreadUsage) bool {
			failed = use(u)
			return failed == nil
		})
	}
	used, warnings, err := x.askFound(ctx, all, Quick, do)
	if err == nil && !used {
		alone := *x
		alone.file, alone.read = filepath.Join(filepath.Dir(x.file), "usage-"+filepath.Base(x.file)), readUsage
		used, warnings, err = alone.askFound(ctx, all, 0, do)
	}
	if err == nil && !used {
		var more []string
		more, failed = x.files.EachUsage(ctx, q, use)
		warnings = append(warnings, more...)
	}
	return warnings, errors.Join(err, failed)
}

func (a answer) eachUsage(ctx context.Context, q Query, use func(ThreadUsage) bool) error {
	c, older, err := a.where(ctx, Query{Providers: q.Providers, Since: q.Since, Until: q.Until})
	if err != nil {
		return err
	}
	c.newest(older)
	if q.In != nil {
		in, _, err := a.where(ctx, Query{In: q.In})
		if err != nil {
			return err
		}
		mains, _, err := a.where(ctx, Query{Providers: q.Providers, In: q.In, Since: q.Since, Until: q.Until})
		if err != nil {
			return err
		}
		mains.newest(older)
		c.add("("+in.String()+" OR t.parent IN (SELECT t.uri FROM threads t WHERE "+mains.String()+"))", slices.Concat(in.args, mains.args)...)
	}
	rows, err := a.QueryContext(ctx, `SELECT t.uri, t.agent_name, t.parent, t.cwd, t.started, t.modified, t.completeness, t.reason, r.list
		FROM threads t LEFT JOIN requests r ON r.thread = t.id WHERE `+c.String()+" ORDER BY t.modified DESC, t.key, t.id", c.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var u ThreadUsage
		var started, modified int64
		var packed sql.RawBytes
		if err := rows.Scan(&u.URI, &u.Agent, &u.Main, &u.Cwd, &started, &modified, &u.Completeness, &u.Reason, &packed); err != nil {
			return err
		}
		u.Started, u.Modified = stored(started), stored(modified)
		if u.Requests, err = unpackRequests(packed); err != nil {
			return err
		}
		for i := range u.Requests {
			u.Requests[i].N = 0
		}
		if !use(u) {
			return nil
		}
	}
	return rows.Err()
}

// packRequests encodes requests: the number of models, the provider and name of each,
// and of each request its model and, as differences to the request before, its message
// and time, then its tokens.
func packRequests(list []thread.Request) []byte {
	type model struct{ provider, name string }
	known := map[model]uint64{}
	var names, b []byte
	var n, at int64
	for _, r := range list {
		m := model{r.Provider, r.Model}
		if _, ok := known[m]; !ok {
			known[m] = uint64(len(known))
			for _, s := range []string{m.provider, m.name} {
				names = append(binary.AppendUvarint(names, uint64(len(s))), s...)
			}
		}
		b = binary.AppendUvarint(b, known[m])
		for _, v := range []int64{int64(r.N) - n, nanos(r.At) - at, r.Input, r.CacheRead, r.CacheWrite, r.CacheWrite1h, r.Output, r.Reasoning, int64(r.Calls)} {
			b = binary.AppendVarint(b, v)
		}
		b = binary.AppendUvarint(b, math.Float64bits(r.Cost))
		n, at = int64(r.N), nanos(r.At)
	}
	return append(append(binary.AppendUvarint(nil, uint64(len(known))), names...), b...)
}

var errPacked = errors.New("the index has an invalid list of requests")

// unpackRequests decodes requests.
func unpackRequests(b []byte) (list []thread.Request, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	p := packed{b}
	models := make([]thread.ModelUsage, min(p.uint(), uint64(len(b))))
	for i := range models {
		models[i].Provider, models[i].Model = p.string(), p.string()
	}
	var n, at int64
	for len(p.b) > 0 {
		m := p.uint()
		if m >= uint64(len(models)) {
			return nil, errPacked
		}
		r := thread.Request{ModelUsage: models[m]}
		n, at = n+p.int(), at+p.int()
		r.N, r.At = int(n), stored(at)
		r.Input, r.CacheRead, r.CacheWrite, r.CacheWrite1h = p.int(), p.int(), p.int(), p.int()
		r.Output, r.Reasoning, r.Calls, r.Cost = p.int(), p.int(), int(p.int()), math.Float64frombits(p.uint())
		list = append(list, r)
	}
	return list, nil
}

// A packed is what remains to be decoded. After its end, all numbers are 0.
type packed struct{ b []byte }

func (p *packed) uint() uint64 {
	v, n := binary.Uvarint(p.b)
	p.b = p.b[max(n, min(1, len(p.b))):]
	return v
}

func (p *packed) int() int64 {
	v, n := binary.Varint(p.b)
	p.b = p.b[max(n, min(1, len(p.b))):]
	return v
}

func (p *packed) string() string {
	n := min(p.uint(), uint64(len(p.b)))
	s := string(p.b[:n])
	p.b = p.b[n:]
	return s
}
