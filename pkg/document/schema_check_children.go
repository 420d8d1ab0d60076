package document

// object applies the keywords for objects. Members that old has too, the same
// under the same name, stay valid.
func (c *checker) object(n *node, old, v Value) bool {
	o := n.object
	if !c.spend((v.Len() + len(o.required)) / 16) {
		return false
	}
	switch {
	case v.Len() < o.least:
		return c.fail(n, v, "minProperties")
	case o.most >= 0 && v.Len() > o.most:
		return c.fail(n, v, "maxProperties")
	case !hasAll(v, o.required):
		return c.fail(n, v, "required")
	}
	if !c.members(n, old, v) {
		return false
	}
	for _, d := range o.dependents {
		if v.find(d.name) < 0 {
			continue
		}
		if !c.spend(len(d.required)/16) || !hasAll(v, d.required) {
			return c.fail(n, v, "dependentRequired")
		}
		if d.schema != nil && !c.valid(d.schema, v) {
			return false
		}
	}
	return true
}

func hasAll(v Value, names []string) bool {
	for _, name := range names {
		if v.find(name) < 0 {
			return false
		}
	}
	return true
}

func (c *checker) members(n *node, old, v Value) bool {
	o := n.object
	if v.tree == nil || o.properties == nil && o.patterns == nil && o.additional == nil && o.names == nil {
		return true
	}
	for i := range v.tree.members {
		m := &v.tree.members[i]
		before := old.memberNear(i, m.Name)
		if same(before, m.Value) {
			continue
		}
		if before.IsZero() && o.names != nil && !c.valid(o.names, StringValue(m.Name)) {
			return c.fail(n, v, "propertyNames")
		}
		if v.tree == c.top && m.Value.kind == Null && c.unset[m.Name] {
			continue
		}
		if !c.member(o, m.Name, before, m.Value) {
			if c.gaveUp() || o.additional == nil || !o.additional.never || c.node != o.additional {
				return c.below(m.Name, -1)
			}
			return c.fail(n, v, "additionalProperties") // says more than that the member may not be
		}
	}
	return true
}

// memberNear returns the member called name, most likely the i-th, or Missing.
func (v Value) memberNear(i int, name string) Value {
	if v.tree == nil {
		return Value{}
	}
	if i < len(v.tree.members) && v.tree.members[i].Name == name {
		return v.tree.members[i].Value
	}
	found, _ := v.Get(name)
	return found
}

func (c *checker) member(o *objectNode, name string, old, v Value) bool {
	property, declared := o.properties[name]
	if declared && !c.change(property, old, v) {
		return false
	}
	for _, p := range o.patterns {
		if c.gaveUp() {
			return false
		}
		if c.match(p.pattern, name) {
			declared = true
			if !c.change(p.node, old, v) {
				return false
			}
		}
	}
	return declared || o.additional == nil || c.change(o.additional, old, v)
}

// array applies the keywords for arrays.
func (c *checker) array(n *node, old, v Value) bool {
	a := n.array
	if !c.spend(v.Len() / 16) {
		return false
	}
	switch {
	case v.Len() < a.least:
		return c.fail(n, v, "minItems")
	case a.most >= 0 && v.Len() > a.most:
		return c.fail(n, v, "maxItems")
	case !c.elements(a, old, v):
		return false
	case a.unique && !c.unique(v):
		return c.fail(n, v, "uniqueItems")
	}
	return a.contains == nil || c.contains(n, v)
}

// elements checks the elements that are not where old had them. Elements after a place
// where elements were added or removed have only moved, and must be checked where it
// comes under another schema.
func (c *checker) elements(a *arrayNode, old, v Value) bool {
	if a.prefix == nil && a.rest == nil {
		return true
	}
	from, to := changed(old, v)
	for i := from; i < to; i++ {
		if !c.element(a, i, old.Index(i), v) {
			return false
		}
	}
	moved := v.Len() - old.Len()
	if moved == 0 || old.Len() == 0 {
		return true
	}
	for i := to; i < min(v.Len(), len(a.prefix)+max(moved, 0)); i++ {
		if a.schemaAt(i) != a.schemaAt(i-moved) && !c.element(a, i, Value{}, v) {
			return false
		}
	}
	return true
}

func (c *checker) element(a *arrayNode, i int, old, v Value) bool {
	n := a.schemaAt(i)
	if n == nil || c.change(n, old, v.tree.elements[i]) {
		return true
	}
	return c.below("", i)
}

// schemaAt returns the schema for the i-th element, or nil.
func (a *arrayNode) schemaAt(i int) *node {
	if i < len(a.prefix) {
		return a.prefix[i]
	}
	return a.rest
}

// changed returns the range of v's elements between those that old begins with
// and those that it ends with.
func changed(old, v Value) (from, to int) {
	to = v.Len()
	if old.tree == nil || v.tree == nil {
		return 0, to
	}
	a, b := old.tree.elements, v.tree.elements
	shorter := min(len(a), len(b))
	for from < shorter && same(a[from], b[from]) {
		from++
	}
	for to > from && len(a)-(len(b)-to) > from && same(a[len(a)-1-(len(b)-to)], b[to-1]) {
		to--
	}
	return from, to
}

func (c *checker) unique(v Value) bool {
	if v.Len() < 2 {
		return true
	}
	seen := make(map[string]struct{}, v.Len())
	var canonical []byte
	for _, e := range v.Elements() {
		canonical = appendCanonical(canonical[:0], e)
		if !c.spend(1 + len(canonical)) {
			return false
		}
		seen[string(canonical)] = struct{}{}
	}
	return len(seen) == v.Len()
}

func (c *checker) contains(n *node, v Value) bool {
	a := n.array
	found := 0
	for _, e := range v.Elements() {
		if c.valid(a.contains, e) {
			found++
		}
	}
	if found < a.fewest {
		return c.fail(n, v, "contains")
	}
	if a.greatest >= 0 && found > a.greatest {
		return c.fail(n, v, "maxContains")
	}
	return true
}
