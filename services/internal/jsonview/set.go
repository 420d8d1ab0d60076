package jsonview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"google.golang.org/protobuf/types/known/durationpb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// DefinitionSet is a set of definitions that are applied together (S26).
type DefinitionSet struct {
	Name      string      `json:"name"`
	Version   int64       `json:"version" doc:"How often it was applied, and its changes made shadows."`
	Objects   []SetObject `json:"objects"`
	Repo      string      `json:"repo,omitzero" doc:"Where its files are from."`
	Commit    string      `json:"commit,omitzero" doc:"The commit of its files."`
	AppliedAt time.Time   `json:"applied_at,omitzero"`
	AppliedBy string      `json:"applied_by,omitzero"`
	Serial    int64       `json:"serial,omitzero" doc:"The serial of the bundle that was applied last; absent when it was not signed."`
	Bundle    string      `json:"bundle_digest,omitzero" doc:"Hex SHA-256 of the statement of that bundle."`
	Shadow    *SetShadow  `json:"shadow,omitzero" doc:"The changes that wait as shadows; absent for none."`
}

// SetShadow has the changes of a set that are judged next to the live versions before they are applied.
type SetShadow struct {
	StartedAt time.Time        `json:"started_at"`
	Until     time.Time        `json:"until" doc:"The first moment at which it can be applied."`
	StartedBy string           `json:"started_by"`
	Repo      string           `json:"repo,omitzero" doc:"Where its files are from."`
	Commit    string           `json:"commit,omitzero" doc:"The commit of its files."`
	Objects   []ShadowedObject `json:"objects" doc:"What differs from the live objects."`
}

// ShadowedObject is the change of one object that waits as a shadow.
type ShadowedObject struct {
	Kind            string       `json:"kind" enum:"workflow,process,policy,schema,component"`
	Name            string       `json:"name"`
	Version         int64        `json:"version,omitzero" doc:"The version that waits; absent for an object that is to be removed."`
	Digest          string       `json:"digest,omitzero" doc:"Hex SHA-256 of the canonical JSON (RFC 8785)."`
	LiveVersion     int64        `json:"live_version,omitzero" doc:"The version that was live when the shadow began; absent for none."`
	OwnsAttachments bool         `json:"owns_attachments,omitzero" doc:"True when the application also replaces the attachments of the policy."`
	Attachments     []Attachment `json:"attachments,omitempty" doc:"The attachments that the policy gets."`
	Judged          bool         `json:"judged,omitzero" doc:"True while calls are judged by the version next to the live rules."`
}

// SetObject is an object of a set, as it was applied.
type SetObject struct {
	Kind            string `json:"kind" enum:"workflow,process,policy,schema,component"`
	Name            string `json:"name"`
	Version         int64  `json:"version"`
	Digest          string `json:"digest" doc:"Hex SHA-256 of the canonical JSON (RFC 8785)."`
	OwnsAttachments bool   `json:"owns_attachments,omitzero" doc:"True when the set also owns the attachments of the policy."`
}

// SetApplication has the changes that an application makes to the objects of a set.
type SetApplication struct {
	ExpectedVersion int64          `json:"expected_version,omitzero" doc:"The version that the set has; 0 or absent when it was never applied."`
	Changes         []SetChange    `json:"changes" doc:"The objects, also those that stay as they are, at most 1000."`
	Repo            string         `json:"repo,omitzero"`
	Commit          string         `json:"commit,omitzero"`
	DryRun          bool           `json:"dry_run,omitzero" doc:"True to change nothing."`
	ShadowSeconds   int64          `json:"shadow_seconds,omitzero" doc:"The time for which the changes are shadows before they can be applied; their live versions stay. Absent to apply the set."`
	Now             bool           `json:"now,omitzero" doc:"True to end the shadow of the set and apply it at once."`
	Bundle          jsontext.Value `json:"bundle,omitzero" doc:"The bundle, as the file has it: a signed statement of what the set has, where the server accepts only those."`
}

// SetChange is the change that an application makes to one object.
type SetChange struct {
	Kind                string       `json:"kind" enum:"workflow,process,policy,schema,component"`
	Name                string       `json:"name"`
	ExpectedVersion     int64        `json:"expected_version,omitzero" doc:"The version that is live; 0 or absent for none."`
	Version             int64        `json:"version,omitzero" doc:"The version to make live; 0 or absent to retire it, or to delete a policy or component."`
	Take                bool         `json:"take,omitzero" doc:"Change it although another set owns it, or although it was changed since."`
	OwnsAttachments     bool         `json:"owns_attachments,omitzero" doc:"Replace the attachments of the policy."`
	ExpectedAttachments []Attachment `json:"expected_attachments,omitzero"`
	Attachments         []Attachment `json:"attachments,omitzero"`
}

