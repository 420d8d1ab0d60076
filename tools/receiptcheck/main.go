// Receiptcheck checks receipts of Interlock. It shares no code with Interlock and needs
// nothing but the standard library, so that people who do not trust the one can read the
// other.
//
//	receiptcheck RECEIPT PUBLIC-KEY [WITNESS-KEY...]
//
// It checks the signature of the envelope and of the checkpoint, the cosignatures of
// witnesses, the chain of hashes over every record of the log, and that all parts fit each
// other. It does not decide anything again: interlock receipt verify does.
package main

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

type file struct {
	PayloadType string `json:"payloadType"`
	Payload     string `json:"payload"`
	Signatures  []struct {
		KeyID string `json:"keyid"`
		Sig   string `json:"sig"`
	} `json:"signatures"`
	Checkpoint string `json:"checkpoint"`
}

type text struct {
	Name       string          `json:"name"`
	Version    int64           `json:"version"`
	Definition json.RawMessage `json:"definition"`
}

type statement struct {
	Type    string `json:"_type"`
	Subject []struct {
		Name   string            `json:"name"`
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
	PredicateType string `json:"predicateType"`
	Predicate     struct {
		Format       string            `json:"format"`
		IssuedAt     string            `json:"issued_at"`
		Version      string            `json:"version"`
		Namespace    string            `json:"namespace"`
		RunID        string            `json:"run_id"`
		Workflow     string            `json:"workflow"`
		SessionID    string            `json:"session_id"`
		Workspace    string            `json:"workspace"`
		Status       string            `json:"status"`
		State        string            `json:"state"`
		Definitions  []text            `json:"definitions"`
		Policies     []text            `json:"policies"`
		Certificates []json.RawMessage `json:"certificates"`
		History      []json.RawMessage `json:"history"`
		Approvals    []json.RawMessage `json:"approvals"`
		Partition    string            `json:"partition"`
		Log          []struct {
			Sequence    int64  `json:"sequence"`
			CommittedUS int64  `json:"committed_us"`
			Record      string `json:"record"`
			Hash        string `json:"hash"`
		} `json:"log"`
		Head       string `json:"head"`
		Checkpoint string `json:"checkpoint"`
	} `json:"predicate"`
}

// checker collects what is wrong.
type checker struct {
	f      file
	s      statement
	faults []string
	shows  []string // what a receipt that holds shows
}

func (c *checker) want(ok bool, format string, args ...any) {
	if !ok {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: receiptcheck RECEIPT PUBLIC-KEY [WITNESS-KEY...]")
		os.Exit(64)
	}
	var contents [][]byte
	for _, name := range os.Args[1:] {
		data, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(66)
		}
		contents = append(contents, data)
	}
	faults, shows := check(contents[0], contents[1], contents[2:])
	if len(faults) == 0 {
		fmt.Println("the receipt holds")
		for _, sentence := range shows {
			fmt.Println("  " + sentence)
		}
		return
	}
	for _, fault := range faults {
		fmt.Println(fault)
	}
	os.Exit(1)
}

// check says everything that is wrong with a receipt, and what one that holds shows.
func check(receipt, key []byte, witnesses [][]byte) (faults, shows []string) {
	c := &checker{}
	public, err := readKey(key)
	if err != nil {
		return []string{err.Error()}, nil
	}
	if err := strict(receipt, &c.f); err != nil {
		return []string{"it is no receipt: " + err.Error()}, nil
	}
	payload, err := base64.StdEncoding.Strict().DecodeString(c.f.Payload)
	if err != nil || base64.StdEncoding.EncodeToString(payload) != c.f.Payload {
		return []string{"the payload is no base64"}, nil
	}
	if err := strict(payload, &c.s); err != nil {
		return []string{"the payload is no statement: " + err.Error()}, nil
	}
	p := &c.s.Predicate
	c.want(c.f.PayloadType == "application/vnd.in-toto+json" && c.s.Type == "https://in-toto.io/Statement/v1" &&
		c.s.PredicateType == "https://interlock.run/receipt/v1" && p.Format == "interlock-receipt/1", "it is of another type")
	c.envelope(payload, public)
	c.note(public, witnesses)
	c.log()
	c.record()
	c.certificates()
	return c.faults, c.shows
}

func readKey(data []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("a key is not in PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	public, ok := key.(ed25519.PublicKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("a key is no public Ed25519 key")
	}
	return public, nil
}

