package sqlsnap

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	walSuffix   = "-wal"
	walHeader   = 32
	frameHeader = 24
	walMagic    = 0x377f0682 // the last bit is set if checksums are big-endian
	walVersion  = 3007000
)

// A log is the committed part of a write-ahead log.
type log struct {
	id       logID
	pageSize int64
	pages    uint32           // of the database after the last commit
	frames   map[uint32]int64 // offset of the last frame of each page
}

// A logID identifies one use of a log file: its two salts.
type logID [8]byte

var errRewritten = errors.New("the write-ahead log was rewritten while it was read")

// readLogHeader returns the ID and the page size of a log, and the checksum of its
// header, from which those of the frames continue. The page size is 0 if the file is
// not a log; SQLite ignores such a file.
func readLogHeader(wal *os.File) (id logID, pageSize int64, s sums) {
	var h [walHeader]byte
	if n, _ := wal.ReadAt(h[:], 0); n < len(h) {
		return id, 0, s
	}
	magic := binary.BigEndian.Uint32(h[0:])
	size := binary.BigEndian.Uint32(h[8:])
	if magic&^1 != walMagic || binary.BigEndian.Uint32(h[4:]) != walVersion || size < 512 || size > 65536 ||
		size&(size-1) != 0 {
		return id, 0, s
	}
	s.order = binary.LittleEndian
	if magic&1 == 1 {
		s.order = binary.BigEndian
	}
	s.add(h[:24])
	if !s.match(h[24:]) {
		return id, 0, s
	}
	copy(id[:], h[16:24])
	return id, int64(size), s
}

// readLog returns the pages in the committed part of a log, nil if there are none.
// Frames of an earlier use of the file are ignored.
func readLog(wal *os.File) (*log, error) {
	id, pageSize, s := readLogHeader(wal)
	if pageSize == 0 {
		return nil, nil
	}
	l := &log{id: id, pageSize: pageSize, frames: map[uint32]int64{}}
	r := bufio.NewReaderSize(io.NewSectionReader(wal, walHeader, 1<<62), 256<<10)
	frame := make([]byte, frameHeader+pageSize)
	open := map[uint32]int64{}
	for at := int64(walHeader); ; at += int64(len(frame)) {
		if _, err := io.ReadFull(r, frame); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			return nil, err
		}
		s.add(frame[:8])
		s.add(frame[frameHeader:])
		page := binary.BigEndian.Uint32(frame)
		if page == 0 || !bytes.Equal(frame[8:16], id[:]) || !s.match(frame[16:24]) {
			break
		}
		open[page] = at
		if pages := binary.BigEndian.Uint32(frame[4:]); pages > 0 {
			for p, at := range open {
				l.frames[p] = at
			}
			clear(open)
			l.pages = pages
		}
	}
	if l.pages == 0 {
		return nil, nil
	}
	return l, nil
}

// read reads a part of the page in the frame at offset at. The error is
// errRewritten if the frame is of a later use of the file.
func (l *log) read(wal *os.File, p []byte, page uint32, at, skip int64) (int, error) {
	n, err := wal.ReadAt(p, at+frameHeader+skip)
	if err != nil {
		return n, err
	}
	var h [frameHeader]byte
	if _, err := wal.ReadAt(h[:], at); err != nil {
		return 0, err
	}
	if binary.BigEndian.Uint32(h[:]) != page || !bytes.Equal(h[8:16], l.id[:]) {
		return 0, fmt.Errorf("page %d: %w", page, errRewritten)
	}
	return n, nil
}

// sums are the running checksums of a log.
type sums struct {
	order binary.ByteOrder
	a, b  uint32
}

func (s *sums) add(p []byte) {
	for ; len(p) >= 8; p = p[8:] {
		s.a += s.order.Uint32(p) + s.b
		s.b += s.order.Uint32(p[4:]) + s.a
	}
}

func (s *sums) match(p []byte) bool {
	return binary.BigEndian.Uint32(p) == s.a && binary.BigEndian.Uint32(p[4:]) == s.b
}
