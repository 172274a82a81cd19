package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/threads"
	"github.com/agent-handoff/handoff/workspace/work"
)

// How many of the newest sessions and threads are searched for a name.
const (
	newestSessions = 500
	newestThreads  = 50
)

// A namer finds out what a word is that a command printed: an ID, a URI or a name.
type namer struct {
	*Workspace
	set *thread.Set // nil for none
}

// actions are the actions of hints that operations are themselves.
var actions = map[string]handoff.Action{"show": handoff.ActionShow, "thread": handoff.ActionThread,
	"trace": handoff.ActionWhy}

// Elsewhere returns the error of an operation that found nothing under a name. If the
// name is that of something else, the hint shows it. A name with a scheme is a URI,
// and Invalid if it is malformed.
func (n namer) Elsewhere(ctx context.Context, op, name string, err error) error {
	if !errors.Is(err, handoff.NotFound) && !errors.Is(err, handoff.Invalid) && !errors.Is(err, handoff.Unsupported) {
		return err
	}
	found, invalid := n.Named(ctx, name)
	switch {
	case invalid != nil:
		return invalid
	case found.What == "", found.Show.Action == actions[op] && found.Show.Args[0] == name:
		return err
	}
	return handoff.E(op, name, handoff.NotFound, errors.New("is "+found.What), found.Show)
}

// Named returns what a name means, the zero value if nothing has it.
//
// Kinds: Invalid (a malformed URI), and those of reading the log.
func (n namer) Named(ctx context.Context, name string) (work.Meaning, error) {
	if rest, ok := strings.CutPrefix(name, core.ResourceURI); ok {
		return n.resource(ctx, name, rest)
	}
	if strings.Contains(name, "://") {
		return n.uri(name)
	}
	for _, find := range []func(context.Context, string) work.Meaning{n.artifact, n.comment, n.session, n.issue, n.work,
		n.field, n.sessionField, n.program, n.thread, n.stage, n.log, n.commit, n.model} {
		if m := find(ctx, name); m.What != "" {
			return m, ctx.Err()
		}
	}
	return work.Meaning{}, ctx.Err()
}

// resource returns what a URI of this program means, of which rest follows the scheme.
func (n namer) resource(ctx context.Context, uri, rest string) (work.Meaning, error) {
	kind, id, _ := strings.Cut(rest, "/")
	id = strings.TrimSuffix(id, "/body")
	switch {
	case strings.ContainsFunc(rest, unicode.IsSpace) || strings.Contains(id, "/"):
	case rest == "artifacts":
		return work.Meaning{What: "the list of the newest artifacts",
			Show: handoff.Suggest("list every artifact", handoff.ActionListAll)}, nil
	case rest == "news":
		return work.Meaning{What: "the news", Show: handoff.Suggest("print them", handoff.ActionNews)}, nil
	case kind == "artifacts" && id != "":
		return n.artifact(ctx, id), nil
	case kind == "sessions" && id != "":
		return n.session(ctx, id), nil
	}
	return work.Meaning{}, handoff.E("parse uri", uri, handoff.Invalid,
		errors.New("malformed URI of "+core.ResourceURI),
		handoff.Advice("the forms are "+core.ArtifactURI+"ID and "+core.ResourceURI+"sessions/ID"))
}

func (n namer) uri(name string) (work.Meaning, error) {
	u, err := thread.ParseURI(name)
	if errors.Is(err, handoff.Unsupported) {
		return work.Meaning{What: "a list of threads", Show: handoff.Suggest("list them", handoff.ActionThread, name)}, nil
	}
	if err == nil && n.set != nil && u.Provider != "" {
		_, err = n.set.Provider(u.Provider)
	}
	if err != nil {
		return work.Meaning{}, err
	}
	u.From, u.To = 0, 0
	return work.Meaning{What: "a thread", By: cost.ByThread, Keys: []string{u.String()},
		Show: handoff.Suggest("open it", handoff.ActionThread, name)}, nil
}

func (n namer) artifact(ctx context.Context, name string) work.Meaning {
	found, err := n.c.Find(ctx, name, false)
	if err != nil || found.Unrecorded() {
		return work.Meaning{}
	}
	if _, err := n.c.Anonymous.Artifact(ctx, found.ID); err != nil {
		return work.Meaning{}
	}
	return work.Meaning{What: "an artifact", By: cost.ByArtifact, Keys: []string{found.ID},
		Show: handoff.Suggest("show it", handoff.ActionShow, name)}
}

func (n namer) comment(ctx context.Context, name string) work.Meaning {
	if !handoff.IsCommentID(name) {
		return work.Meaning{}
	}
	ids := n.ids(ctx, handoff.ArtifactQuery{Comment: name, Limit: 1})
	if len(ids) == 0 {
		return work.Meaning{}
	}
	return work.Meaning{What: "a comment on " + ids[0], By: cost.ByArtifact, Keys: ids,
		Show: handoff.Suggest("show it", handoff.ActionShow, ids[0])}
}

