package workspace

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/pipelines"
)

// TestClosed calls every method of a closed workspace that returns an error: each
// has the same one.
func TestClosed(t *testing.T) {
	dir := testWorkspace(t)
	w := openDir(t, dir)
	p, err := w.Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "design"})
	must(t, err)
	body, err := w.Read(t.Context(), p.ID, ReadOptions{})
	must(t, err)
	t.Cleanup(func() { body.Close() })
	must(t, w.Close())
	if err := w.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	const uuid = "6f1b1c7e-3f43-4a7c-9b0d-2f3f4d5e6a7b"
	w = w.As(Caller{Dir: dir, Producer: handoff.Producer{Session: uuid, RunID: "r", Source: handoff.FromFlag}})
	arguments := map[reflect.Type]any{
		reflect.TypeFor[context.Context]():     t.Context(),
		reflect.TypeFor[string]():              "report", // also a type, a label and a stage
		reflect.TypeFor[int]():                 1,
		reflect.TypeFor[time.Time]():           time.Now(),
		reflect.TypeFor[handoff.Draft]():       handoff.Draft{Name: "b.md", Channel: "design", Body: strings.NewReader("b")},
		reflect.TypeFor[session.OpenOptions](): session.OpenOptions{DefaultName: "builder"},
		reflect.TypeFor[sessions.Output]():     sessions.Output{File: "a.md", Type: "report"},
		reflect.TypeFor[SearchOptions]():       SearchOptions{Text: "text"},
		reflect.TypeFor[pipelines.Submission](): pipelines.Submission{
			Issue: "42", Stage: "plan", Body: strings.NewReader("{}")},
		reflect.TypeFor[Body]():             body,
		reflect.TypeFor[handoff.Artifact](): p.Artifact,
		reflect.TypeFor[*thread.Thread]():   &thread.Thread{},
	}
	// These need nothing that was opened, with these arguments.
	pure := []string{"Explain", "Close", "Save", "Grouped", "ToolCaller"}
	for _, of := range []any{w, w.Pipelines(), w.Pipelines().Contracts(""), w.Threads(nil),
		w.Work(nil), w.Claims(nil), w.Reviews().Candidates(nil), w.Sessions(), w.Runs(),
		w.Store()} {
		v := reflect.ValueOf(of)
		for i := range v.NumMethod() {
			name, method := v.Type().Method(i).Name, v.Method(i)
			var in []reflect.Value
			for j := range method.Type().NumIn() {
				arg := method.Type().In(j)
				if value, ok := arguments[arg]; ok {
					in = append(in, reflect.ValueOf(value))
				} else {
					in = append(in, reflect.Zero(arg))
				}
			}
			if method.Type().IsVariadic() || contains(pure, name) {
				continue
			}
			err, ok := lastError(method.Call(in))
			if ok && (!errors.Is(err, handoff.Unavailable) || !strings.Contains(err.Error(), "it was closed")) {
				t.Errorf("%s: %v, want that the workspace was closed", name, err)
			}
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// lastError returns the error among the results of a method, or the first one of
// a sequence.
func lastError(out []reflect.Value) (err error, ok bool) {
	if len(out) == 0 {
		return nil, false
	}
	last := out[len(out)-1]
	switch seq := last.Interface().(type) {
	case iter.Seq2[handoff.Artifact, error]:
		for _, err := range seq {
			return err, true
		}
	case iter.Seq2[handoff.Record, error]:
		for _, err := range seq {
			return err, true
		}
	case iter.Seq2[handoff.ArtifactPage, error]:
		for _, err := range seq {
			return err, true
		}
	}
	if last.Type() != reflect.TypeFor[error]() {
		return nil, last.Kind() == reflect.Func
	}
	err, _ = last.Interface().(error)
	return err, true
}
