package main

import (
	"context"
	"errors"
	"fmt"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// batchSize is how many calls a message of the batched stream has.
const batchSize = 16

// checks returns CheckToolCall. run names the run of a caller's nth call.
func checks(ctx context.Context, p pool, run func(caller, n int) string) func(int) (op, error) {
	return checksOf(ctx, p, run, checkRequest)
}

// checksOf returns checks of another call than the usual one.
func checksOf(
	ctx context.Context, p pool, run func(caller, n int) string, request func(run string) *policyv1.CheckToolCallRequest,
) func(int) (op, error) {
	return func(caller int) (op, error) {
		client, n := policyv1.NewPolicyEnforcerServiceClient(p.of(caller)), 0
		return func() error {
			n++
			resp, err := client.CheckToolCall(ctx, request(run(caller, n)))
			if err != nil {
				return err
			}
			return allowed(resp)
		}, nil
	}
}

// streams returns CheckToolCalls, a stream for each caller, with this many calls in a
// message; the next is sent when all are answered.
func streams(ctx context.Context, p pool, runs []string, calls int) func(int) (op, error) {
	return func(caller int) (op, error) {
		stream, err := policyv1.NewPolicyEnforcerServiceClient(p.of(caller)).CheckToolCalls(ctx)
		if err != nil {
			return nil, err
		}
		request := &policyv1.CheckToolCallsRequest{}
		for i := range calls {
			request.Calls = append(request.Calls, checkRequest(runs[(caller+i)%len(runs)]))
		}
		return func() error {
			request.CorrelationId++
			if err := stream.Send(request); err != nil {
				return err
			}
			resp, err := stream.Recv()
			if err != nil {
				return err
			}
			if len(resp.GetResults()) != calls {
				return fmt.Errorf("%d answers for %d calls", len(resp.GetResults()), calls)
			}
			for _, result := range resp.GetResults() {
				if err := allowed(result.GetDecision()); err != nil {
					return fmt.Errorf("%w %v", err, result.GetError())
				}
			}
			return nil
		}, nil
	}
}

func allowed(resp *policyv1.CheckToolCallResponse) error {
	if resp.GetDecision() != policyv1.Decision_DECISION_ALLOW {
		return fmt.Errorf("the call was refused: %s", resp.GetMessage())
	}
	return nil
}

// transitions returns Transition, to and fro.
func transitions(ctx context.Context, p pool, runs []string) func(int) (op, error) {
	return func(caller int) (op, error) {
		client, n := enginev1.NewRunServiceClient(p.of(caller)), 0
		return func() error {
			resp, err := client.TransitionRun(ctx, transitionRequest(runs[caller], n))
			if err == nil && !resp.GetAccepted() {
				err = errors.New("the transition was rejected: " + resp.GetRejection().GetMessage())
			}
			n++
			return err
		}, nil
	}
}

// own returns the run of a caller.
func own(runs []string) func(caller, n int) string {
	return func(caller, _ int) string { return runs[caller] }
}
