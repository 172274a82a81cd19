package setup

import _ "embed"

// skillPath is where a program expects the skill in its directory.
const skillPath = "skills/handoff/SKILL.md"

//go:embed files/SKILL.md
var skill string

//go:embed files/opencode.js
var opencodePlugin string

//go:embed files/pi.ts
var piExtension string
