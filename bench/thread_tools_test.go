package bench

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// BenchmarkThreadGemini compares processes that read one of 400 chats of 225 KB
// each, in 20 projects and in one, with hello-world.
func BenchmarkThreadGemini(b *testing.B) {
	program, hello := programs(b)
	words := strings.Repeat("lorem ipsum dolor sit amet consectetur adipiscing elit ", 33)
	var body bytes.Buffer
	for n := range 120 {
		kind := [...]string{"user", "gemini"}[n%2]
		fmt.Fprintf(&body, ",{\"id\":\"%d\",\"timestamp\":\"2026-01-08T12:00:00.000Z\",\"type\":%q,\"content\":%q}", n, kind,
			words)
	}
	for _, projects := range []int{20, 1} {
		for _, ext := range []string{".json", ".jsonl"} {
			home := fresh(b)
			for i := range 400 {
				id := chatID(i)
				started := time.Date(2026, 1, 8, 3*i, 0, 0, 0, time.UTC)
				head := fmt.Sprintf(`{"sessionId":%q,"projectHash":"h","startTime":%q,"lastUpdated":%q`, id,
					started.Format(time.RFC3339), started.Format(time.RFC3339))
				text := head + `,"messages":[` + strings.TrimPrefix(body.String(), ",") + `]}`
				if ext == ".jsonl" {
					text = head + `}` + strings.ReplaceAll(body.String(), ",{\"id\"", "\n{\"id\"") + "\n"
				}
				name := filepath.Join(home, ".gemini/tmp", fmt.Sprint("project", i%projects), "chats",
					"session-"+started.Format("2006-01-02T15-04")+"-"+id[:8]+ext)
				write(b, name, text)
				must(b, os.Chtimes(name, started, started.Add(time.Hour)))
			}
			b.Run(fmt.Sprintf("%s/%dprojects", ext[1:], projects), func(b *testing.B) {
				readAndHead(b, hello, home, program, "gemini/"+chatID(200))
			})
		}
	}
}

func chatID(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", 0x51a30000+i*977, i) }

// BenchmarkThreadPi measures the same for one of 1,000 sessions of 60 KB, in 30
// projects.
func BenchmarkThreadPi(b *testing.B) {
	program, hello := programs(b)
	home := fresh(b)
	words := strings.Repeat("lorem ipsum dolor sit amet consectetur adipiscing elit ", 18)
	for i := range 1000 {
		started := time.Date(2026, 2, 23, 3*i, 0, 0, 0, time.UTC)
		var s strings.Builder
		fmt.Fprintf(&s, "{\"type\":\"session\",\"version\":3,\"id\":%q,\"timestamp\":%q,\"cwd\":\"/home/u/p\"}\n", chatID(i),
			started.Format(time.RFC3339))
		parent := "null"
		for n := range 55 {
			id := fmt.Sprintf(`"%08x"`, n)
			fmt.Fprintf(&s,
				"{\"type\":\"message\",\"id\":%s,\"parentId\":%s,\"message\":{\"role\":%q,\"content\":[{\"type\":\"text\",\"text\":%q}]}}\n", id, parent, [...]string{"user", "assistant"}[n%2], words)
			parent = id
		}
		name := filepath.Join(home, ".pi/agent/sessions", fmt.Sprintf("--home-u-p%d--", i%30),
			started.Format("2006-01-02T15-04-05-000Z")+"_"+chatID(i)+".jsonl")
		write(b, name, s.String())
		must(b, os.Chtimes(name, started, started.Add(time.Hour)))
	}
	readAndHead(b, hello, home, program, "pi/"+chatID(500))
}

// BenchmarkThreadOpencode measures the same for one of 1,000 sessions of 40
// messages with three parts each, in one database of 106 MB.
func BenchmarkThreadOpencode(b *testing.B) {
	program, hello := programs(b)
	home := fresh(b)
	path := filepath.Join(home, ".local/share/opencode/opencode.db")
	must(b, os.MkdirAll(filepath.Dir(path), 0o755))
	db, err := sql.Open("sqlite", path)
	must(b, err)
	tx, err := db.Begin()
	must(b, err)
	exec := func(query string, args ...any) {
		_, err := tx.Exec(query, args...)
		must(b, err)
	}
	exec(`CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, data TEXT NOT NULL);
CREATE INDEX m ON message (session_id); CREATE INDEX p ON part (session_id);`)
	part := fmt.Sprintf(`{"type":"text","text":%q}`, strings.Repeat("lorem ipsum ", 58))
	for i := range 1000 {
		session := fmt.Sprintf("ses_%012x", i)
		exec("INSERT INTO session VALUES (?, NULL, '/home/u/p')", session)
		for n := range 40 {
			message, at := fmt.Sprintf("msg_%d_%d", i, n), 1768307088000+i*1000+n
			exec("INSERT INTO message VALUES (?, ?, ?, ?)", message, session, at,
				fmt.Sprintf(`{"role":%q,"time":{"created":%d}}`, [...]string{"user", "assistant"}[n%2], at))
			for k := range 3 {
				exec("INSERT INTO part VALUES (?, ?, ?, ?, ?)", fmt.Sprintf("prt_%d_%d_%d", i, n, k), message, session, at, part)
			}
		}
	}
	must(b, tx.Commit())
	must(b, db.Close())
	readAndHead(b, hello, home, program, fmt.Sprintf("opencode/ses_%012x", 500))
}

func readAndHead(b *testing.B, hello, home, program, uri string) {
	b.Run("read", func(b *testing.B) { against(b, hello, home, program, "thread", uri) })
	b.Run("head", func(b *testing.B) { against(b, hello, home, program, "thread", "-I", uri) })
}

// against compares a program with hello-world, in a home directory.
func against(b *testing.B, hello, home, program string, args ...string) {
	run := func(name string, args ...string) func() {
		return func() {
			c := exec.Command(name, args...)
			c.Dir, c.Env = home, []string{"HOME=" + home}
			if out, err := c.CombinedOutput(); err != nil {
				b.Fatalf("%s: %v\n%s", name, err, out)
			}
		}
	}
	o, q := turns(b, run(program, args...), run(hello))
	b.ReportMetric(float64(o.Microseconds())/1000, "ms/thread")
	b.ReportMetric(float64(q.Microseconds())/1000, "ms/hello")
	b.ReportMetric(float64((o-q).Microseconds())/1000, "ms-more")
}
