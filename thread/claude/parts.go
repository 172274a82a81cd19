package claude

import (
	"bytes"
	"context"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// The transcript of a session may have the records of its subagents: old versions write
// them there, and later ones copy them to records of the progress of a call. Copies count
// if the subagent has no transcript of its own.

// part returns the record of a subagent that a record of its progress has a copy of, and
// the ID of the subagent. The ID is "" if it has none.
func (r *record) part() (id string, part record) {
	if string(r.kind) != "progress" || !r.data.Get("type").Is("agent_progress") {
		return "", part
	}
	part.parse(r.data.Get("message"))
	part.uuid, part.session, part.forked = r.uuid, r.session, r.forked
	if part.message.Kind() != jsonl.Object {
		return "", part
	}
	return r.data.Get("agentId").Text(), part
}

// chains returns the facts of the subagents whose records are in the transcript of
// their session, and of those with copies there. It reads the transcript once for all of
// them.
func (r *transcript) chains(ctx context.Context, copies map[string]bool) (map[string]thread.Facts, error) {
	src, err := thread.OpenFile(r.file.path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	rd := jsonl.Borrow(src)
	defer rd.Return()
	s, of := r.scanner(ctx), map[string]*scanner{}
	add := func(key string, copied bool, rec *record) {
		if of[key] == nil {
			of[key] = r.partOf(key, copied).scanner(ctx)
		}
		of[key].n = s.n
		of[key].add(rec)
	}
	err = s.each(rd, func(line jsonl.Value) (bool, error) {
		return s.line(line, func(rec *record) {
			if rec.sidechain {
				add(s.chain(rec), false, rec)
			} else if len(copies) > 0 {
				if id, part := rec.part(); copies[id] {
					add(id, true, &part)
				}
			}
		}), nil
	})
	if err != nil {
		return nil, err
	}
	facts := map[string]thread.Facts{}
	for key, o := range of {
		found := s.facts
		o.facts.Lines, o.facts.BadLines, o.facts.Partial, o.others = found.Lines, found.BadLines, found.Partial, s.others
		o.known = s.known
		o.facts.Warnings = append(o.facts.Warnings, found.Warnings...)
		if facts[key], err = o.finish(); err != nil {
			return nil, err
		}
	}
	return facts, nil
}

// partOf returns the transcript of a subagent whose records, or copies of them, are in r.
func (r *transcript) partOf(id string, copied bool) *transcript {
	return &transcript{p: r.p, file: r.file, meta: r.meta, only: id, copy: copied, copied: r.copied}
}

// parts returns the threads of the subagents whose records are in the transcript of main,
// and that have no other one. known has the subagents with one, see storedFile.name.
func (p *provider) parts(ctx context.Context, main *thread.Thread, known map[string]bool) (list []*thread.Thread,
	err error) {
	r := main.Reader.(*transcript)
	if r.file.agent || !r.mayHaveAgents(ctx) {
		return nil, ctx.Err()
	}
	if err := main.Load(ctx); err != nil {
		return nil, err
	}
	any := len(r.subagents.inner) > 0
	for _, s := range r.subagents.tasks {
		any = any || s.spawned && s.copied && !known[s.ID] && !known[r.file.id+"/"+s.ID]
	}
	if !any {
		return nil, nil
	}
	agents, err := p.Agents(ctx, main)
	for _, a := range agents {
		if a.Thread != nil && a.Thread.Reader.(*transcript).only != "" {
			a.Thread.Subagent = true
			list = append(list, a.Thread)
		}
	}
	return list, err
}

// mayHaveAgents reports whether a transcript may have started subagents.
func (r *transcript) mayHaveAgents(ctx context.Context) bool {
	return eachLineUntil(ctx, r.file.path, r.file.startsAgents)
}

// startsAgents reports whether the line of a transcript may be about a subagent that it
// started.
func (f file) startsAgents(line []byte) bool {
	if f.agent { // each of its records has its own ID
		return containsBy('A', line, `"Agent"`) || containsBy('T', line, `"Task"`) || containsBy('u', line, `"status"`)
	}
	return containsBy('I', line, `agentId`) || containsBy('S', line, `"isSidechain":true`)
}

// containsBy is bytes.Contains for a text that is found by one of its bytes, which lines
// seldom have.
func containsBy(rare byte, line []byte, text string) bool {
	at := strings.IndexByte(text, rare)
	for from := at; from < len(line); {
		i := bytes.IndexByte(line[from:], rare)
		if i < 0 {
			return false
		}
		if from += i; bytes.HasPrefix(line[from-at:], []byte(text)) {
			return true
		}
		from++
	}
	return false
}
