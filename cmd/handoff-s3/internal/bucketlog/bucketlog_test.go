package bucketlog

import (
	"errors"
	"net/url"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/remote"
)

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		location, endpoint string // the second is that of the environment
		want               string // bucket, prefix and endpoint, or the error
	}{
		{"s3://bucket/team/log", "", "bucket team/log s3.amazonaws.com"},
		{"s3://bucket", "", "bucket  s3.amazonaws.com"},
		{"s3://bucket/team/", "http://localhost:9000", "bucket team localhost:9000"},
		{"s3://bucket/x?endpoint=https://example.com", "http://localhost:9000", "bucket x example.com"},
		{"s3://bucket/x?endpoint=ftp://example.com", "", "invalid endpoint"},
		{"s3://bucket/x?endpoint=https://u:p@example.com", "", "invalid endpoint"},
		{"s3://bucket/x?poll=-1s", "", "invalid setting poll"},
		{"s3://bucket/x?region=a&region=b", "", "invalid setting region"},
		{"s3://bucket/x?size=1", "", "invalid setting size"},
		{"s3:///x", "", "not a bucket and a prefix"},
		{"s3://key:secret@bucket/x", "", "not a bucket and a prefix"},
	} {
		u, err := url.Parse(tt.location)
		if err != nil {
			t.Fatal(err)
		}
		o, err := options(u, func(name string) string {
			if name == "AWS_ENDPOINT_URL" {
				return tt.endpoint
			}
			return ""
		})
		got := o.Bucket + " " + o.Prefix + " " + o.Endpoint
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || o.Insecure != (tt.want == "bucket team localhost:9000") {
			t.Errorf("options(%s) = %q, insecure %t, want %q", tt.location, got, o.Insecure, tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	h := header{Log: "00112233445566778899aabbccddeeff", Number: 3, First: 7}
	var batch []remote.Entry
	for range 3 {
		r := logtest.NewRecord("a.md")
		b, err := r.JSON()
		if err != nil {
			f.Fatal(err)
		}
		batch = append(batch, remote.Entry{Record: r, JSON: b})
	}
	content, err := encode(h, batch)
	if err != nil {
		f.Fatal(err)
	}
	got, records, err := decode(3, content)
	if err != nil || got.last() != 9 || len(records) != 3 || !slices.Equal(records[2], batch[2].JSON) {
		f.Fatalf("decode of what was encoded = %+v, %d records, %v", got, len(records), err)
	}
	f.Add(content)
	f.Add([]byte(`{"log":"00112233445566778899aabbccddeeff","number":3,"first":9223372036854775807,"sizes":[1,1]}` +
		"\nxy"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, records, err := decode(3, b)
		if err != nil && !errors.Is(err, handoff.Corrupt) || err == nil &&
			(len(records) != len(h.Sizes) || h.last() < h.First) {
			t.Errorf("decode = %+v, %d records, %v", h, len(records), err)
		}
	})
}
