package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vendorLimit is how many bytes the libraries may have that any page loads; the one
// for diagrams is loaded where a document has one.
const vendorLimit = 350_000

// TestVendor compares the libraries with their manifest, which .ci/vendor.mjs writes.
func TestVendor(t *testing.T) {
	dir := filepath.Join("assets", "vendor")
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Libraries []struct {
			Name, Version, Licence string
			Files                  []struct {
				Source, File, SHA256 string
				Bytes                int
			}
		}
	}
	if err := json.Unmarshal(b, &manifest); err != nil {
		t.Fatal(err)
	}
	licences, err := os.ReadFile(filepath.Join(dir, "licences.txt"))
	if err != nil {
		t.Fatal(err)
	}
	listed, total := map[string]bool{"manifest.json": true, "licences.txt": true}, 0
	for _, lib := range manifest.Libraries {
		if !strings.Contains(string(licences), lib.Name+" "+lib.Version+" ("+lib.Licence+")") || lib.Licence == "" {
			t.Errorf("licences.txt does not have %s %s (%s)", lib.Name, lib.Version, lib.Licence)
		}
		for _, file := range lib.Files {
			listed[file.File] = true
			content, err := os.ReadFile(filepath.Join(dir, file.File))
			if err != nil {
				t.Error(err)
				continue
			}
			sum := sha256.Sum256(content)
			if got := hex.EncodeToString(sum[:]); got != file.SHA256 || len(content) != file.Bytes {
				t.Errorf("%s: got %d bytes with digest %s, want %d with %s", file.File, len(content), got, file.Bytes, file.SHA256)
			}
			if lib.Name != "@mermaid-js/tiny" {
				total += len(content)
			}
		}
	}
	if total > vendorLimit {
		t.Errorf("the libraries have %d bytes, want at most %d", total, vendorLimit)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !listed[file.Name()] {
			t.Errorf("%s is not in the manifest", file.Name())
		}
	}
}

// Each vendored script is used by a page, a template or the frame of diagrams.
func TestVendorIsUsed(t *testing.T) {
	var text strings.Builder
	for _, pattern := range []string{"*.go", "templates/*.html"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, "_test.go") {
				text.Write(b)
			}
		}
	}
	for name := range loadAssets(assetFiles) {
		if strings.HasPrefix(name, "vendor/") && (strings.HasSuffix(name, ".js") || strings.HasSuffix(name, ".gz")) &&
			!strings.Contains(text.String(), name) {
			t.Errorf("no page uses %s", name)
		}
	}
}
