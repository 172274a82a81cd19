package keep

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/secret"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// maxFindings is how many findings a thread lists; the others are counted only.
const maxFindings = 1000

// threadFindings are the secrets in the files of one thread. It has the digests of
// secrets, not the secrets.
type threadFindings struct {
	thread *thread.Thread
	left   map[string]int // by kind and digest: how many are in the files
	lines  map[string]int // the line of the first
}

func keyOf(kind, text string) string {
	sum := sha256.Sum256([]byte(text))
	return kind + "\x00" + string(sum[:])
}

func (f *threadFindings) note(kind, text string, line int) {
	key := keyOf(kind, text)
	if _, known := f.left[key]; !known && len(f.left) >= maxFindings {
		return
	}
	f.left[key]++
	if f.lines[key] == 0 {
		f.lines[key] = line
	}
}

// locate returns the findings with the numbers of their messages. What is in no message
// has the number of its line.
func (f *threadFindings) locate(ctx context.Context, uri string) (list []transcript.Secret, err error) {
	if len(f.left) == 0 {
		return nil, nil
	}
	add := func(n transcript.Secret) {
		n.Thread, n.Count = uri, 1
		i := slices.IndexFunc(list, func(o transcript.Secret) bool {
			return o.Kind == n.Kind && o.Message == n.Message && o.Line == n.Line
		})
		if i >= 0 {
			list[i].Count++
		} else if len(list) < maxFindings {
			list = append(list, n)
		}
	}
	seen := map[string]bool{}
	last := 0
	err = f.thread.Read(ctx, thread.Tools, func(m thread.Message) error {
		if m.N > 0 {
			last = m.N
		}
		texts := []string{m.Text, m.Thinking}
		for _, c := range m.Tools {
			texts = append(texts, c.Input, c.Output)
		}
		for _, text := range texts {
			for _, found := range secret.Find(text) {
				seen[keyOf(found.Kind, text[found.Start:found.End])] = true
				add(transcript.Secret{Kind: found.Kind, Message: max(last, 1)})
			}
		}
		return nil
	})
	for key := range f.left {
		if kind, _, _ := strings.Cut(key, "\x00"); !seen[key] {
			add(transcript.Secret{Kind: kind, Line: f.lines[key]})
		}
	}
	order.Sort(list, func(a, b transcript.Secret) int {
		if a.Message != b.Message {
			return a.Message - b.Message
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	return list, err
}
