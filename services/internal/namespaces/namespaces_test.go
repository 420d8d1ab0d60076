package namespaces

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
)

// S22.32: a caller sees its own namespaces, and one of all those that something was written in.
func TestList(t *testing.T) {
	t.Parallel()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: t.TempDir() + "/store.db"})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	written, other := New(st, slog.New(slog.DiscardHandler)), New(st, slog.New(slog.DiscardHandler))
	for _, namespace := range []string{"shop", "bank", "shop"} {
		written.Used(t.Context(), "/interlock.engine.v1.RunService/StartRun", namespace)
		other.Used(t.Context(), "/interlock.state.v1.SessionService/CreateSession", namespace)
	}
	written.Used(t.Context(), "/interlock.engine.v1.RunService/ListRuns", "only-read")
	for name, row := range map[string]struct {
		caller auth.Principal
		names  []string
		all    bool
	}{
		"one":        {auth.Principal{Namespaces: "shop"}, []string{"shop"}, false},
		"several":    {auth.Principal{Namespaces: "never shop"}, []string{"never", "shop"}, false},
		"of session": {auth.Principal{Namespace: "bank"}, []string{"bank"}, false},
		"all":        {auth.Principal{Namespaces: auth.AllNamespaces}, []string{"bank", "default", "shop"}, true},
		"root":       {auth.Principal{Role: auth.Root}.Rooted(), []string{"bank", "default", "shop"}, true},
		"bound root": {auth.Principal{Role: auth.Root, Namespace: "shop"}.Rooted(), []string{"shop"}, false},
	} {
		names, all, err := other.List(t.Context(), row.caller)
		if err != nil || fmt.Sprint(names) != fmt.Sprint(row.names) || all != row.all {
			t.Errorf("%s: %v, %v, %v", name, names, all, err)
		}
	}
}
