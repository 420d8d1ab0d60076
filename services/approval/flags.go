package approval

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/approval/internal/webhook"
	"github.com/interlock-run/interlock/services/internal/redact"
)

// Flags are the settings of the approval service.
type Flags struct {
	NotifyFlags
	ApprovalRetention time.Duration `help:"How long approvals are kept after their decision, expiry or cancellation, from 24h; 0 keeps them forever." env:"INTERLOCK_APPROVAL_RETENTION" default:"720h" placeholder:"DURATION"`
	ApprovalsEach     int64         `name:"approvals-per-principal" help:"Questions about tool calls that a principal may have pending in a namespace; 0 for any number." default:"500" env:"INTERLOCK_APPROVALS_PER_PRINCIPAL"`
	Relays            []string      `name:"relay" sep:" " help:"A program that passes on decisions of people, by the name of its token, and the beginning of the identities that it may speak for: slackbot=slack:T01/. Repeat the flag, or separate several by spaces." env:"INTERLOCK_RELAYS" placeholder:"NAME=PREFIX"`
	RelayMaxDanger    string        `help:"The highest danger of approvals that relays decide. Of others they show a link." enum:",low,medium,high" default:"medium" env:"INTERLOCK_RELAY_MAX_DANGER" placeholder:"DANGER"`
	LeaseCalls        int64         `name:"lease-max-calls" help:"The most calls that an approver may let pass without another question, by one lease." default:"100" env:"INTERLOCK_LEASE_MAX_CALLS"`
	LeaseTime         time.Duration `name:"lease-max-time" help:"The longest that such a lease may last." default:"8h" env:"INTERLOCK_LEASE_MAX_TIME" placeholder:"DURATION"`
}

// NotifyFlags say who hears of approvals and runs.
type NotifyFlags struct {
	Webhooks            []string `name:"webhook" sep:" " help:"URL that receives signed POST requests about approvals and runs, and after a # which: URL#workflow=deploy*&kind=transition. Repeat the flag, or separate several by spaces." env:"INTERLOCK_WEBHOOKS" placeholder:"URL"`
	WebhookSecretFile   string   `help:"File with the secret that signs these requests." env:"INTERLOCK_WEBHOOK_SECRET_FILE" type:"path" placeholder:"FILE"`
	WebhookInsecureHTTP bool     `name:"webhook-insecure-http" help:"Allow http URLs of webhooks on other machines, where the network itself is trusted." env:"INTERLOCK_WEBHOOK_INSECURE_HTTP"`
	Notify              []string `sep:" " help:"Where people are told of approvals and runs: slack:URL, teams:URL, ntfy:URL, smtp:HOST:PORT or template:FILE, each with its settings after a #. file:PATH and env:NAME stand for a secret. Repeat the flag, or separate several by spaces." env:"INTERLOCK_NOTIFY" placeholder:"CHANNEL"`
	// Unseal opens the text of a sealed file; nil where there is no seal.
	Unseal func(file string, text []byte) ([]byte, error) `kong:"-"`

	PublicURL string `name:"public-url" help:"Where people reach the gateway, for the links in webhooks." env:"INTERLOCK_PUBLIC_URL" placeholder:"URL"`
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

// relays returns those that the flags name.
func (f *Flags) relays() (app.Relays, error) {
	out := app.Relays{Max: consent.Danger(cmp.Or(f.RelayMaxDanger, string(consent.Medium))), Link: strings.TrimRight(f.PublicURL, "/")}
	for _, text := range f.Relays {
		name, prefix, ok := strings.Cut(text, "=")
		provider, rest, _ := strings.Cut(prefix, ":")
		// slack:T01 would be the beginning of slack:T012/U3 too.
		if !ok || name == "" || provider == "" || rest == "" || !strings.HasSuffix(rest, "/") {
			return out, fmt.Errorf("--relay %q must be the name of a token of the role relay, = and the beginning of identities up to a slash, such as slackbot=slack:T01/", text)
		}
		out.List(name, prefix)
	}
	return out, nil
}

// receivers returns those that the flags name, or nil.
func (f *NotifyFlags) receivers(masks redact.Masks) (*webhook.Receivers, error) {
	if len(f.Webhooks)+len(f.Notify) == 0 {
		return nil, nil
	}
	cfg := webhook.Config{
		URLs: f.Webhooks, Notify: f.Notify, AllowHTTP: f.WebhookInsecureHTTP, PublicURL: f.PublicURL, Masks: masks, Read: f.readSecret,
	}
	if len(f.Webhooks) > 0 {
		if f.WebhookSecretFile == "" {
			return nil, errors.New("--webhook needs --webhook-secret-file: receivers must be able to verify the sender; " +
				"for a new secret: (umask 077; openssl rand -hex 32 > webhook.secret)")
		}
		var err error
		if cfg.Secret, err = f.readSecret(f.WebhookSecretFile); err != nil {
			return nil, fmt.Errorf("--webhook-secret-file: %w", err)
		}
	}
	r, err := webhook.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	return r, nil
}

// readSecret reads a file, which may be sealed.
func (f *NotifyFlags) readSecret(file string) ([]byte, error) {
	text, err := readSecret(file)
	if err != nil || !auth.IsSealed(text) {
		return text, err
	}
	if f.Unseal == nil {
		return nil, fmt.Errorf("%s: %w", file, auth.ErrSealed)
	}
	if text, err = f.Unseal(filepath.Base(file), text); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(text), nil
}

// maxSecret is the most that is read of a file that may be a wrong one.
const maxSecret = 4 << 10

// maxSealed is that of a sealed file.
const maxSealed = 2 * maxSecret

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
		return nil, fmt.Errorf("%s has mode %04o, so others can use it: run chmod 600 on it, "+
			"and create a new secret if others had access to this machine", file, mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSealed+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxSecret && (!auth.IsSealed(data) || len(data) > maxSealed):
		return nil, fmt.Errorf("%s is larger than %d bytes; is it the secret?", file, maxSecret)
	}
	return bytes.TrimSpace(data), nil
}