// strict refuses unknown names, names twice and anything behind the value.
func strict(data []byte, to any) error {
	if err := unique(json.NewDecoder(bytes.NewReader(data))); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("there is more behind it")
	}
	return nil
}

// unique reads one value and refuses names twice in an object.
func unique(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for token == json.Delim('{') && d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if folded := strings.ToLower(name.(string)); seen[name.(string)] || folded != name && seen[folded] {
			return fmt.Errorf("%q is there twice", name)
		}
		seen[name.(string)] = true
		if err := unique(d); err != nil {
			return err
		}
	}
	for token == json.Delim('[') && d.More() {
		if err := unique(d); err != nil {
			return err
		}
	}
	if token == json.Delim('{') || token == json.Delim('[') {
		_, err = d.Token()
	}
	return err
}

func (c *checker) envelope(payload []byte, key ed25519.PublicKey) {
	c.want(len(c.f.Signatures) == 1, "it has %d signatures", len(c.f.Signatures))
	for _, s := range c.f.Signatures {
		id := sha256.Sum256(key)
		c.want(s.KeyID == hex.EncodeToString(id[:]), "it is signed with another key")
		sig, err := base64.StdEncoding.Strict().DecodeString(s.Sig)
		message := append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(c.f.PayloadType), c.f.PayloadType, len(payload)), payload...)
		c.want(err == nil && ed25519.Verify(key, message, sig), "the signature is not one of the payload")
	}
}

// note checks the signatures of the checkpoint.
func (c *checker) note(key ed25519.PublicKey, witnesses [][]byte) {
	body, rest, ok := strings.Cut(c.f.Checkpoint, "\n\n")
	body += "\n"
	c.want(ok && body == c.s.Predicate.Checkpoint, "the signed checkpoint is not that of the statement")
	lines := strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
	for _, line := range lines {
		c.want(strings.HasPrefix(line, "\u2014 "), "a line of the checkpoint is no signature")
	}
	find := func(kind byte, key ed25519.PublicKey, name string) []byte {
		for _, line := range lines {
			parts := strings.Split(line, " ")
			if len(parts) != 3 || parts[0] != "\u2014" || name != "" && parts[1] != name {
				continue
			}
			data, err := base64.StdEncoding.Strict().DecodeString(parts[2])
			hash := sha256.Sum256(append(append([]byte(parts[1]+"\n"), kind), key...))
			if err == nil && len(data) > 4 && bytes.Equal(data[:4], hash[:4]) {
				return data[4:]
			}
		}
		return nil
	}
	c.want(ed25519.Verify(key, []byte(body), pad(find(1, key, "interlock.run/receipt"))), "the checkpoint is not signed with the key")
	for i, pem := range witnesses {
		witness, err := readKey(pem)
		if err != nil {
			c.want(false, "witness %d: %v", i+1, err)
			continue
		}
		sig := find(4, witness, "")
		good := len(sig) == 8+ed25519.SignatureSize &&
			ed25519.Verify(witness, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(sig), body), sig[8:])
		c.want(good, "witness %d has not cosigned the checkpoint", i+1)
	}
}

// pad makes a signature that is missing one that is wrong.
func pad(sig []byte) []byte {
	if len(sig) != ed25519.SignatureSize {
		return make([]byte, ed25519.SignatureSize)
	}
	return sig
}

// log checks the chain, the tree over it and what is stated of them.
func (c *checker) log() {
	p := &c.s.Predicate
	link := sha256.Sum256(fmt.Appendf(nil, "interlock decisions\x00%d\x00%s\x00%s", len(p.Namespace), p.Namespace, p.Partition))
	var links [][32]byte
	for i, e := range p.Log {
		c.want(e.Sequence == int64(i+1), "record %d of the log is not in its place", e.Sequence)
		data := binary.BigEndian.AppendUint64(link[:], uint64(e.Sequence))
		if !strings.HasPrefix(e.Record, `{"time":`) {
			data = binary.BigEndian.AppendUint64(data, uint64(e.CommittedUS))
		}
		link = sha256.Sum256(append(data, e.Record...))
		links = append(links, link)
		c.want(e.Hash == hex.EncodeToString(link[:]), "record %d of the log has another hash", e.Sequence)
	}
	head := hex.EncodeToString(link[:])
	c.want(p.Head == head, "the log leads to another head")
	c.want(len(c.s.Subject) == 1 && c.s.Subject[0].Name == "interlock:"+p.Namespace+"/"+p.RunID &&
		len(c.s.Subject[0].Digest) == 1 && c.s.Subject[0].Digest["sha256"] == head, "the subject is another one")
	root := tree(links)
	want := fmt.Sprintf("interlock.run/log/%s/%s\n%d\n%s\n", p.Namespace, p.Partition, len(links), base64.StdEncoding.EncodeToString(root[:]))
	c.want(p.Checkpoint == want, "the checkpoint is of another log")
}

