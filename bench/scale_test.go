package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-handoff/handoff/internal/log/remote"
)

// A latency is a log-normal distribution of the time that a request takes.
type latency struct{ p50, p99 time.Duration }

func (l latency) sample(r *rand.Rand) time.Duration {
	const z99 = 2.326
	sigma := math.Log(float64(l.p99)/float64(l.p50)) / z99
	return time.Duration(float64(l.p50) * math.Exp(sigma*r.NormFloat64()))
}

func (l latency) String() string { return fmt.Sprintf("%v/%v", l.p50, l.p99) }

// A protocol is how an engine appends a record: the requests that find the end of the
// log, the one that adds to it, and those after a lost race.
type protocol struct {
	name            string
	find, add, lost []latency // the first of add decides
}

// bucketProtocol lists and reads the newest object, creates the next, and after a lost
// race reads it, lists and reads again.
func bucketProtocol(request latency) protocol {
	return protocol{"bucket", []latency{request, request}, []latency{request}, []latency{request, request, request}}
}

// gitProtocol fetches, pushes, and fetches after a lost race.
func gitProtocol(push latency) protocol {
	fetch := latency{push.p50 / 2, push.p99 / 2}
	return protocol{"git", []latency{fetch}, []latency{push}, []latency{fetch}}
}

// A simulation is the result of agents that share a log, each a process of its own for
// each record.
type simulation struct {
	records, failed, tries int
	took                   []time.Duration
	elapsed                time.Duration
}

// simulate runs agents that append perMinute records each, at random times, for ten
// minutes of simulated time. A lost race is repeated as the engines do it.
func simulate(p protocol, agents int, perMinute float64, minutes time.Duration) (s simulation) {
	newest := 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	end := start.Add(minutes * time.Minute)
	for agent := range agents {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(agent)))
			pause := func(list []latency) {
				for _, l := range list {
					time.Sleep(l.sample(r))
				}
			}
			for {
				time.Sleep(time.Duration(r.ExpFloat64() / perMinute * float64(time.Minute)))
				if time.Now().After(end) {
					return
				}
				began, won, made := time.Now(), false, 0
				pause(p.find)
				mu.Lock()
				known := newest
				mu.Unlock()
				var tries remote.Tries
				for err := error(nil); err == nil && !won; {
					request := p.add[0].sample(r)
					time.Sleep(request / 2) // the store decides half-way
					mu.Lock()
					if won = newest == known; won {
						newest++
					}
					mu.Unlock()
					time.Sleep(request / 2)
					if made++; !won {
						if err = tries.Lost(""); err != nil {
							break
						}
						_ = tries.Pause(context.Background())
						pause(p.lost)
						mu.Lock()
						known = newest
						mu.Unlock()
					}
				}
				mu.Lock()
				s.tries += made
				if won {
					s.elapsed = max(s.elapsed, time.Since(start))
					s.records++
					s.took = append(s.took, time.Since(began))
				} else {
					s.failed++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(s.took)
	return s
}

func (s simulation) percentile(p int) time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	return s.took[min(len(s.took)-1, len(s.took)*p/100)].Round(10 * time.Millisecond)
}

// TestScale simulates agents that share a log, as far as that is determined by the time
// that requests take. With HANDOFF_LONG, it prints the table of docs/scale.md; with
// HANDOFF_SCALE=30ms/150ms, it uses this time of a request, the median and the 99th
// percentile, for a bucket.
func TestScale(t *testing.T) {
	stores := []protocol{bucketProtocol(latency{30 * time.Millisecond, 150 * time.Millisecond})}
	agents, minutes := []int{100}, time.Duration(1)
	if os.Getenv("HANDOFF_LONG") != "" {
		stores = append(stores, bucketProtocol(latency{6 * time.Millisecond, 25 * time.Millisecond}),
			gitProtocol(latency{200 * time.Millisecond, 500 * time.Millisecond}),
			gitProtocol(latency{1200 * time.Millisecond, 3 * time.Second}))
		agents, minutes = []int{10, 50, 100, 300, 1000}, 10
	}
	if p50, p99, ok := strings.Cut(os.Getenv("HANDOFF_SCALE"), "/"); ok {
		var l latency
		var err error
		l.p50, err = time.ParseDuration(p50)
		must(t, err)
		l.p99, err = time.ParseDuration(p99)
		must(t, err)
		stores = []protocol{bucketProtocol(l)}
	}
	t.Log("| engine | request p50/p99 | agents | offered | stored | append p50 | append p99 | tries for each record | " +
		"failed |")
	for _, p := range stores {
		for _, n := range agents {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(p, n, 1, minutes)
				offered := float64(n) / 60
				t.Logf("| %s | %v | %d | %.1f/s | %.1f/s | %v | %v | %.1f | %d |", p.name, p.add[0], n, offered,
					float64(s.records)/s.elapsed.Seconds(),
					s.percentile(50), s.percentile(99), float64(s.tries)/float64(max(s.records, 1)), s.failed)
				if s.records == 0 || s.records > s.tries {
					t.Errorf("%d records in %d tries", s.records, s.tries)
				}
			})
		}
	}
}
