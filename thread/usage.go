package thread

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// Tokens are token counts. The buckets are disjoint, except that Reasoning is
// part of Output and CacheWrite1h is part of CacheWrite.
type Tokens struct {
	Input        int64   `json:"input"` // neither read from nor written to a cache
	CacheRead    int64   `json:"cacheRead"`
	CacheWrite   int64   `json:"cacheWrite"`
	CacheWrite1h int64   `json:"cacheWrite1h,omitempty"` // cached for an hour, at a different price
	Output       int64   `json:"output"`
	Reasoning    int64   `json:"reasoning"`
	Calls        int     `json:"calls"`          // requests to a model
	Cost         float64 `json:"cost,omitempty"` // in US dollars, if the tool recorded it
}

// Add adds o to t.
func (t *Tokens) Add(o Tokens) {
	t.Input += o.Input
	t.CacheRead += o.CacheRead
	t.CacheWrite += o.CacheWrite
	t.CacheWrite1h += o.CacheWrite1h
	t.Output += o.Output
	t.Reasoning += o.Reasoning
	t.Calls += o.Calls
	t.Cost += o.Cost
}

// sub subtracts o from t.
func (t *Tokens) sub(o Tokens) {
	t.Add(Tokens{-o.Input, -o.CacheRead, -o.CacheWrite, -o.CacheWrite1h, -o.Output, -o.Reasoning, -o.Calls, -o.Cost})
}

// Total returns the number of all tokens of t.
func (t Tokens) Total() int64 { return t.Input + t.CacheRead + t.CacheWrite + t.Output }

// A Completeness is how complete a usage is.
type Completeness string

// The completenesses.
const (
	Exact        Completeness = "exact"         // every request is counted
	LowerBound   Completeness = "lower_bound"   // some requests are missing
	SessionTotal Completeness = "session_total" // the total includes other threads or branches
	NoUsage      Completeness = "none"          // the transcript has no usage
)

// Usage is what a thread used, without its subagents.
type Usage struct {
	Tokens
	Models       []ModelUsage `json:"models,omitempty"` // in order of first use
	Completeness Completeness `json:"completeness"`
	Reason       string       `json:"reason,omitempty"` // why it is not exact
}

// ModelUsage is the usage of one model.
type ModelUsage struct {
	Model    string `json:"model"`
	Provider string `json:"provider,omitempty"`
	Tokens
}

// A Request is what one request to a model used. If the transcript records several
// together, it is their sum, and Calls is their number, 0 if that is unknown.
type Request struct {
	N  int       // number of the last message before its usage was recorded, 0 if unknown
	At time.Time // when its usage was recorded
	ModelUsage
}

// UnknownModel is the name of a model that the transcript does not name.
const UnknownModel = "unknown"

// Add adds t for a model of a provider. Both may be "".
func (u *Usage) Add(provider, model string, t Tokens) {
	model = cmp.Or(model, UnknownModel)
	u.Tokens.Add(t)
	for i := range u.Models {
		if u.Models[i].Model == model && u.Models[i].Provider == provider {
			u.Models[i].Add(t)
			return
		}
	}
	u.Models = append(u.Models, ModelUsage{model, provider, t})
}

// A Gap is usage that is missing from a count.
type Gap struct {
	N      int    // number of occurrences; 0 if there is no gap
	Reason string // "%d" is replaced by N
}

// String returns the reason with its number.
func (g Gap) String() string { return strings.Replace(g.Reason, "%d", strconv.Itoa(g.N), 1) }

// Judge sets the completeness of u: NoUsage if nothing was counted, LowerBound
// with the reason of the first gap, else Exact.
func (u *Usage) Judge(gaps ...Gap) {
	u.Completeness, u.Reason = Exact, ""
	if u.Calls == 0 {
		u.Completeness, u.Reason = NoUsage, "no usage is recorded"
		return
	}
	for _, g := range gaps {
		if g.N > 0 {
			u.Completeness, u.Reason = LowerBound, g.String()
			return
		}
	}
}

