package e2e

import (
	"crypto/ed25519"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/sdk/breakglass"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// S24.11, S23.48: of a sealed data folder, only the running server signs grants, and the command says so where none runs.
func TestGrantsOfASealedFolder(t *testing.T) {
	t.Parallel()
	data, folder := datadir.Dir(t.TempDir()), t.TempDir()
	phrase, people, grant := secret(t, words), secret(t, `{"tokens":[],"pepper":"0123456789abcdef0123456789abcdef"}`), filepath.Join(folder, "grant.jws")
	command := func(args ...string) (string, error) {
		t.Helper()
		cmd := exec.CommandContext(within(t), binary(t, "interlock"), args...)
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	up := func(args ...string) *process {
		t.Helper()
		p := startSealedIn(t, nil, data, phrase, args...)
		eventually(t, "the sealed server is ready", func() error { return sealedReady(t, p, data) })
		return p
	}
	up("--seal", "passphrase").drain(t)
	out, err := command("token", "add", "operator", "--name", "boss", "--tokens", people)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	boss := out[strings.LastIndexByte(out, '\n')+1:]
	if out, err := command("data", "seal", "--data-dir", string(data), "--file", people, "--seal-passphrase-file", phrase); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sign := []string{
		"breakglass", "grant", "--data-dir", string(data), "--token", boss, "--principal", "deployer", "--tool", "Bash", "--until", "1h", "--reason", "a test", "--out", grant,
	}
	p := up("--tokens", people)
	if out, err := command(sign...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.drain(t)
	key := must[ed25519.PublicKey](t)(breakglass.ReadKey(must[[]byte](t)(os.ReadFile(grant + ".pub"))))
	if g := must[*breakglass.Grant](t)(breakglass.Read(string(must[[]byte](t)(os.ReadFile(grant))), key)); g.Principal != "deployer" || g.By != "boss" {
		t.Errorf("the grant is %+v", g)
	}
	if public := must[[]byte](t)(os.ReadFile(data.ReceiptKey() + ".pub")); string(public) != string(must[[]byte](t)(os.ReadFile(grant+".pub"))) {
		t.Errorf("it is signed by another key than that of receipts: %s", public)
	}
	if out, err := command(sign...); err == nil || !strings.Contains(out, "is sealed, so the running server signs them, and no server runs in "+string(data)) {
		t.Errorf("without a server: %v: %s", err, out)
	}
}

func startSealedIn(t *testing.T, env []string, data datadir.Dir, phrase string, args ...string) *process {
	t.Helper()
	return startIn(t, env, "interlock", append([]string{
		"up", "--data-dir", string(data), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0",
		"--presence", "required", "--seal-passphrase-file", phrase,
	}, args...)...)
}

func sealedReady(t *testing.T, p *process, data datadir.Dir) error {
	t.Helper()
	if !p.running() {
		t.Fatalf("it ended: %v: %s", p.err, p.log)
	}
	at, err := data.ReadEndpoints()
	if err == nil && (at.HTTP == "" || at.PID != p.pid()) {
		err = errors.New("it does not say where it is")
	}
	if err != nil {
		return err
	}
	return ready(at.HTTP)
}

// S24.13: a sealed default data folder has a twin of its mark next to it, and is not served without that.
func TestSealedDefaultFolder(t *testing.T) {
	t.Parallel()
	home, phrase := t.TempDir(), secret(t, words)
	env, data := []string{"XDG_STATE_HOME=" + home}, datadir.Dir(filepath.Join(home, "interlock", "ws-0123456789ab"))
	p := startSealedIn(t, env, data, phrase, "--seal", "passphrase")
	eventually(t, "the sealed server is ready", func() error { return sealedReady(t, p, data) })
	p.drain(t)
	twin := string(data) + ".mark"
	if err := os.Rename(twin, twin+".away"); err != nil {
		t.Fatal(err)
	}
	p = startSealedIn(t, env, data, phrase)
	eventually(t, "the server refuses the folder", func() error {
		if p.running() {
			return errors.New("it runs")
		}
		return nil
	})
	if !strings.Contains(p.log.String(), "the mark of the seal outside of the data folder is gone") {
		t.Errorf("without the twin: %s", p.log)
	}
	if err := os.Rename(twin+".away", twin); err != nil {
		t.Fatal(err)
	}
	p = startSealedIn(t, env, data, phrase)
	eventually(t, "the sealed server is ready again", func() error { return sealedReady(t, p, data) })
	p.drain(t)
}
