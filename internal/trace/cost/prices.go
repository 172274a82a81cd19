package cost

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/internal/trace/price"
)

// maxPrices is the size of a file with prices.
const maxPrices = 4 << 20

// OpenPrices returns the prices of the file of the user's setting, "" for none, and then
// those of handoff.
//
// Kinds: NotFound (the file), Invalid (it has no valid prices).
func OpenPrices(setting string) (*Pricer, error) {
	p := &Pricer{known: map[Model]price.Model{}}
	return p, p.prefer(setting, setting, "correct the file that the setting prices names")
}

// Prefer lets the prices of a file, which errors call name, count before the others. A name
// "" is no file.
//
// Kinds: NotFound (the file), Invalid (it has no valid prices).
func (p *Pricer) Prefer(file, name string) error {
	return p.prefer(file, name, "name a file with prices")
}

func (p *Pricer) prefer(file, name, missing string) error {
	if name == "" {
		return nil
	}
	b, err := plainfile.Read(file, maxPrices)
	if err != nil {
		return handoff.E("read prices", name, handoff.NotFound, durable.Reason(err), handoff.Advice(missing))
	}
	own, err := price.Parse(b)
	if err != nil {
		return handoff.E("read prices", name, handoff.Invalid, err, handoff.Advice("see docs/cost.md for the form"))
	}
	p.own = append([]*price.List{own}, p.own...)
	return nil
}

// CheckUsage returns an error if a number is negative or not finite.
func CheckUsage(u *handoff.Usage) error {
	for _, n := range []*int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning, u.TotalTokens} {
		if n != nil && *n < 0 {
			return errors.New("has a negative number of tokens")
		}
	}
	if u.Cost != nil && !(*u.Cost >= 0 && *u.Cost <= math.MaxFloat64) {
		return errors.New("has a cost that is negative or not finite")
	}
	return nil
}

// Warnings returns what a reader of the report about leaves should know.
func (r Report) Warnings(leaves []Leaf) (list []string) {
	if _, disputed := byTranscript(leaves); disputed != nil {
		list = append(list, fmt.Sprintf("%d of the threads: the harness reported usage that differs by more than 5 "+
			"%% from the transcript; by the transcripts, the total is %d tokens and not %d",
			len(disputed), value(r.Total.Transcript.TotalTokens), value(r.Total.Amount.TotalTokens)))
	}
	missing := map[string]int{} // by the reason
	for _, l := range leaves {
		if l.missing && l.reported().TotalTokens == nil {
			missing[l.transcript().Reason]++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(missing)) {
		list = append(list, fmt.Sprintf("threads that the total leaves out: %d (%s)", missing[reason], reason))
	}
	if names := r.Total.Amount.Estimated; len(names) > 0 {
		list = append(list, "estimated prices, since those of the provider are not known: "+strings.Join(names, ", "))
	}
	if r.Total.Amount.AboveTier {
		list = append(list, "some models cost more for long contexts; how long some contexts were is not known, so the "+
			"cost is a lower bound")
	}
	return list
}
