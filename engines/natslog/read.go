package natslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A message is a message of a stream.
type message struct {
	seq  uint64
	data []byte
}

// A getRequest asks the servers of a stream for messages (JetStream API, direct get).
type getRequest struct {
	Seq      uint64 `json:"seq"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch"`
	MaxBytes int    `json:"max_bytes"`
}

// The largest number of messages, and of bytes, that are asked for at once.
const (
	maxGet      = 512
	maxGetBytes = 4 << 20
)

var errBehind = errors.New("the server does not have the newest messages yet")

// messages yields the messages of a stream from one sequence number to another, and
// after an error ends. While some are processed, the next are requested.
func (l *Log) messages(ctx context.Context, stream string, from, to uint64) iter.Seq2[message, error] {
	return func(yield func(message, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		type result struct {
			list []message
			err  error
		}
		results := make(chan result)
		go func() {
			defer close(results)
			for next := from; next <= to; {
				var r result
				r.list, r.err = l.get(ctx, stream, getRequest{Seq: next, Batch: int(min(to-next+1, maxGet)),
					MaxBytes: maxGetBytes})
				select {
				case results <- r:
				case <-ctx.Done():
					return
				}
				if r.err != nil {
					return
				}
				next = r.list[len(r.list)-1].seq + 1
			}
		}()
		for r := range results {
			if r.err != nil {
				yield(message{}, r.err)
				return
			}
			for _, m := range r.list {
				if !yield(m, nil) {
					return
				}
			}
		}
		if err := ctx.Err(); err != nil {
			yield(message{}, err)
		}
	}
}

// get returns messages, at least one. Kind: Unavailable.
func (l *Log) get(ctx context.Context, stream string, r getRequest) (list []message, err error) {
	err = l.retry(ctx, "read log", func(ctx context.Context, js jetstream.JetStream) (err error) {
		if list, err = directGet(ctx, js, stream, r); err == nil && len(list) == 0 {
			err = errBehind
		}
		return err
	})
	return list, err
}

// directGet returns messages from any server of a stream, which may not have the
// newest yet.
func directGet(ctx context.Context, js jetstream.JetStream, stream string, r getRequest) (list []message, err error) {
	request, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	nc := js.Conn()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	if err := sub.SetPendingLimits(-1, -1); err != nil { // the request has limits
		return nil, err
	}
	if err := nc.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, request); err != nil {
		return nil, err
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		switch status := m.Header.Get("Status"); status {
		case "":
			seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("the server sent a message without a sequence number: %w", err)
			}
			list = append(list, message{seq, m.Data})
		case "204", "404": // the end, and none
			return list, nil
		case "503":
			return nil, nats.ErrNoResponders
		default:
			return nil, fmt.Errorf("the server answered %s %s", status, m.Header.Get("Description"))
		}
	}
}

// errNoMessage is the error of leaderGet if there is no such message.
var errNoMessage = errors.New("no message found")

// A leaderRequest asks the leader of a stream for a message (JetStream API,
// STREAM.MSG.GET).
type leaderRequest struct {
	LastFor string `json:"last_by_subj,omitempty"`
	NextFor string `json:"next_by_subj,omitempty"`
	Seq     uint64 `json:"seq,omitempty"`
}

func lastOn(subject string) leaderRequest { return leaderRequest{LastFor: subject} }

// A storedMessage is the answer to it.
type storedMessage struct {
	Seq  uint64 `json:"seq"`
	Data []byte `json:"data"`
}

// leaderGet returns a message from the leader of a stream, which has every message
// that was acknowledged.
func leaderGet(ctx context.Context, js jetstream.JetStream, stream string, r leaderRequest) (storedMessage, error) {
	request, err := json.Marshal(r)
	if err != nil {
		return storedMessage{}, err
	}
	reply, err := js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, request)
	if err != nil {
		return storedMessage{}, err
	}
	var answer struct {
		Message storedMessage       `json:"message"`
		Error   *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return storedMessage{}, fmt.Errorf("the server sent an invalid answer: %w", err)
	}
	switch e := answer.Error; {
	case e == nil:
		return answer.Message, nil
	case e.ErrorCode == jetstream.JSErrCodeMessageNotFound, e.ErrorCode == jetstream.JSErrCodeStreamNotFound:
		return storedMessage{}, errNoMessage
	default:
		return storedMessage{}, e
	}
}
