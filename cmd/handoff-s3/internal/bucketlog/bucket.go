package bucketlog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// A bucket is the part of an object store under a prefix.
type bucket struct {
	core     minio.Core
	clock    *clock
	claim    claim // if this machine collects
	name     string
	prefix   string // "" or with a slash at its end
	location string // for errors
	timeout  time.Duration
}

// maxRetries is how often a request is sent that the store could not answer.
const maxRetries = 5

// newBucket returns the bucket at a location. It opens no connection.
func newBucket(o Options) (*bucket, error) {
	timeout := o.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	creds := credentials.NewStaticV4(o.AccessKey, o.SecretKey, "")
	if o.AccessKey == "" {
		// As the AWS tools: the environment, the profile, the role of the machine.
		creds = credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.EnvMinio{},
			&credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}}})
	}
	transport, err := newTransport(!o.Insecure, timeout)
	if err != nil {
		return nil, err
	}
	now := &clock{RoundTripper: transport}
	client, err := minio.New(o.Endpoint, &minio.Options{Creds: creds, Secure: !o.Insecure, Region: o.Region,
		MaxRetries: maxRetries, Transport: now})
	if err != nil {
		return nil, err
	}
	prefix := o.Prefix
	if prefix != "" {
		prefix += "/"
	}
	return &bucket{core: minio.Core{Client: client}, clock: now, name: o.Bucket, prefix: prefix,
		location: "s3://" + o.Bucket + "/" + o.Prefix, timeout: timeout}, nil
}

// errExists is the error of create for a key that exists, errMissing that of get
// for one that does not.
var (
	errExists  = errors.New("exists")
	errMissing = errors.New("does not exist")
)

// create creates an object, unless it exists. Errors: errExists; the context's;
// kind Unavailable, after which the object may exist.
func (b *bucket) create(ctx context.Context, key string, content []byte) (etag string, err error) {
	limited, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	o := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableMultipart: true}
	o.SetMatchETagExcept("*")
	info, err := b.core.Client.PutObject(limited, b.name, b.prefix+key, bytes.NewReader(content),
		int64(len(content)), o)
	switch r := minio.ToErrorResponse(err); {
	case err == nil:
		return info.ETag, nil
	case r.StatusCode == http.StatusPreconditionFailed, r.StatusCode == http.StatusConflict,
		r.Code == "PreconditionFailed":
		return "", errExists
	}
	return "", b.failure(ctx, "put object", key, err)
}

// get returns an object of at most limit bytes. Errors: errMissing; the context's;
// kinds Unavailable and Corrupt (it is larger).
func (b *bucket) get(ctx context.Context, key string, limit int64) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	r, err := b.open(limited, key)
	var content []byte
	if err == nil {
		content, err = io.ReadAll(io.LimitReader(r, limit+1))
		r.Close()
	}
	switch {
	case err == nil && int64(len(content)) > limit:
		return nil, damaged(b.prefix+key, fmt.Errorf("has more than %d bytes", limit))
	case err == nil, errors.Is(err, errMissing):
		return content, err
	}
	return nil, b.failure(ctx, "get object", key, err)
}

// open opens an object. Its error is errMissing or that of the library.
func (b *bucket) open(ctx context.Context, key string) (io.ReadCloser, error) {
	r, _, _, err := b.core.GetObject(ctx, b.name, b.prefix+key, minio.GetObjectOptions{})
	if isMissing(err) {
		err = errMissing
	}
	return r, err
}

// stat describes an object. Errors: errMissing; the context's; kind Unavailable.
func (b *bucket) stat(ctx context.Context, key string) (minio.ObjectInfo, error) {
	limited, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	info, err := b.core.Client.StatObject(limited, b.name, b.prefix+key, minio.StatObjectOptions{})
	if isMissing(err) {
		return info, errMissing
	}
	return info, b.failure(ctx, "stat object", key, err)
}

func isMissing(err error) bool {
	r := minio.ToErrorResponse(err)
	return r.Code == "NoSuchKey" || (r.StatusCode == http.StatusNotFound && r.Code != "NoSuchBucket")
}

// An object is an entry of a listing.
type object struct{ key, etag string }

// list calls each for the objects whose key is a prefix and a name without a slash,
// from the key after another, in order. Other keys are of logs under a longer prefix.
// The prefix "" lists all keys.
func (b *bucket) list(ctx context.Context, prefix, after string, each func(object) error) error {
	o := minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: prefix == ""}
	if after != "" {
		o.StartAfter = b.prefix + after
	}
	return b.objects(ctx, o, func(info minio.ObjectInfo) error {
		return each(object{info.Key[len(b.prefix):], info.ETag})
	})
}

// objects calls each for the objects of a listing, in order.
func (b *bucket) objects(ctx context.Context, o minio.ListObjectsOptions, each func(minio.ObjectInfo) error) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(b.timeout, func() { cancel(context.DeadlineExceeded) })
	defer quiet.Stop()
	for info := range b.core.Client.ListObjects(limited, b.name, o) {
		quiet.Reset(b.timeout)
		if info.Err != nil {
			return b.failure(ctx, "list objects", o.Prefix, cmp.Or(context.Cause(limited), info.Err))
		}
		if strings.HasSuffix(info.Key, "/") {
			continue
		}
		if err := each(info); err != nil {
			return err
		}
	}
	return b.failure(ctx, "list objects", o.Prefix, context.Cause(limited))
}

// failure returns an error of a request: the context's if it ended, otherwise one
// of kind Unavailable.
func (b *bucket) failure(ctx context.Context, op, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("no answer within %v", b.timeout)
	}
	hint := handoff.Advice("check the network and the endpoint, and try again")
	switch minio.ToErrorResponse(err).Code {
	case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
		hint = handoff.Hint{}.OrSet("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, " +
			"to credentials that may read, write and list this prefix")
	case "RequestTimeTooSkewed":
		hint = handoff.Advice("set the clock of this machine: the store refuses requests of another time")
	case "NoSuchBucket":
		return handoff.E("open log", b.location, handoff.NotFound,
			&remote.MissingError{Reason: "the bucket does not exist"},
			handoff.Advice("create the bucket, or name another one"))
	}
	return handoff.E(op, b.location+": "+key, handoff.Unavailable, err, hint)
}

func damaged(name string, err error) error {
	return handoff.E("read log", name, handoff.Corrupt, err,
		handoff.Advice("restore the object from a version or a copy of the bucket"))
}

// discard deletes objects that are no longer used. The credentials may not allow it.
func (b *bucket) discard(ctx context.Context, keys ...string) {
	limited, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	for _, key := range keys {
		_ = b.core.Client.RemoveObject(limited, b.name, b.prefix+key, minio.RemoveObjectOptions{})
	}
}
