package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
)

// indexed is the number of records in the benchmarks of the index.
const indexed = 100_000

// A corpus is a workspace with a log of artifacts and its index.
type corpus struct {
	dir, file string
	log       *filelog.Log
	id        string
	ids       []string
}

var theCorpus = sync.OnceValues(func() (*corpus, error) {
	dir, err := os.MkdirTemp(root, "")
	if err != nil {
		return nil, err
	}
	runtime := filepath.Join(dir, ".handoff")
	c := &corpus{dir: dir, file: filepath.Join(runtime, "index.db"),
		log: filelog.Open(runtime, rand.NewChaCha8([32]byte{2}))}
	err = errors.Join(localstate.NewDir(runtime, nil).Create(context.Background()), c.log.Create())
	if err != nil {
		return nil, err
	}
	if c.id, err = c.log.ID(context.Background()); err != nil {
		return nil, err
	}
	if c.ids, err = writeLog(runtime, indexed); err != nil {
		return nil, err
	}
	x, err := sqlindex.Open(context.Background(), c.file, c.id)
	if err != nil {
		return nil, err
	}
	if err := fill(context.Background(), c.log, x); err != nil {
		return nil, err
	}
	return c, x.Close()
})

// fill applies a log to an index, with full text.
func fill(ctx context.Context, log handoff.Log, x *sqlindex.Index) error {
	if err := handoff.CatchUp(ctx, log, x); err != nil {
		return err
	}
	return x.IndexText(ctx, func(handoff.Artifact) (string, error) { return "", nil }, func(handoff.Seq) {})
}

var words = strings.Fields(
	`agent analysis approve audit backoff branch budget cache channel client commit compile config
	contract cursor database deadline deploy design digest driver error event export filter fixture flag format gateway
	handler harness header hook index invoice ledger limit lint lock merge metric migration model module network node
	option order owner packet parser patch payload plan policy pool probe profile prompt proxy query queue quota refactor
	region release render replay request retry review rollback router schema security server session shard signal socket
	source stage status storage stream summary test thread timeout token trace tree update upload vector version worker`)

// writeLog writes n records of artifacts in the format of a log, without syncs,
// and returns their IDs.
func writeLog(runtime string, n int) ([]string, error) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = words[r.IntN(len(words))]
		}
		return strings.Join(list, " ")
	}
	start, random := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), rand.NewChaCha8([32]byte{3})
	var ids []string
	for i := range n {
		size := int64(r.IntN(100_000))
		session := fmt.Sprintf("session-%04d", i/50)
		p := &handoff.ArtifactPublished{
			Channel: []string{"analysis", "design", "patch", "verification", "handoff"}[r.IntN(5)], Kind: "report",
			Path: fmt.Sprintf("docs/%s/%d.md", session, i), TargetType: "file", Title: text(5), Summary: text(30),
			MediaType: "text/markdown", SizeBytes: &size,
			Digest: handoff.Digest{Algorithm: "sha256", Value: fmt.Sprintf("%064x", i)}, Tags: []string{words[r.IntN(20)]},
		}
		if i%4 == 0 {
			p.Namespace, p.Name = session, "context.md"
		}
		if i > 10 && i%5 == 0 {
			p.Replaces = ids[i-3 : i-2]
		}
		if i > 10 && i%3 == 0 {
			p.Parents = ids[i-2 : i]
		}
		producer := handoff.Producer{Harness: "codex", Agent: []string{"builder", "reviewer", "planner"}[i%3],
			Session: session,
			RunID:   fmt.Sprintf("run-%05d", i/10), TaskID: fmt.Sprintf("task-%05d", i/5), WorkID: fmt.Sprintf("task-%05d", i/5),
			Thread: "agents://codex/" + session, Model: handoff.Model{Provider: "openai", ID: "gpt-5"},
			Source: handoff.FromHarness}
		record, err := handoff.NewRecord(start.Add(time.Duration(i)*10*time.Second), random, producer, p)
		if err != nil {
			return nil, err
		}
		if err := store(runtime, i+1, record); err != nil {
			return nil, err
		}
		ids = append(ids, record.ID)
	}
	return ids, nil
}

// store writes a record under its number in a log, without syncs.
func store(runtime string, n int, r handoff.Record) error {
	b, err := r.JSON()
	if err != nil {
		return err
	}
	name := recordFile(runtime, n)
	if n%4096 == 1 {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
	}
	return os.WriteFile(name, b, 0o444)
}

