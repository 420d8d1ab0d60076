// Package protomap translates words and values of the core that several contracts
// share. It must never decide anything.
package protomap

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// Enums maps the core's words to an enum of a contract, by its generated values
// and the prefix that they have.
func Enums[From ~string, To ~int32](values map[string]int32, prefix string) map[From]To {
	out := make(map[From]To, len(values))
	for name, value := range values {
		out[From(strings.TrimPrefix(name, prefix))] = To(value)
	}
	return out
}

// LowerEnums does the work of Enums for words in lower case.
func LowerEnums[From ~string, To ~int32](values map[string]int32, prefix string) map[From]To {
	out := make(map[From]To, len(values))
	for word, value := range Enums[string, To](values, prefix) {
		out[From(strings.ToLower(word))] = value
	}
	return out
}

// enum is a value of an enum of a contract.
type enum interface {
	Number() protoreflect.EnumNumber
	String() string
}

// Word returns the name of a value without its prefix; empty for UNSPECIFIED.
func Word(value enum, prefix string) string {
	if value.Number() == 0 {
		return ""
	}
	return strings.TrimPrefix(value.String(), prefix)
}

// LowerWord returns Word in lower case.
func LowerWord(value enum, prefix string) string { return strings.ToLower(Word(value, prefix)) }

// Names lists those of an enum except UNSPECIFIED, by number, without their prefix.
func Names(names map[int32]string, prefix string) []string {
	var out []string
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if n != 0 {
			out = append(out, strings.TrimPrefix(names[n], prefix))
		}
	}
	return out
}

// LegalEvents makes messages of the legal events of states. Both are immutable, so
// one message serves every answer: read only.
type LegalEvents struct {
	cache *snapshot.Cache[*workflow.StateView, []*enginev1.LegalEvent]
}

// NewLegalEvents makes an empty cache.
func NewLegalEvents() LegalEvents {
	return LegalEvents{snapshot.New[*workflow.StateView, []*enginev1.LegalEvent](16_384)}
}

// Of returns the legal events of a state, in definition order.
func (l LegalEvents) Of(state *workflow.StateView) []*enginev1.LegalEvent {
	if out, ok := l.cache.Get(state); ok {
		return out
	}
	legal := state.LegalEvents()
	out := make([]*enginev1.LegalEvent, len(legal))
	for i, e := range legal {
		out[i] = &enginev1.LegalEvent{Event: e.Event, Targets: e.Targets, Guards: e.Guards, RequiresApproval: e.RequiresApproval}
	}
	l.cache.Put(state, out, nil)
	return out
}
