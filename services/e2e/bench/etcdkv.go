package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
)

// etcdTxn is the method of etcd's key-value service that compares and puts.
const etcdTxn = "/etcdserverpb.KV/Txn"

// swapRequest encodes etcd's compare-and-swap, a TxnRequest of rpc.proto of etcd 3: put a
// value when the key was last put at a revision, 0 when it was never put.
func swapRequest(key string, revision int64, value []byte) []byte {
	const equal, mod = 0, 2
	var compare []byte
	compare = appendVarint(compare, 1, equal)
	compare = appendVarint(compare, 2, mod)
	compare = appendBytes(compare, 3, []byte(key))
	compare = appendVarint(compare, 6, uint64(revision))
	var put []byte
	put = appendBytes(put, 1, []byte(key))
	put = appendBytes(put, 2, value)
	txn := appendBytes(nil, 1, compare)
	return appendBytes(txn, 2, appendBytes(nil, 2, put)) // the put is the second kind of operation
}

// swapAnswer decodes a TxnResponse of a compare-and-swap: the revision of the
// store, which is that of the key when it was put, and whether it was.
func swapAnswer(answer []byte) (revision int64, swapped bool, err error) {
	err = eachField(answer, func(field protowire.Number, number uint64, header []byte) error {
		switch field {
		case 1:
			return eachField(header, func(field protowire.Number, number uint64, _ []byte) error {
				if field == 3 {
					revision = int64(number)
				}
				return nil
			})
		case 2:
			swapped = number != 0
		}
		return nil
	})
	return revision, swapped, err
}

func appendVarint(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
}

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

// eachField calls a function with the fields of a message that are numbers or bytes.
func eachField(message []byte, do func(field protowire.Number, number uint64, content []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var number uint64
		var content []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := do(field, number, content); err != nil {
			return err
		}
	}
	return nil
}

// encoded passes messages that are encoded already.
type encoded struct{}

func (encoded) Name() string { return "proto" }

func (encoded) Marshal(message any) ([]byte, error) {
	if bytes, ok := message.(*[]byte); ok {
		return *bytes, nil
	}
	return nil, fmt.Errorf("%T is not encoded", message)
}

func (encoded) Unmarshal(data []byte, message any) error {
	bytes, ok := message.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is not encoded", message)
	}
	*bytes = append((*bytes)[:0], data...) // gRPC uses its buffer again
	return nil
}

// swaps returns etcd's compare-and-swap of a value of this size, of a key for each caller: none
// is ever in another's way.
func swaps(ctx context.Context, p pool, name string, size int) func(int) (op, error) {
	return func(caller int) (op, error) {
		conn, key, value := p.of(caller), name+strconv.Itoa(caller), make([]byte, size)
		revision := int64(0)
		var answer []byte
		return func() error {
			request := swapRequest(key, revision, value)
			if err := conn.Invoke(ctx, etcdTxn, &request, &answer, grpc.ForceCodec(encoded{})); err != nil {
				return err
			}
			put, swapped, err := swapAnswer(answer)
			if err == nil && !swapped {
				err = errors.New("etcd did not swap")
			}
			revision = put
			return err
		}, nil
	}
}