func needCorpus(b *testing.B) *corpus {
	b.Helper()
	c, err := theCorpus()
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkIndexRebuild compares filling an index from a log, with full text, with
// inserting the resulting rows into the same schema. Parts of both alternate,
// because the load of the machine varies.
func BenchmarkIndexRebuild(b *testing.B) {
	const parts = 25
	c := needCorpus(b)
	rows := rowsOfIndex(b, c.file)
	for b.Loop() {
		x, err := sqlindex.Open(b.Context(), filepath.Join(fresh(b), "index.db"), c.id)
		must(b, err)
		insert := bareInserts(b, c, rows)
		var rebuilt, bare, rebuiltCPU, bareCPU time.Duration
		for i := range parts {
			to, before := indexed*(i+1)/parts, processorTime(b)
			rebuilt += timed(func() { must(b, fill(b.Context(), upTo{c.log, handoff.Seq(to)}, x)) })
			between := processorTime(b)
			bare += timed(func() { insert(indexed*i/parts, to) })
			rebuiltCPU, bareCPU = rebuiltCPU+between-before, bareCPU+processorTime(b)-between
		}
		must(b, x.Close())
		b.ReportMetric(rebuilt.Seconds(), "rebuild-s")
		b.ReportMetric(bare.Seconds(), "bare-s")
		b.ReportMetric(bare.Seconds()/rebuilt.Seconds(), "rate-vs-bare")
		b.ReportMetric(rebuiltCPU.Seconds(), "rebuild-cpu-s")
		b.ReportMetric(bareCPU.Seconds()/rebuiltCPU.Seconds(), "cpu-rate-vs-bare")
	}
}

// upTo is a log that ends at a position.
type upTo struct {
	handoff.Log
	last handoff.Seq
}

func (l upTo) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		if after >= l.last {
			return
		}
		for r, err := range l.Log.Read(ctx, after) {
			if !yield(r, err) || r.Seq >= l.last {
				return
			}
		}
	}
}

// rowsOfIndex returns the rows of an index by table.
func rowsOfIndex(b *testing.B, file string) map[string][][]any {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	must(b, err)
	defer db.Close()
	rows := map[string][][]any{}
	for table, query := range map[string]string{
		"artifacts": "SELECT * FROM artifacts ORDER BY seq", "pointers": "SELECT * FROM pointers",
		"labels": "SELECT * FROM labels ORDER BY seq", "texts": "SELECT rowid, * FROM texts",
	} {
		rows[table] = rowsOf(b, db, query)
	}
	return rows
}

// bareInserts returns a function that inserts the rows of a part of the records
// into an empty index, with as many records in a transaction as a rebuild.
func bareInserts(b *testing.B, c *corpus, tables map[string][][]any) func(from, to int) {
	b.Helper()
	file := filepath.Join(fresh(b), "bare.db")
	x, err := sqlindex.Open(b.Context(), file, c.id)
	must(b, err)
	must(b, x.Close())
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=synchronous(NORMAL)&_pragma=cache_size(-16000)")
	must(b, err)
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	return func(from, to int) {
		const batch = 512
		for i := from; i < to; i += batch {
			tx, err := db.BeginTx(b.Context(), nil)
			must(b, err)
			for table, rows := range tables {
				insertAll(b, tx, table, rows[len(rows)*i/indexed:len(rows)*min(i+batch, to)/indexed])
			}
			must(b, tx.Commit())
		}
	}
}

func insertAll(b *testing.B, tx *sql.Tx, table string, rows [][]any) {
	b.Helper()
	if len(rows) == 0 {
		return
	}
	into := table
	if table == "texts" {
		into = "texts (rowid, title, summary, name, tags, body)"
	}
	stmt, err := tx.Prepare("INSERT INTO " + into + " VALUES (?" + strings.Repeat(", ?", len(rows[0])-1) + ")")
	if err != nil {
		b.Fatal(err)
	}
	defer stmt.Close()
	for _, row := range rows {
		if _, err := stmt.Exec(row...); err != nil {
			b.Fatal(err)
		}
	}
}

