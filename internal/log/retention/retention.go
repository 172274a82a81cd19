// Package retention decides which kept bodies a policy drops.
//
// Plan is a function of its arguments: it reads nothing and removes nothing.
package retention

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/settings"
	"github.com/agent-handoff/handoff/storage"
)

// An Artifact is what a policy needs to know of an artifact.
type Artifact struct {
	ID, Channel, Agent, Session, Run, Thread string

	Seq       handoff.Seq
	CreatedAt time.Time
	Status    handoff.Status
	Name      string   // with its namespace, "" for none
	Replaces  []string // of those that the log has
	Parents   []string
	Labels    []string
	UsedBy    []string // sessions and runs
	Evidence  []string // IDs of artifacts, and URIs of messages, that its claims refer to
	Claims    bool     // it has claims, or is an attestation
	Reviewed  bool     // it has reviews or comments
	Accepted  bool     // it was chosen over others
	Body      bool     // a copy was kept
}

// Of returns what a policy needs to know of a view.
func Of(a handoff.Artifact) Artifact {
	r := Artifact{ID: a.ID, Channel: a.Channel, Agent: a.Producer.Agent,
		Session: a.Producer.Session, Run: a.Producer.RunID,
		Thread: a.Producer.Thread, Seq: a.Seq, CreatedAt: a.CreatedAt, Status: a.Status, Parents: a.Parents,
		Labels: a.Labels, Claims: len(a.Claims) > 0 || a.Attestation != nil,
		Accepted: a.Acceptance != nil, Body: a.Kept}
	if a.Name != "" {
		r.Name = a.Namespace + "\x00" + a.Name
	}
	for _, id := range a.Replaces {
		if !slices.Contains(a.Unresolved, id) {
			r.Replaces = append(r.Replaces, id)
		}
	}
	for _, u := range a.UsedBy {
		r.UsedBy = append(r.UsedBy, u.Session, u.RunID)
	}
	for _, c := range a.Claims {
		for _, e := range c.Evidence {
			r.Evidence = append(r.Evidence, e.Artifact, e.Thread)
		}
	}
	for _, c := range a.Comments {
		r.Reviewed = r.Reviewed || c.State != handoff.CommentWithdrawn
	}
	r.Reviewed = r.Reviewed || len(a.Reviews) > 0
	return r
}

// A Body is a stored body and the records that need it.
type Body struct {
	handoff.StoredBody
	Records []string // IDs of artifacts, comments and copies of threads
	Unknown bool     // a record of a later version may need it
}

// Views are what a policy decides about.
type Views struct {
	Artifacts []Artifact // every one, in the order of the log
	Threads   []handoff.KeptThread
	Open      []handoff.Session // the sessions and runs that are open
	Bodies    []Body
	Trash     []Trashed // the session that started last first
}

// A Trashed is a session in the trash.
type Trashed struct {
	ID        string
	StartedAt time.Time
	SizeBytes int64
	Needed    bool // an active artifact has its content nowhere else
}

// Plan returns what a policy decides about each body, the oldest first. Bodies that were
// stored at or after a time stay.
//
// A body stays, whatever the policy, if an active artifact has it or was made from it, if
// an open session or run published, used or was given it, if an artifact that has it has a
// label, claims, reviews or comments, was accepted, or is evidence, or if anything but superseded
// artifacts and copies of transcripts needs it.
func Plan(p settings.Policy, v Views, now, before time.Time) storage.Retention {
	pl := newPlanner(p, v, now)
	done := storage.Retention{Policy: p.String(), Bodies: []storage.RetainedBody{}}
	ages := map[string]time.Time{}
	for _, b := range v.Bodies {
		r := storage.RetainedBody{StoredBody: b.StoredBody}
		reason, at := pl.keeps(b, &r)
		if reason == "" && !b.StoredAt.Before(before) {
			reason = "was stored a short time ago"
		}
		r.Drop, r.Reason = reason == "", cmp.Or(reason, noRule)
		done.Bodies = append(done.Bodies, r)
		add(&done, r.SizeBytes, r.Drop)
		ages[r.Digest.Value] = at
	}
	order.Sort(done.Bodies, func(x, y storage.RetainedBody) int {
		return cmp.Or(ages[x.Digest.Value].Compare(ages[y.Digest.Value]),
			strings.Compare(x.Digest.Value, y.Digest.Value))
	})
	for i, t := range slices.Backward(v.Trash) { // the oldest first
		reason := pl.keepsTrashed(t, i)
		done.Sessions = append(done.Sessions,
			storage.RetainedSession{ID: t.ID, SizeBytes: t.SizeBytes, Drop: reason == "",
				Reason: cmp.Or(reason, noRule)})
		add(&done, t.SizeBytes, reason == "")
	}
	return done
}

