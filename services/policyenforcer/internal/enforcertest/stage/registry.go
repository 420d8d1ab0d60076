package stage

import (
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Registry writes sessions and agents as the state-store does.
type Registry struct {
	*testing.T
	store.Store
}

// Put writes a record.
func (r Registry) Put(key store.Key, format string, args ...any) {
	r.Helper()
	if _, err := r.Commit(r.Context(), store.Batch{Puts: []store.Put{{Key: key, Expect: store.AnyVersion, Data: fmt.Appendf(nil, format, args...)}}}); err != nil {
		r.Fatal(err)
	}
}

// Session creates a session, or changes its status.
func (r Registry) Session(name, parent, agent, status string) {
	r.Helper()
	home, depth := "ses_"+name, 0
	if parent != "" {
		parent = "ses_" + parent
		depth = 1
		if record, err := r.Get(r.Context(), ledger.SessionOf("default", parent)); err == nil {
			above, err := ledger.ReadSession(record)
			if err != nil {
				r.Fatal(err)
			}
			depth = above.Depth + 1
		}
	}
	r.Put(ledger.SessionOf("default", home), `{"id": %q, "name": %q, "parent_home": %q, "agent": %q, "status": %q, "depth": %d}`, home, name, parent, agent, status, depth)
	r.Put(ledger.SessionRef("default", name), `{"home": %[1]q, "id": %[1]q, "name": %[2]q, "parent_home": %[3]q, "agent": %[4]q}`, home, name, parent, agent)
}

// Delete removes a session that has ended.
func (r Registry) Delete(name string) {
	r.Helper()
	r.Put(ledger.SessionRef("default", name), `{"home": "ses_%[1]s", "id": "ses_%[1]s", "name": "%[1]s", "deleted": true}`, name)
	if _, err := r.Commit(r.Context(), store.Batch{Deletes: []store.Check{{Key: ledger.SessionOf("default", "ses_"+name), Version: store.AnyVersion}}}); err != nil {
		r.Fatal(err)
	}
}
