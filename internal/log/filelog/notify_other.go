//go:build !linux

package filelog

// A notifier reports that a directory has a new entry. This system has none, so
// Wait polls.
type notifier struct{}

func (*notifier) watch(string) <-chan struct{} { return nil }
func (*notifier) close() error                 { return nil }
