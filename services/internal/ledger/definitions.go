package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/store"
)

// KindWorkflow is the kind of the records of workflows and processes, written by the engine. A commit of the enforcer
// that makes a version live depends on the record.
const KindWorkflow = "workflow"

// WorkflowOf returns the key of a workflow or process.
func WorkflowOf(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindWorkflow, ID: name}
}

// KindSchema is the kind of the records of schemas, written by the state-store.
const KindSchema = "schema"

// SchemaOf returns the key of a schema.
func SchemaOf(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindSchema, ID: name}
}

// KindComponent is the kind of the records of components, written by the state-store.
const KindComponent = "component"

// ComponentOf returns the key of a component.
func ComponentOf(namespace, slug string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindComponent, ID: slug}
}

// Definition has the fields that are read of a version of a workflow, process, schema or component.
type Definition struct {
	// Number is the version; 0 if there is none.
	Number    int64  `json:"-"`
	Process   bool   `json:"process"`
	Digest    string `json:"digest"`
	CreatedBy string `json:"created_by"`
	Staged    bool   `json:"staged"`
	Before    int64  `json:"before"`
	// Deleted is set in the version that deletes a component.
	Deleted bool `json:"deleted"`
}

// Own returns the version that is live by the record alone, when this is the latest.
func (d *Definition) Own() int64 {
	if d.Staged {
		return d.Before
	}
	return d.Number
}

// LatestDefinition returns the latest version of a workflow, process, schema or component. Its number is 0 if there is none.
func LatestDefinition(ctx context.Context, st store.Store, key store.Key) (*Definition, error) {
	record, err := st.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return &Definition{}, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeDefinition(key, record.Version, record.Data)
}

// DefinitionAt returns one version of a workflow, process, schema or component. Its number is 0 if there is none.
func DefinitionAt(ctx context.Context, st store.Store, key store.Key, number int64) (*Definition, error) {
	entries, err := st.History(ctx, key, number-1, 1)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 || entries[0].Version != number {
		return &Definition{}, nil
	}
	return decodeDefinition(key, number, entries[0].Data)
}

// TextAt returns the text of one version of a workflow or process, as it was registered, and its digest; both are empty if there is none.
func TextAt(ctx context.Context, st store.Store, key store.Key, number int64) (text []byte, digest string, err error) {
	entries, err := st.History(ctx, key, number-1, 1)
	if err != nil || len(entries) == 0 || entries[0].Version != number {
		return nil, "", err
	}
	var d struct {
		Text   []byte `json:"definition"`
		Digest string `json:"digest"`
	}
	if err := json.Unmarshal(entries[0].Data, &d); err != nil {
		return nil, "", fmt.Errorf("decode %s: %w", key, err)
	}
	return d.Text, d.Digest, nil
}

func decodeDefinition(key store.Key, number int64, data []byte) (*Definition, error) {
	d := &Definition{Number: number}
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("decode %s: %w", key, err)
	}
	return d, nil
}
