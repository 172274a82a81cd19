package natslog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Append implements handoff.Log. A record with the ID of one that is stored is
// refused with kind Conflict, unless it is the same.
func (l *Log) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	b, err := r.JSON()
	if err == nil {
		err = l.create(ctx)
	}
	if err != nil {
		return 0, err
	}
	return l.writeBatch(ctx, []remote.Entry{{Record: r, JSON: b}})
}

// message returns the message of a record.
func (l *Log) message(r handoff.Record, content []byte) *nats.Msg {
	m := nats.NewMsg(l.subject(r))
	m.Data = content
	m.Header.Set(jetstream.ExpectedStreamHeader, l.stream())
	m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, "0")
	return m
}

// codeInProgress is the error code of a message whose subject another message is
// just being stored on, or of a batch with such a message.
const codeInProgress = 10164

// isStored reports whether a message was refused because its subject has one.
func isStored(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == codeInProgress)
}

// stored returns the sequence number of a record that was refused because its
// subject has a message: the reply to an earlier try may have been lost. Kind:
// Conflict (another record has this ID).
func (l *Log) stored(ctx context.Context, js jetstream.JetStream, m *nats.Msg) (handoff.Seq, error) {
	found, err := leaderGet(ctx, js, l.stream(), lastOn(m.Subject))
	switch {
	case err != nil:
		return 0, err
	case !bytes.Equal(found.Data, m.Data):
		return 0, l.failure("append", handoff.Conflict,
			fmt.Errorf("record %d has the same ID and other content", found.Seq), "append a new record")
	}
	return handoff.Seq(found.Seq), nil
}

// AppendAll implements handoff.BatchAppender.
func (l *Log) AppendAll(ctx context.Context, records []handoff.Record) (handoff.Seq, error) {
	if err := l.create(ctx); err != nil {
		return 0, err
	}
	return l.batch.AppendAll(ctx, records)
}

// writeBatch appends records that the stream stores at once, all or none, and
// returns the sequence number of the first.
func (l *Log) writeBatch(ctx context.Context, batch []remote.Entry) (first handoff.Seq, err error) {
	list := make([]*nats.Msg, len(batch))
	for i, e := range batch {
		list[i] = l.message(e.Record, e.JSON)
	}
	err = l.retry(ctx, "append", func(ctx context.Context, js jetstream.JetStream) error {
		seq, err := l.publishBatch(ctx, js, list)
		if isStored(err) {
			seq, err = l.storedBatch(ctx, js, list, err)
		}
		first = seq
		return err
	})
	if err == nil {
		l.found(first + handoff.Seq(len(list)) - 1)
	}
	return first, err
}

// storedBatch returns the sequence number of the first record of a batch that was
// refused: the reply to an earlier try may have been lost. Kind: Conflict (only some
// of its records are stored).
func (l *Log) storedBatch(ctx context.Context, js jetstream.JetStream, list []*nats.Msg, refused error) (handoff.Seq,
	error) {
	var api *jetstream.APIError
	inProgress := errors.As(refused, &api) && api.ErrorCode == codeInProgress
	first, err := l.stored(ctx, js, list[0])
	var end handoff.Seq
	if err == nil {
		end, err = l.stored(ctx, js, list[len(list)-1])
	}
	if (errors.Is(err, errNoMessage) && inProgress) || (err != nil && !errors.Is(err, errNoMessage)) {
		return 0, err
	}
	if err != nil || end != first+handoff.Seq(len(list))-1 {
		return 0, l.failure("append", handoff.Conflict, errors.New("some of these records are stored already"),
			"append only new records")
	}
	return first, nil
}

// publishBatch sends messages as one batch and returns the sequence number of the
// first.
func (l *Log) publishBatch(ctx context.Context, js jetstream.JetStream, list []*nats.Msg) (handoff.Seq, error) {
	id, err := l.randomName()
	if err != nil {
		return 0, err
	}
	for i, m := range list {
		m.Header.Set("Nats-Batch-Id", id)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		if i < len(list)-1 {
			if err := js.Conn().PublishMsg(m); err != nil {
				return 0, err
			}
			continue
		}
		m.Header.Set("Nats-Batch-Commit", "1")
	}
	ack, err := js.PublishMsg(ctx, list[len(list)-1], jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, err
	}
	return handoff.Seq(ack.Sequence) - handoff.Seq(len(list)) + 1, nil
}

// randomName returns a new name.
func (l *Log) randomName() (string, error) {
	var b [16]byte
	_, err := io.ReadFull(l.o.Rand, b[:])
	return fmt.Sprintf("%x", b), err
}
