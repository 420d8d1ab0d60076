package app_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

func BenchmarkMask(b *testing.B) {
	for name, input := range map[string]string{
		"short":         `{"command":"go test ./... -run TestX -count=1","description":"Run the tests"}`,
		"16KiB":         `{"file_path":"a.go","content":"` + strings.Repeat(`func f(tokens []string) error { return nil }\n`, 340) + `"}`,
		"hostile":       `{"c":"` + hostileText(16<<10-100) + `"}`,
		"hostile lines": `{"c":"` + strings.ReplaceAll(hostileText(15<<10), "    ", `\n`) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if kept := (app.Masks{}).Input([]byte(input)); len(kept) == 0 {
					b.Fatal(string(kept))
				}
			}
		})
	}
}

// hostileText has as much as can be of what masks look for, and as little that they
// match.
func hostileText(length int) string {
	const hints = "pass word=key-u :// token secret:    bearer login -p sudo echo redis-cli u  sg. hf_ eyJ ghp_ xox sk- AKIA npm_ pwd ilk_ mysql <key "
	return strings.Repeat(hints, length/len(hints))
}

func BenchmarkMaskText(b *testing.B) {
	for name, text := range map[string]string{
		"message":        `Tool "Bash" is denied: state "review" allows no "curl --silent https://example.com"; use another tool.`,
		"hostile 16KiB":  hostileText(64 << 10),
		"keys 16KiB":     strings.Repeat("key", 16<<10/3),
		"dashes 16KiB":   strings.Repeat("--pass-", 16<<10/7),
		"sources 16KiB":  strings.Repeat("func f(tokens []string) error { return nil } // the key\n", 16<<10/57),
		"mysql -p 16KiB": strings.Repeat("mysql ", 16<<10/6),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if (app.Masks{}).Text(text) == "" {
					b.Fatal("nothing is kept")
				}
			}
		})
	}
}
