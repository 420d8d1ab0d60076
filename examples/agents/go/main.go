// The agent of docs/agent-examples.md in Go. Run it with `make example-agent-go`.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"

	"github.com/interlock-run/interlock/pkg/sdk"
)

// turn is the model's answer: a tool call, or an event of the workflow.
type turn struct {
	Say, Tool, Event string
	Input            map[string]string
}

// model is a scripted one: it says its next turn, whatever it is told.
func model(file string) (func(told string) (turn, bool), error) {
	script, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	turns := json.NewDecoder(script)
	return func(string) (t turn, more bool) {
		return t, turns.Decode(&t) == nil
	}, nil
}

// perform runs a tool. It is called only for calls that are allowed.
func perform(tool string, input map[string]string) (sdk.Result, error) {
	path := input["file_path"]
	switch tool {
	case "Read":
		text, err := os.ReadFile(path)
		return sdk.Result{Output: text}, err
	case "Edit":
		text, err := os.ReadFile(path)
		if err != nil {
			return sdk.Result{}, err
		}
		edited := strings.Replace(string(text), input["old_string"], input["new_string"], 1)
		return sdk.Result{Output: []byte("edited"), FilesChanged: []string{path}}, os.WriteFile(path, []byte(edited), 0o600)
	case "Bash":
		out, err := exec.Command("bash", "-c", input["command"]).CombinedOutput()
		return sdk.Result{Output: out}, err
	}
	return sdk.Result{}, fmt.Errorf("there is no tool %s", tool)
}

// act makes one turn, and returns what the model is told about it.
func act(ctx context.Context, client *sdk.Client, t turn) (string, error) {
	var denied *sdk.DeniedError
	var rejected *sdk.RejectedError
	var asks *sdk.ApprovalRequiredError
	if t.Tool != "" {
		result, err := client.Guard(ctx, t.Tool, t.Input, func(context.Context) (sdk.Result, error) { return perform(t.Tool, t.Input) })
		if errors.As(err, &denied) {
			return "denied: " + denied.Message, nil
		}
		return strings.TrimSpace(string(result.Output) + "\n" + result.Notice), err
	}
	run, err := client.Transition(ctx, t.Event, nil)
	switch {
	case errors.As(err, &rejected):
		return "refused: " + rejected.Message, nil
	case errors.As(err, &asks):
		fmt.Println("  waits for a human")
		go human(ctx, asks.ApprovalID)
		approval, err := client.WaitApproval(ctx, asks.ApprovalID)
		if err != nil {
			return "", err
		}
		if !approval.Granted() {
			return "not approved: " + approval.Outcome, nil
		}
		run, err = client.WaitRun(ctx, "", func(run *sdk.Run) bool { return run.Status != sdk.RunAwaitingApproval })
		if err != nil {
			return "", err
		}
		return "approved; now in " + run.State, nil
	case err != nil:
		return "", err
	case run.Ended():
		return string(run.Status), nil
	}
	return "now in " + run.State, nil
}

// human is somebody else, with a token of the role approver, who approves.
func human(ctx context.Context, id string) {
	client, err := sdk.Dial(os.Getenv("INTERLOCK_SERVER"), sdk.Options{Token: os.Getenv("APPROVER_TOKEN")})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if _, err = client.DecideApproval(ctx, id, sdk.ApprovalVote{Approve: true}); err != nil {
		log.Fatal(err)
	}
}

func agent(ctx context.Context) error {
	client, err := sdk.FromEnv()
	if err != nil {
		return err
	}
	defer client.Close()
	next, err := model(os.Args[1])
	if err != nil {
		return err
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	run, err := client.Load(ctx, "release", sdk.LoadOptions{Workspace: folder})
	if err != nil {
		return err
	}
	told := run.Instructions
	for {
		t, more := next(told)
		if !more {
			return nil
		}
		fmt.Println(t.Say)
		fmt.Println("  > " + strings.TrimSpace(t.Event+t.Tool+" "+t.Input["command"]+t.Input["file_path"]))
		if told, err = act(ctx, client, t); err != nil {
			return err
		}
		fmt.Println("  " + told)
	}
}

func main() {
	if err := agent(context.Background()); err != nil {
		log.Fatal(err)
	}
}
