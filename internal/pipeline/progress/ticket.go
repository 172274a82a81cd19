package progress

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// A ticket is what an agent was given for an attempt of a stage. Next prints
// it, nothing stores it, and Put records its inputs, whatever was submitted since.
// It is not signed: Put compares it with the records.
type ticket struct {
	Issue   string        `json:"issue"`
	Stage   string        `json:"stage"`
	Attempt int           `json:"attempt"` // the number of the attempt, from 1
	Inputs  []ticketInput `json:"inputs,omitempty"`
}

// A ticketInput is one artifact that an attempt is made from.
type ticketInput struct {
	Stage  string `json:"stage"`
	ID     string `json:"id,omitempty"` // of its record, "" if its file was written by hand
	Digest string `json:"digest"`       // SHA-256 in hexadecimal
}

const (
	ticketPrefix = "t1." // the version of the encoding
	maxTicket    = 64 << 10
)

// String returns the ticket as a word of ASCII letters, digits, '-', '_' and '.'.
func (t ticket) String() string {
	b, _ := json.Marshal(t) // of strings and a number: no error
	return ticketPrefix + base64.RawURLEncoding.EncodeToString(b)
}

// parseTicket is the reverse of ticket.String.
func parseTicket(text string) (t ticket, err error) {
	if len(text) < len(ticketPrefix) || len(text) > maxTicket || text[:len(ticketPrefix)] != ticketPrefix {
		return t, errors.New("not a ticket")
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text[len(ticketPrefix):])
	if err != nil || json.Unmarshal(b, &t) != nil || t.String() != text {
		return t, errors.New("a damaged ticket")
	}
	return t, nil
}

// ticket returns the ticket of the next attempt of a stage.
func (w *walk) ticket(stage *contract.Stage) ticket {
	attempts, _ := w.s.countAttempts(stage.Name, "")
	t := ticket{Issue: w.s.Issue, Stage: stage.Name, Attempt: attempts + 1}
	for _, from := range w.sources(stage) {
		in := ticketInput{Stage: from, Digest: w.s.Outputs[from].Digest}
		if at := w.s.last(from); at >= 0 && w.s.Attempts[at].Digest == in.Digest {
			in.ID = w.s.Attempts[at].ID
		}
		t.Inputs = append(t.Inputs, in)
	}
	return t
}

// made is what an attempt was made from.
type made struct {
	read    map[string]string // the digests, by stage
	ids     []string          // of those that have a record
	number  int               // of the attempt, 0 if nobody said it
	assumed bool              // nobody said it: it is what was current when the attempt was submitted
}

// ticketed returns what the ticket of a submission says. The kind is Invalid if it is for
// another stage or run, or contradicts the records.
func (r *Runs) ticketed(ctx context.Context, sub Submission, stage *contract.Stage) (*made, error) {
	refuse := func(reason string) (*made, error) {
		return nil, handoff.E("put", sub.Issue+"/"+stage.Artifact, handoff.Invalid, errors.New("ticket: "+reason),
			handoff.Suggest("see the current ticket", handoff.ActionNext, sub.Issue))
	}
	t, err := parseTicket(sub.Ticket)
	switch {
	case err != nil:
		return refuse(err.Error())
	case len(sub.From) > 0:
		return refuse("it names the inputs, and so does from; leave one of them out")
	case t.Issue != sub.Issue || t.Stage != stage.Name:
		return refuse(fmt.Sprintf("it is for %s of %s", t.Stage, t.Issue))
	}
	m := &made{read: map[string]string{}, number: t.Attempt}
	for _, in := range t.Inputs {
		from, err := r.Pipeline.Stage(in.Stage)
		if err != nil || from.Name != in.Stage || from == stage || !isDigest(in.Digest) {
			return refuse(fmt.Sprintf("%q is not an input", in.Stage))
		}
		if _, twice := m.read[in.Stage]; twice {
			return refuse(in.Stage + " is an input twice")
		}
		m.read[in.Stage] = in.Digest
		if in.ID == "" {
			continue
		}
		a, err := r.Hub.Artifact(ctx, in.ID)
		switch {
		case errors.Is(err, handoff.NotFound) || err == nil && (a.ID != in.ID || recordedDigest(from, a) != in.Digest ||
			a.Namespace != sub.Issue || !from.Owns(a.Name)):
			return refuse(in.Stage + " is not the artifact that the records have")
		case err != nil:
			return nil, err
		case a.Path != path.Join(r.Pipeline.Folder, sub.Issue, a.Name):
			return refuse("it is of an archived run")
		}
		m.ids = append(m.ids, in.ID)
	}
	return m, nil
}

// recordedDigest returns the digest of the attempt that a record belongs to.
func recordedDigest(stage *contract.Stage, a handoff.Artifact) string {
	if stage.IsPattern() {
		made, _ := recorded(a)
		return setDigest(made.Files)
	}
	return a.Digest.Value
}

// isDigest reports whether a text is a SHA-256 in lower-case hexadecimal.
func isDigest(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == sha256.Size && hex.EncodeToString(b) == text
}
