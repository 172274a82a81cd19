package natslog

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/agent-handoff/handoff"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// bodies are the bodies in an object store, in the format of NATS: the chunks of an
// object are messages on one subject, and its description is the last message on
// another. Each is sent and asked for by itself, so that one that is lost is
// repeated and only few are in memory.
type bodies struct{ l *Log }

// chunkSize is the size of the messages that a body is stored in.
const chunkSize = 512 << 10

func (s bodies) chunkSubject(object string) string { return "$O." + s.l.bucket() + ".C." + object }

func (s bodies) infoSubject(d handoff.Digest) string {
	return "$O." + s.l.bucket() + ".M." + base64.URLEncoding.EncodeToString([]byte(d.Value))
}

// Put implements remote.Store. A body that is stored with this size is not sent
// again.
func (s bodies) Put(ctx context.Context, d handoff.Digest, size int64, r io.ReadSeeker) error {
	if err := s.l.createBucket(ctx); err != nil {
		return err
	}
	stored, err := s.info(ctx, d)
	if (err == nil && stored.Size == uint64(size)) || (err != nil && !errors.Is(err, handoff.NotFound)) {
		return err
	}
	sum, err := hex.DecodeString(d.Value)
	if err != nil {
		return err
	}
	name, err := s.l.randomName()
	if err != nil {
		return err
	}
	info := jetstream.ObjectInfo{ObjectMeta: jetstream.ObjectMeta{
		Name: d.Value, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}},
		Bucket: s.l.bucket(), NUID: name, Size: uint64(size),
		Digest: "SHA-256=" + base64.URLEncoding.EncodeToString(sum)}
	for buffer := make([]byte, chunkSize); ; info.Chunks++ {
		n, err := io.ReadFull(r, buffer)
		if n > 0 {
			m := nats.NewMsg(s.chunkSubject(name))
			m.Data = buffer[:n]
			m.Header.Set(jetstream.MsgIDHeader, name+"-"+strconv.Itoa(int(info.Chunks)))
			if err := s.publish(ctx, m); err != nil {
				return err
			}
		}
		if n < len(buffer) {
			if err == io.ErrUnexpectedEOF && n > 0 {
				info.Chunks++
			} else if err != io.EOF {
				return err
			}
			break
		}
	}
	m := nats.NewMsg(s.infoSubject(d))
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	if m.Data, err = json.Marshal(info); err != nil {
		return err
	}
	return s.publish(ctx, m)
}

// publish stores a message of the object store. The server stores one that is sent
// again only once.
func (s bodies) publish(ctx context.Context, m *nats.Msg) error {
	m.Header.Set(jetstream.ExpectedStreamHeader, s.l.bodyStream())
	return s.l.retry(ctx, "put body", func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
		return err
	})
}

// info returns the description of a body. Kinds: NotFound, Corrupt, Unavailable.
func (s bodies) info(ctx context.Context, d handoff.Digest) (info jetstream.ObjectInfo, err error) {
	missing := false
	var m storedMessage
	err = s.l.retry(ctx, "read body", func(ctx context.Context, js jetstream.JetStream) error {
		var err error
		m, err = leaderGet(ctx, js, s.l.bodyStream(), lastOn(s.infoSubject(d)))
		if missing = errors.Is(err, errNoMessage); missing {
			return nil
		}
		return err
	})
	switch {
	case err != nil:
		return info, err
	case !missing:
		if err := json.Unmarshal(m.Data, &info); err != nil || (len(info.NUID) == 0 && !info.Deleted) {
			return info, s.damaged(d, "has no valid description")
		}
	}
	if missing || info.Deleted {
		return info, handoff.E("read body", d.Value, handoff.NotFound, errors.New("not stored"))
	}
	return info, nil
}

func (s bodies) damaged(d handoff.Digest, reason string) error {
	return handoff.E("read body", d.Value, handoff.Corrupt, errors.New("the remote copy "+reason),
		handoff.Advice("publish it again on the machine that has the file"))
}

// Has implements remote.Store.
func (s bodies) Has(ctx context.Context, d handoff.Digest) (bool, error) {
	_, err := s.info(ctx, d)
	if errors.Is(err, handoff.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// Open implements remote.Store.
func (s bodies) Open(ctx context.Context, d handoff.Digest) (io.ReadCloser, error) {
	info, err := s.info(ctx, d)
	if err != nil {
		return nil, err
	}
	return &chunks{ctx: ctx, s: s, digest: d, subject: s.chunkSubject(token(info.NUID)), left: info.Chunks,
		next: 1}, nil
}

// chunks reads the chunks of a body in order.
type chunks struct {
	ctx     context.Context
	s       bodies
	digest  handoff.Digest
	subject string
	left    uint32
	next    uint64 // the sequence number from which the next one is
	buffer  []byte
}

// Read implements io.Reader.
func (c *chunks) Read(p []byte) (int, error) {
	for len(c.buffer) == 0 {
		if c.left == 0 {
			return 0, io.EOF
		}
		m, err := c.chunk()
		if errors.Is(err, errNoMessage) {
			err = c.s.damaged(c.digest, fmt.Sprintf("lacks %d of its chunks", c.left))
		}
		if err != nil {
			return 0, err
		}
		c.buffer, c.next = m.data, m.seq+1
		c.left--
	}
	n := copy(p, c.buffer)
	c.buffer = c.buffer[n:]
	return n, nil
}

// chunk returns the next chunk, or errNoMessage.
func (c *chunks) chunk() (m message, err error) {
	missing := false
	err = c.s.l.retry(c.ctx, "read body", func(ctx context.Context, js jetstream.JetStream) error {
		stream := c.s.l.bodyStream()
		list, err := directGet(ctx, js, stream, getRequest{Seq: c.next, NextFor: c.subject, Batch: 1,
			MaxBytes: maxGetBytes})
		if err != nil || len(list) > 0 {
			m = append(list, message{})[0]
			return err
		}
		stored, err := leaderGet(ctx, js, stream, leaderRequest{Seq: c.next, NextFor: c.subject})
		m = message{stored.Seq, stored.Data}
		if missing = errors.Is(err, errNoMessage); missing {
			return nil
		}
		return err
	})
	if err == nil && missing {
		err = errNoMessage
	}
	return m, err
}

// Close implements io.Closer.
func (c *chunks) Close() error { return nil }

// Erase implements handoff.BodyEraser: it removes the chunks of a body, and then its
// description.
func (s bodies) Erase(ctx context.Context, d handoff.Digest) error {
	info, err := s.info(ctx, d)
	if errors.Is(err, handoff.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, subject := range []string{s.chunkSubject(token(info.NUID)), s.infoSubject(d)} {
		err := s.l.retry(ctx, "redact body", func(ctx context.Context, js jetstream.JetStream) error {
			stream, err := js.Stream(ctx, s.l.bodyStream())
			if err != nil {
				return err
			}
			return stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
