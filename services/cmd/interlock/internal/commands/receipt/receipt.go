// Package receipt has the commands that make receipts of runs, check them and witness them.
package receipt

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	runs "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/run"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/receipts"
	"github.com/interlock-run/interlock/services/internal/recorded"
)

// Command is the family of commands on receipts.
type Command struct {
	Get    getCommand    `cmd:"" default:"withargs" help:"Make the receipt of a run. The same as interlock receipt RUN."`
	Verify verifyCommand `cmd:"" help:"Check a receipt, and print its claims. It needs no server."`
	Keygen keygenCommand `cmd:"" help:"Make a key to sign receipts with, or to witness them."`
	Cosign cosignCommand `cmd:"" help:"Add the signature of a witness to a receipt's checkpoint."`
}

type getCommand struct {
	client.Connection
	RunID string `arg:"" name:"run" help:"Id of the run."`
	Key   string `help:"The deployment's key; that in the data folder by default. Of a server elsewhere, GET /v1/runs/{id}/receipt signs with its own." type:"path" placeholder:"FILE"`
	Out   string `short:"f" help:"Write it there; to the output by default." type:"path" placeholder:"FILE"`
}

// keyFile returns the file of the deployment's key: as given, or that in the data folder.
func keyFile(given, data string) (string, error) {
	if given != "" {
		return given, nil
	}
	folder, err := client.DataFolder(data)
	return folder.ReceiptKey(), err
}

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	file, err := keyFile(c.Key, c.Data)
	if err != nil {
		return err
	}
	key, err := gateway.ReadReceiptKey(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; name the deployment's key with --key FILE, or ask its gateway for GET /v1/runs/%s/receipt", err, c.RunID)
	}
	if err != nil {
		return err
	}
	var f *receipt.File
	err = c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error {
		one := runs.One{RunID: c.RunID}
		if err := one.Resolve(ctx, conn); err != nil {
			return err
		}
		f, err = receipts.Make(ctx, receipts.Sources{
			Sources: recorded.Sources{
				Runs: enginev1.NewRunServiceClient(conn), Workflows: enginev1.NewWorkflowServiceClient(conn),
				Decisions: policyv1.NewDecisionServiceClient(conn), Policies: policyv1.NewPolicyServiceClient(conn),
			},
			Approvals: approvalv1.NewApprovalServiceClient(conn), Sets: policyv1.NewSetServiceClient(conn),
		}, cmp.Or(c.Namespace, rpc.DefaultNamespace), one.RunID, key, time.Now())
		return err
	})
	if err != nil {
		return err
	}
	return write(io, c.Out, f)
}

// write writes a receipt to a file, or to the output.
func write(io console.Streams, file string, f *receipt.File) error {
	text, err := f.Write()
	if err != nil {
		return fmt.Errorf("encode the receipt: %w", err)
	}
	if file == "" {
		_, err = io.Out.Write(text)
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("write the receipt: %w", err)
	}
	fmt.Fprintf(io.Err, "written to %s\n", show.Text(file))
	return nil
}

type verifyCommand struct {
	File    string   `arg:"" help:"The receipt." placeholder:"FILE"`
	Key     string   `help:"Public key of the deployment; by default that in the data folder of the nearest workspace." type:"path" placeholder:"FILE"`
	Witness []string `help:"Public key of a witness that must have cosigned it; may be repeated." type:"path" sep:"none" placeholder:"FILE"`
	Format  string   `help:"Output: text or json." enum:"text,json" default:"text"`
}

