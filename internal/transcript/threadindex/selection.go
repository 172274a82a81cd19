package threadindex

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// Select parses a URI that names several threads:
//
//	agents://codex?q=WORD&limit=N
//	agents://codex/reviewer
//	agents://. and agents:///path?providers=claude,codex
//
// A segment after a provider selects by role if no thread has this ID and a
// subagent has this role. A thread has no query. Directories are relative to dir
// or, after ~, to home. ok is false for all other texts, which thread.ParseURI
// parses. Kinds: Invalid, NotFound (a query, and no subagent with
// the role).
func (f *Files) Select(ctx context.Context, text, dir, home string) (sel transcript.Selection, ok bool, err error) {
	rest, query, hasQuery := strings.Cut(text, "?")
	sel.Limit = -1
	scheme, target, hasScheme := strings.Cut(rest, "://")
	if !hasScheme {
		scheme, target = "agents", rest
	}
	if scheme != "agents" {
		target = scheme + "/" + target
	}
	name, role, hasRole := strings.Cut(target, "/")
	name = thread.ProviderName(name)
	switch {
	case len(text) > maxURI || strings.Contains(rest, "#"):
		return sel, false, nil
	case scheme == "agents" && isDirectory(name, target):
		sel.Dir = directory(target, dir, home)
	case !slices.Contains(f.set.Names(), name) || hasRole && (role == "" || strings.Contains(role, "/")):
		return sel, false, nil
	case hasRole:
		sel.Role, err = url.PathUnescape(role)
		if err != nil {
			return sel, false, nil
		}
		if !f.isRole(ctx, name, sel.Role) {
			return sel, false, f.noRole(ctx, text, name, sel.Role, hasQuery)
		}
		sel.Providers = []string{name}
	default:
		sel.Providers = []string{name}
	}
	if err := parameters(&sel, query); err != nil {
		return sel, false, handoff.E("parse uri", text, handoff.Invalid, err,
			handoff.Advice("a search has the form agents://codex?q=WORD&limit=10"))
	}
	return sel, true, nil
}

// maxURI is the number of bytes of a URI that is parsed.
const maxURI = 4096

func isDirectory(first, target string) bool {
	return strings.HasPrefix(target, "/") || first == "." || first == ".." || first == "~"
}

// directory returns the absolute path of the directory that a URI names.
func directory(target, dir, home string) string {
	if path, err := url.PathUnescape(target); err == nil {
		target = path
	}
	if rest, ok := strings.CutPrefix(target, "~"); ok {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(target) {
		return filepath.Clean(target)
	}
	return filepath.Join(dir, target)
}

// isRole reports whether a segment is the role of a subagent and not the ID of a
// thread.
func (f *Files) isRole(ctx context.Context, provider, segment string) bool {
	p, err := f.set.Provider(provider)
	if err != nil || thread.IsUUID(segment) {
		return false
	}
	if _, err = p.Thread(ctx, segment); !errors.Is(err, handoff.NotFound) {
		return false
	}
	all, err := f.find(ctx, []string{provider})
	if err != nil {
		return false
	}
	parents, err := parentsOf(ctx, newestFirst(all.stored), segment)
	return err == nil && len(parents) > 0
}

// noRole returns the error about a segment after the provider that is no role, nil if it may be the
// ID of a thread and there is no query.
func (f *Files) noRole(ctx context.Context, text, provider, segment string, hasQuery bool) error {
	hint := handoff.Advice("search the threads of a provider: agents://" + provider + "?q=WORD")
	d, _, _ := f.set.Driver(provider)
	_, isID := d.ID(segment)
	p, err := f.set.Provider(provider)
	if err == nil && !isID {
		_, err = p.Thread(ctx, segment)
	}
	switch {
	case !hasQuery && (isID || err == nil):
		return nil
	case isID || err == nil:
		return handoff.E("parse uri", text, handoff.Invalid, errors.New("a thread has no query, a list of threads has"), hint)
	}
	if e := new(handoff.Error); errors.As(err, &e) && !hasQuery {
		hint = e.Hint // which has similar IDs
	}
	return handoff.E("find threads", text, handoff.NotFound,
		fmt.Errorf("no subagent has the role %q, and no thread this ID", segment), hint)
}

// parameters parses the part of a URI after the question mark.
func parameters(sel *transcript.Selection, query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return err
	}
	for key, list := range values {
		value := strings.TrimSpace(list[len(list)-1])
		switch key {
		case "q":
			sel.Words = value
		case "limit":
			if sel.Limit, err = strconv.Atoi(value); err != nil || sel.Limit < 0 {
				return fmt.Errorf("invalid limit %q", value)
			}
		case "providers":
			if sel.Dir == "" {
				return errors.New("providers can be given for a directory only")
			}
			sel.Providers = strings.Split(value, ",")
			if slices.Contains(sel.Providers, "") {
				return errors.New("empty provider name")
			}
		default:
			sel.Warnings = append(sel.Warnings, fmt.Sprintf("ignored query parameter %q", key))
		}
	}
	slices.Sort(sel.Warnings)
	return nil
}
