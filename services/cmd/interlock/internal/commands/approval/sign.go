package approval

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
)

// signing has the flags by which a person signs a decision.
type signing struct {
	Sign string `help:"Sign the decision with a key that is registered for you: ssh. A security key (sk-ssh-ed25519) asks for a touch." enum:",ssh" default:"" placeholder:"HOW"`
	Key  string `help:"With --sign ssh: the file of the key. The default is the registered one, by the SSH agent." placeholder:"FILE" type:"path"`
}

// signed returns the signature of a decision, nil without --sign. It shows the text that is
// signed.
func (s *signing) signed(ctx context.Context, io console.Streams, conn grpc.ClientConnInterface, req *approvalv1.GetApprovalStatementRequest) (*approvalv1.DecisionSignature, error) {
	switch {
	case s.Sign == "" && s.Key != "":
		return nil, console.Misusedf("--key is the key of --sign ssh; give that too")
	case s.Sign == "":
		return nil, nil //nolint:nilnil // most decisions have none
	}
	st, err := approvalv1.NewApprovalServiceClient(conn).GetApprovalStatement(ctx, req)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(io.Err, "interlock: you sign:\n%s", st.GetShown())
	text, err := s.ssh(ctx, st)
	if err != nil {
		return nil, err
	}
	return &approvalv1.DecisionSignature{Statement: st.GetStatement(), Ssh: text}, nil
}

// ssh signs with ssh-keygen: with the file that is named, or with the registered keys in turn,
// security keys first.
func (s *signing) ssh(ctx context.Context, st *approvalv1.GetApprovalStatementResponse) (string, error) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		return "", fault.New(fault.FailedPrecondition, "ssh-keygen is not installed, and signs; install OpenSSH 8.2 or later, or sign in the console")
	}
	if s.Key != "" {
		return runKeygen(ctx, keygen, s.Key, st.GetStatement())
	}
	var lines []string
	for _, key := range st.GetKeys() {
		if line := key.GetSshPublicKey(); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "", fault.New(fault.FailedPrecondition, "no SSH key is registered for you; register one, or sign with a passkey in the console")
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Compare(fmt.Sprint(!strings.HasPrefix(a, "sk-")), fmt.Sprint(!strings.HasPrefix(b, "sk-")))
	})
	dir, err := os.MkdirTemp("", "interlock-sign-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var problem error
	for i, line := range lines {
		file := filepath.Join(dir, fmt.Sprintf("key%d.pub", i))
		if err := os.WriteFile(file, []byte(line+"\n"), 0o600); err != nil {
			return "", err
		}
		text, err := runKeygen(ctx, keygen, file, st.GetStatement())
		if err == nil {
			return text, nil
		}
		problem = err
	}
	return "", problem
}

func runKeygen(ctx context.Context, keygen, file string, statement []byte) (string, error) {
	cmd := exec.CommandContext(ctx, keygen, "-Y", "sign", "-n", signature.SSHNamespace, "-f", file)
	var complaint bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(statement), &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fault.New(fault.FailedPrecondition, "ssh-keygen did not sign (%s); name the file of the key by --key, or add the key to the SSH agent", strings.TrimSpace(complaint.String()))
	}
	return string(out), nil
}
