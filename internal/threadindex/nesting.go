package threadindex

import "context"

// A nesting has the parents of subagents that may have subagents themselves. Both are
// URIs of threads without a parent.
type nesting map[string]string

// maxNesting is how many levels of subagents are followed: transcripts may name each
// other as parents.
const maxNesting = 64

// main returns the conversation that a subagent with this parent belongs to.
func (n nesting) main(parent string) string {
	for range maxNesting {
		above, ok := n[parent]
		if !ok {
			break
		}
		parent = above
	}
	return parent
}

// add adds a subagent, unless it has no parent. The first one with a URI counts.
func (n nesting) add(self, parent string) {
	if _, known := n[self]; !known && parent != "" {
		n[self] = parent
	}
}

// inside returns the subagents that belong to some conversations.
func (n nesting) inside(mains map[string]bool) []string {
	list := []string{}
	for self, parent := range n {
		if mains[n.main(parent)] {
			list = append(list, self)
		}
	}
	return list
}

// nesting returns that of the subagents that q selects by provider and time.
func (a answer) nesting(ctx context.Context, q Query) (nesting, error) {
	c, _, err := a.where(ctx, Query{Providers: q.Providers, Since: q.Since, Until: q.Until})
	if err != nil {
		return nil, err
	}
	c.add("t.agent AND t.parent <> '' AND t.self IN (SELECT parent FROM threads WHERE agent)")
	rows, err := a.QueryContext(ctx, "SELECT t.self, t.parent FROM threads t WHERE "+c.String()+" ORDER BY t.modified DESC, t.key, t.id", c.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	n := nesting{}
	for rows.Next() {
		var self, parent string
		if err := rows.Scan(&self, &parent); err != nil {
			return nil, err
		}
		n.add(self, parent)
	}
	return n, rows.Err()
}
