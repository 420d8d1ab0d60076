package webhook_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/webhook"
)

var (
	secret = []byte("a secret of more than sixteen bytes")
	noon   = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
)

const (
	id   = "default.approval.apr_1.1.requested"
	body = `{"id":"default.approval.apr_1.1.requested"}`
)

func signed() http.Header {
	header := http.Header{}
	webhook.Sign(header, secret, id, noon, []byte(body))
	return header
}

// TestSignIsTheContract: receivers in other languages compute this by themselves.
// The sum is that of: printf '%s.%s.%s' "$id" 1767268800 "$body" | openssl dgst -sha256 -hmac "$secret"
func TestSignIsTheContract(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"Interlock-Webhook-Id":        id,
		"Interlock-Webhook-Timestamp": "1767268800",
		"Interlock-Webhook-Signature": "v1=55ce06a4ad9da399f62d1fdd64d5e1fc433bcd4128611c3640cf0ff7def173e1",
	}
	header := signed()
	for name, value := range want {
		if got := header.Get(name); got != value {
			t.Errorf("%s is %s, want %s", name, got, value)
		}
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	change := func(name, value string) http.Header {
		header := signed()
		header.Set(name, value)
		return header
	}
	for name, tc := range map[string]struct {
		secret    []byte
		header    http.Header
		body      string
		now       time.Time
		tolerance time.Duration
		want      error
	}{
		"as it was sent":          {want: nil},
		"at the end of tolerance": {now: noon.Add(5 * time.Minute), want: nil},
		"from a clock before":     {now: noon.Add(-5 * time.Minute), want: nil},
		"too late":                {now: noon.Add(5*time.Minute + time.Second), want: webhook.ErrTime},
		"too early":               {now: noon.Add(-5*time.Minute - time.Second), want: webhook.ErrTime},
		"own tolerance":           {now: noon.Add(time.Hour), tolerance: time.Hour, want: nil},
		"beyond own tolerance":    {now: noon.Add(11 * time.Second), tolerance: 10 * time.Second, want: webhook.ErrTime},
		"another body":            {body: body + " ", want: webhook.ErrSignature},
		"no body":                 {body: "\x00", want: webhook.ErrSignature},
		"another id":              {header: change(webhook.HeaderID, id+"x"), want: webhook.ErrSignature},
		"another time":            {header: change(webhook.HeaderTimestamp, "1767268801"), want: webhook.ErrSignature},
		"another secret":          {secret: []byte("another secret of sixteen"), want: webhook.ErrSignature},
		"no secret":               {secret: []byte{}, want: webhook.ErrSecret},
		"no headers":              {header: http.Header{}, want: webhook.ErrUnsigned},
		"no id":                   {header: change(webhook.HeaderID, ""), want: webhook.ErrUnsigned},
		"no time":                 {header: change(webhook.HeaderTimestamp, ""), want: webhook.ErrUnsigned},
		"a sign before the time":  {header: change(webhook.HeaderTimestamp, "+1767268800"), want: webhook.ErrUnsigned},
		"a time without end":      {header: change(webhook.HeaderTimestamp, "99999999999999999999"), want: webhook.ErrUnsigned},
		"no signature":            {header: change(webhook.HeaderSignature, ""), want: webhook.ErrUnsigned},
		"another scheme":          {header: change(webhook.HeaderSignature, "v2"+signed().Get(webhook.HeaderSignature)[2:]), want: webhook.ErrUnsigned},
		"half a signature":        {header: change(webhook.HeaderSignature, signed().Get(webhook.HeaderSignature)[:35]), want: webhook.ErrUnsigned},
		"not hexadecimal":         {header: change(webhook.HeaderSignature, "v1="+strings.Repeat("z", 64)), want: webhook.ErrUnsigned},
		"another sum":             {header: change(webhook.HeaderSignature, "v1="+strings.Repeat("0", 64)), want: webhook.ErrSignature},
	} {
		if tc.secret == nil {
			tc.secret = secret
		}
		if tc.header == nil {
			tc.header = signed()
		}
		if tc.body == "" {
			tc.body = body
		}
		if tc.now.IsZero() {
			tc.now = noon
		}
		if got := webhook.Verify(tc.secret, tc.header, []byte(tc.body), tc.now, tc.tolerance); !errors.Is(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestOnlyWhatWasSigned: no message but the signed one passes.
func TestOnlyWhatWasSigned(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z0-9.{}]{1,12}`)
		id, payload := text.Draw(t, "id"), text.Draw(t, "body")
		at := noon.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "at")) * time.Second)
		header := http.Header{}
		webhook.Sign(header, secret, id, at, []byte("{"+payload))
		if err := webhook.Verify(secret, header, []byte("{"+payload), at, 0); err != nil {
			t.Fatal(err)
		}
		otherID, otherPayload := text.Draw(t, "other id"), text.Draw(t, "other body")
		header.Set(webhook.HeaderID, otherID)
		err := webhook.Verify(secret, header, []byte("{"+otherPayload), at, 0)
		if same := otherID == id && otherPayload == payload; same != (err == nil) {
			t.Fatalf("another message: %v", err)
		}
	})
}
