package document

import "github.com/santhosh-tekuri/jsonschema/v6"

// node is one subschema, translated from the library's compiled form into a form that
// applies to Values. Nodes form a graph: a recursive schema is a cycle that goes through
// a child value (checkBounds).
type node struct {
	source *jsonschema.Schema // where it comes from, for messages
	shared bool               // more than one other node leads here

	// writers lists the permitted writers of the values that n applies to, nil for all, and
	// guarded that n or one below it says so.
	writers *writerList
	guarded bool

	never    bool // the schema `false`
	types    typeSet
	constant *valueSet
	values   *valueSet // enum

	// all are the schemas that every value must satisfy besides: $ref, allOf.
	all                   []*node
	anyOf, oneOf          []*node
	not                   *node
	cond, then, otherwise *node

	object *objectNode
	array  *arrayNode
	text   *textNode
	number *numberNode

	// Only the library applies these. dynamic are the schemas that a dynamic
	// reference may turn out to mean.
	dynamic                       []*node
	unevaluated, unevaluatedItems *node
}

// objectNode holds the keywords for objects.
type objectNode struct {
	properties map[string]*node
	patterns   []patternNode
	additional *node // nil admits any
	names      *node // propertyNames
	required   []string
	least      int
	most       int // -1: no limit
	dependents []dependentNode
}

type patternNode struct {
	pattern *pattern
	node    *node
}

// dependentNode lists the requirements of a property that is present.
type dependentNode struct {
	name     string
	required []string
	schema   *node
}

// arrayNode holds the keywords for arrays.
type arrayNode struct {
	prefix   []*node
	rest     *node // of elements after prefix; nil admits any
	least    int
	most     int // -1: no limit
	unique   bool
	contains *node
	fewest   int // of elements that contains matches
	greatest int // -1: no limit
}

// textNode holds the keywords for strings.
type textNode struct {
	least   int
	most    int // -1: no limit
	pattern *pattern
	format  func(any) error
}

// numberNode holds the keywords for numbers. nil: not there.
type numberNode struct {
	minimum, maximum, above, below, multipleOf *normal
}

// typeSet is a set of kinds, and of integers. Empty admits every value.
type typeSet uint16

const integers typeSet = 1 << 15

func typesOf(t *jsonschema.Types) typeSet {
	var set typeSet
	if t == nil {
		return 0
	}
	for _, name := range t.ToStrings() {
		switch name {
		case "null":
			set |= 1<<Null | 1<<Missing
		case "boolean":
			set |= 1 << Bool
		case "number":
			set |= 1 << Number
		case "integer":
			set |= integers
		case "string":
			set |= 1 << String
		case "array":
			set |= 1 << Array
		case "object":
			set |= 1 << Object
		}
	}
	return set
}

func (s typeSet) admits(v Value) bool {
	return s == 0 || s&(1<<v.kind) != 0 || s&integers != 0 && v.kind == Number && v.Number().IsInteger()
}
