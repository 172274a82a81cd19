package program

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// attestedCommand is an attestation as the test made it.
type attestedCommand struct {
	id            string
	command, tree int
	failed        bool
	withdrawn     bool
}

// markOf returns the code that a claim about commands on a tree must have. It shares nothing
// with the program: the weakest of the commands decides, and of each the newest attestation
// on the tree, or else on another one.
func markOf(attested []attestedCommand, tree int, commands []int) string {
	order := []string{"verified", "claim_stale", "asserted", "contradicted"}
	worst := -1
	for _, c := range commands {
		mark, onTree := "asserted", false
		for _, a := range attested { // the last one counts
			if a.command != c || a.withdrawn && !a.failed || onTree && a.tree != tree {
				continue
			}
			onTree = a.tree == tree
			switch {
			case onTree && a.failed:
				mark = "contradicted"
			case onTree:
				mark = "verified"
			case a.failed:
				mark = "asserted"
			default:
				mark = "claim_stale"
			}
		}
		worst = max(worst, slices.Index(order, mark))
	}
	if worst < 0 {
		return "asserted"
	}
	return order[worst]
}

// TestClaimsOnEverySurface publishes 64 claims, with HANDOFF_LONG 200, about commands that were
// attested, or not, on three trees, with other results each time. Each must have its mark, and no
// other mark of a claim, on each surface.
func TestClaimsOnEverySurface(t *testing.T) {
	t.Parallel()
	each := 8
	if os.Getenv("HANDOFF_LONG") != "" {
		each = 25
	}
	s := newScenario(t)
	s.log = ""
	r := rand.New(rand.NewPCG(28, 200))
	const commands = 8
	command := func(i int) string { return fmt.Sprint("../flag", i) }
	mcp := s.tools("one")
	var attested []attestedCommand
	type claim struct {
		id       string
		tree     int
		commands []int
	}
	var claims []claim
	for round := range 8 {
		tree := r.IntN(3)
		s.write("one", "work/shop.go", fmt.Sprintf("package shop // %d\n", tree))
		for range 4 {
			a := attestedCommand{command: r.IntN(commands), tree: tree, failed: r.IntN(3) == 0}
			flag := filepath.Join(s.dir, command(a.command))
			os.Remove(flag)
			if !a.failed {
				if err := os.WriteFile(flag, nil, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			a.id = s.attestation(s.in(s.dir, "attest", "--json", "--", "test", "-e", command(a.command)))
			if a.withdrawn = r.IntN(4) == 0; a.withdrawn {
				s.in(s.dir, "withdraw", a.id)
			}
			attested = append(attested, a)
		}
		for i := range each {
			c := claim{tree: tree, commands: r.Perm(commands)[:r.IntN(3)]}
			in := map[string]any{"content": fmt.Sprintf("%d.%d", round, i), "channel": "verification", "claim": "it works"}
			var evidence []string
			for _, n := range c.commands {
				evidence = append(evidence, "command:test -e "+command(n))
			}
			in["evidence"] = evidence
			arguments, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			c.id = fmt.Sprint(mcp.call("artifact_publish", string(arguments))["id"])
			claims = append(claims, c)
		}
	}
	count := map[string]int{}
	for _, c := range claims {
		mark := markOf(attested, c.tree, c.commands)
		s.expect(mark, c.id)
		count[mark]++
	}
	t.Logf("%d claims: %v", len(claims), count)
	for _, a := range attested {
		if a.failed {
			s.expect("attest_failed", a.id)
		}
	}
	s.compare(map[string]bool{})
	shown := s.goList()
	for id, want := range s.want {
		for _, code := range shown[id].Codes {
			if slices.Contains([]string{"verified", "claim_stale", "asserted", "contradicted"}, code) && want != "" &&
				code != want {
				t.Errorf("%s has the mark %s, want %s only", id, code, want)
			}
		}
	}
}
