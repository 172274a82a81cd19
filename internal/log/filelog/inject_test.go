package filelog

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/content"
)

// An injection is a log with bodies in which one thing is to go wrong.
type injection struct {
	site
	random  *rand.Rand
	records []handoff.Record
}

// inject returns an intact log of facts of several types, in shards of five, of
// which every other artifact is kept, some with the same body.
func inject(t *testing.T, random *rand.Rand) injection {
	t.Helper()
	s := site{t: t, dir: filepath.Join(t.TempDir(), "handoff")}
	s.log = openQuick(s.dir)
	k := &keeping{T: t, log: s.log, bodies: s.log.Bodies()}
	last := ""
	for range 8 + random.IntN(12) {
		switch random.IntN(5) {
		case 0, 1:
			text := strings.Repeat("text ", random.IntN(50)) + fmt.Sprint(random.IntN(10))
			last, _ = k.publish(text)
		case 2:
			k.append(&handoff.ArtifactPublished{Channel: "design", Path: "b.md", TargetType: "file", Title: "Retry policy"})
		case 3:
			k.append(&handoff.SessionNoted{SessionID: "s", UserSummary: new("what it is about")})
		case 4:
			if last != "" {
				k.append(&handoff.ArtifactWithdrawn{ArtifactID: last})
			}
		}
	}
	k.publish("the newest") // what is lost at the end of a log shows by its ID link alone
	return injection{s, random, logtest.Collect(t, s.log, 0)}
}

func (i injection) any() handoff.Record { return i.records[i.random.IntN(len(i.records))] }

// artifact returns one of the artifacts, a kept one where kept is set.
func (i injection) artifact(kept bool) handoff.Record {
	for {
		r := i.any()
		if p, ok := r.Fact.(*handoff.ArtifactPublished); ok && (p.Kept || !kept) {
			return r
		}
	}
}

// body returns the name of a body that some artifact refs, and of another.
func (i injection) body() (name, other string) {
	var needed []string
	for d := range i.needed() {
		_, name := i.log.Bodies().locate(d)
		needed = append(needed, name)
	}
	slices.Sort(needed)
	name = needed[i.random.IntN(len(needed))]
	for _, other = range needed {
		if other != name {
			return name, other
		}
	}
	return name, ""
}

func (i injection) needed() map[handoff.Digest]string {
	refs := new(content.References)
	_, err := i.log.Check(i.t.Context(), refs.Add)
	i.must(err)
	return refs.Needed()
}

// alter replaces what a file holds, under all of its names.
func (i injection) alter(name, content string) {
	i.must(os.Chmod(i.path(name), 0o600), os.WriteFile(i.path(name), []byte(content), 0))
}

// flip inverts any bit of a file, cut shortens it anywhere.
func (i injection) flip(name string) {
	b := []byte(i.content(i.path(name)))
	at := i.random.IntN(len(b) * 8)
	b[at/8] ^= 1 << (at % 8)
	i.alter(name, string(b))
}

func (i injection) cut(name string) {
	b := i.content(i.path(name))
	i.alter(name, b[:i.random.IntN(len(b)-1)]) // the newline at the end is no loss
}

