package sqlindex

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// A keeper is a fold.Keeper over one transaction. flush writes each value
// that was put, once.
type keeper struct {
	*store
	changed   list[string]    // IDs of artifacts
	touched   list[string]    // IDs of sessions and runs whose manifests or texts are out of date
	much      map[string]bool // those of touched in which more happened than publications
	sessioned list[string]
	worked    list[workKey]
	pointed   list[pointerKey]
	joined    list[string]  // groups whose active artifacts may have changed
	counted   map[total]int // by how much totals changed
	places    list[publishedIn]
	labels    []any               // the values of rows
	children  map[string][]string // the artifacts that were put, by what they were made from
	childless map[string]bool     // artifacts that nothing before was made from
}

var _ fold.Keeper = (*keeper)(nil)

// A total is the key of a row of totals.
type total struct {
	channel string
	status  handoff.Status
}

// A list holds each of its elements once, in the order in which they came.
type list[K comparable] struct {
	has   map[K]bool
	order []K
}

func (l *list[K]) add(k K) {
	if !l.has[k] {
		l.has[k] = true
		l.order = append(l.order, k)
	}
}

// take returns what the list holds and empties it.
func (l *list[K]) take() []K {
	order := l.order
	l.order = nil
	clear(l.has)
	return order
}

func newKeeper(ctx context.Context, c *sqlite.Conn) *keeper {
	return &keeper{newStore(ctx, c), list[string]{has: map[string]bool{}}, list[string]{has: map[string]bool{}},
		map[string]bool{},
		list[string]{has: map[string]bool{}},
		list[workKey]{has: map[workKey]bool{}}, list[pointerKey]{has: map[pointerKey]bool{}},
		list[string]{has: map[string]bool{}}, map[total]int{}, list[publishedIn]{has: map[publishedIn]bool{}}, nil,
		map[string][]string{}, map[string]bool{}}
}

// prefetch loads in a few queries what the fold of many new records asks for
// first: whether their IDs are known, which they seldom are.
func (k *keeper) prefetch(records []handoff.Record) error {
	if len(records) < sqlite.AtOnce/8 {
		return nil
	}
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.ID
		k.unpointed[r.ID] = true
	}
	if err := k.loadAll(pointerRow, k.scanPointer, ids); err != nil {
		return err
	}
	if err := k.loadAll(artifactRow, k.scanArtifact, ids); err != nil {
		return err
	}
	if err := k.loadAll(namedRow, k.scanNamed, ids); err != nil {
		return err
	}
	if err := k.prefetchChildless(ids); err != nil {
		return err
	}
	for _, id := range absent(ids, k.artifacts) {
		k.artifacts[id] = nil
	}
	return nil
}

// State implements fold.Store for folds, which may write back what they load.
func (k *keeper) State(id string) (*fold.ArtifactState, error) { return k.Artifact(id) }

func (k *keeper) PutArtifact(a *fold.ArtifactState) error {
	k.artifacts[a.ID] = a
	k.changed.add(a.ID)
	k.touched.add(a.Record.Producer.Session)
	k.touched.add(a.Record.Producer.RunID)
	k.addChild(a)
	return nil
}

func (k *keeper) PutSession(s *handoff.Session) error {
	k.sessions[s.ID] = s
	k.sessioned.add(s.ID)
	k.touched.add(s.ID)
	k.much[s.ID] = true
	return nil
}

func (k *keeper) PutWork(w *handoff.Work) error {
	key := workKey{w.Harness, w.ID}
	k.works[key] = w
	k.worked.add(key)
	return nil
}

func (k *keeper) PutPointer(space, key, value string) error {
	p := pointerKey{space, key}
	k.pointers[p] = value
	k.pointed.add(p)
	switch {
	case space == fold.RedactedSpace && key == "":
		return k.forgetTexts()
	case space == fold.UserSpace:
		return k.addUsers(key, value)
	}
	return nil
}

// addUsers stores which agent, session and run used an artifact.
func (k *keeper) addUsers(key, value string) error {
	id, _, _ := strings.Cut(key, "\x00")
	for user := range strings.SplitSeq(value, "\x00") {
		if user == "" {
			continue
		}
		if err := k.exec(`INSERT OR IGNORE INTO users (user, id) VALUES (?, ?)`, user, id); err != nil {
			return err
		}
	}
	return nil
}

// Heads queries the database, so it flushes first.
func (k *keeper) Heads(group string) ([]string, error) {
	if err := k.flush(); err != nil {
		return nil, err
	}
	delete(k.heads, group)
	return k.store.Heads(group)
}

