//go:build unix

package bench

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
)

// BenchmarkWhy compares processes: hello-world, and why and status in a workspace with
// 100,000 records and, in the home directory, the threads of BenchmarkThreads,
// both with indexes that are up to date.
func BenchmarkWhy(b *testing.B) {
	program, hello := programs(b)
	home := fresh(b)
	tracedWorkspace(b, home)
	for _, args := range [][]string{{"list"}, {"search", "--in", "threads", "--everywhere", "quokkazebra"}} {
		quiet(b, home, program, args...)() // builds the indexes
	}
	b.Run("file", func(b *testing.B) { against(b, hello, home, program, "why", tracedFile) })
	b.Run("status", func(b *testing.B) { against(b, hello, home, program, "status") })
}

// tracedFile is a file of an artifact in the middle of the log.
const tracedFile = "docs/session-1000/50000.md"

// tracedWorkspace writes threads and a log with the runtime directory in home.
func tracedWorkspace(b *testing.B, home string) {
	archive(b, home)
	runtime := filepath.Join(home, ".handoff")
	must(b, localstate.NewDir(runtime, nil).Create(b.Context()))
	must(b, filelog.Open(runtime, rand.NewChaCha8([32]byte{2})).Create())
	_, err := writeLog(runtime, indexed)
	must(b, err)
	write(b, filepath.Join(home, tracedFile), "content")
}
