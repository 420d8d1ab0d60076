package ledger

import (
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/store"
)

// PolicyIndexOf returns the key of the record that lists the policies of a namespace, written
// by the enforcer.
func PolicyIndexOf(namespace string) store.Key {
	return store.Key{Namespace: namespace, Kind: "policy_index", ID: "policies"}
}

// MissingPolicies returns those of the names that are no policies of the namespace. One that waits in the shadow of a set
// is none yet.
func MissingPolicies(index store.Record, names []string) (missing []string, err error) {
	var in struct {
		Policies map[string]struct {
			Pending bool `json:"pending"`
		} `json:"policies"`
	}
	if len(index.Data) > 0 {
		if err := json.Unmarshal(index.Data, &in); err != nil {
			return nil, fmt.Errorf("decode %s: %w", index.Key, err)
		}
	}
	for _, name := range names {
		if p, ok := in.Policies[name]; !ok || p.Pending {
			missing = append(missing, name)
		}
	}
	return missing, nil
}
