package bundle_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/bundle"
	"github.com/interlock-run/interlock/pkg/receipt"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func newKey(t *testing.T, seed byte) (receipt.Signer, []byte) {
	t.Helper()
	private, public, err := receipt.NewKey(rand.NewChaCha8([32]byte{seed}))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := receipt.ReadSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, public
}

func statement() *bundle.Statement {
	everyone := []string{"everyone:*"}
	return &bundle.Statement{Set: "governance", Namespace: "default", Serial: 3, NotAfter: noon, Objects: []bundle.Object{
		{Kind: "workflow", Name: "gate", Digests: []string{"aa", "ab"}}, {Kind: "policy", Name: "calls", Digests: []string{"bb"}, Attachments: &everyone},
	}}
}

// TestOpen: only a signature by a key of the server counts, not a key id in the bundle (S26.8).
func TestOpen(t *testing.T) {
	t.Parallel()
	ours, public := newKey(t, 1)
	theirs, other := newKey(t, 2)
	keys, err := bundle.ReadKeys(public)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(key receipt.Signer) string {
		file, err := bundle.Sign(statement(), key)
		if err != nil {
			t.Fatal(err)
		}
		return string(file)
	}
	good := sign(ours)
	edited := func(edit func(map[string]any)) string {
		var file map[string]any
		if err := json.Unmarshal([]byte(good), &file); err != nil {
			t.Fatal(err)
		}
		edit(file)
		text, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	payload := func(from, to string) string {
		return edited(func(file map[string]any) {
			text, err := base64.StdEncoding.DecodeString(file["payload"].(string))
			if err != nil || !bytes.Contains(text, []byte(from)) {
				t.Fatal(err, string(text))
			}
			file["payload"] = base64.StdEncoding.EncodeToString(bytes.Replace(text, []byte(from), []byte(to), 1))
		})
	}
	for name, test := range map[string]struct{ file, says string }{
		"signed":               {good, ""},
		"nothing":              {"", "there is no bundle"},
		"another key":          {sign(theirs), "no signature of it is by a key"},
		"another key, our id":  {strings.Replace(sign(theirs), receipt.KeyID(theirs.Public()), receipt.KeyID(ours.Public()), 1), "no signature of it is by a key"},
		"no signature":         {edited(func(f map[string]any) { f["signatures"] = []any{} }), "no signature of it is by a key"},
		"no signatures at all": {edited(func(f map[string]any) { delete(f, "signatures") }), "no signature of it is by a key"},
		"a higher serial":      {payload(`"serial":3`, `"serial":4`), "no signature of it is by a key"},
		"another digest":       {payload(`"bb"`, `"cc"`), "no signature of it is by a key"},
		"another type":         {edited(func(f map[string]any) { f["payloadType"] = "text/plain" }), "not the statement of a set"},
		"a field more":         {edited(func(f map[string]any) { f["note"] = "x" }), "it is no bundle"},
		"two documents":        {good + "{}", "more than one document"},
		"no JSON":              {"x", "it is no bundle"},
		"too large":            {strings.Repeat(" ", bundle.MaxBytes+1), "of at most"},
	} {
		s, digest, err := keys.Open([]byte(test.file))
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (s.Serial != 3 || len(s.Objects) != 2 || len(digest) != 64) {
			t.Errorf("%s: %+v %s", name, s, digest)
		}
	}
	both, err := bundle.ReadKeys(public, other)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := both.Open([]byte(sign(theirs))); err != nil {
		t.Errorf("one of two keys: %v", err)
	}
	if _, _, err := (bundle.Keys{}).Open([]byte(good)); err == nil {
		t.Error("it counts without any key")
	}
	if _, err := bundle.ReadKeys([]byte("x")); err == nil {
		t.Error("no key is read as one")
	}
}

// TestFits: a statement is about one set, and for a time.
func TestFits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		namespace, set string
		at             time.Time
		serial         int64
		says           string
	}{
		"as signed":         {"default", "governance", noon, 1, ""},
		"another set":       {"default", "other", noon, 1, "is about set"},
		"another namespace": {"shop", "governance", noon, 1, "of namespace"},
		"too late":          {"default", "governance", noon.Add(time.Second), 1, "was valid until"},
		"no serial":         {"default", "governance", noon, 0, "its serial is 0"},
	} {
		s := statement()
		s.Serial = test.serial
		if err := s.Fits(test.namespace, test.set, test.at); (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDiffers: a set gets exactly the signed objects.
func TestDiffers(t *testing.T) {
	t.Parallel()
	everyone, nobody := []string{"everyone:*"}, []string{}
	gate := bundle.Object{Kind: "workflow", Name: "gate", Digests: []string{"ab"}}
	calls := bundle.Object{Kind: "policy", Name: "calls", Digests: []string{"bb"}, Attachments: &everyone}
	of := func(o bundle.Object, digest string, attachments *[]string) bundle.Object {
		o.Digests, o.Attachments = []string{digest}, attachments
		return o
	}
	for name, test := range map[string]struct {
		gets []bundle.Object
		want string
	}{
		"the same":             {[]bundle.Object{calls, gate}, ""},
		"one is missing":       {[]bundle.Object{gate}, "policy calls is signed, and missing"},
		"one more":             {[]bundle.Object{gate, calls, {Kind: "workflow", Name: "x", Digests: []string{"a"}}}, "workflow x is not signed"},
		"another content":      {[]bundle.Object{of(gate, "zz", nil), calls}, "workflow gate has another content than the signed one"},
		"other attachments":    {[]bundle.Object{gate, of(calls, "bb", &nobody)}, "policy calls gets other attachments than the signed ones"},
		"attachments left":     {[]bundle.Object{gate, of(calls, "bb", nil)}, "policy calls gets other attachments than the signed ones"},
		"attachments unsigned": {[]bundle.Object{of(gate, "aa", &nobody), calls}, "workflow gate gets other attachments than the signed ones"},
		"one twice":            {[]bundle.Object{gate, calls, gate}, "workflow gate is not signed"},
	} {
		if got := strings.Join(statement().Differs(test.gets), "; "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
