package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/agent-handoff/handoff"
)

// maxAnswer is how much of an answer is read.
const maxAnswer = 64 << 10

// CheckURL returns an error unless a URL is that of a receiver. Kind: Invalid.
func CheckURL(to string) error {
	if u, err := url.Parse(to); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return handoff.E("export", to, handoff.Invalid, errors.New("not a URL of a receiver"),
			handoff.Advice("name its endpoint for traces, such as http://localhost:4318/v1/traces"))
	}
	return nil
}

// Send posts a request to the receiver at a URL, such as http://localhost:4318/v1/traces.
// It follows no redirect. Kinds: that of CheckURL, Unavailable (not accepted in full).
func Send(ctx context.Context, to string, request []byte) error {
	if err := CheckURL(to); err != nil {
		return err
	}
	unavailable := func(err error) error {
		return handoff.E("export", to, handoff.Unavailable, err,
			handoff.Advice("check the receiver, and export again: the IDs are the same"))
	}
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(request))
	if err != nil {
		return unavailable(err)
	}
	r.Header.Set("Content-Type", "application/json")
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := c.Do(r)
	if err != nil {
		return unavailable(errors.Unwrap(err)) // without the URL
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return unavailable(fmt.Errorf("the receiver answered %s", answer.Status))
	}
	b, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	var partial struct {
		PartialSuccess struct {
			RejectedSpans json.Number
			ErrorMessage  string
		}
	}
	if err == nil && json.Unmarshal(b, &partial) == nil {
		if n := partial.PartialSuccess.RejectedSpans; n != "" && n != "0" {
			err = fmt.Errorf("the receiver rejected %s spans: %q", n, partial.PartialSuccess.ErrorMessage)
		}
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}
