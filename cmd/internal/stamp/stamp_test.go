package stamp

import "testing"

func TestFind(t *testing.T) {
	const name = "agent-handoff release: "
	long := name + string(make([]byte, maxVersion)) + ";"
	for text, want := range map[string]string{"": "", "x": "", name: "", name + "v0.1.0": "", long: "",
		"x" + name + "v0.1.0-rc.1;" + name + "v2;": "v0.1.0-rc.1"} {
		if got := Find([]byte(text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
