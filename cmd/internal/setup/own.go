package setup

import (
	_ "embed"
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// skillPath is where a program expects the skill in its directory.
const skillPath = "skills/agent-handoff/SKILL.md"

//go:embed files/SKILL.md
var skill string

//go:embed files/opencode.js
var opencodePlugin string

//go:embed files/pi.ts
var piExtension string

//go:embed files/cline.sh
var clineHook string

// versions has the digest of every released version of the files above, one per line:
// digest, name. TestVersions adds the present one.
//
//go:embed files/versions
var versions string

// marker is in every file that init writes as a whole. It explains to a reader where
// the file is from. It proves nothing: only a known digest does.
const marker = "agent-handoff init"

// script returns an extension that calls a program.
func script(template, program string) string {
	quoted, _ := json.Marshal(program) // a string can always be encoded
	return strings.Replace(template, `"@HANDOFF@"`, string(quoted), 1)
}

// shellScript returns a script of a shell that calls a program.
func shellScript(template, program string) string {
	return strings.Replace(template, `"@HANDOFF@"`, shellWord(program), 1)
}

// programLine is the line of an extension or a script that differs between machines.
var programLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(const program = )"(?:(?:[^"\\\n]|\\.)*/)?(?:agent-)?handoff"$` +
		`|^(program=)(?:(?:[\w./+:@%,=-]*/)?(?:agent-)?handoff|'(?:[^'\n]|'\\'')*/(?:agent-)?handoff')$`)
})

// versionDigest returns the digest under which a file is listed in versions.
func versionDigest(content []byte) string {
	return digest(programLine().ReplaceAll(content, []byte(`${1}${2}"@HANDOFF@"`)))
}

// isOurs reports whether a file is a version of a file of handoff that nobody has
// changed. Any other belongs to the user or another program, whatever its name.
func isOurs(content []byte) bool {
	return strings.Contains(versions, versionDigest(content)+" ")
}

// isOwnFile reports whether handoff writes a file as a whole.
func isOwnFile(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.File != "" })
}

// foreign returns why a file is not replaced by one of handoff, "" if it may be.
func foreign(content []byte) string {
	switch {
	case isOurs(content):
		return ""
	case strings.Contains(string(content), marker):
		return "was changed since handoff wrote it, or is of another version; move it away to get this version's"
	}
	return "is not a file of handoff; move it away to get handoff's"
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
