package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed assets
var assetFiles embed.FS

// assets are the static files, by their path in assets/.
type assets map[string]asset

type asset struct {
	content []byte
	small   func() []byte // the content in the format of gzip
	digest  string        // the beginning of its digest, which its URL has
}

// loadAssets returns the files of the folder assets of several file systems.
func loadAssets(all ...fs.FS) assets {
	list := assets{}
	for _, files := range all {
		list.add(files)
	}
	return list
}

func (a assets) add(files fs.FS) {
	_ = fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, name)
		if err == nil {
			sum := sha256.Sum256(b)
			a[strings.TrimPrefix(name, "assets/")] = asset{b, sync.OnceValue(func() []byte { return compressed(b) }),
				hex.EncodeToString(sum[:6])}
		}
		return err
	})
}

// url returns the URL of a file, which changes with its content.
func (a assets) url(name string) string { return "/assets/" + name + "?v=" + a[name].digest }

// assetTypes are the types of the static files that are served.
var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".html": "text/html; charset=utf-8",
	".svg": "image/svg+xml",
}

// ServeHTTP answers with a file. A browser keeps it for as long as it likes.
func (a assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/assets/")
	file, ok := a[name]
	kind := assetTypes[path.Ext(name)]
	if !ok || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	if r.URL.Query().Get("v") == file.digest {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	writeText(w, r, http.StatusOK, file.content, file.small)
}
