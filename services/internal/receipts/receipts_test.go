package receipts_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/receipts"
)

// keyOf is a key that is the same in every run of the tests.
func keyOf(t *testing.T, name string) receipt.Signer {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	private, _, err := receipt.NewKey(bytes.NewReader(append(seed[:], seed[:]...)))
	if err != nil {
		t.Fatal(err)
	}
	key, err := receipt.ReadSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// object is JSON as a tamperer edits it.
type object = map[string]any

// tamperer is a receipt in the hands of an attacker.
type tamperer struct {
	t       *testing.T
	key     receipt.Signer // of the deployment
	witness receipt.Signer
	file    object
	payload object
	// resign: the envelope and the checkpoint are signed again, with this key.
	resign receipt.Signer
	// text replaces the file, when it is not empty.
	text string
}

func (m *tamperer) predicate() object { return m.payload["predicate"].(object) }

func (m *tamperer) list(name string) []any { return m.predicate()[name].([]any) }

func (m *tamperer) one(name string, i int) object { return m.list(name)[i].(object) }

// vote is the one on the approval.
func (m *tamperer) vote() object { return m.one("approvals", 0)["votes"].([]any)[0].(object) }

// record edits the text of a record of the log.
func (m *tamperer) record(i int, old, with string) {
	e := m.one("log", i)
	text := e["record"].(string)
	if !strings.Contains(text, old) {
		m.t.Fatalf("%s is not in %s", old, text)
	}
	e["record"] = strings.Replace(text, old, with, 1)
}

// write is the file that comes of it.
func (m *tamperer) write() []byte {
	if m.text != "" {
		return []byte(m.text)
	}
	if m.resign != nil {
		payload, err := json.Marshal(m.payload)
		if err != nil {
			m.t.Fatal(err)
		}
		message := append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(receipt.PayloadType), receipt.PayloadType, len(payload)), payload...)
		signature, err := m.resign.Sign(message)
		if err != nil {
			m.t.Fatal(err)
		}
		m.file["payload"] = payload
		m.file["signatures"] = []any{object{"keyid": receipt.KeyID(m.resign.Public()), "sig": signature}}
	} else if payload, err := json.Marshal(m.payload); err == nil && !bytes.Equal(payload, mustJSON(m.t, decoded(m.t, m.file["payload"]))) {
		m.file["payload"] = payload
	}
	return mustJSON(m.t, m.file)
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decoded(t *testing.T, payload any) object {
	t.Helper()
	var text []byte
	if err := json.Unmarshal(mustJSON(t, payload), &text); err != nil {
		t.Fatal(err)
	}
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// rechain makes the log, the head, the checkpoint and the subject fit the changed
// records, as far as that needs no key.
func (m *tamperer) rechain() {
	p := m.predicate()
	var log []receipt.Entry
	for i, e := range m.list("log") {
		e := e.(object)
		e["sequence"] = float64(i + 1)
		at, _ := e["committed_us"].(float64)
		log = append(log, receipt.Entry{Sequence: int64(i + 1), CommittedUS: int64(at), Record: e["record"].(string)})
	}
	namespace, partition := p["namespace"].(string), p["partition"].(string)
	links, err := receipt.Chain(namespace, partition, log)
	if err != nil {
		m.t.Fatal(err)
	}
	for i, e := range m.list("log") {
		e.(object)["hash"] = links[i].String()
	}
	p["head"] = receipt.Head(namespace, partition, links).String()
	p["checkpoint"] = receipt.CheckpointOf(namespace, partition, links)
	m.payload["subject"].([]any)[0].(object)["digest"].(object)["sha256"] = p["head"]
}

// renote signs the checkpoint of the statement again.
func (m *tamperer) renote(key receipt.Signer) {
	body := m.predicate()["checkpoint"].(string)
	f, err := receipt.Seal(&receipt.Predicate{Checkpoint: body}, key)
	if err != nil {
		m.t.Fatal(err)
	}
	m.file["checkpoint"] = f.Checkpoint
}

// tamperings are kinds of attacks on a receipt. Of those below "with the key of
// the deployment" it is the deployment itself that lies, and leaves a trace.
func tamperings() []tampering {
	swap := func(list []any) { list[0], list[1] = list[1], list[0] }
	without := func(m *tamperer, name string, i int) {
		m.predicate()[name] = slices.Delete(slices.Clone(m.list(name)), i, i+1)
	}
	twice := func(m *tamperer, name string, i int) {
		m.predicate()[name] = append(slices.Clone(m.list(name)), m.list(name)[i])
	}
	resigned := func(do func(*tamperer)) func(*tamperer) {
		return func(m *tamperer) { m.resign = m.key; do(m) }
	}
	other := func(m *tamperer) receipt.Signer { return keyOf(m.t, "somebody else") }
	return []tampering{
		// Without any key.
		{"a state is another", func(m *tamperer) { m.predicate()["state"] = "work" }},
		{"a status is another", func(m *tamperer) { m.predicate()["status"] = "FAILED" }},
		{"another run", func(m *tamperer) { m.predicate()["run_id"] = "run_01jd3k0c7q0000000000000000" }},
		{"another workflow", func(m *tamperer) { m.predicate()["workflow"] = "other" }},
		{"another namespace", func(m *tamperer) { m.predicate()["namespace"] = "other" }},
		{"another time of issue", func(m *tamperer) { m.predicate()["issued_at"] = "2020-01-01T00:00:00Z" }},
		{"a record is gone", func(m *tamperer) { without(m, "log", 1) }},
		{"two records change places", func(m *tamperer) { swap(m.list("log")) }},
		{"a denial becomes an allowance", func(m *tamperer) { m.record(1, `"DENY"`, `"ALLOW"`) }},
		{"a change of the history is gone", func(m *tamperer) { without(m, "history", 1) }},
		{"who approved is another", func(m *tamperer) { m.one("approvals", 0)["votes"].([]any)[0].(object)["by"] = "mallory" }},
		{"a tool is added to the definition", func(m *tamperer) {
			m.one("definitions", 0)["definition"].(object)["states"].(object)["work"].(object)["allowed_tools"] = []any{"Bash", "Edit"}
		}},
		{"a certificate proves more", func(m *tamperer) { m.one("certificates", 0)["properties"].([]any)[0].(object)["verdict"] = "PROVED!" }},
		{"the signature is another's", func(m *tamperer) { m.resign = other(m) }},
		{"the signature is gone", func(m *tamperer) { m.file["signatures"] = []any{} }},
		{"the signature is there twice", func(m *tamperer) { s := m.file["signatures"].([]any); m.file["signatures"] = append(s, s[0]) }},
		{"a bit of the signature", func(m *tamperer) {
			s := m.file["signatures"].([]any)[0].(object)
			s["sig"] = flipped(m.t, s["sig"])
		}},
		{"a bit of the payload", func(m *tamperer) {
			text := decodedText(m.t, m.file["payload"])
			m.file["payload"] = bytes.Replace(text, []byte(`"status":"COMPLETED"`), []byte(`"status":"COMPLETEE"`), 1)
			m.text = string(mustJSON(m.t, m.file))
		}},
		{"another type of payload", func(m *tamperer) { m.file["payloadType"] = "application/json" }},
		{"another key is named", func(m *tamperer) { m.file["signatures"].([]any)[0].(object)["keyid"] = strings.Repeat("0", 64) }},
		{"the checkpoint is another's", func(m *tamperer) { m.renote(other(m)) }},
		{"the checkpoint is gone", func(m *tamperer) { m.file["checkpoint"] = "" }},
		{"the checkpoint is of a longer log", func(m *tamperer) {
			m.file["checkpoint"] = strings.Replace(m.file["checkpoint"].(string), "\n4\n", "\n5\n", 1)
		}},
		{"the cosignature is of another time", func(m *tamperer) { m.file["checkpoint"] = cosignedLater(m.t, m.file["checkpoint"].(string)) }},
		{"the cosignature is another's", func(m *tamperer) { m.recosign(other(m)) }},
		{"the cosignature is gone", func(m *tamperer) {
			lines := strings.SplitAfter(m.file["checkpoint"].(string), "\n")
			m.file["checkpoint"] = strings.Join(lines[:len(lines)-2], "")
		}},
		{"a name is there twice", func(m *tamperer) {
			m.text = strings.Replace(string(mustJSON(m.t, m.file)), `{"`, `{"payloadType":"application/json","`, 1)
		}},
		{"a name that nobody knows", func(m *tamperer) { m.file["note"] = "trust me" }},
		{"something behind it", func(m *tamperer) { m.text = string(mustJSON(m.t, m.file)) + "{}" }},
		{"other base64", func(m *tamperer) {
			m.text = strings.Replace(string(mustJSON(m.t, m.file)), `"payload":"`, `"payload":"\n`, 1)
		}},
		{"other bits at the end of the base64", func(m *tamperer) {
			m.file["signatures"].([]any)[0].(object)["sig"] = looser(m.file["signatures"].([]any)[0].(object)["sig"].(string))
		}},
		{"a line of the checkpoint that is no signature", func(m *tamperer) { m.file["checkpoint"] = m.file["checkpoint"].(string) + "trust me\n" }},
		{"half of it", func(m *tamperer) { text := mustJSON(m.t, m.file); m.text = string(text[:len(text)/2]) }},

		// With the key of the deployment, and parts that do not fit each other any more.
		{"signed again: a record is gone", resigned(func(m *tamperer) { without(m, "log", 1) })},
		{"signed again: the last record is gone", resigned(func(m *tamperer) { without(m, "log", len(m.list("log"))-1) })},
		{"signed again: a record is another", resigned(func(m *tamperer) { m.record(1, `"DENY"`, `"ALLOW"`) })},
		{"signed again: a record's time is another", resigned(func(m *tamperer) { m.one("log", 0)["committed_us"] = float64(1) })},
		{"signed again: a record is there twice", resigned(func(m *tamperer) { twice(m, "log", 0) })},
		{"signed again: the head is another", resigned(func(m *tamperer) { m.predicate()["head"] = strings.Repeat("0", 64) })},
		{"signed again: the subject is another", resigned(func(m *tamperer) { m.payload["subject"].([]any)[0].(object)["name"] = "interlock:default/run_2" })},
		{"signed again: the checkpoint is of another log", resigned(func(m *tamperer) { m.predicate()["partition"] = "run_2" })},
		{"signed again: a statement of another type", resigned(func(m *tamperer) { m.payload["predicateType"] = "https://slsa.dev/provenance/v1" })},
		{"signed again: a change is gone", resigned(func(m *tamperer) { without(m, "history", 1) })},
		{"signed again: a change is added", resigned(func(m *tamperer) { twice(m, "history", 0) })},
		{"signed again: the end is another", resigned(func(m *tamperer) { m.predicate()["status"] = "FAILED" })},
		{"signed again: the definition is gone", resigned(func(m *tamperer) { without(m, "definitions", 0) })},
		{"signed again: a definition is another", resigned(func(m *tamperer) {
			m.one("definitions", 0)["definition"].(object)["states"].(object)["work"].(object)["allowed_tools"] = []any{"Bash", "Edit"}
		})},
		{"signed again: the policy is gone", resigned(func(m *tamperer) { without(m, "policies", 0) })},
		{"signed again: the policy of another version", resigned(func(m *tamperer) { m.one("policies", 0)["version"] = float64(7) })},
		{"signed again: an approval is gone", resigned(func(m *tamperer) { without(m, "approvals", 0) })},
		{"signed again: an approval of another run", resigned(func(m *tamperer) { m.one("approvals", 0)["run_id"] = "run_2" })},
		{"signed again: nobody has agreed", resigned(func(m *tamperer) { m.one("approvals", 0)["votes"].([]any)[0].(object)["approve"] = false })},
		{"signed again: the asker has decided", resigned(func(m *tamperer) {
			m.one("approvals", 0)["votes"].([]any)[0].(object)["by"] = m.one("approvals", 0)["asker"].(object)["principal"]
		})},
		{"signed again: the approval was of another event", resigned(func(m *tamperer) { m.one("approvals", 0)["subject"].(object)["event"] = "STOP" })},
		{"signed again: the certificate is gone", resigned(func(m *tamperer) { without(m, "certificates", 0) })},
		{"signed again: the certificate of another definition", resigned(func(m *tamperer) { m.one("certificates", 0)["definition"] = strings.Repeat("0", 64) })},
		{"signed again: the chain is made anew, and not the signed checkpoint", resigned(func(m *tamperer) { without(m, "log", 1); m.rechain() })},
		{"signed again, all of it, but for the witness", resigned(func(m *tamperer) { without(m, "log", 1); m.rechain(); m.renote(m.key) })},
	}
}

// lies are those of a deployment that signs everything again, and has no witness.
// Only who decides everything again finds them out.
func lies() []tampering {
	all := func(do func(*tamperer)) func(*tamperer) {
		return func(m *tamperer) { m.resign = m.key; do(m); m.rechain(); m.renote(m.key) }
	}
	return []tampering{
		{"a denial becomes an allowance", all(func(m *tamperer) { m.record(1, `"decision":"DENY"`, `"decision":"ALLOW"`) })},
		{"a call was of another tool", all(func(m *tamperer) { m.record(0, `"tool":"Bash"`, `"tool":"Edit"`) })},
		{"a call was in another state", all(func(m *tamperer) { m.record(0, `"state":"work"`, `"state":"ship"`) })},
		{"a transition led elsewhere", all(func(m *tamperer) { m.one("history", 2)["to"] = "done"; m.one("history", 3)["from"] = "done" })},
		{"an approval said something else", all(func(m *tamperer) { m.one("approvals", 0)["data"] = object{"target": "staging"} })},
		{"an agent has voted", all(func(m *tamperer) { m.vote()["role"] = "agent" })},
		{"somebody has voted who may not", all(func(m *tamperer) { m.vote()["role"] = "observer" })},
		{"the asker has voted, in capitals", all(func(m *tamperer) {
			m.vote()["by"] = strings.ToUpper(m.one("approvals", 0)["asker"].(object)["principal"].(string))
		})},
		{"somebody has rejected it before", all(func(m *tamperer) {
			no := maps.Clone(m.vote())
			no["by"], no["approve"] = "ann", false
			m.one("approvals", 0)["votes"] = []any{no, m.vote()}
		})},
		{"it was approved after it had expired", all(func(m *tamperer) { m.one("approvals", 0)["expires_at"] = m.one("approvals", 0)["created_at"] })},
		{"it took fewer to approve than the definition says", all(func(m *tamperer) {
			m.one("definitions", 0)["definition"].(object)["meta"].(object)["approval"] = object{"required": float64(2)}
			m.predicate()["certificates"] = []any{certificateOf(m.t, m.one("definitions", 0)["definition"])}
		})},
		{"others may approve than the definition says", all(func(m *tamperer) {
			m.one("approvals", 0)["terms"].(object)["eligible"] = object{"roles": []any{"observer"}}
			m.vote()["role"] = "observer"
		})},
		{"it was approved with other data", all(func(m *tamperer) { m.one("history", 2)["data"] = object{"target": "staging"} })},
		{"it was asked with other data", all(func(m *tamperer) { m.one("history", 1)["data"] = object{"target": "staging"} })},
		{"a call was allowed by the approval of an event", all(func(m *tamperer) {
			m.record(3, `"decision":"ALLOW"`, `"decision":"ALLOW","approval_id":"`+m.one("approvals", 0)["approval_id"].(string)+`"`)
		})},
		{"a decision is there twice in its record", all(func(m *tamperer) { m.record(1, `"decision":"DENY"`, `"decision":"DENY","decision":"ALLOW"`) })},
		{"a tool was always allowed", all(func(m *tamperer) {
			m.one("definitions", 0)["definition"].(object)["states"].(object)["work"].(object)["allowed_tools"] = []any{"Bash", "Edit"}
		})},
		{"a certificate of more states", all(func(m *tamperer) {
			m.one("certificates", 0)["properties"].([]any)[0].(object)["states"] = float64(1204)
		})},
	}
}

type tampering struct {
	name string
	do   func(*tamperer)
}

func (m *tamperer) recosign(witness receipt.Signer) {
	lines := strings.SplitAfter(m.file["checkpoint"].(string), "\n")
	f := &receipt.File{Checkpoint: strings.Join(lines[:len(lines)-2], "")}
	if err := f.Cosign("witness.example.com", time.Unix(1, 0), witness); err != nil {
		m.t.Fatal(err)
	}
	m.file["checkpoint"] = f.Checkpoint
}

func decodedText(t *testing.T, v any) []byte {
	t.Helper()
	var text []byte
	if err := json.Unmarshal(mustJSON(t, v), &text); err != nil {
		t.Fatal(err)
	}
	return text
}

func flipped(t *testing.T, sig any) []byte {
	t.Helper()
	text := decodedText(t, sig)
	text[5] ^= 1
	return text
}

// cosignedLater changes the time of the last signature.
func cosignedLater(t *testing.T, note string) string {
	t.Helper()
	lines := strings.SplitAfter(note, "\n")
	last := strings.Fields(lines[len(lines)-2])
	text := decodedText(t, last[2])
	text[11] ^= 1
	var again string
	if err := json.Unmarshal(mustJSON(t, text), &again); err != nil {
		t.Fatal(err)
	}
	lines[len(lines)-2] = "\u2014 " + last[1] + " " + again + "\n"
	return strings.Join(lines, "")
}

// independent is the checker that shares no code.
func independent(t *testing.T) (check func(receiptText []byte, witnessed bool) (string, bool)) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "receiptcheck")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "..", "..", "tools", "receiptcheck")
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, key := range map[string]receipt.Signer{"key": keyOf(t, "deployment"), "witness": keyOf(t, "witness")} {
		text, err := receipt.PublicPEM(key.Public())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	return func(text []byte, witnessed bool) (string, bool) {
		n++
		file := filepath.Join(dir, fmt.Sprint("receipt", n))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{file, filepath.Join(dir, "key")}
		if witnessed {
			args = append(args, filepath.Join(dir, "witness"))
		}
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		return string(out), err == nil
	}
}