func rowsOf(b *testing.B, db *sql.DB, query string) [][]any {
	b.Helper()
	rows, err := db.Query(query)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	var list [][]any
	for rows.Next() {
		row, into := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			b.Fatal(err)
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return list
}

// BenchmarkIndexFiltered compares a filtered list with the same SQL in the sqlite3
// shell, both with an open and cached database. It compares processor time, which
// other processes affect least.
func BenchmarkIndexFiltered(b *testing.B) {
	c := needCorpus(b)
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		b.Skip("there is no sqlite3 here")
	}
	x, err := sqlindex.Open(b.Context(), c.file, c.id)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	const times = 100
	for _, filter := range []struct {
		name, from string
		query      handoff.ArtifactQuery
	}{
		{"channel", "artifacts a WHERE a.channel = 'design' AND a.", handoff.ArtifactQuery{Channel: "design"}},
		{"session", "artifacts a WHERE a.session = 'session-1000' AND a.",
			handoff.ArtifactQuery{Producer: map[string]string{"session": "session-1000"}}},
		{"agent", "artifacts a WHERE a.agent = 'reviewer' AND a.",
			handoff.ArtifactQuery{Producer: map[string]string{"agent": "reviewer"}}},
		{"tag", "labels a WHERE a.space = 'tag' AND a.value = 'agent' AND a.", handoff.ArtifactQuery{Tag: "agent"}},
	} {
		b.Run(filter.name, func(b *testing.B) {
			q := filter.query
			q.Limit = 50
			page, err := x.Artifacts(b.Context(), q)
			if err != nil || len(page.Artifacts) == 0 {
				b.Fatal(page, err)
			}
			text := "BEGIN; SELECT count(*) FROM " + filter.from + "status IN ('superseded', 'withdrawn');\n" +
				"SELECT seq, id, record, state, sum, family, status FROM artifacts WHERE seq IN (SELECT a.seq FROM " + filter.from +
				"status = 'active' ORDER BY a.seq DESC LIMIT 51) ORDER BY seq DESC;\n" + sqlOfViews(page) +
				"SELECT seq FROM damaged ORDER BY seq; COMMIT;\n"
			for b.Loop() {
				var ours, theirs []time.Duration
				for range 7 { // alternately
					one, many := inShell(b, shell, c.file, text), inShell(b, shell, c.file, strings.Repeat(text, times+1))
					theirs = append(theirs, (many-one)/times)
					before := processorTime(b)
					for range times {
						if _, err := x.Artifacts(b.Context(), q); err != nil {
							b.Fatal(err)
						}
					}
					ours = append(ours, (processorTime(b)-before)/times)
				}
				o, t := median(ours), median(theirs)
				b.ReportMetric(float64(o.Microseconds()), "ours-µs")
				b.ReportMetric(float64(t.Microseconds()), "shell-µs")
				b.ReportMetric(float64(o)/float64(t), "times-shell")
			}
		})
	}
}

// sqlOfViews returns the queries for the data of the views of a page.
func sqlOfViews(page handoff.ArtifactPage) string {
	var parents, sessions, families []string
	for _, a := range page.Artifacts {
		for _, id := range a.Parents {
			parents = append(parents, "'"+id+"'")
		}
		sessions, families = append(sessions, "'"+a.Producer.RunID+"'"), append(families, "'"+a.ID+"'")
	}
	return "SELECT seq, id, record, state, sum, family, status FROM artifacts WHERE id IN (" +
		strings.Join(parents, ", ") + ");\n" +
		"SELECT id, state FROM sessions WHERE id IN (" + strings.Join(sessions, ", ") + ");\n" +
		"SELECT family, id FROM artifacts INDEXED BY by_family WHERE status = 'active' AND family IN (" +
		strings.Join(families, ", ") + ") ORDER BY seq;\n"
}

// inShell returns the processor time of a shell that runs a text.
func inShell(b *testing.B, shell, file, text string) time.Duration {
	b.Helper()
	cmd := exec.Command(shell, file)
	cmd.Stdin = strings.NewReader(text)
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// BenchmarkIndexApply compares applying one record with a transaction that inserts
// one row, in an index of 100,000 records.
func BenchmarkIndexApply(b *testing.B) {
	c := needCorpus(b)
	copied := filepath.Join(b.TempDir(), "index.db")
	if out, err := exec.Command("cp", c.file, copied).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	x, err := sqlindex.Open(b.Context(), copied, c.id)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "one.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE one (seq INTEGER PRIMARY KEY, record BLOB)"); err != nil {
		b.Fatal(err)
	}
	row := make([]byte, 975)
	seq := handoff.Seq(indexed)
	var ours, bare []time.Duration
	for b.Loop() {
		for range 500 {
			seq++
			r := logtest.NewRecord("a.md")
			r.Seq = seq
			began := time.Now()
			if err := x.Apply(b.Context(), r); err != nil {
				b.Fatal(err)
			}
			ours = append(ours, time.Since(began))
			began = time.Now()
			if _, err := db.Exec("INSERT INTO one VALUES (?, ?)", int64(seq), row); err != nil {
				b.Fatal(err)
			}
			bare = append(bare, time.Since(began))
		}
	}
	slices.Sort(ours)
	slices.Sort(bare)
	b.ReportMetric(float64(ours[len(ours)/2].Microseconds()), "apply-µs")
	b.ReportMetric(float64(bare[len(bare)/2].Microseconds()), "one-row-µs")
}

// BenchmarkIndexSearch measures a search for words that occur in many texts, and
// for words that occur in few.
func BenchmarkIndexSearch(b *testing.B) {
	c := needCorpus(b)
	x, err := sqlindex.Open(b.Context(), c.file, c.id)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	for name, text := range map[string]string{"common": "agent review",
		"rare": "agent backoff commit deadline flag module queue"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := x.Search(b.Context(), sqlindex.Query{Text: text, Limit: 20}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
