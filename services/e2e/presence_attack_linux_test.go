package e2e

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// sameUser is an `interlock up` and an agent's shell of one user, who is not root, without any jail.
type sameUser struct {
	*testing.T
	public, workspace string
	data              datadir.Dir
	at                datadir.Endpoints
	up                *exec.Cmd
	output            *capture
	// approval waits for a person, of a run; old are the tokens of people from when the server ran without presence.
	approval, run, halt string
	// words open the seal; empty for none.
	words string
	old   map[auth.Role]string
}

const nobodyID = 65534

func startSameUser(t *testing.T) *sameUser {
	t.Helper()
	program := binary(t, "interlock")
	public := must[string](t)(os.MkdirTemp("", "interlock-"))
	t.Cleanup(func() { os.RemoveAll(public) })
	u := &sameUser{T: t, public: public, workspace: filepath.Join(public, "ws"), data: datadir.Dir(filepath.Join(public, "data"))}
	text := must[[]byte](t)(os.ReadFile(program))
	for _, err := range []error{
		os.Chmod(public, 0o755), os.Mkdir(u.workspace, 0o700), os.Mkdir(filepath.Join(public, "bin"), 0o755),
		os.WriteFile(filepath.Join(public, "bin", "interlock"), text, 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		for _, path := range []string{public, u.workspace} {
			if err := os.Chown(path, nobodyID, nobodyID); err != nil {
				t.Fatal(err)
			}
		}
	}
	return u
}

// command is one that the user runs.
func (u *sameUser) command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = u.workspace
	cmd.Env = append([]string{"PATH=" + filepath.Join(u.public, "bin") + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + u.workspace}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobodyID, Gid: nobodyID}
	}
	return cmd
}

// start starts `interlock up`.
func (u *sameUser) start(presence string, more ...string) {
	u.Helper()
	u.output = &capture{}
	u.up = u.command(context.Background(), nil, filepath.Join(u.public, "bin", "interlock"), append([]string{
		"up", "--presence", presence, "--data-dir", string(u.data), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0",
	}, more...)...)
	u.up.Stdout, u.up.Stderr = u.output, u.output
	u.give(u.up)
	if err := u.up.Start(); err != nil {
		u.Fatal(err)
	}
}

// give has a command read the passphrase of the seal from its descriptor 3, which is in no file.
func (u *sameUser) give(cmd *exec.Cmd) {
	u.Helper()
	if u.words == "" {
		return
	}
	read, write, err := os.Pipe()
	if err == nil {
		_, err = write.WriteString(u.words)
	}
	if err := errors.Join(err, write.Close()); err != nil {
		u.Fatal(err)
	}
	u.Cleanup(func() { read.Close() })
	cmd.ExtraFiles = []*os.File{read}
	cmd.Env = append(cmd.Env, "INTERLOCK_SEAL_PASSPHRASE_FILE=/dev/fd/3")
}

// serve starts `interlock up` until stop.
func (u *sameUser) serve(presence string) (stop func()) {
	u.Helper()
	u.start(presence)
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = u.up.Process.Signal(syscall.SIGTERM)
			_ = u.up.Wait()
		}
	}
	u.Cleanup(func() {
		stop()
		if u.Failed() {
			u.Logf("interlock up:\n%s", u.output.tail(4<<10))
		}
	})
	eventually(u.T, "interlock up serves", func() (err error) {
		if u.at, err = u.data.ReadEndpoints(); err == nil && u.at.PID != u.up.Process.Pid {
			err = fmt.Errorf("endpoints of process %d", u.at.PID)
		}
		if err == nil {
			err = ready(u.at.HTTP)
		}
		return err
	})
	return stop
}

