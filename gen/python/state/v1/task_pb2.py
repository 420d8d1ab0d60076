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
    'interlock/state/v1/task.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.state.v1 import component_pb2 as interlock_dot_state_dot_v1_dot_component__pb2
from interlock.gen.state.v1 import session_pb2 as interlock_dot_state_dot_v1_dot_session__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\x1dinterlock/state/v1/task.proto\x12\x12interlock.state.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\"interlock/state/v1/component.proto\x1a interlock/state/v1/session.proto\"\xac\x07\n\x04Task\x12\x17\n\x07task_id\x18\x01 \x01(\tR\x06taskId\x12\x30\n\x04kind\x18\x02 \x01(\x0e\x32\x1c.interlock.state.v1.TaskKindR\x04kind\x12\x1d\n\nsession_id\x18\x03 \x01(\tR\tsessionId\x12!\n\x0csession_name\x18\x04 \x01(\tR\x0bsessionName\x12*\n\x11workflow_state_id\x18\x05 \x01(\tR\x0fworkflowStateId\x12\x16\n\x06prompt\x18\x06 \x01(\tR\x06prompt\x12\x18\n\x07\x61ttempt\x18\x07 \x01(\x05R\x07\x61ttempt\x12:\n\tcallbacks\x18\x08 \x03(\x0b\x32\x1c.interlock.state.v1.CallbackR\tcallbacks\x12<\n\x06labels\x18\t \x03(\x0b\x32$.interlock.state.v1.Task.LabelsEntryR\x06labels\x12\x36\n\x06status\x18\n \x01(\x0e\x32\x1e.interlock.state.v1.TaskStatusR\x06status\x12\x14\n\x05given\x18\x0b \x01(\x05R\x05given\x12\x16\n\x06runner\x18\x0c \x01(\tR\x06runner\x12\x1f\n\x0b\x63laim_token\x18\r \x01(\x03R\nclaimToken\x12\x44\n\x10\x63laim_expires_at\x18\x0e \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x0e\x63laimExpiresAt\x12\x39\n\ncreated_at\x18\x0f \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x14\n\x05\x65rror\x18\x10 \x01(\tR\x05\x65rror\x12*\n\x11parent_session_id\x18\x11 \x01(\tR\x0fparentSessionId\x12&\n\x0froot_session_id\x18\x12 \x01(\tR\rrootSessionId\x12\x31\n\x06\x64ue_at\x18\x13 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05\x64ueAt\x12;\n\texecution\x18\x14 \x01(\x0b\x32\x1d.interlock.state.v1.ExecutionR\texecution\x12\"\n\x0cinstructions\x18\x15 \x01(\tR\x0cinstructions\x1a\x39\n\x0bLabelsEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05value\x18\x02 \x01(\tR\x05value:\x02\x38\x01*\x84\x01\n\x08TaskKind\x12\x19\n\x15TASK_KIND_UNSPECIFIED\x10\x00\x12\x13\n\x0fTASK_KIND_START\x10\x01\x12\x1a\n\x16TASK_KIND_STATE_UPDATE\x10\x02\x12\x16\n\x12TASK_KIND_CALLBACK\x10\x03\x12\x14\n\x10TASK_KIND_RESUME\x10\x04*\xa1\x01\n\nTaskStatus\x12\x1b\n\x17TASK_STATUS_UNSPECIFIED\x10\x00\x12\x17\n\x13TASK_STATUS_DELAYED\x10\x01\x12\x15\n\x11TASK_STATUS_READY\x10\x02\x12\x17\n\x13TASK_STATUS_CLAIMED\x10\x03\x12\x14\n\x10TASK_STATUS_DONE\x10\x04\x12\x17\n\x13TASK_STATUS_DROPPED\x10\x05\x42\x46ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.state.v1.task_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1'
  _globals['_TASK_LABELSENTRY']._loaded_options = None
  _globals['_TASK_LABELSENTRY']._serialized_options = b'8\001'
  _globals['_TASKKIND']._serialized_start=1100
  _globals['_TASKKIND']._serialized_end=1232
  _globals['_TASKSTATUS']._serialized_start=1235
  _globals['_TASKSTATUS']._serialized_end=1396
  _globals['_TASK']._serialized_start=157
  _globals['_TASK']._serialized_end=1097
  _globals['_TASK_LABELSENTRY']._serialized_start=1040
  _globals['_TASK_LABELSENTRY']._serialized_end=1097
# @@protoc_insertion_point(module_scope)