func (c *verifyCommand) Run(io console.Streams) error {
	text, err := input.File(c.File, io.In)
	if err != nil {
		return err
	}
	file := c.Key
	if file == "" {
		if file, err = keyFile("", ""); err != nil {
			return err
		}
		file += ".pub"
	}
	key, err := public(file)
	if c.Key == "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; name the deployment's public key with --key FILE", err)
	}
	if err != nil {
		return err
	}
	var witnesses []ed25519.PublicKey
	for _, file := range c.Witness {
		witness, err := public(file)
		if err != nil {
			return err
		}
		witnesses = append(witnesses, witness)
	}
	checked, err := receipts.Check(text, key, witnesses)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	faults := append([]string{}, checked.Faults...)
	if c.Format == "json" {
		p := &checked.Statement.Predicate
		err := show.JSON(io.Out, struct {
			OK       bool           `json:"ok"`
			RunID    string         `json:"run_id"`
			Workflow string         `json:"workflow"`
			Status   string         `json:"status"`
			Head     string         `json:"head"`
			Faults   []string       `json:"faults"`
			Open     map[string]int `json:"open"`
			Shows    []string       `json:"shows"`
		}{len(faults) == 0, p.RunID, p.Workflow, p.Status, p.Head, faults, checked.Conformance.Open, shows(checked)})
		if err != nil {
			return err
		}
	} else {
		printChecked(io, c.File, checked)
	}
	if len(faults) > 0 {
		return console.ErrNo
	}
	return nil
}

// shows returns the claims of a receipt that holds; none of one that does not.
func shows(c *receipts.Checked) []string {
	if len(c.Faults) > 0 {
		return []string{}
	}
	return c.Sentences()
}

func printChecked(io console.Streams, file string, c *receipts.Checked) {
	if len(c.Faults) > 0 {
		fmt.Fprintf(io.Out, "%s does not hold: %s\n", show.Text(file), show.Counted(len(c.Faults), "fault"))
		for _, fault := range c.Faults {
			fmt.Fprintf(io.Out, "  %s\n", show.Text(fault))
		}
		return
	}
	fmt.Fprintf(io.Out, "%s holds: signatures, %s of the log, %s and %s decided again\n", show.Text(file),
		show.Counted(len(c.Statement.Predicate.Log), "record"), show.Counted(c.Conformance.History, "change"), show.Counted(c.Conformance.Decisions, "decision"))
	for _, sentence := range c.Sentences() {
		fmt.Fprintf(io.Out, "  %s\n", show.Text(sentence))
	}
	for _, why := range slices.Sorted(maps.Keys(c.Conformance.Open)) {
		fmt.Fprintf(io.Out, "  not decided again: %d, because %s\n", c.Conformance.Open[why], why)
	}
}

// public reads a public key from a file.
func public(file string) (ed25519.PublicKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the public key: %w", err)
	}
	key, err := receipt.ReadPublic(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}

type keygenCommand struct {
	File string `arg:"" help:"Where the private key is written; the public one is written next to it, as FILE.pub." type:"path" placeholder:"FILE"`
}

func (c *keygenCommand) Run(io console.Streams) error {
	created, err := gateway.MakeReceiptKey(c.File)
	if err != nil {
		return err
	}
	if !created {
		return fmt.Errorf("%s is there already: a key is not replaced, because receipts were signed with it; choose another name", c.File)
	}
	key, err := gateway.ReadReceiptKey(c.File)
	if err != nil {
		return err
	}
	fmt.Fprintf(io.Out, "%s.pub has the public key %s\n", show.Text(c.File), receipt.KeyID(key.Public()))
	return nil
}

type cosignCommand struct {
	File string `arg:"" help:"The receipt." type:"path" placeholder:"FILE"`
	Key  string `required:"" help:"Private key of the witness." type:"path" placeholder:"FILE"`
	Name string `required:"" help:"Name of the witness, such as witness.example.com." placeholder:"NAME"`
	Of   string `required:"" help:"Public key of the deployment: receipts that it has not signed are not witnessed." type:"path" placeholder:"FILE"`
	Out  string `short:"f" help:"Write it there; in place by default." type:"path" placeholder:"FILE"`
}

func (c *cosignCommand) Run(io console.Streams) error {
	text, err := input.File(c.File, io.In)
	if err != nil {
		return err
	}
	key, err := public(c.Of)
	if err != nil {
		return err
	}
	witness, err := gateway.ReadReceiptKey(c.Key)
	if err != nil {
		return err
	}
	checked, err := receipts.Check(text, key, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if len(checked.Faults) > 0 {
		printChecked(io, c.File, checked)
		return console.ErrNo
	}
	f, _, err := receipt.Read(text)
	if err != nil {
		return err
	}
	if err := f.Cosign(c.Name, time.Now(), witness); err != nil {
		return console.Misused(err)
	}
	return write(io, cmp.Or(c.Out, c.File), f)
}
