package browser

import (
	"testing"
)

func TestShots(t *testing.T) {
	w := newWorkspace(t, "")
	s := fill(w)
	base, link := w.serve()
	b := newTab(t, browser(t), base)
	b.open(link[len(base):])
	for name, path := range s.pages() {
		for _, width := range []int{380, 800, 1440} {
			for _, dark := range []bool{false, true} {
				b.look(width, dark)
				b.open(path)
				suffix := "light"
				if dark {
					suffix = "dark"
				}
				b.shoot(name + "-" + itoa(width) + "-" + suffix)
			}
		}
		b.clean(path)
	}
}
