package seal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/internal/seal"
)

const words = "correct horse battery staple"

// S24.10: only its passphrase opens a seal, another can be set, and nothing is lost by a wrong one.
func TestPassphrases(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seal.json")
	if info, err := seal.Read(file); info != nil || err != nil {
		t.Fatalf("without a seal: %v, %v", info, err)
	}
	if _, err := seal.Make(file, "eleven char"); !errors.Is(err, seal.ErrShort) {
		t.Errorf("a short passphrase: %v", err)
	}
	box, err := seal.Make(file, words)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Make(file, words); !errors.Is(err, os.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	secret := box.Seal("a", []byte("secret"))
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"", " ", words + " ", strings.ToUpper(words), box.ID()} {
		if _, err := seal.Open(file, wrong); !errors.Is(err, seal.ErrWrong) {
			t.Errorf("%q: %v", wrong, err)
		}
		if err := seal.Change(file, wrong, "another passphrase"); !errors.Is(err, seal.ErrWrong) {
			t.Errorf("change with %q: %v", wrong, err)
		}
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != string(before) {
		t.Errorf("the file was changed: %v", err)
	}
	if err := seal.Change(file, words, "another passphrase"); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Open(file, words); !errors.Is(err, seal.ErrWrong) {
		t.Errorf("the old passphrase: %v", err)
	}
	again, err := seal.Open(file, "another passphrase")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := again.Open("a", secret); err != nil || string(text) != "secret" {
		t.Errorf("sealed before: %q, %v", text, err)
	}
}

// S24.10: a file of a seal that another program has changed does not open, and costs no more than a seal does.
func TestChangedFilesOfSeals(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seal.json")
	if _, err := seal.Make(file, words); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"fewer passes": {`"passes": 3`, `"passes": 1`}, "less memory": {`"memory_kib": 65536`, `"memory_kib": 64`}, "fewer threads": {`"threads": 4`, `"threads": 1`},
		"another id": {`"id": "`, `"id": "x`}, "another time": {`Z"`, `+01:00"`}, "much memory": {`65536`, `4000000000`}, "no memory": {`65536`, `0`}, "many passes": {`"passes": 3`, `"passes": 4000000000`},
		"no threads": {`"threads": 4`, `"threads": 0`}, "another kind": {`"passphrase"`, `"none"`}, "another form": {`"form": 1`, `"form": 2`}, "no JSON": {`{`, ``},
	} {
		changed := strings.Replace(string(whole), change[0], change[1], 1)
		if changed == string(whole) {
			t.Fatalf("%s changes nothing", name)
		}
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := seal.Open(file, words); err == nil {
			t.Errorf("%s: it opens", name)
		}
	}
}

