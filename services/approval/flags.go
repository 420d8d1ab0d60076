package approval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/interlock-run/interlock/services/approval/internal/webhook"
)

// Flags are the settings of the approval service.
type Flags struct {
	Webhooks            []string      `name:"webhook" sep:" " help:"URL that receives signed POST requests about approvals. Repeat the flag, or separate several by spaces." env:"INTERLOCK_WEBHOOKS" placeholder:"URL"`
	WebhookSecretFile   string        `help:"File with the secret that signs these requests." env:"INTERLOCK_WEBHOOK_SECRET_FILE" type:"path" placeholder:"FILE"`
	WebhookInsecureHTTP bool          `name:"webhook-insecure-http" help:"Allow http URLs of webhooks on other machines, where the network itself is trusted." env:"INTERLOCK_WEBHOOK_INSECURE_HTTP"`
	ApprovalRetention   time.Duration `help:"How long approvals are kept after their decision, expiry or cancellation, from 24h; 0 keeps them forever." env:"INTERLOCK_APPROVAL_RETENTION" default:"720h" placeholder:"DURATION"`
	ApprovalsEach       int64         `name:"approvals-per-principal" help:"Questions about tool calls that a principal may have pending in a namespace; 0 for any number." default:"500" env:"INTERLOCK_APPROVALS_PER_PRINCIPAL"`
	LeaseCalls          int64         `name:"lease-max-calls" help:"The most calls that an approver may let pass without another question, by one lease." default:"100" env:"INTERLOCK_LEASE_MAX_CALLS"`
	LeaseTime           time.Duration `name:"lease-max-time" help:"The longest that such a lease may last." default:"8h" env:"INTERLOCK_LEASE_MAX_TIME" placeholder:"DURATION"`
	PublicURL           string        `name:"public-url" help:"Where people reach the gateway, for the links in webhooks." env:"INTERLOCK_PUBLIC_URL" placeholder:"URL"`
}

// leastRetention is how long receivers of webhooks are notified of an approval, and the
// engine may be away.
const leastRetention = 24 * time.Hour

func (f *Flags) check() error {
	if f.ApprovalRetention != 0 && f.ApprovalRetention < leastRetention {
		return fmt.Errorf("--approval-retention %s: keep approvals %s or longer, or 0 forever", f.ApprovalRetention, leastRetention)
	}
	if f.LeaseTime < 0 || f.LeaseTime > leastRetention {
		return fmt.Errorf("--lease-max-time %s: a lease can last at most %s", f.LeaseTime, leastRetention)
	}
	return nil
}

// receivers returns those that the flags name, or nil.
func (f *Flags) receivers() (*webhook.Receivers, error) {
	if len(f.Webhooks) == 0 {
		return nil, nil
	}
	if f.WebhookSecretFile == "" {
		return nil, errors.New("--webhook needs --webhook-secret-file: receivers must be able to verify the sender; " +
			"for a new secret: (umask 077; openssl rand -hex 32 > webhook.secret)")
	}
	secret, err := readSecret(f.WebhookSecretFile)
	if err != nil {
		return nil, fmt.Errorf("--webhook-secret-file: %w", err)
	}
	r, err := webhook.New(webhook.Config{URLs: f.Webhooks, Secret: secret, AllowHTTP: f.WebhookInsecureHTTP, PublicURL: f.PublicURL})
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	return r, nil
}

// maxSecret is the most that is read of a file that may be a wrong one.
const maxSecret = 4 << 10

// readSecret reads a file without the blanks around, such as the end of its line.
func readSecret(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	// The open file is asked, not the path: the path may change in the meantime.
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o037 != 0 {
		return nil, fmt.Errorf("%s has mode %04o, so others can sign with it: run chmod 600 on it, "+
			"and create a new secret if others had access to this machine", file, mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxSecret:
		return nil, fmt.Errorf("%s is larger than %d bytes; is it the secret?", file, maxSecret)
	}
	return bytes.TrimSpace(data), nil
}
