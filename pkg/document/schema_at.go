package document

// WritersAt returns the lists of writers that every change of the value at a pointer
// touches: of that place and of all that holds it (S18.2). Lists within the value are not
// among them, as a change may leave them alone. A pointer that is malformed has none.
func (s *Schema) WritersAt(pointer string) []Restriction {
	p, problem := readPointer(pointer)
	if problem != "" || !s.restricted {
		return nil
	}
	g := guard{left: maxSteps, seen: map[*writerList]bool{}}
	at := (*Path)(nil)
	nodes := g.closed([]*node{s.root})
	g.note(nodes, at)
	for _, name := range p.segments {
		next := g.member(nodes, name)
		if i, ok := arrayIndex(name); ok || name == "-" {
			next = append(next, g.element(nodes, i)...)
		}
		at, nodes = at.Key(name), next
		g.note(nodes, at)
	}
	return g.found
}

// Admits reports whether a valid document may have a value at a pointer, by the subschemas
// that apply there in any case. Where it depends on alternatives and conditions, it is true.
func (s *Schema) Admits(pointer string, v Value) bool {
	p, problem := readPointer(pointer)
	if problem != "" || s.libraryOnly {
		return true
	}
	nodes := certain([]*node{s.root})
	for _, name := range p.segments {
		nodes = certain(memberNodes(nodes, name))
	}
	c := newChecker()
	for _, n := range nodes {
		if !c.valid(n, v) && !c.gaveUp() {
			return false
		}
	}
	return true
}

// certain adds to nodes those that apply with them regardless of the value.
func certain(nodes []*node) []*node {
	var all []*node
	seen := map[*node]bool{}
	var add func(n *node)
	add = func(n *node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		all = append(all, n)
		for _, next := range n.all {
			add(next)
		}
	}
	for _, n := range nodes {
		add(n)
	}
	return all
}

// memberNodes returns the nodes of the member at a name of a value that all of nodes apply
// to.
func memberNodes(nodes []*node, name string) []*node {
	index, isIndex := arrayIndex(name)
	object, list := true, isIndex
	for _, n := range nodes {
		object = object && n.types.admits(Value{kind: Object})
		list = list && n.types.admits(Value{kind: Array})
	}
	switch {
	case object && list: // unknown
		return nil
	case !object && !list:
		return []*node{{never: true}}
	}
	var all []*node
	for _, n := range nodes {
		switch {
		case list && n.array != nil:
			all = append(all, n.array.schemaAt(index))
		case object && n.object != nil:
			all = n.object.appendMember(all, name)
		}
	}
	return all
}

// appendMember adds the nodes of a member.
func (o *objectNode) appendMember(all []*node, name string) []*node {
	property, declared := o.properties[name]
	all = append(all, property)
	for _, p := range o.patterns {
		if p.pattern.MatchString(name) {
			declared = true
			all = append(all, p.node)
		}
	}
	if !declared {
		all = append(all, o.additional)
	}
	return all
}
