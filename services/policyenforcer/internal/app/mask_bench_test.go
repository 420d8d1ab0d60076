package app_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

func BenchmarkMask(b *testing.B) {
	for name, input := range map[string]string{
		"short": `{"command":"go test ./... -run TestX -count=1","description":"Run the tests"}`,
		"16KiB": `{"file_path":"a.go","content":"` + strings.Repeat(`func f(tokens []string) error { return nil }\n`, 340) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if kept := (app.Masks{}).Input([]byte(input)); len(kept) < len(input)/2 {
					b.Fatal(string(kept))
				}
			}
		})
	}
}
