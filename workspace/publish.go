package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

// Publish records a file, a directory or a body as an artifact. In the draft, Path is as
// the caller types it, in the workspace or in the session's directory; Replaces, Parents
// and what claims name are refs, and Resolves is what Resolved of package reviews takes.
// Channel is required. The fields Namespace, Name, Root and RootDir are not used:
// see Write. Commands in claims are looked up in no threads: see Checker.Publish of package
// claims.
//
// When it returns nil the record is on stable storage; what could not be updated after
// that is in Published.Warnings.
//
// Kinds: Invalid, NotFound (the file, or an artifact that a ref names), Conflict
// (the file keeps changing; the key was used for other content; an ambiguous
// ref), Unavailable, Corrupt, Unsupported.
func (w *Workspace) Publish(ctx context.Context, d handoff.Draft) (handoff.Published, error) {
	return w.publish(ctx, nil, d)
}

func (w *Workspace) publish(ctx context.Context, set *thread.Set, d handoff.Draft) (handoff.Published, error) {
	if d.Channel == "" {
		return handoff.Published{}, w.channelMissing(ctx, d.Path)
	}
	d.Namespace, d.Name, d.Root, d.RootDir = "", "", "", ""
	err := w.locate(ctx, &d)
	if err != nil {
		return handoff.Published{}, err
	}
	from := d.Parents
	if err = w.resolveIn(ctx, &d); err != nil {
		return handoff.Published{}, err
	}
	claims := d.Claims
	d.Claims = nil
	warnings, err := w.Claims(set).Record(ctx, &d, claims)
	if err != nil {
		return handoff.Published{}, err
	}
	done, err := w.maker(ctx).Publish(ctx, d)
	if err == nil {
		done.Warnings = append(append(done.Warnings, warnings...), w.doubtful(ctx, from, d.Parents)...)
		done.Warnings = append(done.Warnings, w.c.Finish(ctx, done.Producer.Session)...)
	}
	return done, err
}

// doubtful returns a warning for each input that competes with others, or that was named
// by its file, which differs from what was published.
func (w *Workspace) doubtful(ctx context.Context, refs, ids []string) (warnings []string) {
	for i, ref := range refs {
		a, err := w.c.Anonymous.Artifact(ctx, ids[i])
		if err != nil {
			continue
		}
		byFile := !handoff.IsArtifactIDPrefix(ref) && !strings.Contains(ref, ":")
		if byFile && a.Target == handoff.Modified {
			warnings = append(warnings, fmt.Sprintf("%s differs from what was published as %s, which is recorded as the input",
				ref, a.ID))
		}
		if len(a.Competing) > 0 {
			warnings = append(warnings, fmt.Sprintf("input %s competes with %s", a.ID, strings.Join(a.Competing, " ")))
		}
	}
	return warnings
}

// resolveIn replaces the refs in a draft by IDs.
func (w *Workspace) resolveIn(ctx context.Context, d *handoff.Draft) (err error) {
	if d.Replaces, err = w.c.ResolveAll(ctx, d.Replaces); err == nil {
		d.Parents, err = w.c.ResolveAll(ctx, d.Parents)
	}
	if err == nil && len(d.Resolves) > 0 {
		d.Resolves, err = w.Reviews().Resolved(ctx, d.Resolves, d.Replaces)
	}
	return err
}

// Withdraw marks an artifact as withdrawn. Nothing is deleted: its record and
// body stay, and what it replaced is active again. Withdrawing it again changes
// nothing.
//
// A ref may also be the ID of a comment, which is then hidden.
//
// The file of a name then has the content of its newest active revision.
//
// Kinds: NotFound, Conflict (an ambiguous ref), Invalid (the reason), and those
// of Log.Append.
func (w *Workspace) Withdraw(ctx context.Context, ref, reason string) (handoff.Published, error) {
	if handoff.IsCommentID(ref) {
		return w.Reviews().Withdraw(ctx, ref)
	}
	done, err := w.change(ctx, ref, func(id string) (handoff.Published, error) {
		return w.c.Hub.Withdraw(ctx, id, reason)
	})
	if err == nil {
		done.Warnings = append(done.Warnings, w.renderName(ctx, done.Artifact)...)
	}
	return done, err
}

// renderHead writes the newest active revision of a name to the name's file, unless
// the file differs from every revision: then it has an edit, and is left.
func (w *Workspace) renderHead(ctx context.Context, namespace, name string) (warnings []string) {
	page, err := w.c.Anonymous.Artifacts(ctx, handoff.ArtifactQuery{Namespace: namespace, Name: name, Limit: 1})
	if err != nil || len(page.Artifacts) == 0 {
		return nil // the record is stored, and there is no head
	}
	head := page.Artifacts[0]
	edited, err := w.writerOf(ctx, head, w.c.Hub).RenderHead(ctx, head)
	switch {
	case err != nil:
		warnings = append(warnings, fmt.Sprintf("%s is not up to date: %v", head.Path, err))
	case edited:
		warnings = append(warnings, head.Path+" differs from every revision, and was left as it is")
	}
	return warnings
}

// locate sets the path of a draft's file: inside the workspace, or else inside
// the directory of the session that the caller works in.
func (w *Workspace) locate(ctx context.Context, d *handoff.Draft) (err error) {
	name := d.Path
	switch {
	case d.Body != nil && name != "":
		return handoff.E("publish", name, handoff.Invalid, errors.New("has both a path and a body"),
			handoff.Advice("leave one of them out"))
	case d.Body != nil:
		return nil
	case name == "":
		return handoff.E("publish", `""`, handoff.Invalid, errors.New("path is empty"),
			handoff.Advice("name a file or directory"))
	case d.Filename != "":
		return handoff.E("publish", name, handoff.Invalid, errors.New("a file name applies only to a body without a file"),
			handoff.Advice("leave it out; the file keeps its name"))
	}
	if d.Path, err = w.c.Inside(w.c.Dirs.Root, name); err == nil {
		return nil
	}
	dir, unresolved := filepath.EvalSymlinks(w.c.OwnFolder(ctx))
	if unresolved != nil {
		return err
	}
	if file, outside := w.c.Inside(dir, name); outside == nil {
		d.Path, d.Root, d.RootDir, err = file, handoff.SessionRoot, dir, nil
	}
	return err
}

// channelMissing is the error for a publish without a channel. Its hint names those
// in use, the most used first.
func (w *Workspace) channelMissing(ctx context.Context, name string) error {
	e := handoff.E("publish", cmp.Or(name, "-"), handoff.Invalid, errors.New("channel is required"))
	list, _ := w.Channels(ctx, Filter{IncludeInactive: true}) // without them, the hint names the predefined ones
	used := slices.DeleteFunc(list.Channels, func(c Channel) bool { return c.Count == 0 })
	order.Sort(used, func(a, b Channel) int { return cmp.Compare(b.Count, a.Count) })
	text, names := "publish it in a channel that is in use", []string{}
	for _, c := range used[:min(len(used), 8)] {
		names = append(names, c.Name)
	}
	if len(names) == 0 {
		text = "publish it in a channel"
		for _, c := range handoff.Channels {
			names = append(names, c.Name)
		}
	}
	e.Hint = handoff.Suggest(text+" ("+strings.Join(names, ", ")+")", handoff.ActionPublishIn, e.Name, names[0])
	return e
}
