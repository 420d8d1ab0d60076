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
    'interlock/state/v1/task_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.state.v1 import session_pb2 as interlock_dot_state_dot_v1_dot_session__pb2
from interlock.gen.state.v1 import task_pb2 as interlock_dot_state_dot_v1_dot_task__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n%interlock/state/v1/task_service.proto\x12\x12interlock.state.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a interlock/state/v1/session.proto\x1a\x1dinterlock/state/v1/task.proto\"\xdb\x01\n\x11\x43laimTasksRequest\x12\x18\n\x06runner\x18\x01 \x01(\tB\x00R\x06runner\x12K\n\x06labels\x18\x02 \x03(\x0b\x32\x31.interlock.state.v1.ClaimTasksRequest.LabelsEntryB\x00R\x06labels\x12$\n\rmax_in_flight\x18\x03 \x01(\x05\x42\x00R\x0bmaxInFlight\x1a\x39\n\x0bLabelsEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05value\x18\x02 \x01(\tR\x05value:\x02\x38\x01\"B\n\x12\x43laimTasksResponse\x12,\n\x04task\x18\x01 \x01(\x0b\x32\x18.interlock.state.v1.TaskR\x04task\"Q\n\x11\x45xtendTaskRequest\x12\x19\n\x07task_id\x18\x01 \x01(\tB\x00R\x06taskId\x12!\n\x0b\x63laim_token\x18\x02 \x01(\x03\x42\x00R\nclaimToken\"Z\n\x12\x45xtendTaskResponse\x12\x44\n\x10\x63laim_expires_at\x18\x01 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x0e\x63laimExpiresAt\"m\n\x13\x43ompleteTaskRequest\x12\x19\n\x07task_id\x18\x01 \x01(\tB\x00R\x06taskId\x12!\n\x0b\x63laim_token\x18\x02 \x01(\x03\x42\x00R\nclaimToken\x12\x18\n\x06result\x18\x14 \x01(\x0c\x42\x00R\x06result\"M\n\x14\x43ompleteTaskResponse\x12\x35\n\x07session\x18\x01 \x01(\x0b\x32\x1b.interlock.state.v1.SessionR\x07session\"}\n\x0f\x46\x61ilTaskRequest\x12\x19\n\x07task_id\x18\x01 \x01(\tB\x00R\x06taskId\x12!\n\x0b\x63laim_token\x18\x02 \x01(\x03\x42\x00R\nclaimToken\x12\x16\n\x05\x65rror\x18\x03 \x01(\tB\x00R\x05\x65rror\x12\x14\n\x05retry\x18\x04 \x01(\x08R\x05retry\"I\n\x10\x46\x61ilTaskResponse\x12\x35\n\x07session\x18\x01 \x01(\x0b\x32\x1b.interlock.state.v1.SessionR\x07session\"l\n\x10ListTasksRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\x12\x18\n\x06\x66ilter\x18\x03 \x01(\tB\x00R\x06\x66ilter\"k\n\x11ListTasksResponse\x12.\n\x05tasks\x18\x01 \x03(\x0b\x32\x18.interlock.state.v1.TaskR\x05tasks\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken2\xdd\x03\n\x0bTaskService\x12]\n\nClaimTasks\x12%.interlock.state.v1.ClaimTasksRequest\x1a&.interlock.state.v1.ClaimTasksResponse0\x01\x12[\n\nExtendTask\x12%.interlock.state.v1.ExtendTaskRequest\x1a&.interlock.state.v1.ExtendTaskResponse\x12\x61\n\x0c\x43ompleteTask\x12\'.interlock.state.v1.CompleteTaskRequest\x1a(.interlock.state.v1.CompleteTaskResponse\x12U\n\x08\x46\x61ilTask\x12#.interlock.state.v1.FailTaskRequest\x1a$.interlock.state.v1.FailTaskResponse\x12X\n\tListTasks\x12$.interlock.state.v1.ListTasksRequest\x1a%.interlock.state.v1.ListTasksResponseBFZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.state.v1.task_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1'
  _globals['_CLAIMTASKSREQUEST_LABELSENTRY']._loaded_options = None
  _globals['_CLAIMTASKSREQUEST_LABELSENTRY']._serialized_options = b'8\001'
  _globals['_CLAIMTASKSREQUEST']._serialized_start=160
  _globals['_CLAIMTASKSREQUEST']._serialized_end=379
  _globals['_CLAIMTASKSREQUEST_LABELSENTRY']._serialized_start=322
  _globals['_CLAIMTASKSREQUEST_LABELSENTRY']._serialized_end=379
  _globals['_CLAIMTASKSRESPONSE']._serialized_start=381
  _globals['_CLAIMTASKSRESPONSE']._serialized_end=447
  _globals['_EXTENDTASKREQUEST']._serialized_start=449
  _globals['_EXTENDTASKREQUEST']._serialized_end=530
  _globals['_EXTENDTASKRESPONSE']._serialized_start=532
  _globals['_EXTENDTASKRESPONSE']._serialized_end=622
  _globals['_COMPLETETASKREQUEST']._serialized_start=624
  _globals['_COMPLETETASKREQUEST']._serialized_end=733
  _globals['_COMPLETETASKRESPONSE']._serialized_start=735
  _globals['_COMPLETETASKRESPONSE']._serialized_end=812
  _globals['_FAILTASKREQUEST']._serialized_start=814
  _globals['_FAILTASKREQUEST']._serialized_end=939
  _globals['_FAILTASKRESPONSE']._serialized_start=941
  _globals['_FAILTASKRESPONSE']._serialized_end=1014
  _globals['_LISTTASKSREQUEST']._serialized_start=1016
  _globals['_LISTTASKSREQUEST']._serialized_end=1124
  _globals['_LISTTASKSRESPONSE']._serialized_start=1126
  _globals['_LISTTASKSRESPONSE']._serialized_end=1233
  _globals['_TASKSERVICE']._serialized_start=1236
  _globals['_TASKSERVICE']._serialized_end=1713
# @@protoc_insertion_point(module_scope)
