package app

import (
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
)

// reasons are those of the core's refusals. Others give FAILED_PRECONDITION.
var reasons = map[consent.Code]fault.Reason{
	consent.CodeAsker:       fault.PermissionDenied,
	consent.CodeNotEligible: fault.PermissionDenied,
	consent.CodeDecided:     fault.ApprovalDecided,
	consent.CodeExpired:     fault.ApprovalDecided,
	consent.CodeChanged:     fault.VersionConflict,
	consent.CodeNotEditable: fault.InvalidRequest,
	consent.CodeInvalidEdit: fault.InvalidRequest,
	consent.CodeNote:        fault.InvalidRequest,
	consent.CodePresence:    fault.PermissionDenied,
	consent.CodePerson:      fault.PermissionDenied,
	consent.CodeSignature:   fault.PermissionDenied,
}

// fields are the parts of a request that a refusal is about.
var fields = map[consent.Code]string{
	consent.CodeNotEditable: "/edited_data",
	consent.CodeInvalidEdit: "/edited_data",
	consent.CodeNote:        "/note",
}

// refused returns a refusal of the core as a fault. It shows how the approval stands and
// the decision that there is: by whom, and when (S9.4).
func refused(r *Record, refusal *consent.Refusal) error {
	reason, named := reasons[refusal.Code]
	if !named {
		reason = fault.FailedPrecondition
	}
	e := fault.New(reason, "%s", refusal.Message).
		Meta("approval_id", r.ID).Meta("code", string(refusal.Code)).Meta("status", string(r.Standing()))
	if at := r.DecidedAt; !at.IsZero() {
		e = e.Meta("at", at.Format(time.RFC3339Nano))
	}
	if by := r.DecidedBy(); by != "" {
		e = e.Meta("by", by)
	}
	if refusal.Code == consent.CodeChanged {
		e = e.Meta("digest", r.Digest)
	}
	if field, ok := fields[refusal.Code]; ok {
		e = e.Violate(field, string(refusal.Code), refusal.Message)
	}
	return e
}