// S24.11: a sealed text opens under its name, with its seal, and not after a newer one.
func TestSealedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	box, err := seal.Make(filepath.Join(dir, "seal.json"), words)
	if err != nil {
		t.Fatal(err)
	}
	other, err := seal.Make(filepath.Join(dir, "other.json"), words)
	if err != nil {
		t.Fatal(err)
	}
	first := box.Seal("a", []byte("first"))
	if text, err := box.Open("a", first); err != nil || string(text) != "first" {
		t.Errorf("%q, %v", text, err)
	}
	cut := first[:len(first)-9]
	flipped := append([]byte(nil), first...)
	flipped[60] ^= 1
	for name, try := range map[string]func() ([]byte, error){
		"another name": func() ([]byte, error) { return box.Open("b", first) },
		"another seal": func() ([]byte, error) { return other.Open("a", first) },
		"cut off":      func() ([]byte, error) { return box.Open("a", cut) },
		"changed":      func() ([]byte, error) { return box.Open("a", flipped) },
		"plain":        func() ([]byte, error) { return box.Open("a", []byte("first")) },
		"empty":        func() ([]byte, error) { return box.Open("a", nil) },
		"with more":    func() ([]byte, error) { return box.Open("a", append(append([]byte(nil), first...), "{}"...)) },
	} {
		if text, err := try(); !errors.Is(err, seal.ErrOpen) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	second := box.Seal("a", []byte("second"))
	if _, err := box.Open("a", first); err == nil {
		t.Error("an older text opens")
	}
	if text, err := box.Open("a", second); err != nil || string(text) != "second" {
		t.Errorf("%q, %v", text, err)
	}

	// The mark keeps this beyond a restart.
	mark, err := seal.MakeMark(filepath.Join(dir, "seal.mark"), "", box)
	if err != nil {
		t.Fatal(err)
	}
	box.Remember(mark)
	if err := mark.Close(); err != nil {
		t.Fatal(err)
	}
	restarted, err := seal.Open(filepath.Join(dir, "seal.json"), words)
	if err != nil {
		t.Fatal(err)
	}
	if mark, err = seal.OpenMark(filepath.Join(dir, "seal.mark"), "", restarted); err != nil {
		t.Fatal(err)
	}
	defer mark.Close()
	restarted.Remember(mark)
	if _, err := restarted.Open("a", first); err == nil {
		t.Error("an older text opens after a restart")
	}
	if _, err := restarted.Open("a", second); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

// S24.13: the twin of the mark, which is outside of the folder, keeps what an older copy of the whole folder has forgotten. It
// cannot be removed or changed unnoticed.
func TestTwinOfTheMark(t *testing.T) {
	t.Parallel()
	folder, outside := t.TempDir(), t.TempDir()
	box, err := seal.Make(filepath.Join(folder, "seal.json"), words)
	if err != nil {
		t.Fatal(err)
	}
	path, twin := filepath.Join(folder, "seal.mark"), filepath.Join(outside, "twin.mark")
	read := func(path string) []byte {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	write := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mark, err := seal.MakeMark(path, twin, box)
	if err != nil {
		t.Fatal(err)
	}
	policy, halt, file := seal.NameOf("policy"), seal.NameOf("halt"), seal.NameOf("tokens.json")
	step := func(do ...func() error) {
		t.Helper()
		for _, one := range do {
			if err := one(); err != nil {
				t.Fatal(err)
			}
		}
	}
	step(func() error { return mark.Put(policy, 5) }, func() error { return mark.Put(halt, 6) }, mark.Close)
	older := read(path)
	if mark, err = seal.OpenMark(path, twin, box); err != nil {
		t.Fatal(err)
	}
	mark.File(file, 8)
	step(func() error { return mark.Put(policy, 9) }, func() error { return mark.Leave(halt, 6) }, func() error { return mark.Delete(halt, 6) }, mark.Close)
	newer, kept := read(path), read(twin)

	write(path, older)
	if mark, err = seal.OpenMark(path, twin, box); err != nil {
		t.Fatal(err)
	}
	if got := mark.Entries(); len(got) != 2 || got[policy] != (seal.Entry{Serial: 9, State: seal.Live}) || got[halt] != (seal.Entry{Serial: 6, State: seal.Gone}) || mark.Files()[file] != 8 {
		t.Errorf("after an older copy: %v %v", got, mark.Files())
	}
	step(mark.Close)
	write(path, newer)
	for name, spoil := range map[string]func(){
		"removed":        func() { _ = os.Remove(twin) },
		"changed":        func() { write(twin, append(kept[:len(kept)-1:len(kept)-1], kept[len(kept)-1]^1)) },
		"the mark's own": func() { write(twin, newer) },
	} {
		spoil()
		if mark, err := seal.OpenMark(path, twin, box); err == nil {
			t.Errorf("%s: the mark opens: %v", name, mark.Entries())
		}
		write(twin, kept)
	}
	if mark, err = seal.OpenMark(path, twin, box); err != nil {
		t.Fatal(err)
	}
	step(mark.Close)
}
