package threadindex

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// encodeRequests encodes requests: the number of models, the provider and name of each, the
// number of requests, and of each its model and, as differences to the request before,
// its message and time, then its tokens.
func encodeRequests(list []thread.Request) []byte {
	type model struct{ provider, name string }
	known := map[model]uint64{}
	var names []byte
	b := make([]byte, 0, 32*len(list)) // about
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
		for _, v := range []int64{int64(r.N) - n, nanos(r.At) - at, r.Input, r.CacheRead, r.CacheWrite, r.CacheWrite1h,
			r.Output, r.Reasoning, int64(r.Calls)} {
			b = binary.AppendVarint(b, v)
		}
		b = binary.AppendUvarint(b, math.Float64bits(r.Cost))
		n, at = int64(r.N), nanos(r.At)
	}
	head := append(binary.AppendUvarint(nil, uint64(len(known))), names...)
	return append(binary.AppendUvarint(head, uint64(len(list))), b...)
}

var errInvalid = errors.New("invalid list of requests")

// decodeRequests decodes requests.
func decodeRequests(b []byte) (list []thread.Request, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	p := rest{b: b}
	models := make([]thread.ModelUsage, min(p.uint(), uint64(len(b))))
	for i := range models {
		models[i].Provider, models[i].Model = p.string(), p.string()
	}
	var n, at int64
	left := p.uint()
	const least = 11 // bytes of a request
	list = make([]thread.Request, 0, min(left, uint64(len(p.b)/least)))
	for ; left > 0 && !p.short; left-- {
		m := p.uint()
		if m >= uint64(len(models)) {
			return nil, errInvalid
		}
		r := thread.Request{ModelUsage: models[m]}
		n, at = n+p.int(), at+p.int()
		r.N, r.At = int(n), timeOf(at)
		r.Input, r.CacheRead, r.CacheWrite, r.CacheWrite1h = p.int(), p.int(), p.int(), p.int()
		r.Output, r.Reasoning, r.Calls, r.Cost = p.int(), p.int(), int(p.int()), math.Float64frombits(p.uint())
		list = append(list, r)
	}
	if p.short || len(p.b) > 0 {
		return nil, errInvalid
	}
	return list, nil
}

// A rest is what remains to be decoded. After its end, all numbers are 0.
type rest struct {
	b     []byte
	short bool // its end was passed, or a number is too large
}

// skip removes the n bytes of a number.
func (p *rest) skip(n int) {
	p.short = p.short || n <= 0
	p.b = p.b[max(n, 0):]
}

func (p *rest) uint() uint64 {
	v, n := binary.Uvarint(p.b)
	p.skip(n)
	return v
}

func (p *rest) int() int64 {
	v, n := binary.Varint(p.b)
	p.skip(n)
	return v
}

func (p *rest) string() string {
	n := p.uint()
	p.short = p.short || n > uint64(len(p.b))
	n = min(n, uint64(len(p.b)))
	s := string(p.b[:n])
	p.b = p.b[n:]
	return s
}

// nanos returns a time as a number, 0 if it is unknown.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// timeOf returns the time of a number of nanos, or of the least number.
func timeOf(n int64) time.Time {
	if n == 0 || n == math.MinInt64 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
