package web

import (
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// Address returns the address of the same page with changes of its query: name=value sets a part,
// name sets one without a value, and -name removes one.
func Address(q url.Values, changes ...string) template.URL {
	next := url.Values{}
	maps.Copy(next, q)
	for _, c := range changes {
		if name, ok := strings.CutPrefix(c, "-"); ok {
			next.Del(name)
			continue
		}
		name, value, _ := strings.Cut(c, "=")
		next.Set(name, value)
	}
	return template.URL("?" + strings.TrimSuffix(strings.ReplaceAll(next.Encode()+"&", "=&", "&"), "&"))
}

// IsSplit reports whether an address asks for the two texts of a diff side by side.
func IsSplit(q url.Values) bool { return q.Get("view") == "split" }

// KeptView returns what the address of another page needs for the same view of a diff.
func KeptView(q url.Values) template.URL {
	if IsSplit(q) {
		return "?view=split"
	}
	return ""
}

// diffAddress returns the address of the same page with the changes since a revision, in the same view.
func diffAddress(q url.Values, revision string) template.URL {
	if IsSplit(q) {
		return Address(nil, "view=split", "diff="+revision)
	}
	return Address(nil, "diff="+revision)
}

// viewOf returns the parts of the query of a request that select how content is shown.
func viewOf(r *http.Request) url.Values {
	asked, q := r.URL.Query(), url.Values{}
	for _, name := range []string{"diff", "lines", "offset", "plain", "rendered", "view"} {
		if asked.Has(name) {
			q.Set(name, asked.Get(name))
		}
	}
	return q
}
