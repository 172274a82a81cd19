package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// compressFrom is the size in bytes from which a text is compressed.
const compressFrom = 1 << 10

var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return z
}}

// compressed returns a text in the format of gzip.
func compressed(text []byte) []byte {
	var b bytes.Buffer
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(&b)
	_, _ = z.Write(text) // a buffer does not fail
	_ = z.Close()
	return b.Bytes()
}

// acceptsGzip reports whether the client of a request reads the format of gzip.
func acceptsGzip(r *http.Request) bool {
	for _, one := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return strings.TrimSpace(quality) != "q=0"
		}
	}
	return false
}

// writeText answers with a text, or if the client accepts gzip, with what small returns: the
// text in that format.
func writeText(w http.ResponseWriter, r *http.Request, status int, text []byte, small func() []byte) {
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	if len(text) >= compressFrom && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		text = small()
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text)
	}
}
