package engine

import (
	"bufio"
	"cmp"
	"hash/fnv"
	"os"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A copyOf reads the lines of one of the files of a thread.
type copyOf struct {
	*jsonl.Reader
	at   time.Time // of the line, or else of one before it
	more bool
}

func (c *copyOf) next() {
	if c.more = c.Next(); !c.more {
		return
	}
	v := c.Line().Get("timestamp")
	if at := v.Timestamp(); !at.IsZero() {
		c.at = at
	}
}

// merged returns a temporary file with the lines of the files of one thread: in the order of time,
// of several at one time those of an earlier file first. A line that another file had before is left
// out. The temporary file has no name, so that nothing is left behind.
func merged(paths []string) (to *os.File, err error) {
	var copies []*copyOf
	for _, path := range paths {
		src, err := thread.OpenFile(path)
		if err != nil {
			return nil, err
		}
		defer src.Close()
		c := &copyOf{Reader: jsonl.NewReader(src)}
		c.next()
		copies = append(copies, c)
	}
	if to, err = os.CreateTemp("", "handoff-thread-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			to.Close()
		}
	}()
	if err = os.Remove(to.Name()); err != nil {
		return to, err
	}
	out, from := bufio.NewWriter(to), map[uint64]*copyOf{}
	end, torn := "", false // of the last line
	for {
		var first *copyOf
		for _, c := range copies {
			if c.more && (first == nil || c.at.Before(first.at)) {
				first = c
			}
		}
		if first == nil {
			break
		}
		line := first.Line()
		sum := fnv.New64a()
		sum.Write(line)
		if was := from[sum.Sum64()]; was == nil || was == first {
			from[sum.Sum64()] = first
			out.WriteString(end)
			out.Write(line)
			if end, torn = "\n", first.Torn(); first.Cut() {
				end = strings.Repeat(" ", jsonl.MaxLine/16) + end // so that it is cut again
			}
		}
		first.next()
	}
	if !torn { // otherwise it may still be written
		out.WriteString(end)
	}
	err = out.Flush()
	for _, c := range copies {
		err = cmp.Or(err, c.Err())
	}
	return to, err
}
