package hostile

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // as the driver of foreign databases
)

// A hostile workspace differs from an ordinary one by one change.
type hostile struct {
	name   string
	change func(place)
}

const (
	firstRecord = "log/00000000/000000000001.json"
	newRecord   = "log/00000000/000000000099.json"
)

func cases(p place) []hostile {
	return slices.Concat(links(p), irregular(), large(), databases(), bombs(), records(), owners())
}

// links replaces each name of the runtime directory by a link out of the
// workspace.
func links(p place) []hostile {
	var list []hostile
	link := func(name, target string) {
		list = append(list, hostile{"link/" + name + " to " + target, func(p place) {
			file := p.runtime(name)
			if name == "." {
				file = filepath.Join(p.ws, ".handoff")
			}
			must(p.t, os.RemoveAll(file))
			must(p.t, os.MkdirAll(filepath.Dir(file), 0o755))
			must(p.t, os.Symlink(filepath.Join(p.outside, target), file))
		}})
	}
	body := firstBody(p)
	for _, name := range []string{".", "log", "log/tmp", "log/00000000", "artifacts", "artifacts/records",
		"artifacts/files", "bodies", "bodies/sha256", filepath.Dir(body)} {
		link(name, "dir")
	}
	link("log", "log")
	link("log/00000000", "log/00000000")
	for _, name := range []string{"log/ID", firstRecord, body, "index.lock", "config.yaml", ".gitignore",
		"index.db"} {
		link(name, "victim.txt")
	}
	for _, name := range []string{"index.db", "index.db-wal", "index.db-shm", "index.db-journal"} {
		link(name, "victim.db")
	}
	for _, name := range []string{".", "log", "log/ID", "bodies", "artifacts", "artifacts/files", "index.db", "index.lock",
		"config.yaml"} {
		link(name, "does-not-exist")
	}
	return append(list, workspaceLinks()...)
}

// workspaceLinks are links at other names that handoff uses.
func workspaceLinks() []hostile {
	var list []hostile
	for name, target := range map[string]string{
		"handoff.yaml":               "victim.txt",
		"handoff.pipeline.yaml":      "victim.txt",
		".pipeline":                  "dir",
		".pipeline/42":               "dir",
		".pipeline/42/plan.json":     "victim.txt",
		".pipeline/42/state.yaml":    "victim.txt",
		".pipeline/lessons.yaml":     "victim.txt",
		".pipeline/completed":        "dir",
		"docs":                       "dir",
		"docs/agent-outputs":         "dir",
		"docs/agent-outputs/" + sess: "dir",
		"docs/agent-outputs/" + sess + "/manifest.json": "victim.txt",
	} {
		list = append(list, hostile{"link/" + name, func(p place) {
			file := filepath.Join(p.ws, name)
			must(p.t, os.RemoveAll(file))
			must(p.t, os.MkdirAll(filepath.Dir(file), 0o755))
			must(p.t, os.Symlink(filepath.Join(p.outside, target), file))
		}})
	}
	return list
}

// firstBody returns the name of a kept body in the runtime directory.
func firstBody(p place) string {
	files, err := filepath.Glob(p.runtime("bodies/sha256/??/*"))
	must(p.t, err)
	if len(files) == 0 {
		p.t.Fatal("the workspace has no kept body")
	}
	rel, err := filepath.Rel(p.runtime(""), files[0])
	must(p.t, err)
	return filepath.ToSlash(rel)
}

// irregular puts a pipe, a device and a directory at each name of a file.
func irregular() []hostile {
	var list []hostile
	for _, name := range []string{
		".handoff/log/ID", ".handoff/" + firstRecord, ".handoff/config.yaml", "handoff.pipeline.yaml",
		".handoff/index.db", ".handoff/index.lock",
		".pipeline/lessons.yaml", ".pipeline/42/state.yaml", ".pipeline/42/plan.json", "docs/agent-outputs/" + sess +
			"/manifest.json", "a.md", "handoff.yaml", ".git",
	} {
		make := func(kind string, create func(p place, file string)) {
			list = append(list, hostile{kind + "/" + name, func(p place) {
				file := filepath.Join(p.ws, name)
				must(p.t, os.RemoveAll(file))
				must(p.t, os.MkdirAll(filepath.Dir(file), 0o755))
				create(p, file)
			}})
		}
		make("pipe", func(p place, file string) { must(p.t, syscall.Mkfifo(file, 0o644)) })
		make("directory", func(p place, file string) { must(p.t, os.Mkdir(file, 0o755)) })
		make("device", func(p place, file string) { must(p.t, os.Symlink("/dev/zero", file)) })
	}
	return list
}