// certificateOf is one that a definition has.
func certificateOf(t *testing.T, definition any) object {
	t.Helper()
	text := mustJSON(t, definition)
	m, problems := workflow.Parse(text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	value, _ := document.Parse(text, document.Limits{})
	model := &verify.Model{Main: verify.Definition{Machine: workflow.Compile(m, 1), Text: value}}
	o := verify.Options{MaxStates: 100_000}
	report := verify.Check(model, m.Properties, o)
	var certificate object
	if err := json.Unmarshal(mustJSON(t, verify.Certify(model, &report, o, "test")), &certificate); err != nil {
		t.Fatal(err)
	}
	return certificate
}

// looser spells the same bytes in another base64: the last bits before "==" have no meaning.
func looser(text string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	bare := strings.TrimRight(text, "=")
	at := strings.IndexByte(digits, bare[len(bare)-1])
	return bare[:len(bare)-1] + digits[at+1:at+2] + text[len(bare):]
}

// Every kind of tampering with a real receipt is found, by Interlock and by the checker that
// shares no code with it; and a finding is no fault of the receipt itself.
func TestTampering(t *testing.T) {
	t.Parallel()
	genuine := genuineReceipt(t)
	key, witness := keyOf(t, "deployment"), keyOf(t, "witness")
	check := independent(t)
	faults := func(text []byte, witnesses ...ed25519.PublicKey) string {
		checked, err := receipts.Check(text, key.Public(), witnesses)
		if err != nil {
			return err.Error()
		}
		return strings.Join(checked.Faults, "; ")
	}
	if found := faults(genuine, witness.Public()); found != "" {
		t.Fatalf("the receipt does not hold: %s", found)
	}
	if out, ok := check(genuine, true); !ok {
		t.Fatalf("the receipt does not hold: %s", out)
	}
	hands := func(do func(*tamperer)) []byte {
		m := &tamperer{t: t, key: key, witness: witness}
		if err := json.Unmarshal(genuine, &m.file); err != nil {
			t.Fatal(err)
		}
		m.payload = decoded(t, m.file["payload"])
		do(m)
		return m.write()
	}
	if found := faults(hands(func(m *tamperer) { m.resign = m.key }), witness.Public()); found != "" {
		t.Fatalf("one that is only written anew does not hold: %s", found)
	}
	all := tamperings()
	for _, c := range all {
		text := hands(c.do)
		if faults(text, witness.Public()) == "" {
			t.Errorf("%s: interlock has not found it", c.name)
		}
		if _, ok := check(text, true); ok {
			t.Errorf("%s: the independent checker has not found it", c.name)
		}
	}
	for _, c := range lies() {
		text := hands(c.do)
		if found := faults(text); found == "" {
			t.Errorf("a lie: %s: interlock has not found it", c.name)
		} else {
			t.Logf("a lie: %s: %s", c.name, found)
		}
	}
	if len(all) < 40 {
		t.Errorf("%d kinds", len(all))
	}
	t.Logf("%d kinds of tampering, and %d lies of the deployment itself", len(all), len(lies()))
}
