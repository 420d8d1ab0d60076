package auth_test

import (
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// BenchmarkAuthenticate measures the look-up of a token in a file of five.
func BenchmarkAuthenticate(b *testing.B) {
	file := filepath.Join(b.TempDir(), "tokens.json")
	minted := auth.Generate()
	if _, err := auth.WriteFile(file, minted); err != nil {
		b.Fatal(err)
	}
	if err := auth.ChangeFile(file, func(f *auth.File) error { f.HashAll(); return nil }); err != nil {
		b.Fatal(err)
	}
	tokens, err := auth.LoadTokens(file)
	if err != nil {
		b.Fatal(err)
	}
	ctx, token := b.Context(), minted[auth.Agent]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tokens.Authenticate(ctx, token); err != nil {
			b.Fatal(err)
		}
	}
}
