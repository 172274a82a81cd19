package handoff

import "slices"

// store is where a fold keeps its state between records. Each method returns
// the state under a key, made empty where there is none; what the fold changes
// in it, the store keeps.
type store interface {
	artifact(id string) (*artifactState, error)
	session(id string) (*Session, error)
	work(harness, id string) (*Work, error)
	pointer(space, key string) (*string, error)
	join(into, from string) error // moves the members of one family to another
}

// The spaces of a store's pointers.
const (
	recordSpace = "record" // a record's id: set when it was folded
	keySpace    = "key"    // a publish's key: the id of its first record
	nameSpace   = "name"   // a name in its namespace: the id of its head
)

// artifactState is what a fold keeps of one artifact. Its zero value stands
// for an id that was named before its record came, or never comes.
type artifactState struct {
	Record    Record
	Published *ArtifactPublished

	Family    string
	Below     []string // what it replaces, of those that were known when it came
	Above     []string // what names it in Replaces
	Supports  int      // how many of Above stand, or are replaced by what stands
	Withdrawn bool
	Outdated  bool   // a newer revision has its name
	Earlier   string // the head of its name before it
}

func (a *artifactState) known() bool { return a.Published != nil }

func (a *artifactState) status() Status {
	switch {
	case a.Withdrawn:
		return Withdrawn
	case a.Supports > 0 || a.Outdated:
		return Superseded
	}
	return Active
}

// counts reports whether what the artifact replaces is superseded by it, or
// through it.
func (a *artifactState) counts() bool { return !a.Withdrawn || a.Supports > 0 }

// fold applies a record to the state. A record id that was seen is skipped,
// for a writer may die after its append and try again.
func fold(s store, r Record) error {
	seen, err := s.pointer(recordSpace, r.ID)
	if err != nil || *seen != "" {
		return err
	}
	*seen = r.Type
	switch f := r.Fact.(type) {
	case *ArtifactPublished:
		return foldPublished(s, r, f)
	case *ArtifactWithdrawn:
		return foldWithdrawn(s, f)
	}
	if id, ok := sessionOf(r.Fact); ok {
		session, err := s.session(id)
		if err != nil {
			return err
		}
		session.Apply(r)
	}
	if id, ok := workOf(r.Fact); ok {
		work, err := s.work(r.Producer.Harness, id)
		if err != nil {
			return err
		}
		work.Apply(r)
	}
	return nil
}

func foldPublished(s store, r Record, p *ArtifactPublished) error {
	if p.Key != "" {
		first, err := s.pointer(keySpace, p.Key)
		if err != nil || *first != "" {
			return err
		}
		*first = r.ID
	}
	a, err := s.artifact(r.ID)
	if err != nil {
		return err
	}
	a.Record, a.Published, a.Family = r, p, r.ID
	if err := foldReplaces(s, a); err != nil {
		return err
	}
	if p.Name == "" || a.Withdrawn {
		return nil
	}
	head, err := s.pointer(nameSpace, nameKey(p))
	if err != nil {
		return err
	}
	if *head != "" {
		before, err := s.artifact(*head)
		if err != nil {
			return err
		}
		before.Outdated = true
	}
	a.Earlier, *head = *head, r.ID
	return nil
}

func nameKey(p *ArtifactPublished) string { return p.Namespace + "\x00" + p.Name }

// foldReplaces joins the families of what a replaces. Only records before a
// are joined, so that no chain of Replaces ever returns to where it began.
func foldReplaces(s store, a *artifactState) error {
	for _, id := range a.Published.Replaces {
		b, err := s.artifact(id)
		if err != nil {
			return err
		}
		if !b.known() || b == a || slices.Contains(a.Below, id) {
			continue
		}
		a.Below = append(a.Below, id)
		b.Above = append(b.Above, a.Record.ID)
		if b.Family != a.Family {
			from := a.Family
			if err := s.join(b.Family, from); err != nil {
				return err
			}
			a.Family = b.Family
		}
	}
	if !a.counts() {
		return nil
	}
	return shift(s, a.Below, +1)
}

func foldWithdrawn(s store, f *ArtifactWithdrawn) error {
	a, err := s.artifact(f.ArtifactID)
	if err != nil || a.Withdrawn {
		return err
	}
	a.Withdrawn = true
	if !a.known() {
		return nil
	}
	if !a.counts() {
		if err := shift(s, a.Below, -1); err != nil {
			return err
		}
	}
	return retreat(s, a)
}

// shift adds n to the support of each artifact, and passes on what follows: an
// artifact that was withdrawn supersedes others only while it is superseded
// itself.
func shift(s store, ids []string, n int) error {
	todo := slices.Clone(ids)
	for len(todo) > 0 {
		a, err := s.artifact(todo[0])
		if err != nil {
			return err
		}
		todo = todo[1:]
		before := a.counts()
		a.Supports += n
		if a.counts() != before {
			todo = append(todo, a.Below...)
		}
	}
	return nil
}

// retreat makes the newest revision of a's name that stands its head, if a was
// the head.
func retreat(s store, a *artifactState) error {
	if a.Published.Name == "" {
		return nil
	}
	head, err := s.pointer(nameSpace, nameKey(a.Published))
	if err != nil || *head != a.Record.ID {
		return err
	}
	for *head = a.Earlier; *head != ""; {
		b, err := s.artifact(*head)
		if err != nil {
			return err
		}
		if !b.Withdrawn {
			b.Outdated = false
			return nil
		}
		*head = b.Earlier
	}
	return nil
}
