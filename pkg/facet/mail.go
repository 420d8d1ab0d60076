package facet

import "github.com/interlock-run/interlock/pkg/condition"

func (f *Facts) mailFacet(name condition.Facet) condition.Set {
	return condition.Unknown("the facet " + string(name) + " is not known")
}
