// Package model is a model server that answers agent programs from a script.
//
// A mark in the prompt, such as [[review]], selects the steps; the number of
// answers since then selects the step. The server speaks Anthropic Messages,
// OpenAI Responses, OpenAI Chat Completions and Gemini, listens on loopback only,
// and keeps a ledger of what it answered.
package model

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// A Usage counts tokens as Anthropic does: Input does not contain the cache.
type Usage struct {
	Input, CacheRead, CacheWrite, Output, Reasoning int
}

// A Call is a tool call of the model.
type Call struct {
	Name      string
	Namespace string                    // for OpenAI Responses
	Input     any                       // an object
	InputFrom func(request Request) any // replaces Input
}

// A Step is one answer of the model.
type Step struct {
	Text  string
	Calls []Call
	Usage Usage
	Fail  int // the HTTP status to answer instead, with Text as the message
}

// A Script maps marks to the steps of a thread.
type Script map[string][]Step

// An Answer is an entry of the ledger.
type Answer struct {
	Protocol string
	Mark     string // "" for a request that offers no tools, such as one for a title
	Step     int
	Usage    Usage
}

// A Request is what a program sent, independent of the protocol.
type Request struct {
	Stream bool
	Model  string
	Tools  []string // the names of the tools it offers
	Turns  []Turn
	Raw    string
}

// A Turn is a part of a thread.
type Turn struct {
	Who  string // user, model, tool or system
	Text string
}

// Server is a model server.
type Server struct {
	URL string

	script Script
	http   *http.Server
	log    io.Writer

	mu       sync.Mutex
	ledger   []Answer
	requests []Request
	last     int
}

// Start starts a server on a free port of the loopback interface. It logs each
// answer to log.
func Start(script Script, log io.Writer) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + l.Addr().String(), script: script, log: log}
	s.http = &http.Server{Handler: s}
	go func() { _ = s.http.Serve(l) }()
	return s, nil
}

// Close stops the server.
func (s *Server) Close() error { return s.http.Close() }

// Ledger returns what was answered, in order.
func (s *Server) Ledger() []Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Answer(nil), s.ledger...)
}

// Requests returns what programs sent, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// id returns a new identifier.
func (s *Server) id(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return fmt.Sprintf("%s_%08d", prefix, s.last)
}

// A protocol reads requests and writes answers of one API.
type protocol struct {
	name  string
	read  func(path string, body map[string]any) Request
	write func(s *Server, w http.ResponseWriter, r Request, step Step)
}

func protocolOf(path string) (protocol, bool) {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return anthropic, true
	case strings.HasSuffix(path, "/responses"):
		return responses, true
	case strings.HasSuffix(path, "/chat/completions"):
		return chat, true
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return gemini, true
	}
	return protocol{}, false
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, ok := protocolOf(r.URL.Path)
	if r.Method != http.MethodPost || !ok {
		s.other(w, r)
		return
	}
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		in = z
	}
	raw, err := io.ReadAll(in)
	var body map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil {
		fmt.Fprintf(s.log, "%s: %v\n", r.URL.Path, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := p.read(r.URL.Path, body)
	request.Raw = string(raw)
	step := s.answer(p.name, request)
	if step.Fail != 0 {
		kind := "invalid_request_error"
		if step.Fail == http.StatusTooManyRequests {
			kind = "rate_limit_error"
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Should-Retry", "false")
		w.WriteHeader(step.Fail)
		message := cmp.Or(step.Text, "the script refuses")
		_, _ = io.WriteString(w, encode(object{"type": "error", "error": object{"type": kind, "message": message}}))
		return
	}
	p.write(s, w, request, step)
}

// other answers the requests that count tokens or list models.
func (s *Server) other(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(s.log, r.Method, r.URL.Path)
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "count_tokens"):
		writeJSON(w, object{"input_tokens": 1})
	case strings.HasSuffix(path, ":countTokens"):
		writeJSON(w, object{"totalTokens": 1})
	case strings.HasSuffix(path, "/models"):
		writeJSON(w, object{"object": "list", "data": []any{}, "models": []any{}})
	default:
		http.NotFound(w, r)
	}
}

var markPattern = regexp.MustCompile(`\[\[([a-z0-9-]+)\]\]`)

// answer selects the step for a request and adds it to the ledger.
func (s *Server) answer(protocol string, r Request) Step {
	mark, at := "", -1
	for i, t := range r.Turns {
		if all := markPattern.FindAllStringSubmatch(t.Text, -1); t.Who == "user" && all != nil {
			mark, at = all[len(all)-1][1], i
		}
	}
	index, before := 0, "user"
	for _, t := range r.Turns[at+1:] {
		if t.Who == "model" && before != "model" {
			index++
		}
		before = t.Who
	}
	step := Step{Text: "ok", Usage: Usage{Input: 7, Output: 3}}
	switch steps := s.script[mark]; {
	case len(r.Tools) == 0:
		mark = ""
	case index < len(steps):
		step = steps[index]
	default:
		step.Text = fmt.Sprintf("The script %q has no step %d.", mark, index)
	}
	step.Calls = append([]Call(nil), step.Calls...)
	for i, c := range step.Calls {
		if c.InputFrom != nil {
			step.Calls[i].Input = c.InputFrom(r)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if step.Fail == 0 {
		s.ledger = append(s.ledger, Answer{Protocol: protocol, Mark: mark, Step: index, Usage: step.Usage})
	}
	fmt.Fprintf(s.log, "%s %s %d: %s %v\n", protocol, mark, index, step.Text, step.Calls)
	return step
}

// object is a JSON object.
type object = map[string]any

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// encode returns the JSON text of v.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the script has a value that is not JSON
	}
	return string(b)
}

// events writes server-sent events.
type events struct{ w http.ResponseWriter }

func stream(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return events{w}
}

func (e events) send(name string, v any) {
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", encode(v))
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

// text returns the text of a string, or of a list of parts.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, part := range v {
			if t, ok := part.(object)["text"].(string); ok {
				b.WriteString(t + "\n")
			}
		}
		return b.String()
	case nil:
		return ""
	}
	return encode(v)
}

// list returns v as a list of objects; other elements are left out.
func list(v any) []object {
	var out []object
	elements, _ := v.([]any)
	for _, e := range elements {
		if o, ok := e.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

func str(v any) string { s, _ := v.(string); return s }