// add adds to what is dropped or remains.
func add(done *storage.Retention, bytes int64, drop bool) {
	if drop {
		done.DropBytes += bytes
	} else {
		done.KeepBytes += bytes
	}
}

const noRule = "no rule keeps it"

// A planner has what decides about single records.
type planner struct {
	p         settings.Policy
	now       time.Time
	artifacts map[string]*Artifact
	threads   map[string]handoff.KeptThread // by the ID of the record
	protected map[string]string             // why, by ID of an artifact
	uris      map[string]string             // why a thread is protected, by URI of a message or thread
	rank      map[string]int                // how many artifacts of its name or family are newer
}

func newPlanner(p settings.Policy, v Views, now time.Time) *planner {
	pl := &planner{p, now, map[string]*Artifact{}, map[string]handoff.KeptThread{}, map[string]string{},
		map[string]string{}, map[string]int{}}
	for i := range v.Artifacts {
		pl.artifacts[v.Artifacts[i].ID] = &v.Artifacts[i]
	}
	for _, t := range v.Threads {
		pl.threads[t.RecordID] = t
	}
	open := map[string]bool{}
	for _, s := range v.Open {
		open[s.ID] = true
		pl.protectThread(s.Producer.Thread, "session "+s.ID+" is open")
		for _, value := range s.Inputs {
			for _, id := range artifactForm().FindAll(value, -1) {
				pl.protect(string(id), "is an input of session "+s.ID+", which is open")
			}
		}
	}
	for i := range v.Artifacts {
		pl.protectBy(&v.Artifacts[i], open)
	}
	pl.count(v.Artifacts)
	return pl
}

var artifactForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`art_[0-9A-Z]{26}`) })

func (pl *planner) protect(id, why string) {
	if id != "" && pl.protected[id] == "" {
		pl.protected[id] = why
	}
}

// protectThread protects the thread of a message, and every URI that the one of the
// message begins with.
func (pl *planner) protectThread(uri, why string) {
	for uri != "" && pl.uris[uri] == "" {
		pl.uris[uri] = why
		uri = uri[:max(0, strings.LastIndexAny(uri, "/?#"))]
	}
}

// protectBy protects what an artifact shows that must not be dropped.
func (pl *planner) protectBy(a *Artifact, open map[string]bool) {
	for _, id := range slices.Concat([]string{a.Session, a.Run}, a.UsedBy) {
		if id != "" && open[id] {
			pl.protect(a.ID, "session "+id+" is open")
			pl.protectThread(a.Thread, "session "+id+" is open")
		}
	}
	if a.Status == handoff.Withdrawn {
		return
	}
	if len(a.Labels) > 0 {
		pl.protect(a.ID, "has the label "+strings.Join(a.Labels, ", "))
	}
	if a.Reviewed {
		pl.protect(a.ID, "has reviews or comments")
	}
	if a.Accepted {
		pl.protect(a.ID, "was accepted")
	}
	if a.Claims {
		pl.protect(a.ID, "has claims, or is evidence")
		pl.protectThread(a.Thread, "artifact "+a.ID+" has claims")
	}
	for _, ref := range a.Evidence {
		pl.protect(ref, "is evidence of "+a.ID)
		pl.protectThread(ref, "is evidence of "+a.ID)
	}
	if a.Status == handoff.Active {
		pl.protect(a.ID, "is active")
		pl.protectThread(a.Thread, "artifact "+a.ID+" is active")
		for _, id := range a.Parents {
			pl.protect(id, "is an input of "+a.ID+", which is active")
		}
	}
}

