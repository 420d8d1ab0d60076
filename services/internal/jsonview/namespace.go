package jsonview

import identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"

// Namespace is a tenant.
type Namespace struct {
	Name string `json:"name"`
}

// NamespaceOf returns the JSON of a namespace.
func NamespaceOf(n *identityv1.Namespace) Namespace { return Namespace{Name: n.GetName()} }