// large makes files of 3 GB that take no space on disk.
func large() []hostile {
	var list []hostile
	for _, name := range []string{
		".handoff/log/ID", ".handoff/" + firstRecord, ".handoff/config.yaml", "handoff.pipeline.yaml",
		".handoff/index.db",
		".pipeline/lessons.yaml", ".pipeline/42/state.yaml", ".pipeline/42/plan.json", "docs/agent-outputs/" + sess +
			"/manifest.json",
	} {
		list = append(list, hostile{"large/" + name, func(p place) {
			p.write(filepath.Join(p.ws, name), "")
			must(p.t, os.Truncate(filepath.Join(p.ws, name), 1<<30))
		}})
	}
	return list
}

// sqlite makes a database of another program.
func (p place) sqlite(file string) {
	p.t.Helper()
	db, err := sql.Open("sqlite", file)
	must(p.t, err)
	defer db.Close()
	_, err = db.Exec(`CREATE TABLE place (secret TEXT); INSERT INTO place VALUES ('` + canary + `')`)
	must(p.t, err)
}

func databases() []hostile {
	foreign := func(p place) {
		p.write(p.runtime("index.db"), "")
		must(p.t, os.Remove(p.runtime("index.db")))
		p.sqlite(p.runtime("index.db"))
	}
	return []hostile{
		{"database/of another program", foreign},
		{"database/not one", func(p place) { p.write(p.runtime("index.db"), strings.Repeat("no database ", 1000)) }},
		{"database/hard link", func(p place) {
			must(p.t, os.Remove(p.runtime("index.db")))
			must(p.t, os.Link(filepath.Join(p.outside, "victim.db"), p.runtime("index.db")))
		}},
		{"database/journal that names a file to delete", func(p place) {
			foreign(p)
			p.write(p.runtime("index.db-journal"), forgedJournal(filepath.Join(p.outside, "victim.txt")))
		}},
	}
}

// forgedJournal returns a rollback journal of SQLite that names a super-journal,
// which SQLite deletes when it has rolled back.
func forgedJournal(super string) string {
	header := make([]byte, 512)
	copy(header, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
	binary.BigEndian.PutUint32(header[16:], 1) // pages in the database
	binary.BigEndian.PutUint32(header[20:], 512)
	binary.BigEndian.PutUint32(header[24:], 4096)
	var sum uint32
	for _, b := range []byte(super) {
		sum += uint32(b)
	}
	tail := append([]byte{0, 0, 0, 0}, super...)
	tail = binary.BigEndian.AppendUint32(tail, uint32(len(super)))
	tail = binary.BigEndian.AppendUint32(tail, sum)
	return string(header) + string(tail) + "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
}

func bombs() []hostile {
	aliases := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		aliases += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1,
			c-1, c-1)
	}
	deep := strings.Repeat("[", 200_000)
	stage := func(schema string) string {
		return "preset: jg\nstages: [{id: plan, format: {schema: " + schema + "}}]\n"
	}
	var list []hostile
	for name, content := range map[string]string{
		".handoff/config.yaml":                          aliases,
		"handoff.yaml":                                  aliases,
		".pipeline/lessons.yaml":                        aliases,
		".pipeline/42/state.yaml":                       aliases,
		".pipeline/42/plan.json":                        deep,
		"docs/agent-outputs/" + sess + "/manifest.json": deep,
		".handoff/log/ID":                               "../../../../outside/dir\n",
		".handoff/" + newRecord:                         deep,
		".handoff/" + firstRecord:                       `{"version":1}`,
	} {
		list = append(list, hostile{"content/" + name, func(p place) { p.write(filepath.Join(p.ws, name), content) }})
	}
	for i, content := range []string{aliases, deep, stage(`{$ref: "#"}`),
		stage(`{properties: {affected_files: {items: {pattern: "(a+)+(a+)+(a+)+$"}}}}`),
		stage(`../../../outside/victim.txt`), stage(`/etc/passwd`), "folder: ../outside/dir\n", "folder: /etc\n"} {
		list = append(list, hostile{fmt.Sprint("handoff.pipeline.yaml/", i),
			func(p place) { p.write(filepath.Join(p.ws, "handoff.pipeline.yaml"), content) }})
	}
	for i, content := range []string{"log: file:///etc\n",
		"log: https://u:secret@host/x\n", deep} {
		list = append(list, hostile{fmt.Sprint("handoff.yaml/", i),
			func(p place) { p.write(filepath.Join(p.ws, "handoff.yaml"), content) }})
	}
	return list
}