// Runs implements fold.Finder. It finds what was put and not flushed, too.
func (k *keeper) Runs(id string) ([]string, error) {
	var ids []string
	err := k.load(`SELECT id FROM sessions WHERE parent = ?`, func(r *sqlite.Row) error {
		ids = append(ids, r.Text())
		return nil
	}, id)
	for _, changed := range k.sessioned.order {
		if k.sessions[changed].Parent == id {
			ids = append(ids, changed)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// flush writes what was put since the last flush.
func (k *keeper) flush() error {
	for _, id := range k.changed.take() {
		if err := k.writeArtifact(k.artifacts[id]); err != nil {
			return err
		}
	}
	for _, id := range k.sessioned.take() {
		if err := k.writeSession(k.sessions[id]); err != nil {
			return err
		}
	}
	for _, key := range k.worked.take() {
		text, err := encode(k.works[key])
		if err != nil {
			return err
		}
		w := k.works[key]
		if err := k.exec(`INSERT OR REPLACE INTO works (harness, id, state, session, run, parent, thread)
			VALUES (?, ?, ?, ?, ?, ?, ?)`,
			key.harness, key.id, text, orNull(w.SessionID), orNull(w.RunID), orNull(w.Parent),
			orNull(w.Thread)); err != nil {
			return err
		}
	}
	var pointers []any
	for _, p := range k.pointed.take() {
		pointers = append(pointers, p.key, p.space, k.pointers[p])
	}
	err := errors.Join(
		k.insertAll(`INSERT OR REPLACE INTO pointers (key, space, value)`, `(?, ?, ?)`, pointers),
		k.insertAll(`INSERT OR IGNORE INTO labels (status, space, value, seq)`, `(?, ?, ?, ?)`, k.labels),
		k.writePlaces())
	k.labels = k.labels[:0]
	if err != nil {
		return err
	}
	for t, n := range k.counted {
		if err := k.exec(
			`INSERT INTO totals (channel, status, n) VALUES (?, ?, ?) ON CONFLICT (channel, status) DO UPDATE SET n = n + excluded.n`, t.channel, string(t.status), n); err != nil {
			return err
		}
	}
	clear(k.counted)
	for _, group := range k.joined.take() {
		if err := k.writeContested(group); err != nil {
			return err
		}
	}
	return nil
}

// forgetTexts removes the texts of all artifacts and sessions, so that they are
// indexed again without what was redacted.
func (k *keeper) forgetTexts() error {
	for _, statement := range []string{`DELETE FROM texts`, `UPDATE place SET text_seq = 0`, `DELETE FROM session_texts`,
		`INSERT OR IGNORE INTO undescribed (id) SELECT id FROM sessions WHERE opened > 0`} {
		if err := k.exec(statement); err != nil {
			return err
		}
	}
	return nil
}

// insertAll inserts rows, of which row has the placeholders, several with one statement.
func (k *keeper) insertAll(into, row string, values []any) error {
	const several = 8
	width := strings.Count(row, "?")
	one := into + " VALUES " + row
	all := one + strings.Repeat(", "+row, several-1)
	for ; len(values) >= several*width; values = values[several*width:] {
		if err := k.exec(all, values[:several*width]...); err != nil {
			return err
		}
	}
	for ; len(values) > 0; values = values[width:] {
		if err := k.exec(one, values[:width]...); err != nil {
			return err
		}
	}
	return nil
}

func (k *keeper) exec(query string, args ...any) error { return k.c.Exec(k.ctx, query, args...) }

func (k *keeper) writeArtifact(a *fold.ArtifactState) error {
	text, err := encodeState(a)
	if err != nil {
		return err
	}
	table := k.rows[a.ID]
	was := k.statuses[a.ID]
	status := a.Status()
	before, now := k.marks[a.ID], marksOf(a)
	k.marks[a.ID] = now
	if a.Published == nil {
		k.rows[a.ID] = "named"
		return k.exec(`INSERT OR REPLACE INTO named (id, state) VALUES (?, ?)`, a.ID, text)
	}
	record, err := a.Record.JSON()
	readers, unknown := fold.Readers(k, a)
	if err := errors.Join(err, unknown); err != nil {
		return err
	}
	seq := int64(a.Record.Seq)
	sum := checksum(seq, record, text)
	k.rows[a.ID], k.statuses[a.ID] = "artifacts", status
	if table == "artifacts" {
		err := k.exec(`UPDATE artifacts SET state = ?, sum = ?, family = ?, contest = ?, status = ?, readers = ?, bodies = ?
			WHERE seq = ?`, text, sum, a.Family, orNull(a.Contested), string(status), readers, bodiesOf(a), seq)
		if err != nil {
			return err
		}
		if err := k.writeMarks(seq, was, before, now); err != nil || was == status {
			return err
		}
		k.count(a, was, status)
		return k.writeStatus(a, was, now)
	}
	if table == "named" {
		if err := k.exec(`DELETE FROM named WHERE id = ?`, a.ID); err != nil {
			return err
		}
	}
	if a.Record.Import != "" { // later records may have been indexed
		if err := k.exec(`DELETE FROM texts WHERE rowid >= ?`, seq); err != nil {
			return err
		}
		if err := k.exec(`UPDATE place SET text_seq = min(text_seq, ?)`, seq-1); err != nil {
			return err
		}
	}
	args := append([]any{seq, a.ID, record, text, sum, a.Family, orNull(a.Contested), string(status),
		instant(a.Record.CreatedAt), sizeOf(a), readers, bodiesOf(a)}, columnsOf(a)...)
	if err := k.exec(insertArtifact, args...); err != nil {
		return err
	}
	k.count(a, "", status)
	k.addPlaces(a.Record.Producer)
	eachLabel(a, now, func(space, value string) { k.labels = append(k.labels, string(status), space, value, seq) })
	return nil
}

// writeStatus stores the new status of an artifact where its row does not have it.
func (k *keeper) writeStatus(a *fold.ArtifactState, was handoff.Status, marks []mark) error {
	seq := int64(a.Record.Seq)
	if a.Status() == handoff.Withdrawn {
		if err := k.exec(`UPDATE texts SET body = '' WHERE rowid = ?`, seq); err != nil {
			return err
		}
	}
	var errs []error
	eachLabel(a, marks, func(space, value string) {
		errs = append(errs, k.exec(`UPDATE labels SET status = ? WHERE space = ? AND value = ? AND seq = ? AND status = ?`,
			string(a.Status()), space, value, seq, string(was)))
	})
	return errors.Join(errs...)
}

// count notes that an artifact has another status, or is new.
func (k *keeper) count(a *fold.ArtifactState, was, status handoff.Status) {
	k.counted[total{a.Published.Channel, status}]++
	if was != "" {
		k.counted[total{a.Published.Channel, was}]--
		k.much[a.Record.Producer.Session] = true
	}
	if was != "" || a.Predecessors > 0 {
		k.joined.add(a.Group())
	}
}

var insertArtifact = `INSERT INTO artifacts (seq, id, record, state, sum, family, contest, status, created, size,
	readers, bodies, ` + strings.Join(columns, ", ") + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?` + strings.Repeat(", ?", len(columns)) + `)`

// columnsOf returns the values of an artifact's columns, in their order.
func columnsOf(a *fold.ArtifactState) []any {
	p := a.Published
	var revision any // NULL for the first, as most are
	if a.Predecessors > 0 {
		revision = strconv.Itoa(a.Predecessors + 1)
	}
	values := []any{orNull(p.Channel), orNull(p.Kind), orNull(p.Name), orNull(p.Namespace), orNull(p.Key),
		orNull(p.Path), revision}
	for _, column := range columnSlots {
		values = append(values, orNull(a.Record.Producer.Slot(slotName(column))))
	}
	return values
}

// sizeOf returns the size of an artifact as sums count it, NULL if it is not known.
func sizeOf(a *fold.ArtifactState) any {
	if size := a.Published.SizeBytes; size != nil {
		return min(max(0, *size), fold.MaxCounted)
	}
	return nil
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (k *keeper) writeSession(s *handoff.Session) error {
	text, err := encode(s)
	if err != nil {
		return err
	}
	boot := "" // queried only while the session runs
	if s.Status == handoff.Running {
		boot = s.Process.BootID
	}
	err = k.exec(
		`INSERT OR REPLACE INTO sessions (id, state, opened, openedAt, status, parent, agent, workflow, user, archived, boot)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, text, int64(s.Opened), s.Order().Start, s.Status, s.Parent, s.Agent.Name, s.Workflow.Name, s.User,
		s.Archived || s.Deleted, orNull(boot))
	if err != nil {
		return err
	}
	if err := k.exec(`DELETE FROM session_tags WHERE id = ?`, s.ID); err != nil {
		return err
	}
	for _, tag := range s.Tags {
		if err := k.exec(`INSERT OR IGNORE INTO session_tags (tag, id) VALUES (?, ?)`, tag, s.ID); err != nil {
			return err
		}
	}
	for _, target := range s.Links { // links are never removed
		if err := k.exec(`INSERT OR IGNORE INTO session_links (target, id) VALUES (?, ?)`, target, s.ID); err != nil {
			return err
		}
	}
	return nil
}
