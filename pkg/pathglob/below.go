package pathglob

// MayMatchBelow reports that the pattern could match a folder or any name below it, in any case. The
// folder is a clean name; the empty one is the workspace.
func (g Glob) MayMatchBelow(folder string) bool {
	if folder == "" {
		return len(g.alternatives) > 0
	}
	name := split(folder, true)
	for _, pattern := range g.alternatives {
		if len(name.parts) > 0 && name.leadsInto(pattern) {
			return true
		}
	}
	return false
}

// CoversBelow reports that the pattern matches every name below a folder. It may be false for one
// that does so in a roundabout way.
func (g Glob) CoversBelow(folder string) bool {
	name := fileName{}
	if folder != "" {
		if name = split(folder, false); len(name.parts) == 0 {
			return false
		}
	}
	for _, pattern := range g.alternatives {
		if name.covered(pattern) {
			return true
		}
	}
	return false
}

// leadsInto reports that the parts match the beginning of a pattern, or all of it.
func (n fileName) leadsInto(pattern []segment) bool {
	at := make([]bool, len(pattern)+1) // the segments that may be next
	at[0] = true
	for i := range n.parts {
		next := make([]bool, len(pattern)+1)
		for s := range pattern {
			switch {
			case !at[s]:
			case pattern[s].kind == folders:
				next[s] = true
				at[s+1] = true // no folder
			case n.matchPart(i, &pattern[s]):
				next[s+1] = true
			}
		}
		at = next
	}
	for _, possible := range at {
		if possible {
			return true
		}
	}
	return false
}

// covered reports that a pattern ends in /** and that what is before it matches the folder or one
// that holds it.
func (n fileName) covered(pattern []segment) bool {
	end := len(pattern) - 2
	if end < 0 || pattern[end].kind != folders || pattern[end+1].text != "*" {
		return false
	}
	for upTo := range len(n.parts) + 1 {
		holder := fileName{parts: n.parts[:upTo]}
		if holder.match(pattern[:end]) {
			return true
		}
	}
	return false
}
