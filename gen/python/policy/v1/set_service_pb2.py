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
    'interlock/policy/v1/set_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import duration_pb2 as google_dot_protobuf_dot_duration__pb2
from interlock.gen.policy.v1 import set_pb2 as interlock_dot_policy_dot_v1_dot_set__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n%interlock/policy/v1/set_service.proto\x12\x13interlock.policy.v1\x1a\x1egoogle/protobuf/duration.proto\x1a\x1dinterlock/policy/v1/set.proto\"\xba\x02\n\x0f\x41pplySetRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12+\n\x10\x65xpected_version\x18\x02 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\x12:\n\x07\x63hanges\x18\x03 \x03(\x0b\x32\x1e.interlock.policy.v1.SetChangeB\x00R\x07\x63hanges\x12\x14\n\x04repo\x18\x04 \x01(\tB\x00R\x04repo\x12\x18\n\x06\x63ommit\x18\x05 \x01(\tB\x00R\x06\x63ommit\x12\x17\n\x07\x64ry_run\x18\x06 \x01(\x08R\x06\x64ryRun\x12\x18\n\x06\x62undle\x18\x07 \x01(\x0c\x42\x00R\x06\x62undle\x12\x33\n\x06shadow\x18\x08 \x01(\x0b\x32\x19.google.protobuf.DurationB\x00R\x06shadow\x12\x10\n\x03now\x18\t \x01(\x08R\x03now\"b\n\x10\x41pplySetResponse\x12\x34\n\x03set\x18\x01 \x01(\x0b\x32\".interlock.policy.v1.DefinitionSetR\x03set\x12\x18\n\x07\x63hanged\x18\x02 \x01(\x08R\x07\x63hanged\"%\n\rGetSetRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\"F\n\x0eGetSetResponse\x12\x34\n\x03set\x18\x01 \x01(\x0b\x32\".interlock.policy.v1.DefinitionSetR\x03set\"~\n\x0fListSetsRequest\x12\x39\n\x04kind\x18\x01 \x01(\x0e\x32#.interlock.policy.v1.DefinitionKindB\x00R\x04kind\x12\x14\n\x04name\x18\x02 \x01(\tB\x00R\x04name\x12\x1a\n\x07version\x18\x03 \x01(\x03\x42\x00R\x07version\"J\n\x10ListSetsResponse\x12\x36\n\x04sets\x18\x01 \x03(\x0b\x32\".interlock.policy.v1.DefinitionSetR\x04sets2\x91\x02\n\nSetService\x12W\n\x08\x41pplySet\x12$.interlock.policy.v1.ApplySetRequest\x1a%.interlock.policy.v1.ApplySetResponse\x12Q\n\x06GetSet\x12\".interlock.policy.v1.GetSetRequest\x1a#.interlock.policy.v1.GetSetResponse\x12W\n\x08ListSets\x12$.interlock.policy.v1.ListSetsRequest\x1a%.interlock.policy.v1.ListSetsResponseBHZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.set_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_APPLYSETREQUEST']._serialized_start=126
  _globals['_APPLYSETREQUEST']._serialized_end=440
  _globals['_APPLYSETRESPONSE']._serialized_start=442
  _globals['_APPLYSETRESPONSE']._serialized_end=540
  _globals['_GETSETREQUEST']._serialized_start=542
  _globals['_GETSETREQUEST']._serialized_end=579
  _globals['_GETSETRESPONSE']._serialized_start=581
  _globals['_GETSETRESPONSE']._serialized_end=651
  _globals['_LISTSETSREQUEST']._serialized_start=653
  _globals['_LISTSETSREQUEST']._serialized_end=779
  _globals['_LISTSETSRESPONSE']._serialized_start=781
  _globals['_LISTSETSRESPONSE']._serialized_end=855
  _globals['_SETSERVICE']._serialized_start=858
  _globals['_SETSERVICE']._serialized_end=1131
# @@protoc_insertion_point(module_scope)
