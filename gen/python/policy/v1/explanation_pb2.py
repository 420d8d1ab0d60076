# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Generated protocol buffer code."""
from google.protobuf import descriptor as _descriptor
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf import runtime_version as _runtime_version
from google.protobuf import symbol_database as _symbol_database
from google.protobuf.internal import builder as _builder
_runtime_version.ValidateProtobufRuntimeVersion(
    _runtime_version.Domain.PUBLIC,
    7,
    35,
    1,
    '',
    'interlock/policy/v1/explanation.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import duration_pb2 as google_dot_protobuf_dot_duration__pb2
from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.policy.v1 import decision_pb2 as interlock_dot_policy_dot_v1_dot_decision__pb2
from interlock.gen.policy.v1 import policy_pb2 as interlock_dot_policy_dot_v1_dot_policy__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n%interlock/policy/v1/explanation.proto\x12\x13interlock.policy.v1\x1a\x1egoogle/protobuf/duration.proto\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\"interlock/policy/v1/decision.proto\x1a interlock/policy/v1/policy.proto\"\xfa\x02\n\x0b\x45xplanation\x12\x1d\n\ninput_kept\x18\x01 \x01(\x08R\tinputKept\x12:\n\x07\x63ommand\x18\x02 \x01(\x0b\x32 .interlock.policy.v1.CommandLineR\x07\x63ommand\x12\x36\n\x05state\x18\x03 \x01(\x0b\x32 .interlock.policy.v1.StateReasonR\x05state\x12=\n\x08policies\x18\x04 \x03(\x0b\x32!.interlock.policy.v1.PolicyReasonR\x08policies\x12\x38\n\x06limits\x18\x05 \x03(\x0b\x32 .interlock.policy.v1.LimitReasonR\x06limits\x12\x1f\n\x0bwould_allow\x18\x06 \x03(\tR\nwouldAllow\x12\x1d\n\njail_level\x18\x07 \x01(\x05R\tjailLevel\x12\x1f\n\x0bjail_digest\x18\x08 \x01(\tR\njailDigest\"Y\n\x0b\x43ommandLine\x12\x12\n\x04line\x18\x01 \x01(\tR\x04line\x12\x36\n\x05parts\x18\x02 \x03(\x0b\x32 .interlock.policy.v1.CommandPartR\x05parts\"\xbb\x02\n\x0b\x43ommandPart\x12\x14\n\x05start\x18\x01 \x01(\x03R\x05start\x12\x10\n\x03\x65nd\x18\x02 \x01(\x03R\x03\x65nd\x12\x12\n\x04text\x18\x03 \x01(\tR\x04text\x12\x14\n\x05words\x18\x04 \x03(\tR\x05words\x12:\n\x07verdict\x18\x05 \x01(\x0e\x32 .interlock.policy.v1.PartVerdictR\x07verdict\x12\x35\n\x04\x63ode\x18\x06 \x01(\x0e\x32!.interlock.policy.v1.DecisionCodeR\x04\x63ode\x12\x18\n\x07message\x18\x07 \x01(\tR\x07message\x12\x16\n\x06writes\x18\x08 \x03(\tR\x06writes\x12\x1b\n\treads_env\x18\t \x03(\tR\x08readsEnv\x12\x18\n\x07matched\x18\n \x01(\tR\x07matched\"\xb8\x02\n\x0bStateReason\x12\x37\n\x07verdict\x18\x01 \x01(\x0e\x32\x1d.interlock.policy.v1.DecisionR\x07verdict\x12\x35\n\x04\x63ode\x18\x02 \x01(\x0e\x32!.interlock.policy.v1.DecisionCodeR\x04\x63ode\x12\x18\n\x07message\x18\x03 \x01(\tR\x07message\x12)\n\x10tools_restricted\x18\x04 \x01(\x08R\x0ftoolsRestricted\x12#\n\rallowed_tools\x18\x05 \x03(\tR\x0c\x61llowedTools\x12\x18\n\x07matched\x18\x06 \x01(\tR\x07matched\x12\x35\n\x05\x63\x61lls\x18\x07 \x03(\x0b\x32\x1f.interlock.policy.v1.CallReasonR\x05\x63\x61lls\"\xae\x01\n\nCallReason\x12\x12\n\x04rule\x18\x01 \x01(\tR\x04rule\x12\x18\n\x07pattern\x18\x02 \x01(\tR\x07pattern\x12\x32\n\x06result\x18\x03 \x01(\x0e\x32\x1a.interlock.policy.v1.TruthR\x06result\x12>\n\nconditions\x18\x04 \x03(\x0b\x32\x1e.interlock.policy.v1.ConditionR\nconditions\"\x97\x02\n\x0cPolicyReason\x12\x16\n\x06policy\x18\x01 \x01(\tR\x06policy\x12\x18\n\x07version\x18\x02 \x01(\x03R\x07version\x12\x14\n\x05scope\x18\x03 \x01(\tR\x05scope\x12\x35\n\x05rules\x18\x04 \x03(\x0b\x32\x1f.interlock.policy.v1.RuleReasonR\x05rules\x12\x37\n\x07verdict\x18\x05 \x01(\x0e\x32\x1d.interlock.policy.v1.DecisionR\x07verdict\x12\x35\n\x04\x63ode\x18\x06 \x01(\x0e\x32!.interlock.policy.v1.DecisionCodeR\x04\x63ode\x12\x18\n\x07message\x18\x07 \x01(\tR\x07message\"\x97\x02\n\nRuleReason\x12\x12\n\x04rule\x18\x01 \x01(\tR\x04rule\x12\x37\n\x06\x65\x66\x66\x65\x63t\x18\x02 \x01(\x0e\x32\x1f.interlock.policy.v1.RuleEffectR\x06\x65\x66\x66\x65\x63t\x12\x1e\n\ncapability\x18\x03 \x01(\tR\ncapability\x12>\n\nconditions\x18\x04 \x03(\x0b\x32\x1e.interlock.policy.v1.ConditionR\nconditions\x12\x18\n\x07matches\x18\x05 \x01(\x08R\x07matches\x12\x18\n\x07\x64\x65\x63ides\x18\x06 \x01(\x08R\x07\x64\x65\x63ides\x12\x18\n\x07unclear\x18\x07 \x01(\x08R\x07unclear\x12\x0e\n\x02id\x18\x08 \x01(\tR\x02id\"\x9b\x01\n\tCondition\x12\x14\n\x05\x66ield\x18\x01 \x01(\tR\x05\x66ield\x12\x1a\n\x08\x65xpected\x18\x02 \x01(\tR\x08\x65xpected\x12\x16\n\x06\x61\x63tual\x18\x03 \x01(\tR\x06\x61\x63tual\x12\x14\n\x05holds\x18\x04 \x01(\x08R\x05holds\x12\x14\n\x05\x64oubt\x18\x05 \x01(\tR\x05\x64oubt\x12\x18\n\x07negated\x18\x06 \x01(\x08R\x07negated\"\x9f\x03\n\x0bLimitReason\x12\x16\n\x06policy\x18\x01 \x01(\tR\x06policy\x12\x12\n\x04rule\x18\x02 \x01(\tR\x04rule\x12\x36\n\x07measure\x18\x03 \x01(\x0e\x32\x1c.interlock.policy.v1.MeasureR\x07measure\x12\x35\n\x05scope\x18\x04 \x01(\x0e\x32\x1f.interlock.policy.v1.LimitScopeR\x05scope\x12\x18\n\x07subject\x18\x05 \x01(\tR\x07subject\x12\x31\n\x06window\x18\x06 \x01(\x0b\x32\x19.google.protobuf.DurationR\x06window\x12\x33\n\x06period\x18\x07 \x01(\x0e\x32\x1b.interlock.policy.v1.PeriodR\x06period\x12\x37\n\tresets_at\x18\x08 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x08resetsAt\x12\x12\n\x04used\x18\t \x01(\x03R\x04used\x12\x10\n\x03max\x18\n \x01(\x03R\x03max\x12\x14\n\x05\x61\x66ter\x18\x0b \x01(\x03R\x05\x61\x66ter*t\n\x0bPartVerdict\x12\x1c\n\x18PART_VERDICT_UNSPECIFIED\x10\x00\x12\x13\n\x0fPART_VERDICT_OK\x10\x01\x12\x18\n\x14PART_VERDICT_REFUSED\x10\x02\x12\x18\n\x14PART_VERDICT_UNKNOWN\x10\x03*Q\n\x05Truth\x12\x15\n\x11TRUTH_UNSPECIFIED\x10\x00\x12\x0f\n\x0bTRUTH_HOLDS\x10\x01\x12\x0f\n\x0bTRUTH_FAILS\x10\x02\x12\x0f\n\x0bTRUTH_DOUBT\x10\x03*k\n\nRuleEffect\x12\x1b\n\x17RULE_EFFECT_UNSPECIFIED\x10\x00\x12\x14\n\x10RULE_EFFECT_DENY\x10\x01\x12\x13\n\x0fRULE_EFFECT_ASK\x10\x02\x12\x15\n\x11RULE_EFFECT_ALLOW\x10\x03\x42HZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.explanation_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_PARTVERDICT']._serialized_start=2619
  _globals['_PARTVERDICT']._serialized_end=2735
  _globals['_TRUTH']._serialized_start=2737
  _globals['_TRUTH']._serialized_end=2818
  _globals['_RULEEFFECT']._serialized_start=2820
  _globals['_RULEEFFECT']._serialized_end=2927
  _globals['_EXPLANATION']._serialized_start=198
  _globals['_EXPLANATION']._serialized_end=576
  _globals['_COMMANDLINE']._serialized_start=578
  _globals['_COMMANDLINE']._serialized_end=667
  _globals['_COMMANDPART']._serialized_start=670
  _globals['_COMMANDPART']._serialized_end=985
  _globals['_STATEREASON']._serialized_start=988
  _globals['_STATEREASON']._serialized_end=1300
  _globals['_CALLREASON']._serialized_start=1303
  _globals['_CALLREASON']._serialized_end=1477
  _globals['_POLICYREASON']._serialized_start=1480
  _globals['_POLICYREASON']._serialized_end=1759
  _globals['_RULEREASON']._serialized_start=1762
  _globals['_RULEREASON']._serialized_end=2041
  _globals['_CONDITION']._serialized_start=2044
  _globals['_CONDITION']._serialized_end=2199
  _globals['_LIMITREASON']._serialized_start=2202
  _globals['_LIMITREASON']._serialized_end=2617
# @@protoc_insertion_point(module_scope)
