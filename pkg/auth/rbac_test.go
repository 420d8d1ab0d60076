package auth_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "google.golang.org/grpc/health/grpc_health_v1"
	_ "google.golang.org/grpc/reflection/grpc_reflection_v1"
	_ "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	_ "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	_ "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// described are all RPCs of the descriptors that this test links.
func described() map[string]bool {
	names := make(map[string]bool)
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		services := file.Services()
		for i := range services.Len() {
			service := services.Get(i)
			for j := range service.Methods().Len() {
				names["/"+string(service.FullName())+"/"+string(service.Methods().Get(j).Name())] = true
			}
		}
		return true
	})
	return names
}

func TestEveryRPCIsInTheTable(t *testing.T) {
	t.Parallel()
	rpcs := described()
	if len(rpcs) < 15 {
		t.Fatalf("only %d RPCs are linked", len(rpcs))
	}
	for name := range rpcs {
		if !auth.Known(name) {
			t.Errorf("%s is not in the table of rbac.go: nobody may call it", name)
		}
	}
	for _, name := range auth.Methods() {
		if !rpcs[name] {
			t.Errorf("%s is in the table but does not exist", name)
		}
	}
}

// The protos are the truth about which services there are: one that this test
// does not link would go unnoticed above.
func TestEveryServiceOfTheProtosIsLinked(t *testing.T) {
	t.Parallel()
	linked := make(map[string]bool)
	for name := range described() {
		linked[strings.Split(name, "/")[1]] = true
	}
	files, err := filepath.Glob("../../proto/interlock/*/v*/*.proto")
	if err != nil || len(files) == 0 {
		t.Fatalf("no protos: %v", err)
	}
	pkg, service := regexp.MustCompile(`(?m)^package ([\w.]+);`), regexp.MustCompile(`(?m)^service (\w+)`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range service.FindAllSubmatch(data, -1) {
			name := string(pkg.FindSubmatch(data)[1]) + "." + string(match[1])
			if !linked[name] {
				t.Errorf("%s of %s is not linked: import its generated package in this test", name, filepath.Base(file))
			}
		}
	}
}

func TestWhoMayCallWhat(t *testing.T) {
	t.Parallel()
	// Letters: a(gent) o(perator) p (approver) v (observer).
	for name, want := range map[string]string{
		"/interlock.engine.v1.WorkflowService/Register":             "ao",
		"/interlock.engine.v1.WorkflowService/Get":                  "aopv",
		"/interlock.engine.v1.WorkflowService/List":                 "aopv",
		"/interlock.engine.v1.WorkflowService/Validate":             "aopv",
		"/interlock.engine.v1.RunService/Start":                     "ao",
		"/interlock.engine.v1.RunService/Get":                       "aopv",
		"/interlock.engine.v1.RunService/List":                      "aopv",
		"/interlock.engine.v1.RunService/Transition":                "ao",
		"/interlock.engine.v1.RunService/BindBranch":                "ao",
		"/interlock.engine.v1.RunService/Interrupt":                 "ao",
		"/interlock.engine.v1.RunService/ForceState":                "ao",
		"/interlock.engine.v1.RunService/Pause":                     "ao",
		"/interlock.engine.v1.RunService/Resume":                    "ao",
		"/interlock.engine.v1.RunService/Cancel":                    "ao",
		"/interlock.engine.v1.RunService/History":                   "aopv",
		"/interlock.engine.v1.RunService/Watch":                     "aopv",
		"/interlock.policy.v1.PolicyEnforcerService/CheckToolCall":  "ao",
		"/interlock.policy.v1.PolicyEnforcerService/CheckToolCalls": "ao",
		"/interlock.policy.v1.PolicyEnforcerService/ReportToolCall": "ao",
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo": "aopv",
		"/interlock.engine.v1.RunService/NoSuchRPC":                 "",
		"/interlock.engine.v1.RunService/start":                     "",
		"interlock.engine.v1.RunService/Start":                      "",
		"":                                                          "",
	} {
		got := ""
		for i, role := range auth.Roles() {
			if auth.Allowed(name, role) {
				got += "aopv"[i : i+1]
			}
		}
		if got != want {
			t.Errorf("%s is for %q, want %q", name, got, want)
		}
		for _, role := range []auth.Role{"", "root", "Agent", "operator "} {
			if auth.Allowed(name, role) {
				t.Errorf("%s is allowed to the role %q", name, role)
			}
		}
	}
	for _, name := range auth.Methods() {
		if open := strings.HasPrefix(name, "/grpc.health."); auth.Open(name) != open {
			t.Errorf("%s open is %v", name, !open)
		}
	}
}
