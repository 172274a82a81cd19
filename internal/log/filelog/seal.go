package filelog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"

	"github.com/agent-handoff/handoff"
)

// A record's file ends with a checksum of all bytes before it, as the last
// field of the record's object, so that any flipped bit shows:
//
//	{"version":1,…,"crc32c":"e3069283"}
//
// The checksum belongs to the file, not to the record: a reader of the log gets
// the bytes that were appended.
const (
	sealBegins = `,"crc32c":"`
	sealEnds   = `"}`
	sealSize   = len(sealBegins) + 8 + len(sealEnds)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealed returns a record's bytes with their checksum.
func sealed(b []byte) []byte {
	end := bytes.LastIndexByte(b, '}')
	if end < 0 {
		return b // not a record; readers report that
	}
	file := make([]byte, 0, len(b)+sealSize)
	file = append(file, b[:end]...)
	file = appendSeal(file, b[:end])
	return append(file, b[end+1:]...)
}

func appendSeal(to, b []byte) []byte {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(b, castagnoli))
	to = append(to, sealBegins...)
	to = hex.AppendEncode(to, sum[:])
	return append(to, sealEnds...)
}

var errBroken = errors.New("checksum mismatch")

// unsealed returns the record's bytes without the checksum, and whether there was
// one. It changes b. Its error is errBroken.
func unsealed(b []byte) (record []byte, was bool, err error) {
	end := bytes.LastIndexByte(b, '}') + 1
	begin := end - sealSize
	if begin < 0 || string(b[begin:begin+len(sealBegins)]) != sealBegins {
		return b, false, nil
	}
	var seal [sealSize]byte
	if !bytes.Equal(b[begin:end], appendSeal(seal[:0], b[:begin])) {
		return b, true, errBroken
	}
	b[begin] = '}'
	return append(b[:begin+1], b[end:]...), true, nil
}

// stored returns the record in a file of the log, and whether the file has a
// checksum.
func stored(n handoff.Seq, file []byte) (handoff.Record, bool) {
	b, was, err := unsealed(file)
	if err == nil {
		return handoff.StoredRecord(n, b), was
	}
	r := handoff.StoredRecord(n, nil)
	r.Fact = &handoff.Damaged{Err: err}
	return r, was
}
