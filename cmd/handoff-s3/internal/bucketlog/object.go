package bucketlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/remote"
)

// A header is the first line of an object of the log. The bytes of its records
// follow.
type header struct {
	Log    string      `json:"log"`    // the ID of the log
	Number int64       `json:"number"` // of the object
	First  handoff.Seq `json:"first"`  // sequence number of its first record
	Sizes  []int       `json:"sizes"`  // of the records, in bytes
}

// last returns the sequence number of the last record.
func (h header) last() handoff.Seq { return h.First + handoff.Seq(len(h.Sizes)) - 1 }

// maxObject is the size of the largest object of the log, in bytes.
const maxObject = remote.MaxBatchBytes + handoff.MaxRecord + 1<<16

// maxSeq is the largest sequence number that is accepted.
const maxSeq = 1 << 52

// keyOf is the key of an object of the log.
func keyOf(number int64) string { return fmt.Sprintf("%s%012d", logPrefix, number) }

// encode returns the content of an object.
func encode(h header, batch []remote.Entry) ([]byte, error) {
	h.Sizes = nil
	for _, e := range batch {
		h.Sizes = append(h.Sizes, len(e.JSON))
	}
	b, err := handoff.EncodeJSON(h)
	if err != nil {
		return nil, err
	}
	b = append(b, '\n')
	for _, e := range batch {
		b = append(b, e.JSON...)
	}
	return b, nil
}

// decode returns the header of an object, and its records.
func decode(number int64, content []byte) (h header, records [][]byte, err error) {
	line, rest, found := bytes.Cut(content, []byte("\n"))
	if err := json.Unmarshal(line, &h); err != nil || !found {
		return h, nil, damaged(keyOf(number), errors.New("has no valid header"))
	}
	if h.Number != number || h.First < 1 || h.First > maxSeq || len(h.Sizes) == 0 || len(h.Sizes) > remote.MaxBatch ||
		!isID(h.Log) {
		return h, nil, damaged(keyOf(number), errors.New("is not the object with this number"))
	}
	for _, size := range h.Sizes {
		if size < 0 || size > len(rest) {
			return h, nil, damaged(keyOf(number), errors.New("is incomplete"))
		}
		records, rest = append(records, rest[:size:size]), rest[size:]
	}
	if len(rest) > 0 {
		return h, nil, damaged(keyOf(number), errors.New("has data after its last record"))
	}
	return h, records, nil
}

// isID reports whether s is the ID of a log, which names a directory.
func isID(s string) bool {
	return len(s) == 2*idSize && len(bytes.Trim([]byte(s), "0123456789abcdef")) == 0
}