// A Meter counts the usage of a thread while its transcript is read. Records
// that were copied from another thread are counted separately.
type Meter struct {
	N  int       // number of the last message before the record that is read, 0 if unknown
	At time.Time // time of that record

	usage     Usage
	requests  []Request
	inherited Tokens
	invalid   int // records with invalid numbers
}

// CheckCounts checks the numbers in a recorded usage, which is JSON. If some are
// negative or impossibly large, or are written as text, the usage is not exact.
func (m *Meter) CheckCounts(usage []byte) {
	if !jsonl.Value(usage).ValidCounts() {
		m.invalid++
	}
}

// Add adds t for a model of a provider.
func (m *Meter) Add(provider, model string, t Tokens, inherited bool) {
	if inherited {
		m.inherited.Add(t)
	} else {
		m.usage.Add(provider, model, t)
		m.note(provider, cmp.Or(model, UnknownModel), t)
	}
}

// Used returns what was added and not inherited.
func (m *Meter) Used() Tokens { return m.usage.Tokens }

// Counted reports whether usage was added.
func (m *Meter) Counted() bool { return len(m.usage.Models) > 0 }

// Rename gives what was counted without a model to the model that the transcript names
// later.
func (m *Meter) Rename(model string) {
	old := m.usage
	m.usage = Usage{}
	for _, u := range old.Models {
		name := u.Model
		if name == UnknownModel {
			name = model
		}
		m.usage.Add(u.Provider, name, u.Tokens)
	}
	for i := range m.requests {
		if r := &m.requests[i]; r.Model == UnknownModel {
			r.Model = model
		}
	}
}

// Move gives t, which was added for a model without a provider, to another one.
func (m *Meter) Move(from, to string, t Tokens) {
	of := func(u ModelUsage) bool { return u.Model == from && u.Provider == "" }
	i := slices.IndexFunc(m.usage.Models, of)
	if i < 0 || t == (Tokens{}) {
		return
	}
	m.usage.sub(t)
	if m.usage.Models[i].sub(t); m.usage.Models[i].Tokens == (Tokens{}) {
		m.usage.Models = slices.Delete(m.usage.Models, i, i+1)
	}
	m.usage.Add("", to, t)
	for i, r := range slices.Backward(m.requests) {
		if !of(r.ModelUsage) || r.Calls < t.Calls || r.Total() < t.Total() {
			continue
		}
		if m.requests[i].sub(t); m.requests[i].Tokens == (Tokens{}) {
			m.requests = slices.Delete(m.requests, i, i+1)
		}
		m.requests = slices.Insert(m.requests, i, Request{r.N, r.At, ModelUsage{to, "", t}})
		return
	}
}

// maxRequests bounds the memory of requests. Further ones are added to those of the
// same model.
const maxRequests = 1 << 16

// note adds t to the requests. More output of a request belongs to the newest one.
func (m *Meter) note(provider, model string, t Tokens) {
	if t == (Tokens{}) {
		return
	}
	if t.Calls == 0 && t.Total() == t.Output || len(m.requests) >= maxRequests {
		for i := len(m.requests) - 1; i >= 0; i-- {
			if r := &m.requests[i]; r.Model == model && r.Provider == provider {
				r.Add(t)
				return
			}
		}
	}
	m.requests = append(m.requests, Request{m.N, m.At, ModelUsage{model, provider, t}})
}

// Finish stores the usage in f, with the completeness that [Usage.Judge] gives it.
func (m *Meter) Finish(f *Facts, gaps ...Gap) {
	invalid := Gap{m.invalid, "%d records of usage have negative or impossibly large numbers, or texts for them"}
	if invalid.N > 0 {
		f.Warn("%s", invalid)
	}
	partial := Gap{Reason: "the end of the transcript is missing or can't be read"}
	if f.Partial {
		partial.N = 1
	}
	f.Usage, f.Inherited, f.Requests = m.usage, m.inherited, m.requests
	f.Usage.Judge(append([]Gap{partial, invalid}, gaps...)...)
}
