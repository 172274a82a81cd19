package web_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// TestGrowth reads pages of a log and of one of three times as many records. They read as many
// rows of the index in both; and so they do after an artifact was published, but for the first page, whose
// news are read beside it.
func TestGrowth(t *testing.T) {
	rows := map[string][2]int64{}
	for i, sessions := range []int{160, 480} {
		dir := filepath.Join(t.TempDir(), "the-workspace")
		ids, opened := manyRecords(t, dir, time.Now().Add(-30*24*time.Hour), sessions)
		now := time.Now()
		s := siteIn(t, dir, func(o *web.Options) { o.Now = func() time.Time { return now } })
		for name, path := range map[string]string{"home": "/", "sessions": "/sessions", "agent": "/sessions?agent=alex",
			"session": "/sessions/" + opened[50], "artifact": "/artifacts/" + ids[len(ids)/2], "artifacts": "/artifacts",
			"filtered": "/artifacts?agent=alex", "channels": "/channels", "channel": "/channels/design"} {
			count := func(name string) {
				before := sqlite.Rows.Load()
				s.get(path)
				both := rows[name]
				both[i] = sqlite.Rows.Load() - before
				rows[name] = both
			}
			s.eventually(path, "</html>") // the index is complete
			for strings.Contains(s.get(path), "not complete yet") {
				time.Sleep(time.Millisecond)
			}
			count(name)
			if name != "home" {
				s.publish(handoff.Draft{Body: strings.NewReader(fmt.Sprint("the page is ", name)), Channel: "design"})
				count(name + ", after a publication")
			}
		}
	}
	for name, both := range rows {
		t.Logf("%s: %d and %d rows", name, both[0], both[1])
		if both[1] > both[0]+both[0]/4+10 { // what is read beside a page adds some
			t.Errorf("%s: got %d rows of a large log, %d of a small one", name, both[1], both[0])
		}
	}
}
