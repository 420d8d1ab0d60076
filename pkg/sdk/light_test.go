package sdk

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The SDK brings gRPC, the contracts and nothing else into a program.
func TestItBringsLittle(t *testing.T) {
	t.Parallel()
	const most = 130 // packages that are not of the standard library
	allowed := []string{
		"google.golang.org/grpc", "google.golang.org/protobuf", "google.golang.org/genproto/googleapis/rpc",
		"golang.org/x/net", "golang.org/x/sys", "golang.org/x/text", "buf.build/gen/go/bufbuild/protovalidate",
		"github.com/interlock-run/interlock/gen", "github.com/interlock-run/interlock/pkg/fault",
		"github.com/interlock-run/interlock/pkg/internal", "github.com/interlock-run/interlock/pkg/sdk",
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 20 || len(packages) > most {
		t.Errorf("it brings %d packages, and may bring %d", len(packages), most)
	}
	for _, path := range packages {
		if !slices.ContainsFunc(allowed, func(of string) bool { return path == of || strings.HasPrefix(path, of+"/") }) {
			t.Errorf("it brings %s", path)
		}
	}
}
