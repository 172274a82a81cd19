package cost

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/trace/pasted"
	"github.com/agent-handoff/handoff/trace"
)

func addPassed(p *trace.Passed, of trace.Passed) *trace.Passed {
	if p == nil {
		return &of
	}
	return &trace.Passed{Refs: p.Refs + of.Refs, BytesPasted: sum(p.BytesPasted, of.BytesPasted), Inferred: true,
		LowerBound: p.LowerBound || of.LowerBound}
}

// A Prompt is what a thread or subagent was sent.
type Prompt struct {
	Thread string // URI of the thread
	URI    string // of the message
	At     time.Time
	Text   string
}

const maxPassages = 1000

// A Comparison finds artifacts in prompts of other threads than those that
// published them, sent after that.
type Comparison struct {
	artifacts []handoff.Artifact // by ID
	passed    []trace.Passed     // of each
	names     map[string]string  // see namesOf
	suffixes  map[string][]int   // artifacts by the last characters of their IDs
	channels  map[string][]int   // artifacts by channel
	bodies    []int              // the artifact of each body of texts
	texts     pasted.Index

	report  trace.PromptReport
	threads map[string]map[int]bool // artifacts that were named, by thread
	partial bool
}

// NewComparison returns a comparison with the artifacts of s. text returns what one
// published, "" if that is not known or not text. If there is more text than can be
// compared, that of the newest artifacts is.
func NewComparison(s Sources, text func(handoff.Artifact) string) *Comparison {
	artifacts := order.Sort(slices.Clone(s.Artifacts), func(a, b handoff.Artifact) int {
		return cmp.Compare(a.ID, b.ID)
	})
	c := &Comparison{artifacts: artifacts, passed: make([]trace.Passed, len(artifacts)), names: namesOf(s.Threads),
		suffixes: map[string][]int{}, channels: map[string][]int{}, threads: map[string]map[int]bool{}}
	c.report.Passages = []trace.Passage{}
	for i, a := range artifacts {
		c.channels[a.Channel] = append(c.channels[a.Channel], i)
		end := suffixOf(a.ID)
		c.suffixes[end] = append(c.suffixes[end], i)
	}
	texts, bytes, lines := make([]string, len(artifacts)), 0, 0
	for i := len(artifacts) - 1; i >= 0; i-- {
		t := text(artifacts[i])
		bytes, lines = bytes+len(t), lines+strings.Count(t, "\n")+1
		if bytes > pasted.MaxText || lines > pasted.MaxLines {
			break
		}
		texts[i] = t
	}
	for i, t := range texts {
		c.passed[i] = trace.Passed{Inferred: true, LowerBound: true}
		if t == "" {
			continue
		}
		if _, ok := c.texts.Add(t); ok {
			c.bodies = append(c.bodies, i)
			c.passed[i] = trace.Passed{Inferred: true, BytesPasted: new(int64)}
		}
	}
	c.report.Artifacts = len(c.bodies)
	return c
}

// Add compares a prompt.
func (c *Comparison) Add(p Prompt) {
	named := c.threads[p.Thread]
	if named == nil {
		named = map[int]bool{}
		c.threads[p.Thread] = named
	}
	c.report.Messages++
	c.report.Bytes += int64(len(p.Text))
	if p.At.IsZero() || len(p.Text) > pasted.MaxPrompt {
		c.partial = true
	}
	found := map[int]trace.Passage{} // by artifact
	for i := range c.named(p) {
		if c.mayHave(p, i) && !named[i] {
			named[i] = true
			c.passed[i].Refs++
			found[i] = trace.Passage{Ref: true}
		}
	}
	for _, s := range c.texts.Find(p.Text, func(body int) bool { return c.mayHave(p, c.bodies[body]) }) {
		i, n := c.bodies[s.Body], int64(s.End-s.Start)
		*c.passed[i].BytesPasted += n
		f := found[i]
		f.BytesPasted += n
		found[i] = f
	}
	for i, f := range found {
		f.Artifact, f.URI, f.At, f.Inferred = c.artifacts[i].ID, p.URI, p.At, true
		c.report.Passages = append(c.report.Passages, f)
	}
	if len(c.report.Passages) > 2*maxPassages {
		c.limit()
	}
}

// minSuffix is how many of the last characters of an ID name an artifact.
const minSuffix = 6

func suffixOf(id string) string { return id[max(0, len(id)-minSuffix):] }

// named yields the artifacts that a prompt names: by ID, by the last characters of one,
// or as the latest of a channel.
func (c *Comparison) named(p Prompt) iter.Seq[int] {
	return func(yield func(int) bool) {
		for word := range strings.FieldsFuncSeq(p.Text[:min(len(p.Text), pasted.MaxPrompt)], notInRef) {
			if i, ok := c.find(strings.Trim(word, ":"), p.At); ok && !yield(i) {
				return
			}
		}
	}
}

func notInRef(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-:", r)
}

// find returns the artifact that a word names at a time.
func (c *Comparison) find(word string, at time.Time) (artifact int, ok bool) {
	if channel, ok := strings.CutSuffix(word, ":latest"); ok {
		list := c.channels[channel]
		for i := len(list) - 1; i >= 0; i-- {
			if c.artifacts[list[i]].CreatedAt.Before(at) {
				return list[i], true
			}
		}
		return 0, false
	}
	if len(word) < minSuffix {
		return 0, false
	}
	end := strings.ToUpper(strings.TrimPrefix(word, "art_"))
	same := slices.DeleteFunc(slices.Clone(c.suffixes[suffixOf(end)]), func(i int) bool {
		return !strings.HasSuffix(c.artifacts[i].ID, end)
	})
	if len(same) != 1 {
		return 0, false
	}
	return same[0], true
}

// mayHave reports whether a prompt may have an artifact: it is of another thread,
// and later.
func (c *Comparison) mayHave(p Prompt, i int) bool {
	a := c.artifacts[i]
	by := a.Producer.Thread
	return p.At.After(a.CreatedAt) && p.Thread != cmp.Or(c.names[by], by)
}

// limit orders the passages and removes those that are too many.
func (c *Comparison) limit() {
	order.Sort(c.report.Passages, func(a, b trace.Passage) int {
		return cmp.Or(cmp.Compare(b.BytesPasted, a.BytesPasted), a.At.Compare(b.At), strings.Compare(a.URI, b.URI),
			strings.Compare(a.Artifact, b.Artifact))
	})
	c.report.Passages = c.report.Passages[:min(len(c.report.Passages), maxPassages)]
}

// Result returns what prompts have of each artifact, by ID, and what was compared.
// complete is false if prompts are missing.
func (c *Comparison) Result(complete bool) (map[string]trace.Passed, trace.PromptReport) {
	passed := map[string]trace.Passed{}
	for i, a := range c.artifacts {
		c.passed[i].LowerBound = c.passed[i].LowerBound || c.partial || !complete
		passed[a.ID] = c.passed[i]
	}
	c.limit()
	c.report.Conversations = len(c.threads)
	return passed, c.report
}
