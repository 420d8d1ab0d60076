package catalog

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// application is the entry of the history of a catalog about one application of a set.
type application struct {
	Name string `json:"name"`
	Set  *Set   `json:"set"`
}

const applicationsPage = 100

// Origin returns the set that has made a version live, as it was applied then, the last time; ok is false if no set has.
func Origin(ctx context.Context, st store.Store, namespace string, o Object, version int64) (name string, set Set, ok bool, err error) {
	for after := int64(0); ; {
		entries, err := st.History(ctx, Key(namespace), after, applicationsPage)
		if err != nil {
			return "", Set{}, false, fault.From(err)
		}
		for _, e := range entries {
			var a application
			if err := json.Unmarshal(e.Data, &a); err != nil || a.Set == nil {
				return "", Set{}, false, fault.From(fmt.Errorf("decode application %d of the catalog of namespace %s: %w", e.Version, namespace, err))
			}
			if a.Set.Objects[o].Version == version {
				name, set, ok = a.Name, *a.Set, true
			}
			after = e.Version
		}
		if len(entries) < applicationsPage {
			return name, set, ok, nil
		}
	}
}
