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
    'interlock/policy/v1/decision_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.event.v1 import event_pb2 as interlock_dot_event_dot_v1_dot_event__pb2
from interlock.gen.policy.v1 import decision_pb2 as interlock_dot_policy_dot_v1_dot_decision__pb2
from interlock.gen.policy.v1 import explanation_pb2 as interlock_dot_policy_dot_v1_dot_explanation__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n*interlock/policy/v1/decision_service.proto\x12\x13interlock.policy.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\x1einterlock/event/v1/event.proto\x1a\"interlock/policy/v1/decision.proto\x1a%interlock/policy/v1/explanation.proto\"\x82\x01\n\x14ListDecisionsRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\x12\x18\n\x06\x66ilter\x18\x03 \x01(\tB\x00R\x06\x66ilter\x12\x10\n\x03raw\x18\x04 \x01(\x08R\x03raw\"\x82\x01\n\x15ListDecisionsResponse\x12\x41\n\tdecisions\x18\x01 \x03(\x0b\x32#.interlock.policy.v1.DecisionRecordR\tdecisions\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"\xa1\x01\n\x12GetDecisionRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1f\n\nsession_id\x18\x02 \x01(\tB\x00R\tsessionId\x12\x19\n\x07\x63\x61ll_id\x18\x03 \x01(\tB\x00R\x06\x63\x61llId\x12\x1c\n\x08sequence\x18\x04 \x01(\x03\x42\x00R\x08sequence\x12\x18\n\x07\x65xplain\x18\x05 \x01(\x08R\x07\x65xplain\"\x9a\x01\n\x13GetDecisionResponse\x12?\n\x08\x64\x65\x63ision\x18\x01 \x01(\x0b\x32#.interlock.policy.v1.DecisionRecordR\x08\x64\x65\x63ision\x12\x42\n\x0b\x65xplanation\x18\x02 \x01(\x0b\x32 .interlock.policy.v1.ExplanationR\x0b\x65xplanation\"Y\n\x16VerifyDecisionsRequest\x12\x1e\n\tpartition\x18\x01 \x01(\tB\x00R\tpartition\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\"{\n\x17VerifyDecisionsResponse\x12\x38\n\x06\x63hains\x18\x01 \x03(\x0b\x32 .interlock.policy.v1.ChainReportR\x06\x63hains\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"\x15\n\x13ListRefusalsRequest\"P\n\x14ListRefusalsResponse\x12\x38\n\x08refusals\x18\x01 \x03(\x0b\x32\x1c.interlock.policy.v1.RefusalR\x08refusals\"\x92\x01\n\x07Refusal\x12.\n\x04time\x18\x01 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x04time\x12\x1c\n\tprincipal\x18\x02 \x01(\tR\tprincipal\x12\x39\n\x07refused\x18\x03 \x01(\x0b\x32\x1f.interlock.event.v1.CallRefusedR\x07refused2\xae\x03\n\x0f\x44\x65\x63isionService\x12\x66\n\rListDecisions\x12).interlock.policy.v1.ListDecisionsRequest\x1a*.interlock.policy.v1.ListDecisionsResponse\x12`\n\x0bGetDecision\x12\'.interlock.policy.v1.GetDecisionRequest\x1a(.interlock.policy.v1.GetDecisionResponse\x12l\n\x0fVerifyDecisions\x12+.interlock.policy.v1.VerifyDecisionsRequest\x1a,.interlock.policy.v1.VerifyDecisionsResponse\x12\x63\n\x0cListRefusals\x12(.interlock.policy.v1.ListRefusalsRequest\x1a).interlock.policy.v1.ListRefusalsResponseBHZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.decision_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_LISTDECISIONSREQUEST']._serialized_start=208
  _globals['_LISTDECISIONSREQUEST']._serialized_end=338
  _globals['_LISTDECISIONSRESPONSE']._serialized_start=341
  _globals['_LISTDECISIONSRESPONSE']._serialized_end=471
  _globals['_GETDECISIONREQUEST']._serialized_start=474
  _globals['_GETDECISIONREQUEST']._serialized_end=635
  _globals['_GETDECISIONRESPONSE']._serialized_start=638
  _globals['_GETDECISIONRESPONSE']._serialized_end=792
  _globals['_VERIFYDECISIONSREQUEST']._serialized_start=794
  _globals['_VERIFYDECISIONSREQUEST']._serialized_end=883
  _globals['_VERIFYDECISIONSRESPONSE']._serialized_start=885
  _globals['_VERIFYDECISIONSRESPONSE']._serialized_end=1008
  _globals['_LISTREFUSALSREQUEST']._serialized_start=1010
  _globals['_LISTREFUSALSREQUEST']._serialized_end=1031
  _globals['_LISTREFUSALSRESPONSE']._serialized_start=1033
  _globals['_LISTREFUSALSRESPONSE']._serialized_end=1113
  _globals['_REFUSAL']._serialized_start=1116
  _globals['_REFUSAL']._serialized_end=1262
  _globals['_DECISIONSERVICE']._serialized_start=1265
  _globals['_DECISIONSERVICE']._serialized_end=1695
# @@protoc_insertion_point(module_scope)