func (n namer) session(ctx context.Context, name string) work.Meaning {
	s, err := n.sessions.Resolve(ctx, name, n.caller.Dir)
	if err != nil || name == "" {
		return work.Meaning{}
	}
	return work.Meaning{What: "a session", By: cost.BySession, Keys: []string{s.ID},
		Show: handoff.Suggest("show it", handoff.ActionShow, name)}
}

func (n namer) issue(ctx context.Context, name string) work.Meaning {
	if p := n.Pipelines(); !p.IsOpen(name) && !p.IsPast(ctx, name) {
		return work.Meaning{}
	}
	return work.Meaning{What: "a pipeline run", By: cost.ByArtifact,
		Keys: n.ids(ctx, handoff.ArtifactQuery{Namespace: name}),
		Show: handoff.Suggest("show it", handoff.ActionShow, name)}
}

// work finds work by its ID, or by that of the record of its start or end.
func (n namer) work(ctx context.Context, name string) work.Meaning {
	units, _ := n.c.Anonymous.WorkIn(ctx, "")
	for _, u := range units {
		if name != "" && slices.Contains([]string{u.ID, u.StartRecord, u.EndRecord}, name) {
			return work.Meaning{What: "work", By: cost.ByWork, Keys: []string{u.ID},
				Show: handoff.Suggest("show what it cost", handoff.ActionCost, u.ID)}
		}
		for _, field := range [][3]string{{u.Model.ID, "a model", cost.ByModel}, {u.Model.Provider, "a provider of models"},
			{u.Harness, "a program", cost.ByProgram}, {u.Agent, "an agent", cost.ByAgent}} {
			if name != "" && field[0] == name {
				return costs(field[1], field[2], name)
			}
		}
	}
	return work.Meaning{}
}

// field finds artifacts that have the name in a field.
func (n namer) field(ctx context.Context, name string) work.Meaning {
	queries := []handoff.ArtifactQuery{{Channel: name}, {Kind: name}, {Tag: name}, {Label: name}}
	fields := []string{"channel", "kind", "tag", "label"}
	filters := append(slices.Clone(fields), "session", "run", "task", "operation", "work", "parent-work", "agent",
		"thread")
	for _, slot := range handoff.SlotNames() {
		queries = append(queries, handoff.ArtifactQuery{Producer: map[string]string{slot: name}})
		fields = append(fields, slot)
	}
	groups := map[string]string{"channel": cost.ByChannel, "tag": cost.ByTag, "agent": cost.ByAgent,
		"harness": cost.ByProgram}
	for i, q := range queries {
		q.Limit = 1
		if name == "" || len(n.ids(ctx, q)) == 0 {
			continue
		}
		show := []string{fields[i], name}
		if !slices.Contains(filters, fields[i]) {
			show = []string{"producer", fields[i] + "=" + name}
		}
		m := work.Meaning{What: "the " + fields[i] + " of artifacts", By: groups[fields[i]], Keys: []string{name},
			Show: handoff.Suggest("list them", handoff.ActionListBy, show...)}
		if m.By == "" {
			q.Limit = 0
			m.By, m.Keys = cost.ByArtifact, n.ids(ctx, q)
		}
		return m
	}
	for _, purpose := range n.c.Settings.Purposes() {
		if purpose[0] == name {
			return work.Meaning{What: "a channel", By: cost.ByChannel, Keys: []string{name},
				Show: handoff.Suggest("list the channels", handoff.ActionChannels)}
		}
	}
	return work.Meaning{}
}

// ids returns the IDs of the artifacts that a query selects, of every status.
func (n namer) ids(ctx context.Context, q handoff.ArtifactQuery) (ids []string) {
	q.IncludeInactive = true
	page, err := n.c.Anonymous.Artifacts(ctx, q)
	if err != nil { // the name can't be that of such a field
		return nil
	}
	for _, a := range page.Artifacts {
		ids = append(ids, a.ID)
	}
	return ids
}

// sessionField finds sessions that have the name in a field.
func (n namer) sessionField(ctx context.Context, name string) work.Meaning {
	page, _ := n.c.Hub.Sessions(ctx, handoff.SessionQuery{IncludeRuns: true, IncludeArchived: true,
		Limit: newestSessions})
	for _, s := range page.Sessions {
		if name == "" {
			break
		}
		if s.Name == name {
			return work.Meaning{What: "the name of a session", By: cost.BySession, Keys: []string{s.ID},
				Show: handoff.Suggest("show it", handoff.ActionShow, s.ID)}
		}
		for _, field := range []struct{ flag, value, by string }{{"agent", s.Agent.Name, cost.ByAgent},
			{"workflow", s.Workflow.Name, ""}, {"user", s.User, ""}} {
			if field.value == name {
				return work.Meaning{What: "the " + field.flag + " of a session", By: field.by, Keys: []string{name},
					Show: handoff.Suggest("list its sessions", handoff.ActionSessionsBy, field.flag, name)}
			}
		}
		if slices.Contains(s.Tags, name) {
			return work.Meaning{What: "the tag of a session",
				Show: handoff.Suggest("list its sessions", handoff.ActionSessionsBy, "tag", name)}
		}
	}
	return work.Meaning{}
}

