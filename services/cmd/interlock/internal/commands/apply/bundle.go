package apply

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/bundle"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// BundleCommand is the family of commands on signatures of sets.
type BundleCommand struct {
	Sign  signCommand  `cmd:"" help:"Sign a folder of definitions, as it is, for a server that accepts only signed sets."`
	Check checkCommand `cmd:"" help:"Check that a folder is as it was signed."`
}

// signed are the flags of both.
type signed struct {
	Dir       string `arg:"" help:"Folder of the set, with interlock.yaml or without." placeholder:"DIR"`
	Namespace string `help:"Namespace that the set is for, where interlock.yaml does not say it." default:"default" placeholder:"NAME"`
}

type signCommand struct {
	signed
	Key         string               `required:"" help:"File with the private key (Ed25519), as of interlock receipt keygen." placeholder:"FILE"`
	Serial      int64                `help:"Number that grows with each signature; the seconds of the clock by default." placeholder:"N"`
	Lasts       string               `help:"How long the set can be applied." default:"90d" placeholder:"DURATION"`
	Enforcement workflow.Enforcement `help:"Enforcement of workflows that name none, as the server's --enforcement." enum:"until_success,while_running" default:"until_success" env:"INTERLOCK_ENFORCEMENT"`
}

// Run judges the folder, and writes its bundle.
func (c *signCommand) Run(ctx context.Context, io console.Streams, version console.Version) error {
	lasts, err := document.ParseDuration(c.Lasts)
	if err != nil {
		return console.Misusedf("--lasts: %w; write a duration, such as 90d", err)
	}
	text, err := os.ReadFile(c.Key)
	if err != nil {
		return err
	}
	key, err := receipt.ReadSigner(text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Key, err)
	}
	f, err := (&flags{Dir: c.Dir}).folder(io)
	if err != nil {
		return err
	}
	if err := f.judge(ctx, c.Enforcement, io, version); err != nil {
		return err
	}
	now := time.Now()
	s := &bundle.Statement{Set: f.name, Namespace: c.namespace(f), Serial: c.Serial, NotAfter: now.Add(lasts).UTC().Truncate(time.Second), Objects: f.statements()}
	if s.Serial == 0 {
		s.Serial = now.Unix()
	}
	file, err := bundle.Sign(s, key)
	if err != nil {
		return err
	}
	path := filepath.Join(c.Dir, bundle.File)
	if err := os.WriteFile(path, file, 0o644); err != nil { //nolint:gosec // a signature, which others read
		return err
	}
	fmt.Fprintf(io.Out, "signed     set %s, %s, serial %d, until %s: %s\n", show.Text(s.Set), show.Counted(len(s.Objects), "object"), s.Serial,
		s.NotAfter.Format(time.RFC3339), show.Text(path))
	return nil
}

func (c *signed) namespace(f *folder) string {
	if f.namespace != "" {
		return f.namespace
	}
	return c.Namespace
}

// statements returns the objects of a folder as statements have them.
func (f *folder) statements() (all []bundle.Object) {
	for _, l := range f.objects {
		o := bundle.Object{Kind: l.Kind, Name: l.Name, Digests: l.digests}
		if l.attach != nil {
			to := []string{}
			for _, one := range l.attach {
				to = append(to, one.Kind+":"+one.ID)
			}
			o.Attachments = &to
		}
		all = append(all, o)
	}
	return all
}

type checkCommand struct {
	signed
	Key []string `required:"" help:"File with a public key that is accepted; may be repeated." placeholder:"FILE"`
}

// Run compares the folder with its bundle. It returns console.ErrNo where that does not count.
func (c *checkCommand) Run(io console.Streams) error {
	var texts [][]byte
	for _, file := range c.Key {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	keys, err := bundle.ReadKeys(texts...)
	if err != nil {
		return console.Misusedf("--key: %w", err)
	}
	f, err := (&flags{Dir: c.Dir}).folder(io)
	if err != nil {
		return err
	}
	file, err := os.ReadFile(filepath.Join(c.Dir, bundle.File))
	if err != nil {
		return err
	}
	s, _, err := keys.Open(file)
	if err != nil {
		return no(io, "%s: %s", c.Dir, err)
	}
	if err := s.Fits(c.namespace(f), f.name, time.Now()); err != nil {
		return no(io, "%s: %s", c.Dir, err)
	}
	var gets []bundle.Object
	for _, o := range f.statements() {
		o.Digests = o.Digests[:1]
		gets = append(gets, o)
	}
	if differences := s.Differs(gets); len(differences) > 0 {
		return no(io, "%s: %s", c.Dir, strings.Join(differences, "; "))
	}
	fmt.Fprintf(io.Out, "as signed  set %s, %s, serial %d, until %s\n", show.Text(s.Set), show.Counted(len(s.Objects), "object"), s.Serial, s.NotAfter.Format(time.RFC3339))
	return nil
}
