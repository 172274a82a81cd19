package filelog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/agent-handoff/handoff"
)

// contended is the number of taken numbers that a writer tries one after the
// other before it searches for the end.
const contended = 32

// take links t to the next free number and returns it. Numbers that it finds
// taken may not be durable yet: those in the same directory become so with the
// next sync of it, and those in an older one did when the newer was started.
//
// Within the process one writer links at a time: the others would only find its
// number taken.
func (l *Log) take(t temporary) (handoff.Seq, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.next()
	if err != nil {
		return 0, err
	}
	for tries := 1; ; tries++ {
		linked, err := l.linkTo(t, n)
		if err != nil {
			return 0, err
		}
		l.last, l.atEnd = max(l.last, n), linked
		if linked {
			return n, nil
		}
		n++ // another writer took the number
		if tries%contended == 0 {
			if n, err = l.search(); err != nil {
				return 0, err
			}
		}
	}
}

// linkTo links t to the number n, and reports whether it was free.
func (l *Log) linkTo(t temporary, n handoff.Seq) (bool, error) {
	if err := l.checkShard(n); err != nil {
		return false, err
	}
	if (n-1)%l.shard == 0 {
		if err := l.startShard(n); err != nil {
			return false, l.failure("append", err)
		}
	}
	err := t.link(l.name(n))
	if err == nil {
		return true, nil
	}
	// The name may be ours, whatever the error: a reply can be lost.
	ours, unknown := t.linked()
	if !ours && (unknown != nil || !errors.Is(err, fs.ErrExist)) {
		return false, l.failure("append", cmp.Or(unknown, err))
	}
	return ours, nil
}

// startShard creates the directory whose first number is n. The previous one is
// synced first, so that no power loss leaves a hole before n.
func (l *Log) startShard(n handoff.Seq) error {
	if n > 1 {
		if err := l.disk.syncDir(l.shardName(n - 1)); err != nil {
			return err
		}
	}
	if err := l.disk.mkdir(l.shardName(n)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return l.disk.syncDir("log")
}

// Newest implements handoff.Ender.
func (l *Log) Newest(context.Context) (handoff.Seq, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.search()
	if err != nil {
		return 0, err
	}
	return n - 1, nil
}

// next returns the number to try first: the one after the end that this process
// just saw, or the result of a search.
func (l *Log) next() (handoff.Seq, error) {
	if l.atEnd {
		return l.last + 1, nil
	}
	return l.search()
}

// search returns the first free number after the last one seen, with O(log n)
// stat calls. The number is not a hole.
func (l *Log) search() (handoff.Seq, error) {
	l.atEnd = false
	for {
		n, err := l.firstFree(l.last)
		if err != nil {
			return 0, err
		}
		l.last = max(l.last, n-1)
		end, err := l.isEnd(n)
		if err != nil {
			return 0, err
		}
		if end {
			l.atEnd = true
			return n, nil
		}
	}
}

// firstFree returns a number after from that does not exist and whose predecessor
// does. It is the first one unless the log has a hole.
func (l *Log) firstFree(from handoff.Seq) (handoff.Seq, error) {
	if from > 0 {
		there, err := l.exists(from)
		if err != nil {
			return 0, err
		}
		if !there {
			return 0, l.hole(from, "it existed before")
		}
	}
	step := handoff.Seq(1)
	for {
		there, err := l.exists(from + step)
		if err != nil {
			return 0, err
		}
		if !there {
			break
		}
		from += step
		step *= 2
	}
	free := from + step
	for from+1 < free {
		middle := from + (free-from)/2
		there, err := l.exists(middle)
		if err != nil {
			return 0, err
		}
		if there {
			from = middle
		} else {
			free = middle
		}
	}
	return free, nil
}

// isEnd reports whether the log ends before n, which was seen to be free. It
// returns false if n was taken meanwhile, and an error of kind Corrupt if a
// number beyond n exists: n is then a hole that others have passed.
func (l *Log) isEnd(n handoff.Seq) (bool, error) {
	beyond, err := l.beyond(n)
	if err != nil || beyond == "" {
		return err == nil, err
	}
	there, err := l.exists(n)
	if err != nil || there {
		return false, err
	}
	return false, l.hole(n, beyond+" exists")
}

// holeAt returns an error of kind Corrupt if n is a hole.
func (l *Log) holeAt(n handoff.Seq) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.isEnd(n)
	return err
}

// beyond returns something that exists beyond n and must not while n is free,
// or "".
func (l *Log) beyond(n handoff.Seq) (string, error) {
	if l.last > n {
		return fmt.Sprint(l.last), nil
	}
	for k := n + 1; k <= n+lookahead; k++ {
		there, err := l.exists(k)
		if err != nil {
			return "", err
		}
		if there {
			return fmt.Sprint(k), nil
		}
	}
	next := l.shardName(n + l.shard)
	there, err := l.disk.exists(next)
	if err != nil {
		return "", l.failure("read log", err)
	}
	if there {
		return next, nil
	}
	return "", nil
}

func (l *Log) exists(n handoff.Seq) (bool, error) {
	there, err := l.disk.exists(l.name(n))
	if err != nil {
		return false, l.failure("read log", err)
	}
	return there, nil
}

func (l *Log) hole(n handoff.Seq, why string) error {
	return handoff.E("read log", l.name(n), handoff.Corrupt, fmt.Errorf("record %d is missing: %s", n, why),
		handoff.Suggest("mark the missing record and keep every other one", handoff.ActionRepair))
}
