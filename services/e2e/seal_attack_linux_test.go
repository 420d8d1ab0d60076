package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// sealedUser is a sameUser whose data folder is sealed. Its operator's tokens file is sealed, too.
type sealedUser struct {
	*sameUser
	// boss is the token of an operator, and judged the run whose calls are judged.
	boss, judged string
	// now and before are copies of the folder while no server ran, and before what decides was changed last.
	now, before string
	expected    map[string]string
	// served counts the attempts after which the server started.
	served int
}

const words = "a long walk on the shore"

// people is the tokens file of the operator.
func (u *sealedUser) people() string { return filepath.Join(u.public, "own", "people.json") }

// cli runs a command of the person, with the passphrase.
func (u *sealedUser) cli(args ...string) string {
	u.Helper()
	cmd := u.command(within(u.T), nil, filepath.Join(u.public, "bin", "interlock"), args...)
	u.give(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		u.Fatalf("interlock %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// shell runs a line as the user.
func (u *sealedUser) shell(line string) string {
	cmd := u.command(within(u.T), []string{"DATA=" + string(u.data), "NOW=" + u.now, "BEFORE=" + u.before, "PEOPLE=" + u.people(), "PUBLIC=" + u.public, "APPROVAL=" + u.approval, "RUN=" + u.run}, "bash", "-c", line)
	cmd.WaitDelay = time.Second
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// startSealed starts the server as the person does, with the passphrase. It is not ok when the server refuses the folder.
func (u *sealedUser) startSealed() (stop func(), ok bool) {
	u.Helper()
	u.start("required", "--tokens", u.people())
	ended := make(chan struct{})
	go func() { _ = u.up.Wait(); close(ended) }()
	process := u.up.Process
	stop = func() {
		_ = process.Signal(syscall.SIGTERM)
		<-ended
	}
	u.Cleanup(stop)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		select {
		case <-ended:
			return func() {}, false
		case <-time.After(50 * time.Millisecond):
		}
		at, err := u.data.ReadEndpoints()
		if err == nil && at.PID == u.up.Process.Pid && ready(at.HTTP) == nil {
			u.at = at
			return stop, true
		}
	}
	stop()
	u.Fatalf("the server neither serves nor ends: %s", u.output.tail(4<<10))
	return nil, false
}

// answer makes a request, and returns how it ended.
func (u *sealedUser) answer(method, path, token, body string) (status int, text string) {
	u.Helper()
	req := must[*http.Request](u.T)(http.NewRequestWithContext(within(u.T), method, u.at.HTTP+path, strings.NewReader(body)))
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp := must[*http.Response](u.T)(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	return resp.StatusCode, string(must[[]byte](u.T)(io.ReadAll(resp.Body)))
}

// looked are the paths that show what was decided.
func (u *sealedUser) looked() []string {
	return []string{
		"/v1/approvals/" + u.approval, "/v1/runs/" + u.run, "/v1/policies", "/v1/policies/house", "/v1/halts", "/v1/workflows/gate", "/v1/leases",
	}
}

func (u *sealedUser) look() map[string]string {
	u.Helper()
	seen := map[string]string{}
	observer := u.token(auth.Observer)
	for _, path := range u.looked() {
		status, text := u.answer("GET", path, observer, "")
		text = changing.ReplaceAllString(text, "")
		if strings.HasPrefix(path, "/v1/approvals/") { // what it shows of its workflow is not decided
			text = strings.Join(votes.FindAllString(text, -1), " ")
		}
		seen[path] = fmt.Sprintf("%d %s", status, text)
	}
	names, err := u.names(u.boss)
	if seen["people"] = fmt.Sprint("200 ", names); err != nil {
		seen["people"] = "503"
	}
	return seen
}

func (u *sealedUser) names(token string) (names []string, err error) {
	conn, err := rpc.Dial(u.at.GRPC, rpc.ClientConfig{Token: token})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	people, err := identityv1.NewPersonServiceClient(conn).ListPeople(within(u.T), &identityv1.ListPeopleRequest{})
	for _, p := range people.GetPeople() {
		names = append(names, fmt.Sprintf("%s with %d keys", p.GetSpec().GetName(), len(p.GetCredentials())))
	}
	return names, err
}

var votes = regexp.MustCompile(`"(status|votes|required)":("[A-Z]+"|\[.*?\]|\d+)`)

var granted = regexp.MustCompile(`"decision":\s*"(allow|ALLOW)`)

// decisions returns how programs have decided something: empty for not at all.
func (u *sealedUser) decisions() (found []string) {
	u.Helper()
	for path, now := range u.look() {
		if strings.HasPrefix(now, "200 ") && now != u.expected[path] {
			found = append(found, fmt.Sprintf("%s is\n%s\nand was\n%s", path, now, u.expected[path]))
		}
	}
	agent := u.token(auth.Agent)
	for _, tool := range []string{"Bash", "Write"} {
		status, text := u.answer("POST", "/v1/runs/"+u.judged+"/check", agent, `{"tool":"`+tool+`","input":{"command":"ls","file_path":"x"}}`)
		if status == http.StatusOK && granted.MatchString(text) {
			found = append(found, tool+" is allowed: "+text)
		}
	}
	u.answer("POST", "/v1/runs/"+u.run+"/transition", agent, `{"event":"SHIP"}`)
	if status, text := u.answer("GET", "/v1/runs/"+u.run, u.token(auth.Observer), ""); status == http.StatusOK && strings.Contains(text, `"state":"ship"`) {
		found = append(found, "the run was shipped: "+text)
	}
	const planted = "eeeeeeeeeeeeeeeeeeeeeeee"
	for _, token := range []string{planted, agent} {
		if status, text := u.answer("POST", "/v1/approvals/"+u.approval+"/approve", token, `{}`); status/100 == 2 {
			found = append(found, "approved: "+text)
		}
	}
	if status, text := u.answer("POST", "/v1/policies?name=house", planted, `{"role":"agent","allow":[{"capability":"*"}]}`); status/100 == 2 {
		found = append(found, "a policy was put: "+text)
	}
	return found
}

// prepareSealed leaves a sealed folder with a policy, a person, a halt and an approval that waits, and older copies of all.
func prepareSealed(t *testing.T, sealed bool) *sealedUser {
	t.Helper()
	u := &sealedUser{sameUser: startSameUser(t)}
	u.now, u.before = filepath.Join(u.public, "ws", "now"), filepath.Join(u.public, "ws", "before")
	stop := u.serve("none")
	u.prepare()
	agent, operator := u.old[auth.Agent], u.old[auth.Operator]
	u.call("POST", "/v1/sessions", agent, `{"session_name":"t"}`)
	var run struct {
		ID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(u.call("POST", "/v1/runs", agent, `{"workflow":"gate","session_id":"t"}`)), &run); err != nil {
		t.Fatal(err)
	}
	u.judged = run.ID
	conn := must[*grpc.ClientConn](t)(rpc.Dial(u.at.GRPC, rpc.ClientConfig{Token: operator}))
	for _, name := range []string{"ann", "eve"} {
		if _, err := identityv1.NewPersonServiceClient(conn).CreatePerson(within(t), &identityv1.CreatePersonRequest{Spec: &identityv1.PersonSpec{Name: name, Roles: []string{"approver"}}}); err != nil {
			t.Fatal(err)
		}
	}
	conn.Close()
	stop()
	u.serve("required")() // the tokens of people leave the folder
	u.shell(`mkdir -m 700 "$(dirname "$PEOPLE")"`)
	u.boss = u.tokenOf("operator", "boss")
	if sealed {
		u.words = words
		u.cli("data", "seal", "--data-dir", string(u.data))
		u.cli("data", "seal", "--data-dir", string(u.data), "--file", u.people())
	}
	u.change()
	return u
}

// tokenOf adds a token to the tokens file of people, which is made where it is not there.
func (u *sealedUser) tokenOf(role, name string) string {
	u.Helper()
	u.shell(`test -f "$PEOPLE" || { printf '{"tokens":[],"pepper":"0123456789abcdef0123456789abcdef"}' >"$PEOPLE"; chmod 600 "$PEOPLE"; }`)
	out := u.cli("token", "add", role, "--name", name, "--namespace", "*", "--tokens", u.people())
	return out[strings.LastIndexByte(out, '\n')+1:]
}

// change has the operator change what decides, and keeps copies of the folder from before and after that.
func (u *sealedUser) change() {
	u.Helper()
	stop, ok := u.startSealed()
	if !ok {
		u.Fatalf("it does not start: %s", u.output.tail(4<<10))
	}
	stop()
	u.shell(`cp -a "$DATA" "$BEFORE"; cp -a "$PEOPLE" "$BEFORE/people.json"`)
	if stop, ok = u.startSealed(); !ok {
		u.Fatalf("it does not start: %s", u.output.tail(4<<10))
	}
	u.call("POST", "/v1/policies?name=house", u.boss, `{"role":"agent","allow":[{"capability":"tool:Read"}]}`)
	u.call("POST", "/v1/halts", u.boss, `{"kind":"session","name":"halted","reason":"x"}`)
	conn := must[*grpc.ClientConn](u.T)(rpc.Dial(u.at.GRPC, rpc.ClientConfig{Token: u.boss}))
	if _, err := identityv1.NewPersonServiceClient(conn).DeletePerson(within(u.T), &identityv1.DeletePersonRequest{Name: "eve"}); err != nil {
		u.Fatal(err)
	}
	conn.Close()
	if u.expected = u.look(); !strings.HasPrefix(u.expected["people"], "200") {
		u.Fatal("people cannot be listed")
	}
	if found := u.decisions(); len(found) > 0 {
		u.Fatalf("without an attack: %s", found)
	}
	stop()
	u.shell(`cp -a "$DATA" "$NOW"; cp -a "$PEOPLE" "$NOW/people.json"`)
}

// asItWas puts the folder back.
func (u *sealedUser) asItWas() {
	u.shell(`rm -rf "$DATA"; cp -a "$NOW" "$DATA"; mv "$DATA/people.json" "$PEOPLE"`)
}

// python of every attempt on the database. plain puts text in the place of all data, kept leaves the end of the data.
const python = `
import sqlite3, sys, os, base64
data = os.environ["DATA"]
c = sqlite3.connect(data + "/interlock.db", timeout=5)
old = sqlite3.connect(os.environ["BEFORE"] + "/interlock.db")
TAIL = 73
def like(kind): return "%\x1f" + kind + "\x1f%"
def row(kind, db=c): return db.execute("SELECT key, version, labels, updated, data FROM records WHERE key LIKE ?", (like(kind),)).fetchone()
def plain(kind, f, table="records"):
  for key, version, d in c.execute("SELECT key, version, data FROM " + table + " WHERE key LIKE ?", (like(kind),)).fetchall():
    t = f(bytes(d))
    c.execute("UPDATE " + table + " SET data = ? WHERE key = ? AND version = ?", (t, key, version))
def body(d): return d[:-TAIL] if d.endswith(b"ilseal1\n") else d
def bare(kind, f, table="records"): plain(kind, lambda d: f(body(d)), table)
def kept(kind, f, table="records"): plain(kind, lambda d: f(body(d)) + d[len(body(d)):], table)
def older(kind, version=None):
  c.execute("DELETE FROM records WHERE key LIKE ?", (like(kind),))
  for r in old.execute("SELECT key, version, labels, updated, data FROM records WHERE key LIKE ?", (like(kind),)).fetchall():
    c.execute("INSERT INTO records (key, version, labels, updated, data) VALUES (?,?,?,?,?)", (r[0], version or r[1], r[2], r[3], r[4]))
def insert(key, d, version=1): c.execute("INSERT OR REPLACE INTO records (key, version, labels, updated, data) VALUES (?,?,?,?,?)", (key.replace("/", "\x1f"), version, b"", 1, d))
def swap(a, b): return lambda d: d.replace(a, b)
OPEN = base64.b64encode(b'{"role":"agent","allow":[{"capability":"*"}]}')
def opened(d):
  i = d.index(b'"definition":"') + 14; j = d.index(b'"', i)
  return d[:i] + OPEN + d[j:]
EVE = b'{"people":{"eve":{"name":"eve","roles":["approver","operator"],"namespaces":["*"],"credentials":[{"kind":"ssh_key","id":"x","public_key":"AAAA"}],"version":9}}}'
`

// sql are changes of the database, by a name.
var sqlAttempts = map[string]string{
	"a policy that allows all":                 `bare("policy", opened, "history")`,
	"a policy that allows all, with its code":  `kept("policy", opened, "history")`,
	"the policy's first version as its second": `plain("policy", lambda d: bytes(c.execute("SELECT data FROM history WHERE key LIKE ? AND version = 1", (like("policy"),)).fetchone()[0]), "history")`,
	"no policy":                             `c.execute("DELETE FROM history WHERE key LIKE ?", (like("policy"),))`,
	"a policy that is not attached":         `bare("policy_index", swap(b'"attachments":[{"kind":"workflow","id":"gate"}]', b'"attachments":[]'))`,
	"not attached, with its code":           `kept("policy_index", swap(b'"attachments":[{"kind":"workflow","id":"gate"}]', b'"attachments":[]'))`,
	"attached to another workflow":          `bare("policy_index", swap(b'"id":"gate"', b'"id":"else"'))`,
	"the first version in force":            `bare("policy_index", swap(b'"live":2', b'"live":1'))`,
	"the first version in force, with code": `kept("policy_index", swap(b'"live":2', b'"live":1'))`,
	"no index of policies":                  `c.execute("DELETE FROM records WHERE key LIKE ?", (like("policy_index"),))`,
	"a deleted index of policies":           `k = row("policy_index"); c.execute("DELETE FROM records WHERE key = ?", (k[0],)); c.execute("INSERT INTO graves VALUES (?,?)", (k[0], k[1]))`,
	"an empty index of policies":            `plain("policy_index", lambda d: b'')`,
	"the older index of policies":           `older("policy_index")`,
	"the older index, as a newer version":   `older("policy_index", 99)`,
	"a person's key":                        `bare("person", lambda d: EVE)`,
	"a person's key, with the code":         `kept("person", lambda d: EVE)`,
	"a role more for a person":              `bare("person", swap(b'"approver"', b'"operator"'))`,
	"a role more, with the code":            `kept("person", swap(b'"approver"', b'"operator"'))`,
	"no people":                             `c.execute("DELETE FROM records WHERE key LIKE ?", (like("person"),))`,
	"the person who was deleted":            `older("person")`,
	"the person who was deleted, as newer":  `older("person", 99)`,
	"people with the code of a run":         `plain("person", lambda d: EVE + bytes(row("run")[4])[-TAIL:])`,
	"an approval that is granted":           `bare("approval", swap(b'"status":"PENDING"', b'"status":"GRANTED"'))`,
	"an approval granted, with its code":    `kept("approval", swap(b'"status":"PENDING"', b'"status":"GRANTED"'))`,
	"an approval granted by its labels":     `c.execute("UPDATE records SET labels = ? WHERE key LIKE ?", (bytes(row("approval")[2]).replace(b"PENDING", b"GRANTED"), like("approval")))`,
	"an approval of fewer votes":            `kept("approval", swap(b'"required":1', b'"required":0'))`,
	"a run in another state":                `bare("run", swap(b'"state":"build"', b'"state":"ship"'))`,
	"a run in another state, with its code": `kept("run", swap(b'"state":"build"', b'"state":"ship"'))`,
	"no halts":                              `c.execute("DELETE FROM records WHERE key LIKE ?", (like("halts"),))`,
	"older halts":                           `older("halts")`,
	"halts that are empty":                  `bare("halts", lambda d: b'{}')`,
	"a workflow without the approval":       `bare("workflow", lambda d: d.replace(base64.b64encode(b'"requires_approval":true')[:8], b'AAAAAAAA'))`,
	"another workflow, with its code":       `kept("workflow", opened)`,
	"no workflow":                           `c.execute("DELETE FROM records WHERE key LIKE ?", (like("workflow"),)); c.execute("DELETE FROM history WHERE key LIKE ?", (like("workflow"),))`,
	"a lease":                               `insert("default/lease/lea_x", b'{"id":"lea_x","tool":"*","calls":100}')`,
	"all records of before":                 `c.execute("DELETE FROM records"); [c.execute("INSERT INTO records VALUES (?,?,?,?,?,?)", r) for r in old.execute("SELECT row, key, version, labels, updated, data FROM records").fetchall()]`,
	"no codes at all":                       `[c.execute("UPDATE " + t + " SET data = ? WHERE rowid = ?", (body(bytes(d)), n)) for t in ("records", "history") for n, d in c.execute("SELECT rowid, data FROM " + t).fetchall()]`,
}

// fileAttempts are changes of files of the folder while no server runs, before the person starts it.
var fileAttempts = map[string]string{
	"the database of before":                           `cp "$BEFORE"/interlock.db* "$DATA"`,
	"no seal":                                          `rm "$DATA/seal.json"`,
	"a seal of its own":                                `X=$(mktemp -d); printf 'another passphrase' >$X/p; chmod 600 $X/p; interlock up --data-dir $X/d --seal passphrase --seal-passphrase-file $X/p --http 127.0.0.1:0 --grpc 127.0.0.1:0 --nats 127.0.0.1:0 >$X/log 2>&1 & P=$!; until test -s $X/d/endpoints.json; do read -t 0.1 <><(:); done; kill $P; wait $P; cp $X/d/seal.json "$DATA"; rm -rf $X`,
	"a seal with lower costs":                          `sed -i 's/"memory_kib": [0-9]*/"memory_kib": 8/; s/"passes": 3/"passes": 1/' "$DATA/seal.json"`,
	"an empty seal":                                    `: >"$DATA/seal.json"`,
	"a seal of another kind":                           `sed -i 's/"passphrase"/"none"/' "$DATA/seal.json"`,
	"no mark":                                          `rm "$DATA/seal.mark"`,
	"an empty mark":                                    `: >"$DATA/seal.mark"`,
	"a changed mark":                                   `printf x | dd of="$DATA/seal.mark" bs=1 seek=40 conv=notrunc 2>&1`,
	"no seal and no mark":                              `rm "$DATA"/seal.*`,
	"no seal, no mark and no sealed file":              `rm "$DATA"/seal.* "$DATA"/token* "$DATA"/receipt.key`,
	"a key of sessions of its own":                     `head -c 32 /dev/zero | base64 >"$DATA/token.key"`,
	"the key of receipts as that of sessions":          `cp "$DATA/receipt.key" "$DATA/token.key"`,
	"tokens in plain text":                             `printf '{"tokens":[{"name":"eve","role":"operator","token":"eeeeeeeeeeeeeeeeeeeeeeee"}]}' >"$DATA/tokens.json"`,
	"another file as the tokens":                       `cp "$DATA/token.key" "$DATA/tokens.json"`,
	"tokens behind the sealed ones":                    `printf '{"tokens":[{"name":"eve","role":"operator","token":"eeeeeeeeeeeeeeeeeeeeeeee"}]}' >>"$DATA/tokens.json"`,
	"no tokens":                                        `rm "$DATA/tokens.json"`,
	"the tokens of before":                             `cp "$BEFORE/tokens.json" "$DATA"`,
	"an operator in the tokens of programs":            `sed -i 's/{/{"operator":"eeeeeeeeeeeeeeeeeeeeeeee",/' "$DATA/local.json"`,
	"an operator in the tokens of people":              `printf '{"tokens":[{"name":"eve","role":"operator","token":"eeeeeeeeeeeeeeeeeeeeeeee"}]}' >"$PEOPLE"; chmod 600 "$PEOPLE"`,
	"an approver in the tokens of people":              `printf '{"tokens":[{"name":"eve","role":"approver","token":"eeeeeeeeeeeeeeeeeeeeeeee"}]}' >"$PEOPLE"; chmod 600 "$PEOPLE"`,
	"the tokens of programs as those of people":        `cp "$DATA/tokens.json" "$PEOPLE"`,
	"another key of receipts":                          `interlock receipt keygen "$DATA/x.key" >/dev/null && mv "$DATA/x.key" "$DATA/receipt.key"`,
	"the data of before under the mark of now":         `cp -a "$BEFORE"/interlock.db* "$BEFORE/tokens.json" "$BEFORE/nats" "$DATA"`,
	"the tokens and the seal gone, the data of before": `rm "$DATA"/seal.* "$DATA"/token*; cp "$BEFORE"/interlock.db* "$DATA"`,
}

// startAttempts are starts and commands of the attacker, without the passphrase. Each has to be refused.
var startAttempts = map[string]string{
	"up":                                      `up`,
	"up --seal none":                          `up --seal none`,
	"up --presence none":                      `up --presence none`,
	"up --presence none --seal none":          `up --presence none --seal none`,
	"up with another passphrase":              `up --seal passphrase --seal-passphrase-file guess`,
	"up with the key as the passphrase":       `sed -n 's/.*"key": "\(.*\)".*/\1/p' "$DATA/seal.json" >guess; up --seal-passphrase-file guess`,
	"up with the salt as the passphrase":      `sed -n 's/.*"salt": "\(.*\)".*/\1/p' "$DATA/seal.json" >guess; up --seal-passphrase-file guess`,
	"up with the id as the passphrase":        `sed -n 's/.*"id": "\(.*\)".*/\1/p' "$DATA/seal.json" >guess; up --seal-passphrase-file guess`,
	"up without the seal":                     `rm "$DATA/seal.json"; up`,
	"up without the seal and the mark":        `rm "$DATA"/seal.*; up`,
	"up without the seal and secrets":         `rm "$DATA"/seal.* "$DATA"/token* "$DATA/receipt.key"; up`,
	"up with a seal of its own":               `rm "$DATA/seal.json"; up --seal passphrase --seal-passphrase-file guess`,
	"up with a seal of its own for all":       `rm "$DATA"/seal.* "$DATA"/token* "$DATA/receipt.key"; up --seal passphrase --seal-passphrase-file guess`,
	"data unseal":                             `interlock data unseal --data-dir "$DATA"`,
	"data unseal at a terminal of its own":    `printf '\n\n' | script -qec "interlock data unseal --data-dir $DATA" /dev/null; false`,
	"data unseal with an empty passphrase":    `: >guess; interlock data unseal --data-dir "$DATA" --seal-passphrase-file guess`,
	"data unseal with password":               `printf passwordpassword >guess; interlock data unseal --data-dir "$DATA" --seal-passphrase-file guess`,
	"data unseal with interlock":              `printf interlock123 >guess; interlock data unseal --data-dir "$DATA" --seal-passphrase-file guess`,
	"data unseal with its beginning":          `printf 'a long walk on the' >guess; interlock data unseal --data-dir "$DATA" --seal-passphrase-file guess`,
	"data unseal with other letters":          `printf 'A long walk on the shore' >guess; interlock data unseal --data-dir "$DATA" --seal-passphrase-file guess`,
	"data seal --change with a guess":         `interlock data seal --change --data-dir "$DATA" --seal-passphrase-file guess --new-passphrase-file guess`,
	"data seal again, with its own":           `rm "$DATA"/seal.*; interlock data seal --data-dir "$DATA" --seal-passphrase-file guess`,
	"data seal, to make a mark":               `rm "$DATA/seal.mark"; interlock data seal --data-dir "$DATA" --seal-passphrase-file guess`,
	"data seal --file, of tokens of its own":  `printf '{"tokens":[]}' >t.json; chmod 600 t.json; interlock data seal --file t.json --data-dir "$DATA" --seal-passphrase-file guess`,
	"token add to the sealed file":            `interlock token add operator --name eve --tokens "$DATA/tokens.json"`,
	"token add to the sealed file of people":  `interlock token add operator --name eve --tokens "$PEOPLE"`,
	"token list of the sealed file":           `interlock token list --tokens "$DATA/tokens.json"`,
	"token mint with the sealed key":          `interlock token mint --session s --key "$DATA/token.key"`,
	"a receipt with the sealed key":           `interlock receipt cosign x --name eve --key "$DATA/receipt.key"`,
	"the key of sessions in plain text":       `grep -v interlock-sealed "$DATA/token.key"`,
	"the key of receipts in plain text":       `grep -v interlock-sealed "$DATA/receipt.key"`,
	"a pepper or a digest in plain text":      `grep -rlaE 'pepper|sha256:[0-9a-f]{64}' "$DATA/tokens.json" "$PEOPLE"`,
	"the passphrase in a file of the folder":  `grep -rla 'walk on the shore' "$DATA"`,
	"backup restore over the sealed store":    `interlock backup create x.backup --data-dir "$DATA" >/dev/null && interlock backup restore x.backup --data-dir "$DATA"`,
	"a private key anywhere in the folder":    `grep -rla 'PRIVATE KEY' "$DATA"`,
	"tokens of people anywhere in the folder": `grep -hoaE '"(operator|approver|root)": *"il' "$DATA"/*.json`,
}

const startLine = `set -e; printf 'another passphrase' >guess; chmod 600 guess
up() { timeout 30 interlock up --data-dir "$DATA" --http 127.0.0.1:0 --grpc 127.0.0.1:0 --nats 127.0.0.1:0 "$@" </dev/null; }
umask 077; run() {
`

// S24.16: with a seal, nothing that a program of the server's own user writes to the folder or to the database decides,
// and no key can be read.
func TestNoProgramOfTheSameUserOpensTheSeal(t *testing.T) {
	t.Parallel()
	u := prepareSealed(t, true)
	made := 0
	for name, line := range startAttempts {
		made++
		if out := u.shell(startLine + line + "\n}\nif ( run ); then echo NOT REFUSED; fi"); strings.Contains(out, "NOT REFUSED") || strings.Contains(out, "command not found") {
			t.Errorf("%s: %s", name, out)
		}
		u.asItWas()
	}
	lines := map[string]string{}
	for name, line := range fileAttempts {
		lines[name] = line
	}
	for name, line := range sqlAttempts {
		lines["in the database: "+name] = sqlLine(line)
	}
	for name, line := range lines {
		made++
		u.attack(name, line)
	}
	made += u.attackWhileServed()
	t.Logf("%d attempts; after %d of %d on a stopped server, it served and refused what was written", made, u.served, len(lines))
	if made < 100 {
		t.Errorf("only %d attempts", made)
	}
	// Without an attack, the same folder is served, and its operator decides.
	stop, ok := u.startSealed()
	if !ok {
		t.Fatalf("it does not start: %s", u.output.tail(2<<10))
	}
	defer stop()
	u.call("POST", "/v1/policies?name=house", u.boss, `{"role":"agent","allow":[{"capability":"*"}]}`)
	if len(u.decisions()) == 0 {
		t.Error("a decision of the operator is not seen")
	}
}

func sqlLine(line string) string {
	return "/usr/bin/python3 - <<'EOF'\n" + python + line + "\nc.commit()\nc.execute('PRAGMA wal_checkpoint(TRUNCATE)')\nprint('WRITTEN')\nEOF"
}

// attack makes an attempt while no server runs; the person starts it then.
func (u *sealedUser) attack(name, line string) {
	u.Helper()
	defer u.asItWas()
	out := u.shell(line)
	if strings.Contains(line, "WRITTEN") && !strings.Contains(out, "WRITTEN") {
		u.Errorf("%s: it was not made: %s", name, out)
		return
	}
	stop, ok := u.startSealed()
	if !ok {
		if !regexp.MustCompile(`seal|mark|is older|no such file|tokens file`).MatchString(u.output.tail(1 << 10)) {
			u.Errorf("%s: the server does not start for another reason: %s", name, u.output.tail(1<<10))
		}
		return // the server refuses the folder
	}
	u.served++
	found := u.decisions()
	stop()
	if len(found) > 0 {
		u.Errorf("%s decides: %s", name, strings.Join(found, "\n"))
	}
}

// attackWhileServed changes the database while the server has it open.
func (u *sealedUser) attackWhileServed() (made int) {
	u.Helper()
	for name, line := range sqlAttempts {
		if !strings.Contains(line, "older(") && !strings.Contains(line, "bare(") {
			continue
		}
		made++
		func() {
			defer u.asItWas()
			stop, ok := u.startSealed()
			if !ok {
				u.Errorf("it does not start: %s", u.output.tail(2<<10))
				return
			}
			defer stop()
			u.look()
			if out := u.shell(sqlLine(line)); !strings.Contains(out, "WRITTEN") && !strings.Contains(out, "locked") {
				u.Errorf("%s: it was not made: %s", name, out)
			}
			if found := u.decisions(); len(found) > 0 {
				u.Errorf("%s, while the server runs, decides: %s", name, strings.Join(found, "\n"))
			}
		}()
	}
	return made
}

// S24.16: without a seal, the same changes of the database decide: the attempts above could have succeeded, too.
func TestWithoutASealTheDatabaseDecides(t *testing.T) {
	t.Parallel()
	u := prepareSealed(t, false)
	for _, name := range []string{"a policy that allows all", "a policy that is not attached", "a person's key", "an approval that is granted", "the person who was deleted", "no halts", "a run in another state"} {
		if out := u.shell(sqlLine(sqlAttempts[name])); !strings.Contains(out, "WRITTEN") {
			t.Fatalf("%s: it was not made: %s", name, out)
		}
		stop, ok := u.startSealed()
		if !ok {
			t.Fatalf("%s: it does not start: %s", name, u.output.tail(2<<10))
		}
		if found := u.decisions(); len(found) == 0 {
			t.Errorf("%s does not decide", name)
		}
		stop()
		u.asItWas()
	}
}
