package filelog

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/agent-handoff/handoff"
)

// contended is how many taken numbers in a row a writer steps over one by one
// before it searches for the end.
const contended = 32

// take links t to the next free number. It also returns the first number that
// it found taken on the way, or 0.
//
// Within the process one writer links at a time: the others would only step
// over its number.
func (l *Log) take(t temporary) (seq, stepped handoff.Seq, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.next()
	if err != nil {
		return 0, 0, err
	}
	for tries := 1; ; tries++ {
		linked, err := l.linkTo(t, n)
		if err != nil {
			return 0, 0, err
		}
		l.last = max(l.last, n)
		if linked {
			l.sure = l.last
			return n, stepped, nil
		}
		if stepped == 0 {
			stepped = n
		}
		n++ // another writer took the number
		if tries%contended == 0 {
			if n, err = l.search(); err != nil {
				return 0, 0, err
			}
		}
	}
}

// linkTo links t to the number n, and reports whether it was free.
func (l *Log) linkTo(t temporary, n handoff.Seq) (bool, error) {
	if (n-1)%l.shard == 0 {
		if err := l.beginShard(n); err != nil {
			return false, l.failure("append", err)
		}
	}
	err := t.link(l.name(n))
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return false, l.failure("append", err)
	}
	// The name may be ours: the reply to an earlier try can be lost on the way.
	ours, err := t.linked()
	if err != nil {
		return false, l.failure("append", err)
	}
	return ours, nil
}

// beginShard makes the directory that n is the first number of. The older one
// is synced first, so that no power loss leaves a gap before n.
func (l *Log) beginShard(n handoff.Seq) error {
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

// Newest returns the last place of the log, 0 for none. It reads no record.
func (l *Log) Newest() (handoff.Seq, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.search()
	return n - 1, err
}

// next returns the number to try first. It follows one that this process just
// saw, or is searched for.
func (l *Log) next() (handoff.Seq, error) {
	if l.Passed == nil || l.asked {
		if l.sure == l.last {
			return l.last + 1, nil
		}
		return l.search()
	}
	passed := l.Passed() // before the search, for others go on meanwhile
	n, err := l.search()
	if err == nil && n <= passed {
		err = l.hole(n, fmt.Sprintf("the index knows record %d", passed))
	}
	l.asked = err == nil
	return n, err
}

// search returns the first free number after the last one seen, in O(log n)
// looks, having made sure that it is no hole.
func (l *Log) search() (handoff.Seq, error) {
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
			l.sure = l.last
			return n, nil
		}
	}
}

// firstFree returns the first number after from that does not exist, where all
// before it do.
func (l *Log) firstFree(from handoff.Seq) (handoff.Seq, error) {
	if from > 0 {
		there, err := l.exists(from)
		if err != nil {
			return 0, err
		}
		if !there {
			return 0, l.hole(from, "it was there before")
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
// is false where n was taken since, and an error of kind Corrupt where a
// number beyond n exists: then n is a hole that others have passed.
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

// beyond returns what exists beyond n that can't while n is free, or "".
func (l *Log) beyond(n handoff.Seq) (string, error) {
	if l.last > n {
		return fmt.Sprint(l.last), nil
	}
	for k := n + 1; k <= n+guarded; k++ {
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
	return &handoff.Error{Op: "read log", Name: l.name(n), Kind: handoff.Corrupt,
		Err:  fmt.Errorf("record %d is missing: %s", n, why),
		Hint: handoff.Advice("handoff check --repair marks the place and keeps every other record")}
}
