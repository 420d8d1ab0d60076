// Package jsonview is how runs, decisions, workflows, processes, policies, approvals,
// shared states and sessions look in JSON, the same over REST, MCP and the command
// line (the field names are fixed interfaces). It translates contracts and must never
// decide anything.
package jsonview

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// ListOf returns nil, hence null, for rules that are not restricted to a list.
func ListOf(restricted bool, list []string) *[]string {
	if !restricted {
		return nil
	}
	return &list
}

// Time returns a contract's time in UTC, which JSON shows as RFC 3339.
func Time(ts *timestamppb.Timestamp) time.Time {
	if ts == nil {
		return time.Time{}
	}
	return ts.AsTime()
}

// secondsOf returns a duration in whole seconds.
func secondsOf(d *durationpb.Duration) int64 { return int64(d.AsDuration() / time.Second) }

// Each returns the JSON of every element.
func Each[From, To any](list []From, view func(From) To) []To {
	out := make([]To, len(list))
	for i, element := range list {
		out[i] = view(element)
	}
	return out
}
