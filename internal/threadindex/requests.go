package threadindex

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A ThreadUsage is what a conversation or a subagent used, without its subagents.
type ThreadUsage struct {
	URI          thread.URI
	Title        string // or the beginning of its first message
	Cwd          string
	Started      time.Time
	Modified     time.Time // of its transcript
	Completeness thread.Completeness
	Reason       string           // why it is not exact
	Requests     []thread.Request // without those in a copied history
}

// EachUsage calls use with the usage of the conversations and subagents that q selects
// by provider, directory and time, newest first. Each is counted once, from its own
// transcript. Transcripts that can't be read are warnings. Kind: Unsupported (a
// provider), or the error is one of use.
func (f *Files) EachUsage(ctx context.Context, q Query, use func(ThreadUsage) error) (warnings []string, err error) {
	all, err := f.find(ctx, q.Providers)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	err = eachRead(ctx, all.stored, func(r reading) error {
		if r.err != nil && !errors.Is(r.err, handoff.NotFound) {
			all.warnings = append(all.warnings, r.err.Error())
		}
		for _, e := range r.entries {
			if uri := e.URI.String(); seen[uri] || !q.inTime(r.Modified) {
				continue
			} else if seen[uri] = true; !q.selects(e.Thread) {
				continue
			}
			if err := use(ThreadUsage{e.URI, e.Name(), e.Cwd, stored(nanos(e.Started)), stored(nanos(e.Modified)), e.Usage.Completeness, e.Usage.Reason, e.Requests}); err != nil {
				return err
			}
		}
		return nil
	})
	return all.warnings, err
}

// eachRead reads transcripts, several at once, and passes them to use in their order.
func eachRead(ctx context.Context, list []thread.Stored, use func(reading) error) error {
	const most = 32
	for part := range slices.Chunk(list, most) {
		readings := make([]reading, len(part))
		thread.Parallel(len(part), func(i int) {
			readings[i].Stored = part[i]
			readings[i].entries, readings[i].err = readEntries(ctx, part[i])
		})
		for _, r := range readings {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := use(r); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// EachUsage is Files.EachUsage.
func (x *Index) EachUsage(ctx context.Context, q Query, use func(ThreadUsage) error) (warnings []string, err error) {
	if err := x.files.check(q); err != nil {
		return nil, err
	}
	var failed error // of use: it is not a reason to read the files
	used, warnings, err := x.ask(ctx, 0, func(a answer) error {
		return a.eachUsage(ctx, q, func(u ThreadUsage) bool {
			failed = use(u)
			return failed == nil
		})
	})
	if err == nil && !used {
		var more []string
		more, failed = x.files.EachUsage(ctx, q, use)
		warnings = append(warnings, more...)
	}
	return warnings, errors.Join(err, failed)
}

func (a answer) eachUsage(ctx context.Context, q Query, use func(ThreadUsage) bool) error {
	c, older, err := a.where(ctx, Query{Providers: q.Providers, In: q.In, Since: q.Since, Until: q.Until})
	if err != nil {
		return err
	}
	c.newest(older)
	rows, err := a.QueryContext(ctx, `SELECT t.uri, t.title, t.cwd, t.started, t.modified, t.completeness, t.reason, r.list FROM threads t LEFT JOIN requests r ON r.thread = t.id
		WHERE `+c.String()+" ORDER BY t.modified DESC, t.key, t.id", c.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var u ThreadUsage
		var uri, completeness string
		var started, modified int64
		var packed []byte
		if err := rows.Scan(&uri, &u.Title, &u.Cwd, &started, &modified, &completeness, &u.Reason, &packed); err != nil {
			return err
		}
		if u.URI, err = thread.ParseURI(uri); err != nil {
			return err
		}
		u.Started, u.Modified, u.Completeness = stored(started), stored(modified), thread.Completeness(completeness)
		if u.Requests, err = unpackRequests(packed); err != nil || !use(u) {
			return err
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
