package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"

	"github.com/interlock-run/interlock/pkg/sdk"
)

// client and ctx are what a program has: see ExampleDial.
var (
	client *sdk.Client
	ctx    = context.Background()
)

func ExampleDial() {
	client, err := sdk.Dial("127.0.0.1:7421", sdk.Options{Token: os.Getenv("INTERLOCK_TOKEN"), Session: "review-42"})
	if err != nil {
		log.Fatal(err)
	}
	run, err := client.Load(ctx, "bugfix", sdk.LoadOptions{Workspace: "/repo"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.State, run.AllowedTools, run.Instructions)
}

func ExampleClient_Guard() {
	command := "go test ./..."
	result, err := client.Guard(ctx, "Bash", map[string]string{"command": command},
		func(ctx context.Context) (sdk.Result, error) {
			output, err := exec.CommandContext(ctx, "bash", "-c", command).CombinedOutput()
			return sdk.Result{Output: output}, err
		})

	var denied *sdk.DeniedError
	var approval *sdk.ApprovalRequiredError
	var unreported *sdk.ReportError
	switch {
	case errors.As(err, &denied):
		fmt.Println("tell the agent:", denied.Message)
	case errors.As(err, &approval):
		fmt.Println("wait for", approval.ApprovalID)
	case errors.As(err, &unreported):
		log.Print(err) // it has run: the result stands
		fallthrough
	default:
		fmt.Printf("%s\n%s\n", result.Output, result.Notice)
	}
}

func ExampleClient_Transition() {
	run, err := client.Transition(ctx, "TESTED", map[string]any{"tests": "pass", "rationale": "all green"})
	var rejected *sdk.RejectedError
	switch {
	case errors.As(err, &rejected):
		fmt.Println("tell the agent:", rejected.Message)
	case err != nil:
		log.Fatal(err)
	default:
		fmt.Println(run.State, run.Ended())
	}
}

func ExampleClient_PatchState() {
	// Concurrent patches are applied one after the other, so none is lost.
	st, err := client.PatchState(ctx, "", sdk.Patch{sdk.Add("/findings/-", map[string]string{"file": "main.go"})})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(st.Version)
}

func ExampleClient_UpdateState() {
	_, err := client.UpdateState(ctx, "", func(doc json.RawMessage) (json.RawMessage, error) {
		var state map[string]json.RawMessage
		if err := json.Unmarshal(doc, &state); err != nil {
			return nil, err
		}
		state["phase"] = json.RawMessage(`"review"`)
		return json.Marshal(state)
	})
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleUpdateStateAs() {
	type progress struct {
		Done  int `json:"done"`
		Total int `json:"total"`
	}
	// It is called again when another session was faster.
	_, err := sdk.UpdateStateAs(ctx, client, "", func(p *progress) error {
		if p.Done == p.Total {
			return errors.New("there is nothing left to do")
		}
		p.Done++
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleClient_WatchState() {
	for change, err := range client.WatchState(ctx, "", -1) {
		if err != nil {
			log.Fatal(err)
		}
		if change.Deleted {
			break
		}
		fmt.Println(change.Version, change.SessionName, string(change.Patch))
	}
}

func ExampleClient_Work() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	runner := sdk.Runner{Name: "runner-1", Labels: map[string]string{"os": "linux"}, MaxInFlight: 4}
	err := client.Work(ctx, runner, func(ctx context.Context, task sdk.Task) error {
		agent, err := exec.LookPath("my-agent")
		if err != nil {
			return fmt.Errorf("%w: %w", sdk.ErrNotRun, err) // for another runner
		}
		cmd := exec.CommandContext(ctx, agent, "--session", task.SessionID, task.Prompt)
		cmd.Env = append(os.Environ(), "INTERLOCK_SESSION="+task.SessionID, "WORKFLOW_STATE_ID="+task.StateID)
		return cmd.Run()
	})
	if ctx.Err() == nil {
		log.Print(err) // the server refuses
	}
}