const definitionKindPrefix = "DEFINITION_KIND_"

// DefinitionKinds returns the names of the kinds of objects of sets.
func DefinitionKinds() []string {
	return lowerNames(policyv1.DefinitionKind_name, definitionKindPrefix)
}

// SetOf returns the JSON of a set.
func SetOf(s *policyv1.DefinitionSet) DefinitionSet {
	return DefinitionSet{
		Name: s.GetName(), Version: s.GetVersion(), Repo: s.GetRepo(), Commit: s.GetCommit(), AppliedAt: Time(s.GetAppliedAt()), AppliedBy: s.GetAppliedBy(),
		Serial: s.GetSerial(), Bundle: s.GetBundleDigest(), Shadow: setShadowOf(s.GetShadow()),
		Objects: Each(s.GetObjects(), func(o *policyv1.SetObject) SetObject {
			return SetObject{
				Kind: lower(o.GetKind().String(), definitionKindPrefix), Name: o.GetName(), Version: o.GetVersion(), Digest: o.GetDigest(), OwnsAttachments: o.GetOwnsAttachments(),
			}
		}),
	}
}

func setShadowOf(s *policyv1.SetShadow) *SetShadow {
	if s == nil {
		return nil
	}
	return &SetShadow{
		StartedAt: Time(s.GetStartedAt()), Until: Time(s.GetUntil()), StartedBy: s.GetStartedBy(), Repo: s.GetRepo(), Commit: s.GetCommit(),
		Objects: Each(s.GetObjects(), func(o *policyv1.ShadowedObject) ShadowedObject {
			return ShadowedObject{
				Kind: lower(o.GetKind().String(), definitionKindPrefix), Name: o.GetName(), Version: o.GetVersion(), Digest: o.GetDigest(),
				LiveVersion: o.GetLiveVersion(), OwnsAttachments: o.GetOwnsAttachments(), Attachments: Each(o.GetAttachments(), attachmentOf), Judged: o.GetJudged(),
			}
		}),
	}
}

// Proto returns the request of an application. For a word that is none of the contract's, it returns the place and the
// words that there are.
func (a *SetApplication) Proto(name string) (req *policyv1.ApplySetRequest, pointer string, words []string) {
	req = &policyv1.ApplySetRequest{Name: name, ExpectedVersion: a.ExpectedVersion, Repo: a.Repo, Commit: a.Commit, DryRun: a.DryRun, Bundle: a.Bundle, Now: a.Now}
	if a.ShadowSeconds != 0 {
		req.Shadow = durationpb.New(time.Duration(a.ShadowSeconds) * time.Second)
	}
	for i, c := range a.Changes {
		at := fmt.Sprintf("/changes/%d", i)
		if !slices.Contains(DefinitionKinds(), c.Kind) {
			return nil, at + "/kind", DefinitionKinds()
		}
		change := &policyv1.SetChange{
			Kind: policyv1.DefinitionKind(numbered(policyv1.DefinitionKind_value, definitionKindPrefix, c.Kind)), Name: c.Name,
			ExpectedVersion: c.ExpectedVersion, Version: c.Version, Take: c.Take, OwnsAttachments: c.OwnsAttachments,
		}
		for _, list := range []struct {
			name string
			from []Attachment
			to   *[]*policyv1.Attachment
		}{{"expected_attachments", c.ExpectedAttachments, &change.ExpectedAttachments}, {"attachments", c.Attachments, &change.Attachments}} {
			for j, one := range list.from {
				if !slices.Contains(AttachmentKinds(), one.Kind) {
					return nil, fmt.Sprintf("%s/%s/%d/kind", at, list.name, j), AttachmentKinds()
				}
				*list.to = append(*list.to, &policyv1.Attachment{Kind: policyv1.AttachmentKind(numbered(policyv1.AttachmentKind_value, attachmentPrefix, one.Kind)), Id: one.ID})
			}
		}
		req.Changes = append(req.Changes, change)
	}
	return req, "", nil
}

// numbered returns the number of a name of an enumeration in lower case.
func numbered(values map[string]int32, prefix, name string) int32 {
	return values[prefix+strings.ToUpper(name)]
}
