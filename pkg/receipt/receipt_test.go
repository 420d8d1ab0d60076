package receipt_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/receipt"
)

// The roots of RFC 6962 for trees of every shape: a node is a hash over both sides.
func TestRoot(t *testing.T) {
	t.Parallel()
	if got := receipt.Root(nil).String(); got != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("the empty tree has %s", got)
	}
	var links []receipt.Link
	leaf := func(l receipt.Link) string { sum := sha256.Sum256(append([]byte{0}, l[:]...)); return string(sum[:]) }
	node := func(a, b string) string { sum := sha256.Sum256([]byte("\x01" + a + b)); return string(sum[:]) }
	for i := range 5 {
		links = append(links, sha256.Sum256([]byte{byte(i)}))
	}
	l := func(i int) string { return leaf(links[i]) }
	four := node(node(l(0), l(1)), node(l(2), l(3)))
	for n, want := range map[int]string{1: l(0), 2: node(l(0), l(1)), 3: node(node(l(0), l(1)), l(2)), 4: four, 5: node(four, l(4))} {
		if got := receipt.Root(links[:n]).String(); got != hex.EncodeToString([]byte(want)) {
			t.Errorf("%d leaves: %s", n, got)
		}
	}
}

// A gap in a log has no chain, and the time of a record counts where its text has none.
func TestChain(t *testing.T) {
	t.Parallel()
	if _, err := receipt.Chain("default", "run_1", []receipt.Entry{{Sequence: 2}}); err == nil {
		t.Error("a log without its first record has a chain")
	}
	head := func(e receipt.Entry) string {
		links, err := receipt.Chain("default", "run_1", []receipt.Entry{e})
		if err != nil {
			t.Fatal(err)
		}
		return receipt.Head("default", "run_1", links).String()
	}
	plain := receipt.Entry{Sequence: 1, CommittedUS: 7, Record: `{"tool":"Read"}`}
	timed := receipt.Entry{Sequence: 1, CommittedUS: 7, Record: `{"time":"2026-11-26T00:00:00Z"}`}
	later := func(e receipt.Entry) receipt.Entry { e.CommittedUS = 8; return e }
	if head(plain) == head(later(plain)) || head(timed) != head(later(timed)) {
		t.Error("the time of the commit counts exactly where the text has none")
	}
	if receipt.Anchor("a", "bc") == receipt.Anchor("ab", "c") {
		t.Error("two partitions begin alike")
	}
}

func newKey(t testing.TB, seed byte) receipt.Signer {
	t.Helper()
	private, public, err := receipt.NewKey(bytes.NewReader(bytes.Repeat([]byte{seed}, 64)))
	if err != nil {
		t.Fatal(err)
	}
	key, err := receipt.ReadSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	if read, err := receipt.ReadPublic(public); err != nil || !read.Equal(key.Public()) {
		t.Fatalf("the public key: %v", err)
	}
	return key
}

func sealed(t testing.TB, key receipt.Signer) *receipt.File {
	t.Helper()
	p := &receipt.Predicate{Format: receipt.Format, Namespace: "default", RunID: "run_1", Partition: "run_1", IssuedAt: time.Unix(1, 0).UTC()}
	p.Head = receipt.Head("default", "run_1", nil).String()
	p.Checkpoint = receipt.CheckpointOf("default", "run_1", nil)
	f, err := receipt.Seal(p, key)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The forms are those of their specifications: other readers read the written file.
func TestForms(t *testing.T) {
	t.Parallel()
	key := newKey(t, 1)
	f := sealed(t, key)
	text, err := f.Write()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(f.Payload), `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"interlock:default/run_1","digest":{"sha256":"`) {
		t.Errorf("the statement is %s", f.Payload)
	}
	if want := "interlock.run/log/default/run_1\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n\u2014 interlock.run/receipt "; !strings.HasPrefix(f.Checkpoint, want) {
		t.Errorf("the checkpoint is %q", f.Checkpoint)
	}
	read, s, err := receipt.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	witness := newKey(t, 2)
	if err := read.Cosign("witness.example.com", time.Unix(1_700_000_000, 0), witness); err != nil {
		t.Fatal(err)
	}
	seen, faults := read.CheckSignatures(s, key.Public(), nil)
	if len(faults) > 0 || len(seen) > 0 {
		t.Errorf("%v %v", seen, faults)
	}
	if faults := s.CheckLog(); len(faults) > 0 {
		t.Error(faults)
	}
	for _, name := range []string{"", "two words", "a+b", "a\nb"} {
		if err := read.Cosign(name, time.Unix(1, 0), witness); err == nil {
			t.Errorf("%q is the name of a witness", name)
		}
	}
}

// Keys that are none, or of another kind, are refused with a reason.
func TestKeysAreRefused(t *testing.T) {
	t.Parallel()
	private, public, err := receipt.NewKey(bytes.NewReader(make([]byte, 64)))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"nothing": "", "a public key": string(public), "no key in it": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := receipt.ReadSigner([]byte(text)); err == nil {
			t.Errorf("%s signs", name)
		}
	}
	if _, err := receipt.ReadPublic(private); err == nil {
		t.Error("a private key is taken for a public one")
	}
}

// FuzzRead: no bytes crash a reader, and a receipt is written as it was read.
func FuzzRead(f *testing.F) {
	text, err := sealed(f, newKey(f, 1)).Write()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"payloadType":"application/vnd.in-toto+json","payload":"e30="}`))
	key := newKey(f, 1).Public()
	f.Fuzz(func(t *testing.T, data []byte) {
		file, s, err := receipt.Read(data)
		if err != nil {
			return
		}
		_, faults := file.CheckSignatures(s, key, nil)
		faults = append(append(faults, s.CheckLog()...), s.CheckRecord()...)
		if len(faults) == 0 && !bytes.Contains(data, []byte("payload")) {
			t.Error(fmt.Sprint("nothing is wrong with ", string(data)))
		}
	})
}
