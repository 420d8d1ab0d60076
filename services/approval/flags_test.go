package approval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	good := file("good", strings.Repeat("s", 16)+"\n", 0o600)
	hook := []string{"https://hooks.example.com/"}
	for name, tc := range map[string]struct {
		flags approval.Flags
		want  string // of the error; empty for none
	}{
		"none":             {approval.Flags{}, ""},
		"signed":           {approval.Flags{Webhooks: hook, WebhookSecretFile: good}, ""},
		"not signed":       {approval.Flags{Webhooks: hook}, "--webhook-secret-file"},
		"no file":          {approval.Flags{Webhooks: hook, WebhookSecretFile: "no/such"}, "no such file"},
		"short":            {approval.Flags{Webhooks: hook, WebhookSecretFile: file("short", strings.Repeat("s", 15)+"\n\n", 0o600)}, "16 bytes"},
		"long":             {approval.Flags{Webhooks: hook, WebhookSecretFile: file("long", strings.Repeat("s", 5000), 0o600)}, "4096 bytes"},
		"read by others":   {approval.Flags{Webhooks: hook, WebhookSecretFile: file("open", strings.Repeat("s", 16), 0o644)}, "chmod 600"},
		"in the clear":     {approval.Flags{Webhooks: []string{"http://hooks.example.com/"}, WebhookSecretFile: good}, "--webhook-insecure-http"},
		"in a network":     {approval.Flags{Webhooks: []string{"http://hooks.example.com/"}, WebhookSecretFile: good, WebhookInsecureHTTP: true}, ""},
		"kept for a month": {approval.Flags{ApprovalRetention: 30 * 24 * time.Hour}, ""},
		"kept for an hour": {approval.Flags{ApprovalRetention: time.Hour}, "--approval-retention"},
		"kept for less":    {approval.Flags{ApprovalRetention: -time.Hour}, "--approval-retention"},
		"no place to link": {approval.Flags{Webhooks: hook, WebhookSecretFile: good, PublicURL: "here"}, "--public-url"},
	} {
		_, err := approval.New(approval.Config{Flags: tc.flags})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
