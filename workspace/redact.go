package workspace

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// A RedactOptions says how secrets of an artifact are removed.
type RedactOptions struct {
	Reason  string // of the withdrawal
	Erase   bool   // its content
	Replace bool   // the secrets in its record and, unless it is erased, in its content
}

// A Redacted is the answer to Redact.
type Redacted struct {
	handoff.Published
	Replaced int      // how many secrets were replaced
	Copies   []string // where copies can remain, a sentence each
}

// MarshalJSON returns the JSON of Published with the members replaced and copies added.
func (r Redacted) MarshalJSON() ([]byte, error) {
	b, err := r.Published.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return jsonl.WithFields(b, redaction{r.Replaced, r.Copies})
}

// redaction are the fields that the JSON of Redacted adds to that of Published.
type redaction struct {
	Replaced int      `json:"replaced"`
	Copies   []string `json:"copies"`
}

// JSONParts returns the structs whose members the JSON has.
func (r Redacted) JSONParts() []any { return append(r.Published.JSONParts(), redaction{}) }

// Redact withdraws an artifact that has a secret, and makes every reader show
// replacements. The record itself never changes, and copies can remain elsewhere. What a
// killed process left is completed by the next operation that records something.
//
// Kinds: those of Withdraw, and Invalid (nothing to do, or nothing looks like a secret).
func (w *Workspace) Redact(ctx context.Context, ref string, o RedactOptions) (Redacted, error) {
	if handoff.IsCommentID(ref) {
		return w.redactComment(ctx, ref)
	}
	id, err := w.Resolve(ctx, ref)
	if err != nil {
		return Redacted{}, err
	}
	a, err := w.c.Anonymous.Artifact(ctx, id)
	if err != nil {
		return Redacted{}, err
	}
	done := Redacted{Copies: []string{}}
	facts, err := w.redactions(ctx, a, o, &done)
	if err != nil {
		return done, err
	}
	notSearched := done.Warnings
	if len(facts) == 0 && a.Redacted == nil {
		return done, handoff.E("withdraw", id, handoff.Invalid,
			errors.New("nothing in its record and content looks like a secret"),
			handoff.Advice("a secret without a known form is not found; the help of the command has the other way"))
	}
	var warnings []string
	for _, f := range facts {
		more, err := w.c.Hub.Redact(ctx, f)
		if err != nil {
			return done, err
		}
		warnings = append(warnings, more...)
	}
	if done.Published, err = w.c.Hub.Withdraw(ctx, id, o.Reason); err != nil {
		return done, err
	}
	done.Existing = done.Existing && len(facts) == 0
	left, err := w.c.Eraser().Erase(ctx, bodyDigests(a, facts))
	if err != nil {
		warnings = append(warnings, "the content is not shown, but a copy is still stored: "+err.Error())
	}
	done.Warnings = slices.Concat(notSearched, warnings, done.Warnings, w.c.Finish(ctx, done.Producer.Session))
	done.Copies = slices.Concat(left, remaining)
	return done, nil
}

// redactComment withdraws a comment or reply, unless that was done, and erases its text.
func (w *Workspace) redactComment(ctx context.Context, ref string) (done Redacted, err error) {
	a, body, err := w.Reviews().BodyOf(ctx, ref)
	if err == nil && body.Value == "" {
		body, err = w.withdrawnText(ctx, a, ref)
	}
	if err != nil {
		return done, err
	}
	erased, err := w.c.Index.RedactedBodies(ctx)
	if err != nil {
		return done, err
	}
	var warnings []string
	if !slices.Contains(erased, content.StoredDigest(body)) {
		warnings, err = w.c.Hub.Redact(ctx, &handoff.BodyRedacted{ArtifactID: a.ID, Digest: body})
		if err != nil {
			return done, err
		}
		done.Replaced = 1
	}
	if done.Published, err = w.Reviews().Withdraw(ctx, ref); err != nil {
		return done, err
	}
	done.Existing = done.Existing && done.Replaced == 0
	left, err := w.c.Eraser().Erase(ctx, []handoff.Digest{body})
	if err != nil {
		warnings = append(warnings, "the text is not shown, but a copy is still stored: "+err.Error())
	}
	done.Warnings = append(warnings, done.Warnings...)
	done.Copies = slices.Concat(left, remaining)
	return done, nil
}

// withdrawnText returns the digest of the body that has the text of a comment or reply on an
// artifact, from the record, which a withdrawal does not change. Kind: NotFound.
func (w *Workspace) withdrawnText(ctx context.Context, a handoff.Artifact, comment string) (handoff.Digest, error) {
	for r, err := range w.c.Log.Read(ctx, max(a.Seq, 1)-1) {
		if err != nil {
			return handoff.Digest{}, err
		}
		f, ok := r.Fact.(*handoff.ArtifactCommented)
		if ok && (r.ID == comment || handoff.ShortCommentID(r.ID) == comment) && f.Body.Value != "" {
			return f.Body, nil
		}
	}
	return handoff.Digest{}, handoff.E("find comment", comment, handoff.NotFound, errors.New("it has no text"))
}

// remaining are the copies that handoff can't reach.
var remaining = []string{
	"the records of the log: they never change; a copy of the log can be written without the secret",
	"clones, backups and exports that were made before, and the thread of the agent that wrote it",
	"the copies on other machines, until the workspace is used there",
}

// bodyDigests returns the digests of the bodies that may no longer be read.
func bodyDigests(a handoff.Artifact, facts []handoff.Fact) (list []handoff.Digest) {
	if a.Redacted != nil && a.Redacted.Body != "" {
		list = append(list, content.StoredDigest(a.Digest))
	}
	for _, f := range facts {
		if f, ok := f.(*handoff.BodyRedacted); ok {
			list = append(list, f.Digest)
			if f.Digest != content.StoredDigest(a.Digest) {
				continue // of a comment
			}
			if a.Redacted != nil && f.Replacement == (handoff.Digest{}) {
				list = append(list, a.Redacted.Digest)
			}
		}
	}
	return list
}

