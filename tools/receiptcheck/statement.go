package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"strings"
)

type file struct {
	PayloadType string `json:"payloadType"`
	Payload     string `json:"payload"`
	Signatures  []struct {
		KeyID string `json:"keyid"`
		Sig   string `json:"sig"`
	} `json:"signatures"`
	Checkpoint string `json:"checkpoint"`
}

type text struct {
	Name       string          `json:"name"`
	Version    int64           `json:"version"`
	Definition json.RawMessage `json:"definition"`
	Set        *struct {
		Name      string `json:"name"`
		Version   int64  `json:"version"`
		Repo      string `json:"repo"`
		Commit    string `json:"commit"`
		AppliedBy string `json:"applied_by"`
		AppliedAt string `json:"applied_at"`
		Bundle    string `json:"bundle_digest"`
	} `json:"set"`
}

type statement struct {
	Type    string `json:"_type"`
	Subject []struct {
		Name   string            `json:"name"`
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
	PredicateType string `json:"predicateType"`
	Predicate     struct {
		Format       string            `json:"format"`
		IssuedAt     string            `json:"issued_at"`
		Version      string            `json:"version"`
		Namespace    string            `json:"namespace"`
		RunID        string            `json:"run_id"`
		Workflow     string            `json:"workflow"`
		SessionID    string            `json:"session_id"`
		Workspace    string            `json:"workspace"`
		Status       string            `json:"status"`
		State        string            `json:"state"`
		Definitions  []text            `json:"definitions"`
		Policies     []text            `json:"policies"`
		Certificates []json.RawMessage `json:"certificates"`
		History      []json.RawMessage `json:"history"`
		Approvals    []json.RawMessage `json:"approvals"`
		Partition    string            `json:"partition"`
		Log          []struct {
			Sequence    int64  `json:"sequence"`
			CommittedUS int64  `json:"committed_us"`
			Record      string `json:"record"`
			Hash        string `json:"hash"`
		} `json:"log"`
		Head       string `json:"head"`
		Checkpoint string `json:"checkpoint"`
	} `json:"predicate"`
}

// strict refuses unknown names, names twice and anything behind the value.
func strict(data []byte, to any) error {
	if err := unique(json.NewDecoder(bytes.NewReader(data))); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("there is more behind it")
	}
	return nil
}

// unique reads one value and refuses names twice in an object.
func unique(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for token == json.Delim('{') && d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if folded := strings.ToLower(name.(string)); seen[name.(string)] || folded != name && seen[folded] {
			return fmt.Errorf("%q is there twice", name)
		}
		seen[name.(string)] = true
		if err := unique(d); err != nil {
			return err
		}
	}
	for token == json.Delim('[') && d.More() {
		if err := unique(d); err != nil {
			return err
		}
	}
	if token == json.Delim('{') || token == json.Delim('[') {
		_, err = d.Token()
	}
	return err
}

func readKey(data []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("a key is not in PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	public, ok := key.(ed25519.PublicKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("a key is no public Ed25519 key")
	}
	return public, nil
}