// injections are what may befall any one file. Each returns the names that
// check may speak of as problems, of which it must speak of the first.
var injections = map[string]func(i injection) []string{
	"record: bit flip": func(i injection) []string {
		n := i.any().Seq
		i.flip(i.log.name(n))
		return []string{i.log.name(n), i.linkName(n)}
	},
	"record: truncated": func(i injection) []string {
		n := i.any().Seq
		i.cut(i.log.name(n))
		return []string{i.log.name(n), i.linkName(n)}
	},
	"record: missing": func(i injection) []string {
		r := i.any()
		i.must(os.Remove(i.number(r.Seq)))
		if int(r.Seq) == len(i.records) {
			return []string{i.linkName(r.Seq)}
		}
		return []string{i.log.name(r.Seq), i.linkName(r.Seq)}
	},
	"record: wrong number": func(i injection) []string {
		n, to := i.any().Seq, handoff.Seq(len(i.records)+2+i.random.IntN(3))
		i.must(os.MkdirAll(filepath.Dir(i.number(to)), 0o700), os.Rename(i.number(n), i.number(to)))
		if int(n) == len(i.records) {
			return []string{i.log.name(n)}
		}
		return []string{i.log.name(n), i.log.name(handoff.Seq(len(i.records) + 1))}
	},
	"record: under another number": func(i injection) []string {
		n, to := i.any().Seq, i.artifact(false).Seq
		if n == to {
			n = to%handoff.Seq(len(i.records)) + 1
		}
		i.must(os.Rename(i.number(n), i.number(to)))
		if int(n) == len(i.records) { // where it replaced a record without an ID link, only an index can show it
			return []string{i.linkName(to), i.linkName(n)}
		}
		return []string{i.log.name(n), i.linkName(to), i.linkName(n)}
	},
	"record: doubled id": func(i injection) []string {
		n, from := i.any().Seq, i.any()
		if n == from.Seq {
			n = n%handoff.Seq(len(i.records)) + 1
		}
		b, err := from.JSON()
		i.must(err)
		b = bytes.Replace(bytes.Clone(b), []byte(`"createdAt":"20`), []byte(`"createdAt":"21`), 1)
		i.must(os.Remove(i.number(n)), os.WriteFile(i.number(n), sealed(b), 0o400))
		return []string{i.log.name(max(n, from.Seq)), i.linkName(n), i.linkName(from.Seq)}
	},
	"ID link: of another record": func(i injection) []string {
		r, other := i.artifact(false), i.any()
		for other.Seq == r.Seq {
			other = i.any()
		}
		i.must(os.Remove(i.log.File(r)), os.Link(i.number(other.Seq), i.log.File(r)))
		return []string{i.linkName(r.Seq)}
	},
	"ID link: other bytes": func(i injection) []string {
		r := i.artifact(false)
		b := []byte(i.content(i.log.File(r)))
		b[i.random.IntN(len(b))] ^= 1
		i.must(os.Remove(i.log.File(r)), os.WriteFile(i.log.File(r), b, 0o400))
		return []string{i.linkName(r.Seq)}
	},
	"ID link: a link to nowhere": func(i injection) []string {
		r := i.artifact(false)
		i.must(os.Remove(i.log.File(r)), os.Symlink("nowhere", i.log.File(r)))
		return []string{i.linkName(r.Seq)}
	},
	"body: bit flip": func(i injection) []string {
		name, _ := i.body()
		i.flip(name)
		return []string{name}
	},
	"body: truncated": func(i injection) []string {
		name, _ := i.body()
		b := i.content(i.path(name))
		i.alter(name, b[:i.random.IntN(len(b))])
		return []string{name}
	},
	"body: missing": func(i injection) []string {
		name, _ := i.body()
		i.must(os.Remove(i.path(name)))
		return []string{bodyDigest(name)}
	},
	"body: swapped": func(i injection) []string {
		name, other := i.body()
		content := "another body"
		if other != "" {
			content = i.content(i.path(other))
		}
		i.must(os.Remove(i.path(name)), os.WriteFile(i.path(name), []byte(content), 0o400))
		return []string{name}
	},
	"body: a link": func(i injection) []string {
		name, other := i.body()
		i.must(os.Remove(i.path(name)), os.Symlink(i.path(other), i.path(name)))
		return []string{name}
	},
	"identity: truncated": func(i injection) []string {
		i.must(os.Chmod(i.path(idName), 0o600), os.Truncate(i.path(idName), i.random.Int64N(idSize*2)))
		return []string{idName}
	},
	"foreign file": func(i injection) []string {
		name := []string{"log", "log/00000000", recordsDir, bodiesDir}[i.random.IntN(4)] + "/notes.txt"
		i.put(name, "mine")
		return []string{name}
	},
}

// bodyDigest returns the digest by which a check names a missing body.
func bodyDigest(name string) string {
	return handoff.SHA256 + ":" + strings.ReplaceAll(strings.TrimPrefix(name, bodiesDir+"/"), "/", "")
}

// linkName returns the ID link of record n, or "" where it has none.
func (i injection) linkName(n handoff.Seq) string {
	if id := i.records[n-1].ID; handoff.IsArtifactID(id) {
		return recordsDir + "/" + id + ".json"
	}
	return "no ID link"
}

// TestInjectedFaults makes one random fault after another, 50 of them, or 1,000
// where HANDOFF_LONG is set: check finds each and nothing else, and a
// repair leaves every number as it is, in bytes and in time, or renames it if it is
// damaged.
func TestInjectedFaults(t *testing.T) {
	rounds := 50
	if os.Getenv("HANDOFF_LONG") != "" {
		rounds = 1000
	}
	var names []string
	for name := range injections {
		names = append(names, name)
	}
	slices.Sort(names)
	for round := range rounds {
		name := names[round%len(names)]
		t.Run(fmt.Sprintf("%d %s", round, name), func(t *testing.T) {
			t.Parallel()
			i := inject(t, rand.New(rand.NewPCG(uint64(round), 0)))
			report, err := checkAll(t, i.log)
			i.must(err)
			if len(report.Findings) > 0 {
				t.Fatalf("false alarm before anything is wrong: %+v", report.Findings)
			}
			may := injections[name](i)
			report, err = checkAll(t, openQuick(i.dir))
			i.must(err)
			found := false
			for _, f := range report.Findings {
				found = found || f.Name == may[0] && !f.Note
				if !f.Note && !slices.Contains(may, f.Name) {
					t.Errorf("false alarm: %+v, only %q are at fault", f, may)
				}
			}
			if !found {
				t.Errorf("check finds %+v, want %s", report.Findings, may[0])
			}
			before := i.numbers()
			err = repairAll(t, openQuick(i.dir))
			i.must(err)
			after := i.numbers()
			for file, was := range before {
				damaged := slices.ContainsFunc(report.Findings, func(f handoff.Finding) bool {
					return file == i.path(f.Name) && strings.HasPrefix(f.Text, "not a valid record")
				})
				if damaged {
					quarantined, _ := filepath.Glob(file + quarantinedDamage + "*")
					file = strings.Join(quarantined, " ")
				}
				if now := after[file]; now != was {
					t.Errorf("repair changed %s from %q to %q", file, was, now)
				}
			}
		})
	}
}

// numbers returns the bytes and the time of every number.
func (i injection) numbers() map[string]string {
	list := map[string]string{}
	i.must(filepath.WalkDir(i.path("log"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(name, ".json") {
			return err
		}
		info, err := d.Info()
		if err == nil {
			list[name] = fmt.Sprint(info.ModTime().UnixNano(), info.Mode(), i.content(name))
		}
		return err
	}))
	return list
}
