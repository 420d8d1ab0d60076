package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

func (c *checker) envelope(payload []byte, key ed25519.PublicKey) {
	c.want(len(c.f.Signatures) == 1, "it has %d signatures", len(c.f.Signatures))
	for _, s := range c.f.Signatures {
		id := sha256.Sum256(key)
		c.want(s.KeyID == hex.EncodeToString(id[:]), "it is signed with another key")
		sig, err := base64.StdEncoding.Strict().DecodeString(s.Sig)
		message := append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(c.f.PayloadType), c.f.PayloadType, len(payload)), payload...)
		c.want(err == nil && ed25519.Verify(key, message, sig), "the signature is not one of the payload")
	}
}

// note checks the signatures of the checkpoint.
func (c *checker) note(key ed25519.PublicKey, witnesses [][]byte) {
	body, rest, ok := strings.Cut(c.f.Checkpoint, "\n\n")
	body += "\n"
	c.want(ok && body == c.s.Predicate.Checkpoint, "the signed checkpoint is not that of the statement")
	lines := strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
	for _, line := range lines {
		c.want(strings.HasPrefix(line, "\u2014 "), "a line of the checkpoint is no signature")
	}
	find := func(kind byte, key ed25519.PublicKey, name string) []byte {
		for _, line := range lines {
			parts := strings.Split(line, " ")
			if len(parts) != 3 || parts[0] != "\u2014" || name != "" && parts[1] != name {
				continue
			}
			data, err := base64.StdEncoding.Strict().DecodeString(parts[2])
			hash := sha256.Sum256(append(append([]byte(parts[1]+"\n"), kind), key...))
			if err == nil && len(data) > 4 && bytes.Equal(data[:4], hash[:4]) {
				return data[4:]
			}
		}
		return nil
	}
	c.want(ed25519.Verify(key, []byte(body), pad(find(1, key, "interlock.run/receipt"))), "the checkpoint is not signed with the key")
	for i, pem := range witnesses {
		witness, err := readKey(pem)
		if err != nil {
			c.want(false, "witness %d: %v", i+1, err)
			continue
		}
		sig := find(4, witness, "")
		good := len(sig) == 8+ed25519.SignatureSize &&
			ed25519.Verify(witness, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(sig), body), sig[8:])
		c.want(good, "witness %d has not cosigned the checkpoint", i+1)
	}
}

// pad makes a signature that is missing one that is wrong.
func pad(sig []byte) []byte {
	if len(sig) != ed25519.SignatureSize {
		return make([]byte, ed25519.SignatureSize)
	}
	return sig
}

// log checks the chain, the tree over it and what is stated of them.
func (c *checker) log() {
	p := &c.s.Predicate
	link := sha256.Sum256(fmt.Appendf(nil, "interlock decisions\x00%d\x00%s\x00%s", len(p.Namespace), p.Namespace, p.Partition))
	var links [][32]byte
	for i, e := range p.Log {
		c.want(e.Sequence == int64(i+1), "record %d of the log is not in its place", e.Sequence)
		data := binary.BigEndian.AppendUint64(link[:], uint64(e.Sequence))
		if !strings.HasPrefix(e.Record, `{"time":`) {
			data = binary.BigEndian.AppendUint64(data, uint64(e.CommittedUS))
		}
		link = sha256.Sum256(append(data, e.Record...))
		links = append(links, link)
		c.want(e.Hash == hex.EncodeToString(link[:]), "record %d of the log has another hash", e.Sequence)
	}
	head := hex.EncodeToString(link[:])
	c.want(p.Head == head, "the log leads to another head")
	c.want(len(c.s.Subject) == 1 && c.s.Subject[0].Name == "interlock:"+p.Namespace+"/"+p.RunID &&
		len(c.s.Subject[0].Digest) == 1 && c.s.Subject[0].Digest["sha256"] == head, "the subject is another one")
	root := tree(links)
	want := fmt.Sprintf("interlock.run/log/%s/%s\n%d\n%s\n", p.Namespace, p.Partition, len(links), base64.StdEncoding.EncodeToString(root[:]))
	c.want(p.Checkpoint == want, "the checkpoint is of another log")
}

// tree is the root of RFC 6962.
func tree(leaves [][32]byte) [32]byte {
	if len(leaves) == 0 {
		return sha256.Sum256(nil)
	}
	if len(leaves) == 1 {
		return sha256.Sum256(append([]byte{0}, leaves[0][:]...))
	}
	k := 1
	for k*2 < len(leaves) {
		k *= 2
	}
	left, right := tree(leaves[:k]), tree(leaves[k:])
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}
