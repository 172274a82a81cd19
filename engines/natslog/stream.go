package natslog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/nats-io/nats.go/jetstream"
)

// idKey is the entry of a stream's metadata that has the ID of the log.
const idKey = "handoff-log"

func (l *Log) stream() string      { return "HANDOFF_" + l.o.Name }
func (l *Log) bucket() string      { return "handoff-" + l.o.Name }
func (l *Log) bodyStream() string  { return "OBJ_" + l.bucket() }
func (l *Log) hintSubject() string { return "handoff-new." + l.o.Name + ".>" }

// subject returns the subject of a record: its type, its channel or a dash, and its
// ID.
func (l *Log) subject(r handoff.Record) string {
	channel := "-"
	if f, ok := r.Fact.(*handoff.ArtifactPublished); ok {
		channel = f.Channel
	}
	return "handoff." + l.o.Name + "." + token(r.Type) + "." + token(channel) + "." + token(r.ID)
}

// maxToken is the length of the longest text that is part of a subject as it is.
const maxToken = 200

// token returns text as one part of a subject. Different texts have different
// tokens.
func token(text string) string {
	if text == "" {
		return "=" // no other text has this token
	}
	if len(text) > maxToken {
		sum := sha256.Sum256([]byte(text))
		return "=sha256-" + hex.EncodeToString(sum[:])
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	return b.String()
}

// config returns the settings of the stream of records.
func (l *Log) config(replicas int, id string) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: l.stream(), Description: "records of handoff", Subjects: []string{"handoff." + l.o.Name + ".>"},
		Storage: jetstream.FileStorage, Replicas: replicas, Discard: jetstream.DiscardNew, MaxBytes: -1,
		DenyDelete: true, DenyPurge: true, AllowDirect: true, AllowAtomicPublish: true,
		RePublish: &jetstream.RePublish{Source: ">", Destination: l.hintSubject(), HeadersOnly: true},
		Metadata:  map[string]string{idKey: id},
	}
	if l.o.Memory {
		c.Storage = jetstream.MemoryStorage
	}
	if l.o.MaxBytes > 0 {
		c.MaxBytes = l.o.MaxBytes
	}
	return c
}

// usable returns an error if a stream that exists can lose or change records, or
// can't be read. Kind: Unsupported.
func (l *Log) usable(c jetstream.StreamConfig) error {
	var reason string
	switch want := l.config(1, ""); {
	case !slices.Equal(c.Subjects, want.Subjects):
		reason = "its subjects are not " + want.Subjects[0]
	case c.Retention != jetstream.LimitsPolicy, c.MaxAge != 0, c.AllowMsgTTL, c.Discard != jetstream.DiscardNew:
		reason = "it removes old messages; it must have no limit on age and refuse new messages " +
			"when it is full (discard new)"
	case c.Mirror != nil, len(c.Sources) > 0, c.SubjectTransform != nil, c.NoAck, c.Sealed:
		reason = "it is a mirror, transforms subjects, is sealed or does not acknowledge messages"
	case !c.DenyDelete, !c.DenyPurge:
		reason = "it allows messages to be deleted (deny_delete and deny_purge must be set)"
	case !c.AllowDirect, !c.AllowAtomicPublish:
		reason = "allow_direct and allow_atomic must be set"
	default:
		return nil
	}
	return l.failure("open log", handoff.Unsupported,
		fmt.Errorf("stream %s has other settings: %s", l.stream(), reason),
		"change the settings of the stream, or use another name, for which a stream is created")
}

// create creates the stream of records, unless it exists. Kinds: those of retry.
func (l *Log) create(ctx context.Context) error {
	if l.isChecked(l.stream()) {
		return nil
	}
	if info, err := l.info(ctx); err != nil || info != nil {
		l.setChecked(l.stream(), err == nil)
		return err
	}
	var id [16]byte
	if _, err := io.ReadFull(l.o.Rand, id[:]); err != nil {
		return err
	}
	created, replicas := false, 0
	err := l.retry(ctx, "create log", func(ctx context.Context, js jetstream.JetStream) error {
		replicas = l.replicas()
		_, err := js.CreateStream(ctx, l.config(replicas, hex.EncodeToString(id[:])))
		created = err == nil
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another machine was faster
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if l.o.Warn != nil && created && replicas < 3 {
		l.o.Warn(fmt.Sprintf("the log on NATS was created with %s: if that server loses its disk, the records are "+
			"lost (add replicas=3 to the location of a log in a cluster)", copies(replicas)))
	}
	if l.o.Warn != nil && created && l.o.Memory {
		l.o.Warn("the log on NATS was created in memory: a restart of the servers loses the records")
	}
	_, err = l.info(ctx)
	l.setChecked(l.stream(), err == nil)
	return err
}

func copies(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

// createBucket creates the object store of the bodies, unless it exists.
func (l *Log) createBucket(ctx context.Context) error {
	if l.isChecked(l.bodyStream()) {
		return nil
	}
	err := l.retry(ctx, "create body store", func(ctx context.Context, js jetstream.JetStream) error {
		c := jetstream.ObjectStoreConfig{Bucket: l.bucket(), Description: "bodies of handoff",
			MaxBytes: l.o.MaxBodyBytes, Replicas: l.replicas()}
		if l.o.Memory {
			c.Storage = jetstream.MemoryStorage
		}
		_, err := js.ObjectStore(ctx, l.bucket())
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			_, err = js.CreateObjectStore(ctx, c)
		}
		if errors.Is(err, jetstream.ErrBucketExists) {
			err = nil
		}
		return err
	})
	l.setChecked(l.bodyStream(), err == nil)
	return err
}

func (l *Log) isChecked(stream string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.checked[stream]
}

func (l *Log) setChecked(stream string, checked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checked[stream] = checked
}

// replicas returns the number of replicas of a stream that is created.
func (l *Log) replicas() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.o.Replicas > 0:
		return l.o.Replicas
	case l.nc != nil && l.nc.ConnectedClusterName() != "":
		return 3
	}
	return 1
}

// lease is how long ago a leader may have heard from another server to be sure that
// those have not elected a new leader: less than the time after which they do.
const lease = 3 * time.Second

var errNoQuorum = errors.New("the leader of the stream has no connection to the majority of its servers")

// hasQuorum reports whether a leader has just heard from the majority of the servers
// of a stream. A leader that was cut off answers with what it knows until it notices,
// and another one may have newer records.
func hasQuorum(c *jetstream.ClusterInfo) bool {
	if c == nil || len(c.Replicas) == 0 {
		return true
	}
	active := 1
	for _, r := range c.Replicas {
		if !r.Offline && r.Active < lease {
			active++
		}
	}
	return active > (1+len(c.Replicas))/2
}
