package bucketlog

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/storage"
)

// Backend opens logs in S3-compatible object stores: s3://bucket/prefix. The query
// can have endpoint, a URL, region, and the durations poll and timeout. Credentials,
// endpoint and region are otherwise taken from the variables of the AWS tools.
var Backend = storage.Backend{Scheme: "s3", Open: open, Remote: true, Settings: []string{"region", "poll", "timeout"}}

// defaultPoll is how long records of other machines may stay unseen.
const defaultPoll = time.Second

func open(b storage.BackendOptions) (handoff.Log, handoff.Bodies, error) {
	o, err := options(b.Location, b.Getenv)
	var l *Log
	if err == nil {
		o.Runtime, o.Rand = b.Runtime, b.Rand
		l, err = Open(o)
	}
	if err != nil {
		return nil, nil, handoff.E("open log", "s3://"+b.Location.Host+b.Location.Path, handoff.Invalid, err,
			handoff.Advice("use s3://bucket/prefix, with endpoint=URL in the query for a store other than AWS"))
	}
	return l, l.Bodies(), nil
}

// options returns the options that a location and the environment state.
func options(location *url.URL, getenv func(string) string) (o Options, err error) {
	o = Options{Bucket: location.Host, Prefix: strings.Trim(location.Path, "/"), Poll: defaultPoll,
		Region: cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"))}
	endpoint := cmp.Or(getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
	if o.Bucket == "" || location.User != nil || location.Fragment != "" {
		return o, errors.New("not a bucket and a prefix")
	}
	for key, values := range location.Query() {
		switch value := values[0]; key {
		case "endpoint":
			endpoint = value
		case "region":
			o.Region = value
		case "poll":
			o.Poll, err = time.ParseDuration(value)
		case "timeout":
			o.Timeout, err = time.ParseDuration(value)
		default:
			err = errors.New("is not a setting")
		}
		if len(values) > 1 {
			err = errors.New("is repeated")
		}
		if err != nil || o.Poll < 0 || o.Timeout < 0 {
			return o, fmt.Errorf("invalid setting %s", key)
		}
	}
	e, err := url.Parse(endpoint)
	if err != nil || e.Host == "" || (e.Scheme != "https" && e.Scheme != "http") || e.User != nil ||
		strings.Trim(e.Path, "/") != "" {
		return o, errors.New("invalid endpoint")
	}
	o.Endpoint, o.Insecure = e.Host, e.Scheme == "http"
	return o, nil
}

// fileName is the name under which the state of a log is stored on this machine.
func fileName(endpoint, location string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(endpoint+"\x00"+location)))[:32]
}
