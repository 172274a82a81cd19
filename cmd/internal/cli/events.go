package cli

import (
	"fmt"
	"os"
	"syscall"
)

// EventsVariable names the environment variable by which handoff run names the
// file on which it prints the publishes of its session. A command whose standard
// error is that file does not print them a second time.
const EventsVariable = "HANDOFF_EVENTS"

// Events identifies the file that standard error is, "" if it is not a file.
func (a *App) Events() string {
	f, ok := a.Err.(*os.File)
	if !ok {
		return ""
	}
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// EventsPrinted reports whether a handoff run prints the publishes of its session
// on this standard error.
func (a *App) EventsPrinted() bool {
	stream := a.Getenv(EventsVariable)
	return stream != "" && stream == a.Events()
}
