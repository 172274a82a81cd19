package setup

import (
	"fmt"
	"maps"
	"slices"
)

// A Change is one entry of handoff in a file that belongs to an agent program.
// Exactly one of its forms is used. The journal stores it, so that it can be taken
// back.
type Change struct {
	// Member sets a member of an object or a table, Element appends to a list.
	Member  []string `json:"member,omitempty"`
	Element []string `json:"element,omitempty"`
	Value   any      `json:"value,omitempty"`
	When    when     `json:"when,omitempty"`

	// File is the content of a file that is handoff's own.
	File string `json:"file,omitempty"`
}

// A when limits a change.
type when string

const (
	always   when = ""
	ifAbsent when = "absent" // unless the file has such an entry, whoever wrote it
	ifOwn    when = "own"    // only in place of an entry that handoff wrote
)

// path returns where the change is.
func (c Change) path() []any {
	names := slices.Concat(c.Member, c.Element)
	path := make([]any, len(names))
	for i, name := range names {
		path[i] = name
	}
	return path
}

// value returns what the change writes.
func (c Change) value() any {
	return plain(c.Value)
}

// apply makes the change and reports whether that changed the file. written is
// what the journal says that init wrote to it before.
func (c Change) apply(e *editor, written []Change) (bool, error) {
	before := e.value
	var err error
	if len(c.Element) > 0 {
		err = c.applyElement(e, c.siblings(written))
	} else {
		err = c.applyMember(e, c.siblings(written))
	}
	return !equal(before, e.value), err
}

// siblings returns the changes of the same list or object that the change may
// replace.
func (c Change) siblings(written []Change) ownership {
	var own ownership
	for _, w := range written {
		if commandOf(w.value()) != nil && equal(w.parent(), c.parent()) {
			own = append(own, w)
		}
	}
	return own
}

func (c Change) parent() []any {
	path := c.path()
	if len(c.Element) > 0 || len(path) == 0 {
		return path
	}
	return path[:len(path)-1]
}

// replacedBy reports whether one of some newer changes takes the place of c.
func (c Change) replacedBy(newer []Change) bool {
	return slices.ContainsFunc(newer, func(n Change) bool {
		if n.File != "" || c.File != "" {
			return true // of the whole file
		}
		return equal(n.path(), c.path()) && (commandOf(n.value()) != nil || equal(n.value(), c.value()))
	})
}

func (c Change) applyMember(e *editor, own ownership) error {
	path, value := c.path(), c.value()
	now, exists := e.at(path)
	if c.When == ifAbsent {
		if _, exists := e.at(path[:1]); exists {
			return nil
		}
		return e.set(path, value)
	}
	if exists && !equal(now, value) && !own.owns(now) {
		return fmt.Errorf("has an entry %s of its own", pathText(path))
	}
	if want := merged(now, value); !equal(now, want) {
		return e.update(path, now, want)
	}
	return nil
}

// update changes the members of an object one by one, so that the others keep
// their comments, or replaces it.
func (e *editor) update(path []any, now, want any) error {
	was, ok1 := now.(map[string]any)
	object, ok2 := want.(map[string]any)
	if !ok1 || !ok2 {
		return e.set(path, want)
	}
	start := *e
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if equal(was[name], object[name]) {
			continue
		}
		if err := e.set(slices.Concat(path, []any{name}), object[name]); err != nil {
			*e = start
			if err := e.remove(path); err != nil {
				return err
			}
			return e.set(path, want)
		}
	}
	return nil
}

// decisive are the members of handoff's entries that init changes. What else an
// entry has may be the user's choice.
var decisive = []string{"command", "bash", "hooks", "args", "type", "trust", "default_tools_approval_mode"}

// merged returns the entry that replaces an older one of handoff.
func merged(now, value any) any {
	was, ok1 := now.(map[string]any)
	object, ok2 := value.(map[string]any)
	if !ok1 || !ok2 {
		return value
	}
	all := map[string]any{}
	for name, v := range was {
		all[name] = v
	}
	for name, v := range object {
		if _, exists := all[name]; !exists || slices.Contains(decisive, name) {
			all[name] = v
		}
	}
	return all
}

// applyElement replaces handoff's elements of a list by one, or appends it.
func (c Change) applyElement(e *editor, own ownership) error {
	path, value := c.path(), c.value()
	now, exists := e.at(path)
	if !exists {
		if c.When == ifOwn {
			return nil
		}
		return e.set(path, []any{value})
	}
	list, ok := now.([]any)
	if !ok {
		return fmt.Errorf("%s %w", pathText(path), errForm)
	}
	keep := slices.IndexFunc(list, func(v any) bool { return equal(v, value) })
	found := keep >= 0
	if !found {
		keep = slices.IndexFunc(list, func(v any) bool { return own.owns(v) && sameEvent(v, value) })
	}
	for i := len(list) - 1; i >= 0; i-- {
		if i == keep || !sameEvent(list[i], value) {
			continue
		}
		if err := e.disown(slices.Concat(path, []any{i}), own); err != nil {
			return err
		}
	}
	if found || keep < 0 && c.When == ifOwn {
		return nil
	}
	if keep < 0 {
		return e.set(slices.Concat(path, []any{len(list)}), value)
	}
	return e.update(slices.Concat(path, []any{keep}), list[keep], merged(list[keep], value))
}

// sameEvent reports whether two elements of a list are not hooks of different events.
func sameEvent(a, b any) bool {
	hook, _ := a.(map[string]any)
	other, _ := b.(map[string]any)
	return hook["event"] == other["event"]
}

// disown removes what is at a path if it is handoff's, or handoff's hooks in it.
func (e *editor) disown(path []any, own ownership) error {
	v, _ := e.at(path)
	group, _ := v.(map[string]any)
	inner, _ := group["hooks"].([]any)
	foreign := slices.IndexFunc(inner, func(v any) bool { return !own.owns(v) }) >= 0
	if own.owns(v) || len(inner) > 0 && !foreign {
		return e.remove(path)
	}
	for i := len(inner) - 1; i >= 0; i-- {
		if own.owns(inner[i]) {
			if err := e.remove(slices.Concat(path, []any{"hooks", i})); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeBack removes what the change wrote, and the objects and lists that are
// empty then and were not in the file before init.
func (c Change) takeBack(e *editor, before map[string]any) error {
	path := c.path()
	own := ownership{c}
	var err error
	switch v, exists := e.at(path); {
	case !exists || c.File != "":
		return nil
	case len(c.Element) > 0:
		list, _ := v.([]any)
		for i := len(list) - 1; i >= 0 && err == nil; i-- {
			err = e.disown(slices.Concat(path, []any{i}), own)
		}
	case own.owns(v):
		err = e.remove(path)
		path = path[:len(path)-1]
	default:
		err = c.takeMembers(e, v)
	}
	for ; err == nil && len(path) > 0; path = path[:len(path)-1] {
		v, exists := e.at(path)
		if _, had := lookup(before, path); had || !exists || !empty(v) {
			break
		}
		err = e.remove(path)
	}
	return err
}

// takeMembers removes the members of an object that are as they were written.
func (c Change) takeMembers(e *editor, now any) error {
	object, _ := now.(map[string]any)
	wrote, _ := c.value().(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(wrote)) {
		if v, ok := object[name]; ok && equal(v, wrote[name]) {
			if err := e.remove(slices.Concat(c.path(), []any{name})); err != nil {
				return err
			}
		}
	}
	return nil
}
