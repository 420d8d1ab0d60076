package puretest

import (
	"go/parser"
	"go/token"
	"testing"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		src  string
		want int
	}{
		"pure":                  {`import ("strings"; "time"); var d time.Duration; var s = strings.ToUpper("x")`, 0},
		"our own lowest level":  {`import _ "github.com/interlock-run/interlock/pkg/document"`, 0},
		"our own higher level":  {`import _ "github.com/interlock-run/interlock/pkg/store"`, 1},
		"another module of us":  {`import _ "github.com/interlock-run/interlock/gen/go/x"`, 1},
		"os":                    {`import _ "os"`, 1},
		"os/exec":               {`import _ "os/exec"`, 1},
		"net/url":               {`import _ "net/url"`, 1},
		"log/slog":              {`import _ "log/slog"`, 1},
		"math/rand/v2":          {`import _ "math/rand/v2"`, 1},
		"osteopathy is not os":  {`import _ "example.com/os"`, 0},
		"the clock":             {`import "time"; var now = time.Now()`, 1},
		"the clock, renamed":    {`import clock "time"; var now = clock.Now`, 1},
		"the clock, not named":  {`import . "time"; var now = Now()`, 1},
		"a field called Now":    {`type t struct{ Now int }; var x t; var y = x.Now`, 0},
		"printing":              {`import "fmt"; func f() { fmt.Println() }`, 1},
		"formatting is no I/O":  {`import "fmt"; var s = fmt.Sprint(1)`, 0},
		"two problems, not one": {`import ("os"; "time"); var a, b = os.Args, time.Now()`, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+tt.src, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if got := Problems(file, nil); len(got) != tt.want {
				t.Errorf("got %v, want %d problems", got, tt.want)
			}
		})
	}
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nimport _ \"os\"", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := Problems(file, []string{"os"}); len(got) != 0 {
		t.Errorf("allowed, but got %v", got)
	}
}
