package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Stdio is a transport of messages on lines. A line that is no message is
// answered with an error of JSON-RPC 2.0, and the next line is read: the transport
// of the SDK ends the connection instead. When the input ends, requests that were read
// before are answered within lastAnswers: the SDK would cancel them.
type Stdio struct {
	In  io.Reader
	Out io.Writer
}

// Connect implements sdk.Transport.
func (s *Stdio) Connect(context.Context) (sdk.Connection, error) {
	c := &stdioConn{out: s.Out, messages: make(chan jsonrpc.Message), closed: make(chan struct{}),
		open: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1)}
	go c.readLines(bufio.NewReaderSize(s.In, 64<<10))
	return c, nil
}

// lastAnswers is how long the connection lasts after the end of the input, at most. A call
// that waits for an artifact, or for an answer of the client, does not delay it longer.
const lastAnswers = 10 * time.Second

// stdioConn is a connection of a Stdio. Each line of the input is one message, or
// is refused.
type stdioConn struct {
	messages chan jsonrpc.Message
	err      error // why messages is closed
	closed   chan struct{}
	once     sync.Once

	answered chan struct{} // after a request was answered

	mu   sync.Mutex
	out  io.Writer
	open map[jsonrpc.ID]bool // requests that were not answered
}

func (c *stdioConn) SessionID() string { return "" }

func (c *stdioConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-c.messages:
		if !ok {
			return nil, c.err
		}
		return m, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *stdioConn) Write(_ context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	err = c.writeLine(b)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, r.ID)
		c.mu.Unlock()
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}

// awaitAnswers returns when all requests were answered, or after lastAnswers.
func (c *stdioConn) awaitAnswers() {
	late := time.After(lastAnswers)
	for {
		c.mu.Lock()
		left := len(c.open)
		c.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-c.answered:
		case <-c.closed:
			return
		case <-late:
			return
		}
	}
}

func (c *stdioConn) writeLine(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(b, '\n'))
	return err
}

// readLines passes on the messages until the input ends.
func (c *stdioConn) readLines(in *bufio.Reader) {
	defer close(c.messages)
	for {
		line, err := readLine(in)
		if line = bytes.TrimSpace(line); len(line) > 0 || errors.Is(err, errLong) {
			m, refused := parse(line, err)
			if refused != nil {
				if c.err = c.writeLine(refused); c.err != nil {
					return
				}
			} else {
				c.note(m)
				select {
				case c.messages <- m:
				case <-c.closed:
					return
				}
			}
		}
		if err != nil && !errors.Is(err, errLong) {
			c.err = err
			c.awaitAnswers()
			return
		}
	}
}

// note adds a request to those that were not answered.
func (c *stdioConn) note(m jsonrpc.Message) {
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open[r.ID] = true
	}
}

var errLong = errors.New("the message is larger than 16 MiB")

// readLine returns the next line, or errLong after a line that is larger than a
// message may be, of which nothing is stored.
func readLine(in *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxRequest; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && err == nil:
			return nil, errLong
		}
		return line, err
	}
}

// parse returns the message on a line, or the answer that refuses it.
func parse(line []byte, err error) (m jsonrpc.Message, refused []byte) {
	switch {
	case errors.Is(err, errLong):
		return nil, refusal(nil, jsonrpc.CodeInvalidRequest, errLong.Error())
	case !json.Valid(line):
		return nil, refusal(nil, jsonrpc.CodeParseError, "the line is not JSON: a message is one JSON object on one line")
	case line[0] == '[':
		return nil, refusal(nil, jsonrpc.CodeInvalidRequest, "batches are not supported: send one message on each line")
	}
	if m, err = jsonrpc.DecodeMessage(line); err == nil {
		return m, nil
	}
	var of struct{ ID json.RawMessage }
	if json.Unmarshal(line, &of) != nil || len(of.ID) == 0 || !bytes.ContainsAny(of.ID[:1], `"-0123456789`) {
		of.ID = nil
	}
	return nil, refusal(of.ID, jsonrpc.CodeInvalidRequest, "the line is not a message of JSON-RPC 2.0")
}

// refusal returns an error of JSON-RPC. Without an ID, that is null.
func refusal(id json.RawMessage, code int64, message string) []byte {
	// can't fail: the ID is valid JSON
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id,
		"error": map[string]any{"code": code, "message": message}})
	return b
}
