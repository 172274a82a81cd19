//go:build unix

package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkThreads compares processes: lists and searches of 2,000 conversations of
// 200 kB, and hello-world or grep of the same files.
func BenchmarkThreads(b *testing.B) {
	program, hello := programs(b)
	home := fresh(b)
	rollouts(b, home)
	search := func(args ...string) []string {
		return append([]string{"search", "--in", "threads", "--everywhere"}, args...)
	}
	b.Run("list/limit5", func(b *testing.B) { against(b, hello, home, program, "threads", "--everywhere", "--limit", "5") })
	b.Run("search/absent/no-index", func(b *testing.B) {
		o, p := turns(b, quiet(b, home, program, search("quokkazebra", "--no-index")...), func() {
			c := exec.Command("grep", "-rlwi", "quokkazebra", ".codex")
			c.Dir, c.Env = home, []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
			c.Run() // exits 1: there is no match
		})
		b.ReportMetric(ms(o), "ms/search")
		b.ReportMetric(ms(p), "ms/grep")
		b.ReportMetric(float64(o)/float64(p), "times-grep")
	})
	b.Run("index/cold", func(b *testing.B) {
		for b.Loop() {
			must(b, os.RemoveAll(filepath.Join(home, ".cache")))
			quiet(b, home, program, search("quokkazebra")...)()
		}
	})
	b.Run("search/absent", func(b *testing.B) { against(b, hello, home, program, search("quokkazebra")...) })
	b.Run("search/common", func(b *testing.B) { against(b, hello, home, program, search("agent")...) })
	b.Run("list/limit5/index", func(b *testing.B) { against(b, hello, home, program, "threads", "--everywhere", "--limit", "5") })
}