// count ranks the artifacts that are not withdrawn in their families and names.
func (pl *planner) count(list []Artifact) {
	family := map[string]string{}
	find := func(id string) string {
		for family[id] != "" && family[id] != id {
			id = family[id]
		}
		return id
	}
	for _, a := range list {
		for _, id := range a.Replaces {
			family[find(a.ID)] = find(id)
		}
	}
	newer, members := map[string]int{}, map[string]int{}
	for _, a := range list {
		members[find(a.ID)]++
	}
	for _, a := range slices.Backward(list) {
		if a.Status == handoff.Withdrawn {
			continue
		}
		groups := []string{find(a.ID)}
		if a.Name != "" {
			groups = append(groups, "\x00"+a.Name)
			if members[groups[0]] == 1 {
				groups = groups[1:] // a family of its own says nothing
			}
		}
		rank := len(list)
		for _, g := range groups {
			rank = min(rank, newer[g])
			newer[g]++
		}
		pl.rank[a.ID] = rank
	}
}

// keeps returns why a body stays, "" if it does not, and the time of the newest record
// that needs it.
func (pl *planner) keeps(b Body, r *storage.RetainedBody) (reason string, newest time.Time) {
	if b.Unknown || len(b.Records) == 0 {
		reason = "a record of a later version may need it"
	}
	for _, id := range b.Records {
		why, at := "", time.Time{}
		if a := pl.artifacts[id]; a != nil {
			why, at = pl.keepsArtifact(a), a.CreatedAt
			if r.Artifact == "" || !at.Before(newest) {
				r.Artifact, r.Channel = a.ID, a.Channel
			}
		} else if t, ok := pl.threads[id]; ok {
			why, at = pl.keepsThread(t), t.KeptAt
			r.Thread = t.Thread
		} else {
			why = "is the text of a comment, or needed by a record that is not shown"
		}
		reason = cmp.Or(reason, why)
		if at.After(newest) {
			newest = at
		}
	}
	return reason, newest
}

func (pl *planner) keepsArtifact(a *Artifact) string {
	rank := pl.rank[a.ID]
	switch {
	case pl.protected[a.ID] != "":
		return pl.protected[a.ID]
	case rank < pl.p.KeepLast:
		return fmt.Sprintf("keep-last %d: %d newer", pl.p.KeepLast, rank)
	}
	return pl.within(a.CreatedAt)
}

func (pl *planner) keepsThread(t handoff.KeptThread) string {
	if why := pl.uris[t.Thread]; why != "" {
		return why
	}
	if pl.p.KeepLast > 0 {
		return fmt.Sprintf("keep-last %d: the newest copy of its thread", pl.p.KeepLast)
	}
	return pl.within(t.KeptAt)
}

// keepsTrashed returns why the files of a session in the trash stay. newer is the number of
// sessions there that started later.
func (pl *planner) keepsTrashed(t Trashed, newer int) string {
	switch {
	case t.Needed:
		return "an active artifact needs its files"
	case newer < pl.p.KeepLast:
		return fmt.Sprintf("keep-last %d: %d newer in the trash", pl.p.KeepLast, newer)
	}
	return pl.within(t.StartedAt)
}

func (pl *planner) within(at time.Time) string {
	if pl.p.KeepWithin > 0 && at.Add(pl.p.KeepWithin).After(pl.now) {
		return settings.Policy{KeepWithin: pl.p.KeepWithin}.String()
	}
	return ""
}