// records appends a record that names files where there must be none.
func records() []hostile {
	artifact := func(fields string) string {
		return `"type":"artifact.published","id":"art_01M80000000000000000000000","channel":"design","kind":"file","targetType":"file","sizeBytes":32,` + fields
	}
	opened := func(folder string) string {
		return `"type":"session.opened","id":"r1","sessionId":"b3f2c9d1-4b5e-4789-81ab-cdef12345678","agent":{"name":"x"},"workflow":{"name":"w"},"folder":"` + folder + `"`
	}
	kept := func(digest, size string) string {
		return `"type":"thread.kept","id":"r1","thread":"agents://codex/019c871c-b1f9-7f60-9c4f-87ed09f13592","digest":{"algorithm":"sha256","value":"` + digest + `"},"sizeBytes":1,"files":1,"transcriptBytes":` + size
	}
	var list []hostile
	for name, fact := range map[string]string{
		"path above":          artifact(`"path":"../outside/victim.txt"`),
		"path absolute":       artifact(`"path":"/etc/passwd"`),
		"path in the runtime": artifact(`"path":"../../outside/victim.txt","root":"runtime"`),
		"path in a session":   artifact(`"path":"../../../outside/victim.txt","root":"session"`),
		"worktree above":      artifact(`"path":"victim.txt","worktree":"../../outside"`),
		"name above":          artifact(`"path":"a.md","namespace":"../../../outside","name":"../victim.txt"`),
		"id above":            `"type":"artifact.published","id":"../../../outside/x","channel":"design","path":"a.md","targetType":"file"`,
		"digest": artifact(
			`"path":"gone.md","kept":true,"digest":{"algorithm":"sha256","value":"../../../../outside/victim.txt"}`),
		"kept copy outside":     kept(`../../../../outside/victim.txt`, `1`),
		"kept copy large":       kept(strings.Repeat("a", 64), `9223372036854775807`),
		"moved above":           `"type":"path.moved","id":"r1","from":"docs","to":"../outside"`,
		"moved onto itself":     `"type":"path.moved","id":"r1","from":"a.md","to":"a.md/a.md"`,
		"session folder above":  opened("../outside/dir"),
		"session folder abs":    opened("/tmp"),
		"session folder git":    opened(".git/hooks"),
		"session folder log":    opened(".handoff/log"),
		"session folder parent": opened("docs/../../outside/dir"),
		"terminal escapes":      artifact(`"path":"\u001b]52;c;eA==\u0007a.md","title":"\u001b[2J\u202e"`),
		"unknown type":          `"type":"artifact.exploded","id":"r1","path":"../outside/victim.txt"`,
		"very long":             artifact(`"path":"` + strings.Repeat("a/", 400_000) + `"`),
	} {
		list = append(list, hostile{"record/" + name, func(p place) {
			next := nextRecord(p)
			p.write(next, `{"version":1,`+strings.Replace(fact, `"id":`,
				`"createdAt":"2026-11-21T03:00:00.123Z","producer":{"source":"none","session":"`+sess+`"},"id":`, 1)+`}`)
			must(p.t, os.MkdirAll(filepath.Join(p.ws, ".git/hooks"), 0o755))
		}})
	}
	return list
}

func nextRecord(p place) string {
	for n := 1; ; n++ {
		file := p.runtime(fmt.Sprintf("log/00000000/%012d.json", n))
		if _, err := os.Lstat(file); err != nil {
			return file
		}
	}
}

// owners gives the runtime directory to another user, which only root can.
func owners() []hostile {
	if os.Getuid() != 0 {
		return nil
	}
	return []hostile{{"owner/another user", func(p place) { must(p.t, os.Chown(p.runtime(""), 12345, 12345)) }},
		{"time/in the future", func(p place) {
			future := time.Now().AddDate(50, 0, 0)
			must(p.t, os.Chtimes(p.runtime("index.db"), future, future))
		}}}
}