// redactions returns the facts that remove the secrets of an artifact. Replacements are
// stored.
func (w *Workspace) redactions(ctx context.Context, a handoff.Artifact, o RedactOptions,
	done *Redacted) (facts []handoff.Fact, err error) {
	if !o.Erase && !o.Replace {
		return nil, handoff.E("withdraw", a.ID, handoff.Invalid, errors.New("nothing is to be redacted"),
			handoff.Advice("select the content, or the secrets in it"))
	}
	erased := a.Redacted != nil && a.Redacted.Body == handoff.BodyErased
	known, unread := w.bodySecrets(ctx, a)
	for _, body := range w.Reviews().Secrets(ctx, a, known, o.Erase) {
		facts = append(facts, &handoff.BodyRedacted{ArtifactID: a.ID, Digest: body})
		done.Replaced++
	}
	if o.Replace {
		more, err := w.recordRedactions(ctx, a, known, done)
		if err != nil {
			return nil, err
		}
		facts = append(facts, more...)
	}
	if o.Erase && !erased {
		facts = append(facts, &handoff.BodyRedacted{ArtifactID: a.ID, Digest: content.StoredDigest(a.Digest)})
	}
	if o.Erase || erased {
		return facts, nil
	}
	if unread != nil {
		done.Warnings = append(done.Warnings, "the content was not searched: "+unread.Error())
		return facts, nil
	}
	f, err := w.replaceBody(ctx, a, known)
	if err == nil && f != nil {
		done.Replaced += f.Replaced
		facts = append(facts, f)
	}
	return facts, err
}

// bodySecrets returns what looks like a secret in the content of an artifact. The
// content can't always be read.
func (w *Workspace) bodySecrets(ctx context.Context, a handoff.Artifact) (map[string]string, error) {
	known := map[string]string{}
	c, err := w.c.Anonymous.Open(ctx, a.ID)
	if err == nil {
		known, err = content.Secrets(c)
		err = errors.Join(err, c.Close())
	}
	// What the record has may be in the content, in another form.
	list, failed := a.Record.Secrets(nil)
	for _, r := range list {
		if text := a.Record.Text(r); text != "" {
			known[text] = r.Kind
		}
	}
	return known, errors.Join(err, failed)
}

// recordRedactions returns the facts for the secrets in the record of an artifact and in
// the reason of its withdrawal.
func (w *Workspace) recordRedactions(ctx context.Context, a handoff.Artifact, known map[string]string,
	done *Redacted) (facts []handoff.Fact, err error) {
	found, err := a.Record.Secrets(known) // as it is shown
	if err != nil {
		return nil, err
	}
	_, inReason := handoff.RedactText(a.Reason)
	if len(found) == 0 && !inReason {
		return nil, nil
	}
	// Positions are those in the records as they are stored.
	shown := a.Redacted == nil || len(a.Redacted.Fields) == 0
	if shown || a.Queued {
		facts, err = appendRedaction(facts, a.ID, a.Record, known, done)
	}
	if err != nil || (shown && !inReason) {
		return facts, err
	}
	for r, err := range w.c.Log.Read(ctx, max(a.Seq, 1)-1) {
		if err != nil {
			return nil, err
		}
		withdrawn, _ := r.Fact.(*handoff.ArtifactWithdrawn)
		if (r.ID != a.ID || shown) && (withdrawn == nil || withdrawn.ArtifactID != a.ID) {
			continue
		}
		if facts, err = appendRedaction(facts, a.ID, r, known, done); err != nil {
			return nil, err
		}
	}
	return facts, nil
}

func appendRedaction(facts []handoff.Fact, id string, r handoff.Record, known map[string]string,
	done *Redacted) ([]handoff.Fact, error) {
	list, err := r.Secrets(known)
	if err != nil || len(list) == 0 {
		return facts, err
	}
	done.Replaced += len(list)
	return append(facts, &handoff.RecordRedacted{ArtifactID: id, RecordID: r.ID, Replaced: list}), nil
}

// replaceBody stores the content of an artifact with its secrets replaced, nil if it has
// none.
func (w *Workspace) replaceBody(ctx context.Context, a handoff.Artifact,
	known map[string]string) (*handoff.BodyRedacted, error) {
	c, err := w.c.Anonymous.Open(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	n, err := content.Redact(io.Discard, c, known)
	if err != nil || n == 0 {
		return nil, err
	}
	r, to := io.Pipe()
	go func() {
		_, err := content.Redact(to, c, known)
		to.CloseWithError(err)
	}()
	size := &measured{Reader: r}
	d, err := w.c.Bodies.Put(ctx, size)
	r.Close()
	f := &handoff.BodyRedacted{ArtifactID: a.ID, Digest: content.StoredDigest(a.Digest), Replacement: d,
		SizeBytes: &size.n,
		Replaced:  n}
	if a.Redacted != nil && a.Redacted.Digest.Value != "" {
		f.Digest = a.Redacted.Digest
	}
	return f, err
}

// A measured counts what is read.
type measured struct {
	io.Reader
	n int64
}

func (m *measured) Read(b []byte) (int, error) {
	n, err := m.Reader.Read(b)
	m.n += int64(n)
	return n, err
}

// redactions erases what a redaction that was interrupted left.
type redactions struct{}

func (redactions) Recorded(context.Context, string) []string { return nil }

func (redactions) Tidy(ctx context.Context, c *core.Core) ([]string, error) {
	return nil, c.Eraser().EraseLeft(ctx, c.Index)
}
