package approval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/approval"
)

// What is wrong with the flags is said at the start, with a suggested fix.
func TestFlags(t *testing.T) {
	t.Parallel()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	good := file("good", strings.Repeat("s", 16)+"\n", 0o600)
	unseal := func(name string, _ []byte) ([]byte, error) { return []byte(name + strings.Repeat("s", 16)), nil }
	hook := []string{"https://hooks.example.com/"}
	for name, tc := range map[string]struct {
		flags approval.Flags
		want  string // of the error; empty for none
	}{
		"none":             {approval.Flags{}, ""},
		"signed":           {approval.Flags{NotifyFlags: approval.NotifyFlags{Webhooks: hook, WebhookSecretFile: good}}, ""},
		"not signed":       {approval.Flags{NotifyFlags: approval.NotifyFlags{Webhooks: hook}}, "--webhook-secret-file"},
		"no file":          {approval.Flags{NotifyFlags: approval.NotifyFlags{Webhooks: hook, WebhookSecretFile: "no/such"}}, "no such file"},
		"short":            {approval.Flags{NotifyFlags: approval.NotifyFlags{Webhooks: hook, WebhookSecretFile: file("short", strings.Repeat("s", 15)+"\n\n", 0o600)}}, "16 bytes"},
		"long":             {approval.Flags{NotifyFlags: approval.NotifyFlags{Webhooks: hook, WebhookSecretFile: file("long", strings.Repeat("s", 5000), 0o600)}}, "4096 bytes"},
		"sealed":           {approval.Flags{NotifyFlags: approval.NotifyFlags{Webhooks: hook, WebhookSecretFile: file("sealed", auth.SealedPrefix+"x", 0o600)}}, "it is sealed"}, // S24.11
		"unsealed":         {approval.Flags{NotifyFlags: approval.NotifyFlags{Webhooks: hook, WebhookSecretFile: file("sealed", auth.SealedPrefix+"x", 0o600), Unseal: unseal}}, ""},
		"read by others":   {approval.Flags{NotifyFlags: approval.NotifyFlags{Webhooks: hook, WebhookSecretFile: file("open", strings.Repeat("s", 16), 0o644)}}, "chmod 600"},
		"in the clear":     {approval.Flags{NotifyFlags: approval.NotifyFlags{Webhooks: []string{"http://hooks.example.com/"}, WebhookSecretFile: good}}, "--webhook-insecure-http"},
		"in a network":     {approval.Flags{NotifyFlags: approval.NotifyFlags{Webhooks: []string{"http://hooks.example.com/"}, WebhookSecretFile: good, WebhookInsecureHTTP: true}}, ""},
		"kept for a month": {approval.Flags{ApprovalRetention: 30 * 24 * time.Hour}, ""},
		"kept for an hour": {approval.Flags{ApprovalRetention: time.Hour}, "--approval-retention"},
		"kept for less":    {approval.Flags{ApprovalRetention: -time.Hour}, "--approval-retention"},
		"relay":            {approval.Flags{Relays: []string{"slackbot=slack:T01/", "slackbot=slack:T02/"}}, ""},
		"relay of nobody":  {approval.Flags{Relays: []string{"=slack:T01/"}}, "--relay"},
		"relay for all":    {approval.Flags{Relays: []string{"slackbot="}}, "--relay"},
		"relay for slack":  {approval.Flags{Relays: []string{"slackbot=slack:"}}, "--relay"},
		"half a team":      {approval.Flags{Relays: []string{"slackbot=slack:T01"}}, "up to a slash"},
		"channel":          {approval.Flags{NotifyFlags: approval.NotifyFlags{Notify: []string{"slack:file:" + good}}}, "must be a URL"},
		"channel for all":  {approval.Flags{NotifyFlags: approval.NotifyFlags{Notify: []string{"slack:file:" + file("shared", "https://h.example.com/x", 0o644)}}}, "chmod 600"},
		"no place to link": {approval.Flags{NotifyFlags: approval.NotifyFlags{Webhooks: hook, WebhookSecretFile: good, PublicURL: "here"}}, "--public-url"},
	} {
		_, err := approval.New(approval.Config{Store: st, Flags: tc.flags})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