// tree is the root of RFC 6962.
func tree(leaves [][32]byte) [32]byte {
	if len(leaves) == 0 {
		return sha256.Sum256(nil)
	}
	if len(leaves) == 1 {
		return sha256.Sum256(append([]byte{0}, leaves[0][:]...))
	}
	k := 1
	for k*2 < len(leaves) {
		k *= 2
	}
	left, right := tree(leaves[:k]), tree(leaves[k:])
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

// entry is what is read of a change of the run, of a record of the log and of an approval.
type entry struct {
	Type            string `json:"type"`
	RunID           string `json:"run_id"`
	RunVersion      int64  `json:"run_version"`
	WorkflowVersion int64  `json:"workflow_version"`
	From            string `json:"from"`
	To              string `json:"to"`
	Branch          string `json:"branch"`
	Status          string `json:"status"`
	State           string `json:"state"`
	Workflow        string `json:"workflow"`
	Policy          string `json:"policy"`
	PolicyVersion   int64  `json:"policy_version"`
	ApprovalID      string `json:"approval_id"`
	Asker           struct {
		Principal string `json:"principal"`
	} `json:"asker"`
	Subject struct {
		RunID string `json:"run_id"`
		Event string `json:"event"`
	} `json:"subject"`
	Event string `json:"event"`
	Terms struct {
		Required int `json:"required"`
	} `json:"terms"`
	Votes []struct {
		By      string `json:"by"`
		Approve bool   `json:"approve"`
	} `json:"votes"`
	CallID     string  `json:"call_id"`
	Decision   string  `json:"decision"`
	JailDigest string  `json:"jail_digest"`
	ToolResult *result `json:"tool_result"`
	Kept       struct {
		Gives []string `json:"gives"`
	} `json:"kept"`
}

// result is how a call has ended, and what a jail has witnessed of it.
type result struct {
	CallID   string   `json:"call_id"`
	Evidence []string `json:"evidence"`
	Tree     string   `json:"tree"`
	Witness  string   `json:"witness"`
}

// record checks that the history has no gap and that everything it names is there, once.
func (c *checker) record() {
	p := &c.s.Predicate
	named := map[string]bool{}
	events := map[string]string{} // of approvals that a transition has used
	var last entry
	branches := false
	var seen []result
	jailed := map[string][]string{} // the evidence that a call in a jail may give
	for _, raw := range p.History {
		var e entry
		c.want(unique(json.NewDecoder(bytes.NewReader(raw))) == nil && json.Unmarshal(raw, &e) == nil, "an entry of the history cannot be read")
		if e.Type == "tool_result" {
			if r := e.ToolResult; r != nil && (r.Witness != "" || r.Tree != "") {
				seen = append(seen, *r)
			}
			continue
		}
		c.want(e.RunVersion == last.RunVersion+1, "version %d of the history is not in its place", e.RunVersion)
		c.want((e.Type == "started") == (e.RunVersion == 1), "version %d is %q", e.RunVersion, e.Type)
		branches = branches || e.Branch != "" || e.Type == "fork.started"
		c.want(branches || e.RunVersion == 1 || e.From == last.To, "version %d begins in %q, and the one before ends in %q", e.RunVersion, e.From, last.To)
		named[fmt.Sprintf("definition %s@%d", p.Workflow, e.WorkflowVersion)] = true
		if e.ApprovalID != "" {
			named["approval "+e.ApprovalID] = true
			if e.Type == "transitioned" {
				events[e.ApprovalID] = e.Event
			}
		}
		last = e
	}
	c.want(last.RunVersion > 0 && last.Status == p.Status && (branches || last.To == p.State), "the history ends otherwise than the run")
	for _, l := range p.Log {
		var e entry
		c.want(json.Unmarshal([]byte(l.Record), &e) == nil, "record %d cannot be read", l.Sequence)
		if e.RunID != p.RunID {
			continue
		}
		if e.Decision == "ALLOW" && e.JailDigest != "" {
			jailed[e.CallID] = e.Kept.Gives
		}
		c.want(e.Workflow == p.Workflow && e.RunVersion >= 1 && e.RunVersion <= last.RunVersion, "record %d is of another run", l.Sequence)
		if e.Policy != "" {
			named[fmt.Sprintf("policy %s@%d", e.Policy, e.PolicyVersion)] = true
		}
		if e.ApprovalID != "" {
			named["approval "+e.ApprovalID] = true
		}
	}
	for _, r := range seen {
		gives, known := jailed[r.CallID]
		c.want(known && r.Witness != "", "call %q has a witness, and the log allows no such command in a jail", r.CallID)
		for _, name := range r.Evidence {
			c.want(slices.Contains(gives, name), "call %q gives evidence %q, and its command gives none of that name", r.CallID, name)
		}
		if len(r.Evidence) > 0 {
			c.shows = append(c.shows, fmt.Sprintf("a jail has witnessed %s on %s (call %q, witness %s)",
				strings.Join(r.Evidence, ", "), cmp.Or(r.Tree, "files that are not known"), r.CallID, r.Witness))
		}
	}
	take := func(what string) {
		c.want(named[what], "%s is not one that is named once", what)
		delete(named, what)
	}
	for _, d := range p.Definitions {
		take(fmt.Sprintf("definition %s@%d", d.Name, d.Version))
	}
	for _, d := range p.Policies {
		take(fmt.Sprintf("policy %s@%d", d.Name, d.Version))
	}
	for _, raw := range p.Approvals {
		var a entry
		c.want(json.Unmarshal(raw, &a) == nil, "an approval cannot be read")
		take("approval " + a.ApprovalID)
		c.approval(&a, events[a.ApprovalID])
	}
	for what := range named {
		c.want(false, "%s is missing", what)
	}
}

// approval checks who has decided.
func (c *checker) approval(a *entry, event string) {
	agreed := map[string]bool{}
	for _, v := range a.Votes {
		c.want(v.By != a.Asker.Principal, "approval %s was decided by who has asked", a.ApprovalID)
		if v.Approve {
			agreed[v.By] = true
		}
	}
	c.want(a.RunID == c.s.Predicate.RunID && a.Subject.RunID == a.RunID, "approval %s is of another run", a.ApprovalID)
	c.want(a.Status != "USED" && a.Status != "GRANTED" || len(agreed) >= max(a.Terms.Required, 1), "approval %s was not agreed to", a.ApprovalID)
	c.want(event == "" || a.Subject.Event == event && (a.Status == "USED" || a.Status == "GRANTED"), "approval %s did not let %q through", a.ApprovalID, event)
}

// certificates checks that each is of a definition that is there, and each definition with
// properties has one.
func (c *checker) certificates() {
	wanted := map[string]bool{}
	for _, d := range c.s.Predicate.Definitions {
		var value map[string]any
		reader := json.NewDecoder(bytes.NewReader(d.Definition))
		reader.UseNumber()
		if reader.Decode(&value) != nil {
			c.want(false, "version %d of the definition cannot be read", d.Version)
		} else if properties, ok := value["properties"]; ok && properties != nil {
			sum := sha256.Sum256(canonical(value))
			wanted[hex.EncodeToString(sum[:])] = true
		}
	}
	for _, raw := range c.s.Predicate.Certificates {
		var certificate struct{ Definition string }
		c.want(json.Unmarshal(raw, &certificate) == nil && wanted[certificate.Definition], "a certificate is of another definition")
		delete(wanted, certificate.Definition)
	}
	c.want(len(wanted) == 0, "a definition has properties and no certificate")
}

// canonical is RFC 8785, for numbers that are written as that has them.
func canonical(v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		var names []string
		for name := range v {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int { return slices.Compare(utf16s(a), utf16s(b)) })
		out := []byte{'{'}
		for i, name := range names {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(append(out, canonical(name)...), ':'), canonical(v[name])...)
		}
		return append(out, '}')
	case []any:
		out := []byte{'['}
		for i, e := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, canonical(e)...)
		}
		return append(out, ']')
	default:
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(v)
		text := strings.TrimSuffix(b.String(), "\n")
		return []byte(strings.NewReplacer("\\u2028", "\u2028", "\\u2029", "\u2029").Replace(text))
	}
}

func utf16s(s string) []uint16 {
	var all []uint16
	for _, r := range s {
		if r > 0xffff {
			all = append(all, uint16(0xd800+(r-0x10000)>>10), uint16(0xdc00+(r-0x10000)&0x3ff))
			continue
		}
		all = append(all, uint16(r))
	}
	return all
}
