package filelog

import (
	"os"
	"sync"
	"syscall"
)

// A notifier reports that a directory has a new entry, by inotify. The report is
// a hint: a network file system does not notify of what other machines do.
type notifier struct {
	mu      sync.Mutex
	events  *os.File // nil until the first call of watch
	failed  bool     // or closed
	watched map[string]bool
	changed chan struct{} // closed at the next event; nil if nobody reads events
}

// watch returns a channel that is closed when a directory gets a new entry, or
// nil if that can't be known.
func (n *notifier) watch(dir string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failed {
		return nil
	}
	if n.events == nil {
		fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
		if n.failed = err != nil; n.failed {
			return nil
		}
		n.events, n.watched = os.NewFile(uintptr(fd), "inotify"), map[string]bool{}
	}
	if !n.watched[dir] {
		raw, err := n.events.SyscallConn()
		if err != nil {
			return nil
		}
		var failure error
		err = raw.Control(func(fd uintptr) {
			_, failure = syscall.InotifyAddWatch(int(fd), dir,
				syscall.IN_CREATE|syscall.IN_MOVED_TO|syscall.IN_ONLYDIR|syscall.IN_DONT_FOLLOW)
		})
		if err != nil || failure != nil {
			return nil
		}
		n.watched[dir] = true
	}
	if n.changed == nil {
		n.changed = make(chan struct{})
		go n.read()
	}
	return n.changed
}

// read reports the events up to now, or the next one. Events are read only while
// somebody waits: a busy log would wake the process for each.
func (n *notifier) read() {
	_, err := n.events.Read(make([]byte, 16<<10))
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failed = n.failed || err != nil
	close(n.changed)
	n.changed = nil
}

// close ends the reports. Those who wait go on to poll.
func (n *notifier) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failed = true; n.events == nil {
		return nil
	}
	return n.events.Close()
}
