package threadindex

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// MaxChain is how many threads of a chain are followed.
const MaxChain = 100

// Items are threads by their URIs.
type Items interface {
	// Item returns a thread with its facts, or kind NotFound.
	Item(ctx context.Context, uri thread.URI) (transcript.Item, error)
}

// Before returns the threads whose work a thread continues, the newest first: the one that its first prompt
// names, the one that the first prompt of that one names, and so on, at most MaxChain. rest is what the last one
// names if that is not followed, because in does not have it. In a circle, no claim counts, and neither does one
// of a thread that started before the one that it names.
func Before(ctx context.Context, in Items, i transcript.Item) (list []transcript.Item, rest thread.URI, err error) {
	followed, by := map[thread.URI]int{i.URI: 0}, i
	for rest = i.Continues; rest.Thread != "" && len(list) < MaxChain; rest = list[len(list)-1].Continues {
		before, err := in.Item(ctx, rest)
		if err != nil {
			return list, rest, ctx.Err()
		}
		if n, ok := followed[before.URI]; ok {
			return list[:n], thread.URI{}, nil
		}
		if started := before.Started; !by.Started.IsZero() && started.After(by.Started) {
			return list, thread.URI{}, nil
		}
		list, by = append(list, before), before
		followed[before.URI] = len(list)
	}
	return list, rest, nil
}

// ChainOf returns the thread whose work a thread continues, see Before.
func ChainOf(ctx context.Context, in Items, i transcript.Item) (thread.Chain, error) {
	list, rest, err := Before(ctx, in, i)
	if len(list) > 0 {
		return thread.Chain{Continues: list[0].URI}, err
	}
	return thread.Chain{Continues: rest, ContinuesMissing: rest.Thread != ""}, err
}

// LoadPrompt reads a thread for its first prompt, and no further.
func LoadPrompt(ctx context.Context, i *transcript.Item) error {
	enough := errors.New("that was the first prompt")
	_, err := i.Thread.Reader.Read(ctx, thread.Texts, func(m thread.Message) error {
		if see(i, m); i.Prompt != "" {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}
