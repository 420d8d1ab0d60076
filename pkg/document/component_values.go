package document

// Instance is the data of a component: for one execution, one session or one
// subject (S12.3).
type Instance struct {
	// Values has every declared field.
	Values Value
	// Unset are the declared fields that were never set. They are null, and null
	// is valid for them, whatever their schema (S12.2).
	Unset []string
}

// Start returns the instance that an execution begins with when there is none
// yet: the initial values, and null for every other field.
func (c *Component) Start() Instance {
	i := Instance{Values: c.Initial}
	for name := range c.properties().Members() {
		if c.Initial.memberKind(name) == Null {
			i.Unset = append(i.Unset, name)
		}
	}
	return i
}

// Check returns the instance after values have replaced those of before, or what
// is wrong with them; pointers are into values.
//
//   - A key that the schema does not declare is refused, also where its
//     additionalProperties would admit it.
//   - A field that was never set may stay null or be left out, `required` or not,
//     and stays unset; the instance has it as null. Fields that a newer definition
//     declares count as never set.
//   - Any other field must validate. Once set, a field is set forever: null is
//     then valid only if its schema admits null.
//   - A field that was set must not be left out (REQUIRED), also where the schema
//     does not require it: every declared field is always there, and values that
//     forget one would lose what it held.
func (c *Component) Check(before Instance, values Value) (Instance, Problems) {
	var r Report
	if values.Kind() != Object {
		r.Errorf(nil, CodeType, "the values must be an object, not %s", article(values.Kind()))
		return Instance{}, r.Problems()
	}
	neverSet := map[string]bool{}
	for _, name := range before.Unset {
		neverSet[name] = true
	}
	given := c.declared(&r, values, nil)
	complete := given.copyMembers()
	after := Instance{}
	unset := map[string]bool{}
	for name := range c.properties().Members() {
		last, held := before.Values.Get(name)
		neverSet := neverSet[name] || !held
		v, here := given.Get(name)
		switch {
		case neverSet && (!here || v.Kind() == Null):
			after.Unset = append(after.Unset, name)
			unset[name] = true
			if !here {
				complete = append(complete, Member{name, NullValue()})
			}
		case !here:
			r.Errorf((*Path)(nil).Key(name), CodeRequired, "%s was set and is missing; give its value, or send what changed as a patch", Quote(name))
			complete = append(complete, Member{name, last}) // no further problems from that
		}
	}
	after.Values = ObjectValue(complete)
	c.Compiled.explain(&r, after.Values, nil, unset)
	if problems := r.Problems(); problems.HasErrors() {
		return Instance{}, problems
	}
	return after, nil
}

// copyMembers returns a copy of the members, to build on.
func (v Value) copyMembers() []Member {
	if v.tree == nil {
		return nil
	}
	return append([]Member(nil), v.tree.members...)
}
