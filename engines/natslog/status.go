package natslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/workspace/store"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Describe implements store.LogDescriber.
func (l *Log) Describe(ctx context.Context) ([]store.LogDetail, error) {
	info, err := l.info(ctx)
	if err != nil {
		return nil, err
	}
	var list []store.LogDetail
	var nc *nats.Conn
	err = l.retry(ctx, "read log", func(ctx context.Context, js jetstream.JetStream) error {
		nc = js.Conn()
		server := nc.ConnectedServerVersion()
		if name := nc.ConnectedClusterName(); name != "" {
			server += ", cluster " + name
		}
		list = []store.LogDetail{{Name: "server", Value: server}}
		return nil
	})
	if err != nil || info == nil {
		return list, err
	}
	limit := "no limit"
	if info.Config.MaxBytes > 0 {
		limit = fmt.Sprintf("at most %d", info.Config.MaxBytes)
	}
	replicas := fmt.Sprint(info.Config.Replicas)
	if info.Config.Replicas < 3 {
		replicas += ", fewer than 3: the loss of one disk may lose records"
	}
	return append(list,
		store.LogDetail{Name: "stream", Value: info.Config.Name},
		store.LogDetail{Name: "storage", Value: strings.ToLower(info.Config.Storage.String())},
		store.LogDetail{Name: "bytes", Value: fmt.Sprintf("%d, %s", info.State.Bytes, limit)},
		store.LogDetail{Name: "replicas", Value: replicas},
		store.LogDetail{Name: "sync_interval", Value: l.syncInterval(ctx, nc)},
	), ctx.Err()
}

// systemWait is how long the answers of servers are collected.
const systemWait = 300 * time.Millisecond

// syncInterval returns how often the servers write to their disks, "always" if they
// do so before they acknowledge a record, and "unknown" if they do not say so: only
// the system account may ask, unless an administrator has exported the service.
func (l *Log) syncInterval(ctx context.Context, nc *nats.Conn) string {
	if l.o.System != nil {
		system, err := l.dial(l.o.System)
		if err != nil {
			return "unknown: the system account cannot be used: " + err.Error()
		}
		defer system.Close()
		nc = system
	}
	if values := syncIntervals(ctx, nc); len(values) > 0 {
		return strings.Join(values, ", ")
	}
	return "unknown"
}

// syncIntervals asks every server.
func syncIntervals(ctx context.Context, nc *nats.Conn) (values []string) {
	limited, cancel := context.WithTimeout(ctx, systemWait)
	defer cancel()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil
	}
	defer sub.Unsubscribe()
	if err := nc.PublishRequest("$SYS.REQ.SERVER.PING.VARZ", inbox, nil); err != nil {
		return nil
	}
	for {
		m, err := sub.NextMsgWithContext(limited)
		if err != nil || m.Header.Get("Status") == "503" { // nobody answers
			return values
		}
		if value, err := syncInterval(m.Data); err == nil && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
}

// syncInterval returns the setting in a server's answer to VARZ.
func syncInterval(answer []byte) (string, error) {
	var a struct {
		Data struct {
			JetStream struct {
				Config *struct {
					Interval time.Duration `json:"sync_interval"`
					Always   bool          `json:"sync_always"`
				} `json:"config"`
			} `json:"jetstream"`
		} `json:"data"`
	}
	err := json.Unmarshal(answer, &a)
	switch c := a.Data.JetStream.Config; {
	case err != nil:
		return "", err
	case c == nil:
		return "", errors.New("has no JetStream")
	case c.Always:
		return "always", nil
	default:
		return c.Interval.String(), nil
	}
}
