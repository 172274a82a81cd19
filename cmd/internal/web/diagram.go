package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// diagramPolicy is the policy of the frame that draws a diagram. The library
// writes styles, which pages do not permit, so it runs in a document of its own:
// without an origin, without access to the page, and without connections. Only the
// two scripts with these digests run.
const diagramPolicy = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s' " +
	"'sha256-%s'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"

// A diagram answers with the document of the frame. Its scripts are inline, because
// a document without an origin may not load them.
type diagram struct {
	once     sync.Once
	policy   string
	document []byte
	err      error
}

func (d *diagram) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.once.Do(d.load); d.err != nil {
		http.Error(w, d.err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", d.policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "private, max-age=3600")
	_, _ = w.Write(d.document)
}

func (d *diagram) load() {
	packed, err := assetFiles.Open("assets/vendor/mermaid.tiny.js.gz")
	if err != nil {
		d.err = err
		return
	}
	defer packed.Close()
	unpack, err := gzip.NewReader(packed)
	if err != nil {
		d.err = err
		return
	}
	library, err := io.ReadAll(unpack)
	if err != nil {
		d.err = err
		return
	}
	library = bytes.ReplaceAll(library, []byte("</script"), []byte(`<\/script`))
	own, err := assetFiles.ReadFile("assets/diagram.js")
	if d.err = err; err != nil {
		return
	}
	d.policy = fmt.Sprintf(diagramPolicy, digest(library), digest(own))
	d.document = fmt.Appendf(nil, "<!doctype html><html lang=\"en\"><meta "+
		"charset=\"utf-8\"><title>Diagram</title><body><script>%s</script><script>%s</script></html>", library, own)
}

// digest returns the digest of a script or style as a policy has it.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return base64.StdEncoding.EncodeToString(sum[:])
}
