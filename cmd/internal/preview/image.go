package preview

import (
	"encoding/base64"
	"html/template"
)

// image shows an image: from its URL, or as a part of the page.
func (p *Preview) image(s Source) error {
	src := s.URL
	switch {
	case p.Size > maxImage, src == "" && p.Size > maxEmbed:
		p.Notes = append(p.Notes, "too large to be shown")
		return nil
	case src == "":
		all, err := readAt(s.Body, 0, maxEmbed)
		if err != nil {
			return err
		}
		src = "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(all)
	}
	p.HTML = template.HTML(`<figure class="image"><img src="` + escape(src) + `" alt="` + escape(s.Name) +
		`" loading="lazy"></figure>` + "\n")
	return nil
}
