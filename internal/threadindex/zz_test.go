package threadindex_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
)

func BenchmarkZZ(b *testing.B) {
	home := os.Getenv("ZZHOME")
	for b.Loop() {
		set := thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
		x := threadindex.NewIndex(threadindex.NewFiles(set), filepath.Join("/tmp/tindex-trees/zz", threadindex.FileName(set.Roots())), time.Now, nil)
		_, err := x.Search(b.Context(), threadindex.Search{Text: "quokkazebra"})
		if err != nil {
			b.Fatal(err)
		}
	}
}
