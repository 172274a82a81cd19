package web

import (
	"html/template"
	"io/fs"
	"net/http"
	"time"
)

// A Look has what pages of another server of this program share with those of the viewer:
// style sheets, scripts, the parts of pages and the functions of templates.
type Look struct {
	assets assets
	now    func() time.Time
}

// NewLook returns a Look with the files of the folder assets of more file systems.
func NewLook(now func() time.Time, more ...fs.FS) Look {
	return Look{loadAssets(append([]fs.FS{assetFiles}, more...)...), now}
}

// Assets answers requests for the files below /assets/.
func (l Look) Assets() http.Handler { return l.assets }

// Parse returns the templates that a pattern selects, with the parts that pages share.
func (l Look) Parse(files fs.FS, pattern string) (*template.Template, error) {
	t, err := template.New("").Funcs(l.functions()).ParseFS(templateFiles, "templates/_*.html")
	if err != nil {
		return nil, err
	}
	return t.ParseFS(files, pattern)
}