// call makes a request, which has to succeed.
func (u *sameUser) call(method, path, token, body string) string {
	u.Helper()
	req := must[*http.Request](u.T)(http.NewRequestWithContext(within(u.T), method, u.at.HTTP+path, strings.NewReader(body)))
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp := must[*http.Response](u.T)(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	text := must[[]byte](u.T)(io.ReadAll(resp.Body))
	if resp.StatusCode/100 != 2 {
		u.Fatalf("%s %s: %s %s", method, path, resp.Status, text)
	}
	return string(text)
}

func (u *sameUser) token(role auth.Role) string {
	u.Helper()
	return must[string](u.T)(auth.FileToken(u.data.Local(), role))
}

// prepare leaves a policy, and an approval that waits for a person.
func (u *sameUser) prepare() {
	u.Helper()
	u.old = map[auth.Role]string{}
	for _, role := range auth.Roles() {
		u.old[role] = u.token(role)
	}
	operator, agent := u.old[auth.Operator], u.old[auth.Agent]
	u.call("POST", "/v1/workflows", operator, `{"id":"gate","initial":"build","meta":{"approval_mode":"ui"},"states":{
		"build":{"allowed_tools":["Read","Bash"],"on":{"SHIP":{"target":"ship","requires_approval":true}}},
		"ship":{"allowed_tools":["Write"],"on":{"DONE":"done"}},"done":{"type":"final"}}}`)
	u.call("POST", "/v1/policies?name=house", operator, `{"role":"agent","allow":[{"capability":"tool:Read"},{"capability":"bash"}]}`)
	u.call("PUT", "/v1/policies/house/attachments/workflow/gate", operator, "")
	var run struct {
		ID string `json:"run_id"`
	}
	var asked struct {
		ID string `json:"approval_id"`
	}
	var halt struct {
		ID string `json:"halt_id"`
	}
	if err := json.Unmarshal([]byte(u.call("POST", "/v1/halts", operator, `{"kind":"session","name":"halted","reason":"x"}`)), &halt); err != nil || halt.ID == "" {
		u.Fatalf("no halt: %v", err)
	}
	u.halt = halt.ID
	u.call("POST", "/v1/sessions", agent, `{"session_name":"s"}`)
	if err := json.Unmarshal([]byte(u.call("POST", "/v1/runs", agent, `{"workflow":"gate","session_id":"s"}`)), &run); err != nil {
		u.Fatal(err)
	}
	if err := json.Unmarshal([]byte(u.call("POST", "/v1/runs/"+run.ID+"/transition", agent, `{"event":"SHIP"}`)), &asked); err != nil || asked.ID == "" {
		u.Fatalf("no approval was asked for: %v", err)
	}
	u.run, u.approval = run.ID, asked.ID
}

var changing = regexp.MustCompile(`"(updated_at|created_at|now|age_seconds|waiting_seconds|expires_in_seconds)":\s*("[^"]*"|[0-9.]+),?`)

// decided returns all that only people may change: the approval, the run, policies, halts and people.
func (u *sameUser) decided() string {
	u.Helper()
	observer := u.token(auth.Observer)
	var all []string
	for _, path := range []string{
		"/v1/approvals/" + u.approval, "/v1/runs/" + u.run, "/v1/policies", "/v1/policies/house", "/v1/leases", "/v1/halts", "/v1/schemas", "/v1/workflows/gate",
	} {
		all = append(all, path+" "+changing.ReplaceAllString(u.call("GET", path, observer, ""), ""))
	}
	conn, err := rpc.Dial(u.at.GRPC, rpc.ClientConfig{})
	if err != nil {
		u.Fatal(err)
	}
	defer conn.Close()
	// While no person is registered, any code may be that of the first.
	_, err = identityv1.NewLoginServiceClient(conn).GetInvitation(within(u.T), &identityv1.GetInvitationRequest{Code: "AAAAA"})
	return strings.Join(append(all, fmt.Sprintf("people: %v", err)), "\n")
}

// prelude of every attempt. api says how a request ended, tty runs a command at a terminal of its own.
const prelude = `
tok() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$DATA/local.json"; }
api() { curl -sS -m 20 -w ' HTTP %{http_code}\n' -H "Authorization: Bearer $1" -H 'Content-Type: application/json' -X "$2" "$HTTP$3" ${4:+-d "$4"} "${@:5}"; }
grpc() { printf '\0%b' "$3" | curl -sS -m 20 --http2-prior-knowledge -D - -o /dev/null -H 'content-type: application/grpc' -H 'te: trailers' -H "authorization: Bearer $1" --data-binary @- "http://$GRPC/interlock.$2"; }
tty() { printf 'y\ny\n' | script -qec "$*" /dev/null; }
py() { /usr/bin/python3 -c "$@"; }
`

// attempt is a line of the agent's shell, and what shows that it was made and refused.
type attempt struct{ name, line, shows string }

// isRefused is what a refusal looks like on any face.
const isRefused = `HTTP 40[0134579]|HTTP 422|grpc-status: (3|5|7|9|12|16)|[Nn]obody has logged in|may not|not ok|refused|denied|unknown|unexpected|invalid|cannot be|terminal|no token|does not|not permitted|not found`

// run runs an attempt, and returns what it printed.
func (u *sameUser) attempt(a attempt) string {
	u.Helper()
	ctx, stop := context.WithTimeout(u.Context(), 20*time.Second)
	defer stop()
	_, nats, _ := strings.Cut(u.at.NATS, "://")
	cmd := u.command(ctx, []string{
		"HTTP=" + u.at.HTTP, "GRPC=" + u.at.GRPC, "NATS=" + nats, "DATA=" + string(u.data), "INTERLOCK_DATA=" + string(u.data), fmt.Sprintf("PID=%d", u.at.PID),
		"APPROVAL=" + u.approval, "RUN=" + u.run, "HALT=" + u.halt, "OLD_OPERATOR=" + u.old[auth.Operator], "OLD_APPROVER=" + u.old[auth.Approver],
	}, "bash", "-c", prelude+a.line)
	cmd.WaitDelay = time.Second
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// acts are those of people, by REST.
var acts = []struct{ name, method, path, body string }{
	{"approve", "POST", "/v1/approvals/$APPROVAL/approve", `{}`},
	{"reject", "POST", "/v1/approvals/$APPROVAL/reject", `{"note":"no"}`},
	{"approve several", "POST", "/v1/approvals/decide", `{"approve":true,"items":[{"approval_id":"'$APPROVAL'"}]}`},
	{"put a policy", "POST", "/v1/policies?name=house", `{"role":"agent","allow":[{"capability":"*"}]}`},
	{"detach a policy", "DELETE", "/v1/policies/house/attachments/workflow/gate", ``},
	{"attach a policy", "PUT", "/v1/policies/house/attachments/role/agent", ``},
	{"delete a policy", "DELETE", "/v1/policies/house", ``},
	{"promote a policy", "POST", "/v1/policies/house/promote", `{"version":1}`},
	{"force a state", "POST", "/v1/runs/$RUN/force-state", `{"state":"ship"}`},
	{"halt all", "POST", "/v1/halts", `{"all":true,"reason":"x"}`},
	{"lift a halt", "POST", "/v1/halts/$HALT/lift", `{"reason":"x"}`},
	{"sign a grant for calls without contact", "POST", "/v1/breakglass", `{"principal":"agent","tools":["*"],"until":"1h","reason":"x"}`},
	{"list grants for calls without contact", "GET", "/v1/breakglass/bgg_x", ``},
	{"add a person", "POST", "/v1/people", `{"name":"eve","roles":["approver"]}`},
	{"invite a person", "POST", "/v1/people/eve/invitation", ``},
	{"renew a log-in", "POST", "/v1/login/renew", `{}`},
	{"register a key", "POST", "/v1/login/register", `{"code":"AAAAA-AAAAA","person":"eve","key":{"passphrase":"four plain words here"}}`},
	{"register a schema", "POST", "/v1/schemas", `{"name":"x","json_schema":{"type":"object"}}`},
}

// found are what an agent may find or make, as a line that prints it.
var found = map[string]string{
	"the agent's":              `tok agent`,
	"the runtime's":            `tok runtime`,
	"the observer's":           `tok observer`,
	"none":                     `true`,
	"the operator's of before": `echo $OLD_OPERATOR`,
	"the approver's of before": `echo $OLD_APPROVER`,
	"any of the folder":        `grep -rhoaE 'il[kps]_[-_A-Za-z0-9.]{20,}' $DATA $HOME /tmp/*.log 2>/dev/null | grep -vxF -e "$(tok agent)" -e "$(tok observer)" -e "$(tok runtime)" | sort -u | head -1`,
	"a digest":                 `grep -o 'sha256:[0-9a-f]*' $DATA/tokens.json | head -1`,
	"a minted one":             `interlock token mint --session s --name operator --key $DATA/token.key`,
	"one of a person, signed with the folder's key": `py 'import sys,hmac,hashlib,base64,json,time
b=lambda x: base64.urlsafe_b64encode(x).rstrip(b"=").decode()
k=base64.b64decode(open(sys.argv[1]).read()); n=int(time.time())
h=b(json.dumps({"alg":"HS256","typ":"JWT"}).encode())+"."+b(json.dumps({"iss":"interlock-person","sub":"ann","role":"approver","namespaces":"*","presence":"passkey","auth_time":n-1,"iat":n-1,"nbf":n-1,"exp":n+600,"jti":"x"}).encode())
print("ilp_"+h+"."+b(hmac.new(k,h.encode(),hashlib.sha256).digest()))' $DATA/token.key`,
}

// commands are those of people; each is run at terminals of the attacker's making.
var commands = []string{
	"approval approve $APPROVAL", "approval reject $APPROVAL --note x", "approval approve $APPROVAL --as approver", "approval approve $APPROVAL --as operator",
	"policy put open.json --name house --as operator", "policy detach house --workflow gate --as operator", "policy attach house --everyone --as operator",
	"policy delete house --as operator", "policy promote house 1 --as operator", "policy put open.json --name house", "policy detach house --workflow gate", "policy delete house",
	"run force-state $RUN --state ship", "run force-state $RUN --state ship --as operator", "schema register x schema.json --as operator",
	"halt --all --reason x --as operator", "halt --lift $HALT --reason x --as operator", "breakglass grant agent --tool '*' --until 1h --reason x --as operator", "env operator", "env approver", "console",
	"call settle $RUN c1 --outcome not_executed", "lease revoke lea_x", "token add approver --name eve", "token add operator --name eve", "token add service --name eve",
	"approval approve $APPROVAL --server $GRPC --token $(tok agent)", "approval approve $APPROVAL --server $GRPC --token $(tok runtime)",
	"approval approve $APPROVAL --server $HTTP --token $(tok observer)", "approval approve $APPROVAL --server $GRPC --token ''",
	"policy delete house --server $GRPC --token $(tok runtime)", "up --http 127.0.0.1:0 --grpc 127.0.0.1:0 --nats 127.0.0.1:0 --presence none --data-dir $DATA",
}

// grpcCalls are calls of people, as wire bytes.
func (u *sameUser) grpcCalls() map[string]proto.Message {
	key := &identityv1.NewCredential{}
	return map[string]proto.Message{
		"approval.v1.ApprovalService/DecideApproval":  &approvalv1.DecideApprovalRequest{ApprovalId: u.approval, Approve: true},
		"approval.v1.ApprovalService/DecideApprovals": &approvalv1.DecideApprovalsRequest{Approve: true, Items: []*approvalv1.DecideApprovalsItem{{ApprovalId: u.approval}}},
		"identity.v1.PersonService/CreatePerson":      &identityv1.CreatePersonRequest{Spec: &identityv1.PersonSpec{Name: "eve", Roles: []string{"approver"}}},
		"identity.v1.PersonService/InvitePerson":      &identityv1.InvitePersonRequest{Name: "eve"},
		"identity.v1.PersonService/AddCredential":     &identityv1.AddCredentialRequest{Name: "eve", Credential: key},
		"identity.v1.LoginService/Register":           &identityv1.RegisterRequest{Code: "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA-A", Person: "eve", Credential: key},
		"identity.v1.LoginService/RenewLogin":         &identityv1.RenewLoginRequest{},
	}
}

const asRead = `
until api oooooooooooooooooooooooo GET /v1/policies | grep -q 'HTTP 200'; do :; done
api eeeeeeeeeeeeeeeeeeeeeeee POST /v1/approvals/$APPROVAL/approve '{}'`

// attempts lists all.
func (u *sameUser) attempts() (all []attempt) {
	add := func(name, line, shows string) { all = append(all, attempt{name, line, shows}) }
	for credential, line := range found {
		for _, act := range acts {
			body := strings.ReplaceAll(act.body, `'$APPROVAL'`, u.approval)
			add(act.name+" with "+credential, fmt.Sprintf("api \"$(%s)\" %s \"%s\" '%s'", line, act.method, act.path, body), isRefused)
		}
	}
	for _, command := range commands {
		quoted := strings.ReplaceAll(command, `"`, `\"`)
		add("script: "+command, `printf '{"role":"agent","allow":[{"capability":"*"}]}' >open.json; printf '{"type":"object"}' >schema.json; tty "interlock `+quoted+`"`, isRefused+"|^http://[^#]*$|/ui/\\s|lock")
		if !strings.HasPrefix(command, "up ") {
			add("pty: "+command, `printf '{"role":"agent","allow":[{"capability":"*"}]}' >open.json; printf '{"type":"object"}' >schema.json; printf 'y\ny\n' | py 'import pty,sys; pty.spawn(["bash","-c",sys.argv[1]])' "interlock `+quoted+`"`, isRefused+"|/ui/\\s|lock")
		}
	}
	for method, message := range u.grpcCalls() {
		wire := must[[]byte](u.T)(proto.Marshal(message))
		escaped := ""
		for _, b := range append([]byte{0, 0, byte(len(wire) >> 8), byte(len(wire))}, wire...) {
			escaped += `\x` + hex.EncodeToString([]byte{b})
		}
		for _, of := range []string{"agent", "runtime", "observer", "nobody"} {
			add("gRPC "+method+" as "+of, fmt.Sprintf(`grpc "$(tok %s)" %s '%s'`, of, method, escaped), isRefused)
		}
	}
	// Files. Each ends when the server has read the file again.
	const edit = `import json,sys
f=sys.argv[1]; d=json.load(open(f)); exec(sys.argv[2]); json.dump(d,open(f,"w"))`
	const planted = `d["tokens"]+=[{"name":"watch","role":"observer","token":"o"*24},{"name":"eve","role":"%s","token":"e"*24%s}]`
	for _, role := range []string{"approver", "operator", "service"} {
		add("a plain token of role "+role+" in the server's file", `py '`+edit+`' $DATA/tokens.json '`+fmt.Sprintf(planted, role, "")+`'`+asRead, isRefused)
		add("a token of role "+role+" for a person in the server's file", `py '`+edit+`' $DATA/tokens.json '`+fmt.Sprintf(planted, role, `,"person":"ann"`)+`'`+asRead, isRefused)
		add("the agent's token gets the role "+role, `py '`+edit+`' $DATA/tokens.json 'd["tokens"]+=[{"name":"watch","role":"observer","token":"o"*24}]
for e in d["tokens"]:
  if e["name"]=="agent": e["role"]=e["name"]="`+role+`"'
until api oooooooooooooooooooooooo GET /v1/policies | grep -q 'HTTP 200'; do :; done
api "$(tok agent)" POST /v1/approvals/$APPROVAL/approve '{}'`, isRefused)
		add("a token that token add made for role "+role, `T=$(interlock token add `+role+` --name eve --tokens $DATA/tokens.json); O=$(interlock token add observer --name watch --tokens $DATA/tokens.json)
until api $O GET /v1/policies | grep -q 'HTTP 200'; do :; done
api $T POST /v1/approvals/$APPROVAL/approve '{}'`, isRefused)
		add("role "+role+" in the file of programs", `py 'import json,sys
f=sys.argv[1]; d=json.load(open(f)); d[sys.argv[2]]="e"*24; json.dump(d,open(f,"w"))' $DATA/local.json `+role+`; tty "interlock approval approve $APPROVAL --as approver"; api eeeeeeeeeeeeeeeeeeeeeeee POST /v1/approvals/$APPROVAL/approve '{}'`, isRefused)
		add("another file in the place of the server's, role "+role, `printf '{"tokens":[{"name":"watch","role":"observer","token":"oooooooooooooooooooooooo"},{"name":"eve","role":"`+role+`","token":"eeeeeeeeeeeeeeeeeeeeeeee"}]}' >t.json; chmod 600 t.json; mv t.json $DATA/tokens.json`+asRead, isRefused)
	}
	// The process of the server.
	for _, file := range []string{"environ", "mem", "maps", "io", "auxv", "fd/0", "fdinfo/0", "root/etc/hostname", "cwd/x", "map_files", "stack", "syscall", "exe"} {
		add("/proc/PID/"+file, `for f in /proc/$PID/`+file+`; do head -c 9 $f || ls $f; done; ls -l /proc/$PID/fd | grep -c . `, `ermission denied|not permitted`)
	}
	const libc = `import ctypes,os,sys
c=ctypes.CDLL(None,use_errno=True); p=int(sys.argv[1])
def say(r): print("not permitted" if r<0 and ctypes.get_errno() in (1,13) else "DONE %d errno %d"%(r,ctypes.get_errno()))
`
	add("ptrace attach", `py '`+libc+`say(c.ptrace(16,p,0,0))' $PID`, "^not permitted")
	add("ptrace seize", `py '`+libc+`say(c.ptrace(0x4206,p,0,0))' $PID`, "^not permitted")
	add("process_vm_readv", `py '`+libc+`
class iov(ctypes.Structure): _fields_=[("b",ctypes.c_void_p),("l",ctypes.c_size_t)]
b=ctypes.create_string_buffer(8); l=iov(ctypes.addressof(b),8); r=iov(0xc000000000,8)
say(c.process_vm_readv(p,ctypes.byref(l),1,ctypes.byref(r),1,0))' $PID`, "^not permitted")
	add("process_vm_writev", `py '`+libc+`
class iov(ctypes.Structure): _fields_=[("b",ctypes.c_void_p),("l",ctypes.c_size_t)]
b=ctypes.create_string_buffer(8); l=iov(ctypes.addressof(b),8); r=iov(0xc000000000,8)
say(c.process_vm_writev(p,ctypes.byref(l),1,ctypes.byref(r),1,0))' $PID`, "^not permitted")
	add("pidfd_getfd", `py '`+libc+`
f=c.syscall(434,p,0); say(c.syscall(438,f,0,0) if f>=0 else f)' $PID`, "^not permitted")
	// Sockets, the bus, agents' protocols and the console.
	for _, socket := range []string{"hook.sock", "grpc.sock"} {
		add("approve by "+socket, `curl -sS -m 10 -w ' HTTP %{http_code}' --unix-socket $DATA/`+socket+` -H "Authorization: Bearer $(tok runtime)" -H 'Content-Type: application/json' -X POST http://x/v1/approvals/$APPROVAL/approve -d '{}'`, isRefused+"|Could not connect|Couldn't connect")
		add("approve without a token by "+socket, `curl -sS -m 10 -w ' HTTP %{http_code}' --unix-socket $DATA/`+socket+` -H 'Content-Type: application/json' -X POST http://x/v1/approvals/$APPROVAL/approve -d '{}'`, isRefused+"|Could not connect|Couldn't connect")
	}
	// The socket of log-ins speaks lines of JSON: to a program that is no person's shell it gives no token.
	const ask = `
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(sys.argv[2].encode() + b"\n"); print(s.makefile().readline())`
	for name, line := range map[string]string{
		"a token of an operator": `{"op":"token","role":"operator"}`, "a token of an approver": `{"op":"token","role":"approver"}`,
		"a token of root": `{"op":"token","role":"root"}`, "a token of no role": `{"op":"token"}`,
		"a guessed passphrase": `{"op":"login","proof":{"name":"ann","passphrase":"correct horse battery"}}`,
		"a guessed code":       `{"op":"register","proof":{"code":"AAAA-AAAA-AAAA","name":"eve","passphrase":"correct horse battery"}}`,
		"HTTP":                 `POST /v1/approvals/$APPROVAL/approve HTTP/1.1`,
	} {
		add(name+" by person.sock", "py '"+ask+"' $DATA/person.sock '"+line+"'", `^\{.*("error"|"nobody":true)`)
		add(name+" by person.sock at a terminal", "script -qec \"/usr/bin/python3 -c '"+strings.ReplaceAll(ask, `"`, `\"`)+"' $DATA/person.sock '"+strings.ReplaceAll(line, `"`, `\"`)+"'\" /dev/null", `^\{.*("error"|"nobody":true)`)
	}
	for _, subject := range []string{"interlock.default.approval.granted." + u.approval, "interlock-processes", "$JS.API.STREAM.DELETE.INTERLOCK", "$JS.API.STREAM.PURGE.INTERLOCK"} {
		add("publish on "+subject, `exec 3<>/dev/tcp/${NATS%:*}/${NATS##*:}; printf 'CONNECT {"verbose":false}\r\nPUB `+subject+` 2\r\n{}\r\nPING\r\n' >&3; timeout 20 grep -m1 -aE '^(PONG|-ERR)' <&3`, "PONG|Violation")
	}
	for header, value := range map[string]string{
		"X-Interlock-Witness": "Bearer $(tok runtime)", "X-Interlock-For": "ann", "X-Interlock-Role": "approver", "X-Forwarded-User": "approver", "X-Interlock-Namespace": "other",
		"Cookie": "interlock_console=$(tok agent)", "X-Interlock-Identity": "slack:T01/U02", "X-Interlock-Person": "ann", "Origin": "$HTTP", "Sec-Fetch-Site": "same-origin",
	} {
		add("approve with the header "+header, `api "$(tok agent)" POST /v1/approvals/$APPROVAL/approve '{}' -H "`+header+`: `+value+`"`, isRefused)
	}
	for name, body := range map[string]string{"a signature": `{"signature":{"credential":"x","assertion":"AAAA"}}`, "an identity": `{"as_identity":"slack:T01/U02"}`, "a person": `{"person":"ann","presence":"passkey"}`} {
		add("approve with "+name, `api "$(tok runtime)" POST /v1/approvals/$APPROVAL/approve '`+body+`'`, isRefused)
	}
	for _, of := range []string{"agent", "runtime", "observer"} {
		add("log in to the console with the token of "+of, `C=$(curl -sS -m 10 -D h -H "Origin: $HTTP" -H 'Sec-Fetch-Site: same-origin' -H 'Content-Type: application/json' -d "{\"token\":\"$(tok `+of+`)\"}" $HTTP/ui/session | sed -n 's/.*"csrf":"\([^"]*\)".*/\1/p')
curl -sS -m 10 -w ' HTTP %{http_code}' -H "Cookie: $(sed -n 's/^[Ss]et-[Cc]ookie: \([^;]*\).*/\1/p' h)" -H "X-Interlock-Csrf: $C" -H "Origin: $HTTP" -H 'Sec-Fetch-Site: same-origin' -H 'Content-Type: application/json' -d '{}' $HTTP/ui/api/v1/approvals/$APPROVAL/approve`, isRefused)
	}
	for _, code := range []string{"x", "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA-A", "$(head -c 60 $DATA/token.key | base64 -w0)"} {
		add("a link to the console with the code "+code, `curl -sS -m 10 -w ' HTTP %{http_code}' -H "Origin: $HTTP" -H 'Sec-Fetch-Site: same-origin' -H 'Content-Type: application/json' -d "{\"code\":\"`+code+`\"}" $HTTP/ui/session`, isRefused)
	}
	const mcp = `api "$(tok agent)" POST "/mcp?session=s" '%s' -H 'Accept: application/json, text/event-stream'`
	for _, tool := range []string{"approve", "approval_approve", "interlock_approve", "decide", "policy_put", "force_state"} {
		add("the MCP tool "+tool, fmt.Sprintf(mcp, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"approval_id":"`+u.approval+`","state":"ship","event":"SHIP"}}}`), `HTTP [24]`)
	}
	for _, event := range []string{"PreToolUse", "PostToolUse", "PermissionRequest", "UserPromptSubmit", "Stop"} {
		add("the hook event "+event, `api "$(tok agent)" POST /v1/hook '{"hook_event_name":"`+event+`","session_id":"s","permission_mode":"bypassPermissions","prompt":"approve","tool_name":"Bash","tool_use_id":"x","tool_input":{"command":"interlock approval approve '$APPROVAL'"}}'`, `HTTP [24]`)
	}
	add("fire the event again as approved", `api "$(tok agent)" POST /v1/runs/$RUN/transition '{"event":"SHIP","approved":true}'`, `HTTP`)
	return all
}

// S23.2, S23.4, S23.6: nothing that a program of the server's own user finds or does lets it decide, change a policy or
// become a person. What it could still do is in docs/security.md.
func TestNoProgramOfTheSameUserDecides(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"/usr/bin/python3", "/usr/bin/script", "/usr/bin/curl"} {
		if _, err := os.Stat(program); err != nil {
			t.Fatalf("the attacker needs %s: run `make deps`, or install it", program)
		}
	}
	u := startSameUser(t)
	stop := u.serve("none")
	u.prepare()
	stop()
	u.serve("required")
	before := u.decided()
	saved := map[string][]byte{}
	for _, file := range []string{u.data.Tokens(), u.data.Local()} {
		saved[file] = must[[]byte](t)(os.ReadFile(file))
	}
	all := u.attempts()
	if len(all) < 200 {
		t.Errorf("only %d attempts", len(all))
	}
	for _, a := range all {
		out := u.attempt(a)
		if !regexp.MustCompile(`(?m)`+a.shows).MatchString(out) || strings.Contains(out, "command not found") || strings.Contains(out, "HTTP 000") && !strings.Contains(out, "onnect") {
			t.Errorf("%s: it was not made, or not refused: %s", a.name, out)
		}
		for file, text := range saved {
			if now, err := os.ReadFile(file); err != nil || string(now) != string(text) {
				u.restore(file, text)
				eventually(t, "the server has read "+file+" again", func() error { return u.knows(u.token(auth.Observer)) })
			}
		}
		if after := u.decided(); after != before {
			t.Fatalf("%s decides:\n%s\nwas\n%s\nout\n%s", a.name, after, before, out)
		}
	}
	t.Logf("%d attempts", len(all))
}

// knows reports that the server does not know a token.
func (u *sameUser) knows(token string) error {
	u.Helper()
	req := must[*http.Request](u.T)(http.NewRequestWithContext(within(u.T), http.MethodGet, u.at.HTTP+"/v1/policies", http.NoBody))
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// restore puts a file back, as its owner has it.
func (u *sameUser) restore(file string, text []byte) {
	u.Helper()
	if err := os.WriteFile(file+".was", text, 0o600); err != nil {
		u.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(file+".was", nobodyID, nobodyID); err != nil {
			u.Fatal(err)
		}
	}
	if err := os.Rename(file+".was", file); err != nil {
		u.Fatal(err)
	}
}

// S23.2: without presence, the known attack succeeds: the attempts above could have succeeded, too.
func TestWithoutPresenceAProgramDecides(t *testing.T) {
	t.Parallel()
	u := startSameUser(t)
	u.serve("none")
	u.prepare()
	before := u.decided()
	out := u.attempt(attempt{line: `api "$(grep -rhs '"approver"' $DATA | grep -o 'ilk_[^"]*')" POST /v1/approvals/$APPROVAL/approve '{}'`})
	if !strings.Contains(out, "HTTP 200") || u.decided() == before {
		t.Errorf("it has not decided: %s", out)
	}
}