// program finds a program that runs agents, by its own name or that of its threads.
func (n namer) program(_ context.Context, name string) work.Meaning {
	if n.set == nil {
		return work.Meaning{}
	}
	for _, provider := range n.set.Names() {
		if harness, _ := config.ProgramOf(provider); provider == name || harness != "" && harness == name {
			return work.Meaning{What: "a program", By: cost.ByProgram, Keys: []string{harness, provider},
				Show: handoff.Suggest("list its threads", handoff.ActionThread, "agents://"+provider)}
		}
	}
	return work.Meaning{}
}

// thread finds a thread by its ID, or by the ID, name or role of one of its subagents.
func (n namer) thread(ctx context.Context, name string) work.Meaning {
	if n.set == nil {
		return work.Meaning{}
	}
	if u, err := thread.ParseURI(name); err == nil {
		if v, err := n.set.Open(ctx, u); err == nil {
			uri := v.URI
			uri.From, uri.To = 0, 0
			return work.Meaning{What: "a thread", By: cost.ByThread, Keys: []string{uri.String()},
				Show: handoff.Suggest("open it", handoff.ActionThread, name)}
		}
		if _, err := n.set.Provider(u.Provider); err == nil && u.Provider != "" { // no subagent has such a name
			return work.Meaning{}
		}
	}
	page, _ := n.Threads(n.set).List(ctx, threads.ListOptions{Everywhere: true, Agents: true, NoIndex: true,
		Limit: newestThreads})
	for _, t := range page.Threads {
		for _, a := range t.Agents {
			if name != "" && slices.Contains([]string{a.ID, a.Name, a.Role}, name) {
				return work.Meaning{What: "a subagent", By: cost.ByThread, Keys: []string{a.URI.String()},
					Show: handoff.Suggest("list the subagents of its thread", handoff.ActionSubagents, t.URI.String())}
			}
		}
	}
	return work.Meaning{}
}

// stage finds a stage of the pipeline by its name, also as STAGE#ATTEMPT, or by its
// agent or file.
func (n namer) stage(_ context.Context, name string) work.Meaning {
	stages, _ := n.Pipelines().Stages("")
	name, _, _ = strings.Cut(name, "#")
	for _, s := range stages {
		if name != "" && slices.Contains([]string{s.Name, s.By, s.Writes}, name) {
			return work.Meaning{What: "of the pipeline stage " + s.Name,
				Show: handoff.Suggest("print its schema", handoff.ActionSchema, s.Name)}
		}
	}
	return work.Meaning{}
}

// log finds the log by its ID.
func (n namer) log(ctx context.Context, name string) work.Meaning {
	if log, ok := n.c.RawLog.(handoff.Identifier); ok && name != "" {
		if id, err := log.ID(ctx); err == nil && id == name {
			return work.Meaning{What: "the ID of the log", Show: handoff.Suggest("show its state", handoff.ActionLogStatus)}
		}
	}
	return work.Meaning{}
}

var commitPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{7,64}$`) })

func (n namer) commit(ctx context.Context, name string) work.Meaning {
	if !commitPart().MatchString(name) {
		return work.Meaning{}
	}
	repository, err := git.Open(ctx, n.caller.Dir)
	if err == nil {
		_, err = repository.Commit(ctx, name)
	}
	if err != nil {
		return work.Meaning{}
	}
	return work.Meaning{What: "a commit", Show: handoff.Suggest("trace it", handoff.ActionWhy, name)}
}

// priced reports whether the prices have a model with this name.
func (n namer) priced(name string) bool {
	prices, err := cost.OpenPrices(n.c.Prices())
	return err == nil && prices.Has(name)
}

// model finds a model that has a price, or that a thread of this repository used: a report
// has printed its name, and made an index of threads.
func (n namer) model(ctx context.Context, name string) (m work.Meaning) {
	found := costs("a model", cost.ByModel, name)
	switch {
	case n.priced(name):
		return found
	case n.set == nil || n.c.Cache == "":
		return m
	}
	if indexes, err := filepath.Glob(filepath.Join(n.c.Cache, "threads", "*.db")); err != nil || len(indexes) == 0 {
		return m
	}
	q := threadindex.Query{In: threadindex.Nearest(n.c.Dirs.Worktrees(), nil)}
	_, err := n.transcripts(n.set).Archive(false).EachUsage(ctx, q, func(t threadindex.ThreadUsage) error {
		if slices.ContainsFunc(t.Requests, func(r thread.Request) bool { return r.Model == name }) {
			m = found
		}
		return nil
	})
	if err != nil { // the error about the name says more
		return work.Meaning{}
	}
	return m
}

// costs is what only a report of costs has: a row of a group, or "" for no group.
func costs(what, by, name string) work.Meaning {
	m := work.Meaning{What: what, By: by, Keys: []string{name},
		Show: handoff.Suggest("show what it cost", handoff.ActionCost, name)}
	if by == "" {
		m.Show = handoff.Suggest("show what models cost", handoff.ActionCosts, cost.ByModel)
	}
	return m
}

// Comment returns the text of a comment on an artifact.
func (n namer) Comment(ctx context.Context, a handoff.Artifact, c handoff.Comment) string {
	return n.Reviews().TextOf(ctx, a, c)
}
