package document

// Component is a state component (S12): the shape, the lifetime and the first
// values of data that agents keep between executions.
type Component struct {
	Name        string
	Slug        string
	Description string
	Tags        []string
	Persistence Persistence
	// Schema is a whole JSON Schema of type object, also when the definition
	// was a map of properties.
	Schema Value
	// Compiled is Schema, ready to use.
	Compiled *Schema
	// Initial are the first values, with null for every declared field that has
	// none (S12.2).
	Initial Value
}

// Persistence is how long a component's data lives (S12.3).
type Persistence string

// Persistence modes.
const (
	PersistNone     Persistence = "none"
	PersistSession  Persistence = "session" // the default
	PersistLongTerm Persistence = "long_term"
)

var componentFields = []string{
	"name", "slug", "description", "tags", "schema_definition", "persistence", "initial_values", "id", "$schema",
	"created_at", "updated_at", "createdAt", "updatedAt", "version",
}

// ParseComponent reads a component in JSON and reports all that is wrong with it
// at once. The component is nil when there is an error among the problems.
func ParseComponent(src []byte) (*Component, Problems) {
	v, problems := ParseAll(src, Limits{})
	return componentOf(v, problems)
}

// ParseComponentYAML does the work of ParseComponent for YAML.
func ParseComponentYAML(src []byte) (*Component, Problems) {
	v, problems := FromYAML(src)
	return componentOf(v, problems)
}

// ParseComponentValue does the work of ParseComponent for a document that has been read.
func ParseComponentValue(v Value) (*Component, Problems) { return componentOf(v, nil) }

func componentOf(v Value, problems Problems) (*Component, Problems) {
	var r Report
	r.Add(problems...)
	c := &Component{}
	if !v.IsZero() || len(problems) == 0 {
		c.read(&r, v)
	}
	found := r.Problems()
	if found.HasErrors() {
		return nil, found
	}
	return c, found
}

func (c *Component) read(r *Report, v Value) {
	f, ok := r.Object(v, nil, "a component")
	if !ok {
		return
	}
	f.KnownOrHint("a component", componentFields, nil)
	f.Require("name", "slug")
	c.Name, _ = f.Text("name")
	c.Description, _ = f.Str("description")
	if slug, ok := f.Text("slug"); ok {
		c.Slug = slug
		if !IsSlug(slug) {
			r.Errorf(f.At.Key("slug"), CodeName, "the slug %s is not allowed; use a-z, 0-9 and -, at most %d of them", Quote(slug), LongestSlug)
		}
	}
	if tags, ok := f.Strings("tags", 1000); ok {
		c.Tags = Texts(tags)
		r.Duplicates(tags)
	}
	c.Persistence = PersistSession
	if mode, ok := f.Enum("persistence", string(PersistNone), string(PersistSession), string(PersistLongTerm)); ok {
		c.Persistence = Persistence(mode)
	}
	c.readSchema(r, f)
	c.refuseWriters(r, f.At.Key("schema_definition"))
	c.readInitial(r, f)
}

func (v Value) memberKind(name string) Kind {
	child, _ := v.Get(name)
	return child.Kind()
}

// readSchema takes a map of properties or a whole schema (S12.1).
func (c *Component) readSchema(r *Report, f Fields) {
	c.Schema = objectSchema(ObjectValue(nil))
	definition, ok := f.Object("schema_definition")
	if !ok {
		if !f.Has("schema_definition") {
			c.Compiled = schemaOf(r, c.Schema, nil)
		}
		return
	}
	at := definition.At
	if isWholeSchema(definition.Value) {
		c.Schema = definition.Value
		c.Compiled = schemaOf(r, c.Schema, at.join)
		return
	}
	good := true
	for name, property := range definition.Value.Members() {
		if kind := property.Kind(); kind != Object && kind != Bool {
			good = false
			r.Errorf(at.Key(name), CodeBadSchema, "a field's schema must be an object or a boolean, not %s", article(kind))
		}
	}
	c.Schema = objectSchema(definition.Value)
	if good {
		c.Compiled = schemaOf(r, c.Schema, func(segments []string) *Path {
			if len(segments) > 0 && segments[0] == "properties" {
				segments = segments[1:]
			}
			return at.join(segments)
		})
	}
}

// refuseWriters refuses lists of writers, which are for shared states: here they would
// have no effect.
func (c *Component) refuseWriters(r *Report, at *Path) {
	if c.Compiled != nil && c.Compiled.Restricted() {
		r.Errorf(at, CodeBadSchema, "%s is for the schemas of shared states, and has no effect in a component; remove it", Quote(writersKeyword))
		c.Compiled = nil
	}
}

// isWholeSchema distinguishes a JSON Schema from a map of properties: its type is
// "object". A property called type has an object there.
func isWholeSchema(v Value) bool {
	t, _ := v.Get("type")
	return t.Kind() == String
}

func objectSchema(properties Value) Value {
	return ObjectValue([]Member{
		{"type", StringValue("object")},
		{"properties", properties},
		{"additionalProperties", BoolValue(false)},
	})
}

// readInitial checks the first values: those given must validate, undeclared keys are
// refused, and missing ones start as null, which is valid until it is first set (S12.2).
func (c *Component) readInitial(r *Report, f Fields) {
	given, ok := f.Object("initial_values")
	if !ok && f.Has("initial_values") {
		return
	}
	at := f.At.Key("initial_values")
	nulls := make([]Member, 0, c.properties().Len())
	unset := map[string]bool{}
	for name := range c.properties().Members() {
		nulls = append(nulls, Member{name, NullValue()})
		unset[name] = true
	}
	c.Initial = MergeTop(ObjectValue(nulls), c.declared(r, given.Value, at))
	if c.Compiled != nil {
		c.Compiled.explain(r, c.Initial, at, unset)
	}
}

// properties returns the declared fields and their schemas.
func (c *Component) properties() Value {
	properties, _ := c.Schema.Get("properties")
	return properties
}

// declared returns the members of values that the schema declares, and reports
// the others.
func (c *Component) declared(r *Report, values Value, at *Path) Value {
	properties := c.properties()
	names := func(yield func(string) bool) {
		for name := range properties.Members() {
			if !yield(name) {
				return
			}
		}
	}
	known := make([]Member, 0, values.Len())
	for name, v := range values.Members() {
		if _, declared := properties.Get(name); declared {
			known = append(known, Member{name, v})
			continue
		}
		r.Errorf(at.Key(name), CodeSchemaViolation, "the schema declares no %s%s; declare it or remove it", Quote(name), r.DidYouMean(name, names))
	}
	return ObjectValue(known)
}

// Instance is the data of a component: for one execution, one session or one
// subject (S12.3).
type Instance struct {
	// Values has every declared field.
	Values Value
	// Unset are the declared fields that were never set. They are null, and null is valid
	// for them, regardless of their schema (S12.2).
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

// Check returns the instance after values have replaced those of before, or their
// problems; pointers are into values.
//
//   - A key that the schema does not declare is refused, also where its
//     additionalProperties would admit it.
//   - A field that was never set may stay null or be left out, `required` or not,
//     and stays unset; the instance has it as null. Fields that a newer definition
//     declares count as never set.
//   - Any other field must validate. Once set, a field is set forever: null is
//     then valid only if its schema admits null.
//   - A field that was set must not be left out (REQUIRED), also where the schema does
//     not require it: every declared field is always there, and values that forget one
//     would lose its value.
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
			r.Errorf((*Path)(nil).Key(name), CodeRequired, "%s was set and is missing; give its value, or send the changes as a patch", Quote(name))
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
