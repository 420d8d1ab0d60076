package document

// ValidateChange answers for v what Validate does, where old is known to be
// valid and v was made from it. It looks only at what v does not share with old
// and at the keywords around that, so its cost follows the change: identical
// lists and objects, as a patch leaves them, are not looked into.
//
// A keyword that looks at a whole value (anyOf, oneOf, not, if, dependentSchemas,
// contains, uniqueItems) costs all of that value when there is a change in it. A
// schema with `unevaluatedProperties`, `unevaluatedItems` or a dynamic reference
// costs the whole document.
func (s *Schema) ValidateChange(old, v Value) Problems {
	if s.libraryOnly {
		return s.Validate(v)
	}
	c := newChecker()
	if c.change(s.root, old, v) && !c.gaveUp() {
		return nil
	}
	return s.Validate(v)
}
