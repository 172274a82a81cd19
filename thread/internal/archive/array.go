package archive

import (
	"context"
	"io"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// Array is the source of a file that is one JSON array, which is rewritten with every
// change. Its elements are read one by one. A truncated file is read as far as
// possible.
func Array(path string) Source {
	return func(ctx context.Context, facts *thread.Facts, use func(int, jsonl.Value) bool) error {
		f, err := thread.OpenFile(path)
		if err != nil {
			return err
		}
		defer f.Close()
		// A document is an object, so the array becomes its only member.
		const list = "list"
		doc := jsonl.Document{List: list,
			Member: func(_ string, v jsonl.Value) { facts.Lines = min(len(v), 1) }, // it is not an array
			Element: func(v jsonl.Value, e jsonl.Element) error {
				facts.Lines = e.N
				if e.Short {
					facts.Warn("message %d is longer than %d MiB: shortened", e.N, jsonl.MaxLine>>20)
				}
				if v.Kind() != jsonl.Object {
					facts.BadLines++
					return nil
				}
				if !use(e.N, v) {
					return jsonl.ErrStop
				}
				return nil
			}}
		complete, err := doc.Read(ctx, io.MultiReader(strings.NewReader(`{"`+list+`":`), f, strings.NewReader("}")))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == jsonl.ErrStop:
			return nil
		case err != nil:
			facts.Warn("reading stopped: %v", err)
		}
		if facts.Partial = !complete; facts.Partial {
			facts.Warn("the document is incomplete: it may still be written")
		}
		if facts.BadLines > 0 {
			facts.Warn("skipped %d malformed messages", facts.BadLines)
		}
		return nil
	}
}
