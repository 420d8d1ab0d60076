package sdk

import (
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

type fakeRuns struct {
	enginev1.UnimplementedRunServiceServer
}
type fakeSessions struct {
	statev1.UnimplementedSessionServiceServer
}
type fakeTasks struct {
	statev1.UnimplementedTaskServiceServer
}
