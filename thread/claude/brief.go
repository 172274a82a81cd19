package claude

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// readUsage reads a transcript in one pass, only for its usage and for what its first
// records say about the thread. It returns nil if all records must be read: the
// transcript may have started subagents or have copies of those of another one, or a
// part can't be read.
func (p *provider) readUsage(ctx context.Context, f file) (*thread.Thread, error) {
	src, err := thread.OpenFile(f.path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	rd := jsonl.Borrow(src)
	defer rd.Return()
	b := brief{(&transcript{p: p, file: f}).scanner(ctx), true}
	if err := b.each(rd, func(line jsonl.Value) (bool, error) {
		if f.startsAgents(line) {
			return false, errAgents
		}
		return b.line(rd), nil
	}); err != nil {
		if errors.Is(err, errAgents) {
			err = nil
		}
		return nil, err
	}
	m := &b.r.meta
	switch {
	case rd.Err() != nil:
		return nil, nil
	case f.agent:
		m.readMetaFile(f)
	case m.session != "" && m.session != f.id, len(p.index.related(ctx, f, m.first, m.started)) > 0:
		return nil, ctx.Err()
	}
	t := p.thread(f, *m)
	b.finishUsage()
	t.Usage, t.Inherited, t.Requests = b.facts.Usage, b.facts.Inherited, b.facts.Requests
	return t, ctx.Err()
}

var errAgents = errors.New("the transcript may have started subagents")

// A brief is a scanner that reads only usage, and the meta of the transcript.
type brief struct {
	*scanner
	head bool // the record is one of the first
}

// line is scanner.line for the line that rd is at.
func (b *brief) line(rd *jsonl.Reader) bool {
	line := rd.Line()
	complete := b.head || rd.Torn()
	for rest := line; len(rest) > 0; {
		if !complete {
			if kind := rest.Leading("type"); kind != nil && isOther(rest, kind) {
				return true
			}
		}
		more, other, ok := b.next(rd, rest, complete)
		if other {
			return true
		}
		if rest = more; !ok {
			return b.malformed(line)
		}
	}
	return true
}

// next reads the first record of the rest of a line.
func (b *brief) next(rd *jsonl.Reader, line jsonl.Value, complete bool) (rest jsonl.Value, other, ok bool) {
	var r record
	var c jsonl.Cursor
	if !complete {
		if c, other = b.meter.parseAnswer(line, &r); other {
			return nil, true, true
		}
	} else if c = r.parse(line); string(r.kind) == "assistant" {
		b.meter.message.parse(r.message)
	}
	if b.head && len(line) == len(rd.Line()) {
		b.describe(&r, rd)
	}
	if rest, ok = following(line, c); !ok {
		return nil, false, false
	}
	if string(r.kind) == "assistant" && (!r.sidechain || b.r.file.agent) {
		b.origin(&r)
		b.usage(&r)
	}
	return rest, false, true
}

// describe adds one of the first records to the meta, as readMeta does.
func (b *brief) describe(r *record, rd *jsonl.Reader) {
	line, left := rd.Line(), headSize-rd.Offset()
	if left < int64(len(line)) {
		part, _ := parseRecord(line[:max(0, left)])
		r = &part
	}
	m := &b.r.meta
	m.add(r)
	b.head = b.n < headLines && left > int64(len(line)) && (!b.r.file.agent || m.prompt == 0)
}
