package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// The names of the program. The second one is that of the distribution: other
// programs are called handoff, too.
const (
	shortName = "handoff"
	longName  = "agent-handoff"
)

// calledLong reports whether the program was called by its second name.
var calledLong atomic.Bool

// SetName sets the name by which the program was called, from its path.
func SetName(path string) { calledLong.Store(filepath.Base(path) == longName) }

// Name returns the name by which the program was called, handoff unless it is
// agent-handoff.
func Name() string {
	if calledLong.Load() {
		return longName
	}
	return shortName
}

// named returns a text whose commands have the name by which the program was called.
// In other places, handoff is the product.
func (a *App) named(text string) string {
	if Name() == shortName || !strings.Contains(text, shortName+" ") {
		return text
	}
	if a.commandLine == nil {
		words := append([]string{"COMMAND", "help", "completion", "--"}, a.commandNames...)
		slices.SortFunc(words, func(v, w string) int { return len(w) - len(v) }) // the longest match
		a.commandLine = regexp.MustCompile(`(^|[^\w./-])handoff (` + strings.Join(words, "|") + `)\b`)
	}
	return a.commandLine.ReplaceAllString(text, "${1}"+longName+" $2")
}
