// Package ledger is the contract between services about their records next to a run in
// the store: the records, their writers, and their counters. It must never decide.
package ledger

import (
	"strconv"

	"github.com/interlock-run/interlock/pkg/store"
)

// Kinds of records, all under the id of a run.
const (
	// KindRun is the run itself, written by the engine. A decision on a tool call
	// holds only while that record is at the version it was made on.
	KindRun = "run"
	// kindFiles has the changed files that the enforcer knows: see Files.
	kindFiles = "files"
	// kindResults is a record whose history is the results of tools: see Result.
	kindResults = "results"
	// kindQuestions has the enforcer's notes on questions about a run's calls.
	kindQuestions = "questions"
)

// Counters of one entry of a state (S2.10). The engine drops them when the entry
// is left.
const (
	// Iterations counts allowed tool calls (S3.2).
	Iterations = "iterations"
	// ContextBytes counts the bytes of results (S3.7).
	ContextBytes = "context_bytes"
)

// Run returns the key of a run.
func Run(namespace, id string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindRun, ID: id}
}

// KindState is a shared state, written by the state-store. An agreement on its values holds
// only while that record is at the version at which they were read (S18.6).
const KindState = "state"

// State returns the key of a shared state.
func State(namespace, id string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindState, ID: id}
}

// Entry owns the counters of one entry of a run's states.
func Entry(run store.Key, number int64) store.Key {
	run.Kind = "entry." + strconv.FormatInt(number, 10)
	return run
}

// FilesOf returns the key of a run's Files.
func FilesOf(run store.Key) store.Key {
	run.Kind = kindFiles
	return run
}

// QuestionsOf returns the key of the record of the facts that questions about a run's
// calls rest on.
func QuestionsOf(run store.Key) store.Key {
	run.Kind = kindQuestions
	return run
}

// ResultsOf returns the key of the record whose history is a run's results.
func ResultsOf(run store.Key) store.Key {
	run.Kind = kindResults
	return run
}
