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
    'interlock/state/v1/session.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n interlock/state/v1/session.proto\x12\x12interlock.state.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\xe8\t\n\x07Session\x12\x1d\n\nsession_id\x18\x01 \x01(\tR\tsessionId\x12\x12\n\x04name\x18\x02 \x01(\tR\x04name\x12*\n\x11parent_session_id\x18\x03 \x01(\tR\x0fparentSessionId\x12.\n\x13parent_session_name\x18\x04 \x01(\tR\x11parentSessionName\x12&\n\x0froot_session_id\x18\x05 \x01(\tR\rrootSessionId\x12\x14\n\x05\x64\x65pth\x18\x06 \x01(\x05R\x05\x64\x65pth\x12\x39\n\x06status\x18\x07 \x01(\x0e\x32!.interlock.state.v1.SessionStatusR\x06status\x12*\n\x11workflow_state_id\x18\x08 \x01(\tR\x0fworkflowStateId\x12U\n\x13state_update_status\x18\t \x01(\x0e\x32%.interlock.state.v1.StateUpdateStatusR\x11stateUpdateStatus\x12\x1a\n\x08\x61ttempts\x18\n \x01(\x05R\x08\x61ttempts\x12\x42\n\x0cstate_update\x18\x0b \x01(\x0e\x32\x1f.interlock.state.v1.StateUpdateR\x0bstateUpdate\x12.\n\x13\x61\x63\x63\x65pt_early_update\x18\x0c \x01(\x08R\x11\x61\x63\x63\x65ptEarlyUpdate\x12#\n\ropen_children\x18\r \x01(\x05R\x0copenChildren\x12:\n\tcallbacks\x18\x0e \x03(\x0b\x32\x1c.interlock.state.v1.CallbackR\tcallbacks\x12\x17\n\x07task_id\x18\x0f \x01(\tR\x06taskId\x12?\n\x06labels\x18\x10 \x03(\x0b\x32\'.interlock.state.v1.Session.LabelsEntryR\x06labels\x12\x1b\n\tstate_ref\x18\x11 \x01(\tR\x08stateRef\x12\x14\n\x05\x61gent\x18  \x01(\tR\x05\x61gent\x12\x18\n\x07version\x18\x12 \x01(\x03R\x07version\x12\x39\n\ncreated_at\x18\x13 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x39\n\nupdated_at\x18\x14 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tupdatedAt\x12\x35\n\x08\x65nded_at\x18\x15 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x07\x65ndedAt\x12\x16\n\x06grants\x18\x16 \x03(\tR\x06grants\x12\x18\n\x07subject\x18\x17 \x01(\tR\x07subject\x12\x14\n\x05\x65rror\x18\x18 \x01(\tR\x05\x65rror\x12\x1d\n\nhas_result\x18\x1e \x01(\x08R\thasResult\x12\x1f\n\x0bno_callback\x18\x1f \x01(\x08R\nnoCallback\x12\x12\n\x04only\x18! \x01(\x0cR\x04only\x12\x36\n\x05human\x18( \x01(\x0b\x32 .interlock.state.v1.SessionHumanR\x05human\x1a\x39\n\x0bLabelsEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05value\x18\x02 \x01(\tR\x05value:\x02\x38\x01\"\xc7\x03\n\x0cSessionToken\x12\x19\n\x08token_id\x18\x01 \x01(\tR\x07tokenId\x12\x12\n\x04name\x18\x02 \x01(\tR\x04name\x12\x18\n\x07session\x18\x03 \x01(\tR\x07session\x12\x16\n\x06\x62ranch\x18\x04 \x01(\tR\x06\x62ranch\x12\x12\n\x04only\x18\x05 \x01(\x0cR\x04only\x12\x1b\n\tminted_by\x18\x06 \x01(\tR\x08mintedBy\x12\x1f\n\x0bminted_with\x18\x07 \x01(\tR\nmintedWith\x12\x37\n\tissued_at\x18\x08 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x08issuedAt\x12\x39\n\nexpires_at\x18\t \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\x12\x39\n\nrevoked_at\x18\n \x01(\x0b\x32\x1a.google.protobuf.TimestampR\trevokedAt\x12\x1d\n\nrevoked_by\x18\x0b \x01(\tR\trevokedBy\x12\x36\n\x05human\x18P \x01(\x0b\x32 .interlock.state.v1.SessionHumanR\x05human\"\xaa\x02\n\x0cSessionHuman\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x16\n\x06issuer\x18\x02 \x01(\tR\x06issuer\x12\x16\n\x06source\x18\x03 \x01(\tR\x06source\x12!\n\x0cgroups_known\x18\x04 \x01(\x08R\x0bgroupsKnown\x12\x16\n\x06groups\x18\x05 \x03(\tR\x06groups\x12\x1e\n\nattributes\x18\x06 \x01(\x0cR\nattributes\x12\x45\n\x10\x61uthenticated_at\x18\x07 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x0f\x61uthenticatedAt\x12\x34\n\x07\x65xpires\x18\x08 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x07\x65xpires\"\xf2\x02\n\x08\x43\x61llback\x12\x1f\n\x0b\x63\x61llback_id\x18\x01 \x01(\tR\ncallbackId\x12\x1d\n\nsession_id\x18\x02 \x01(\tR\tsessionId\x12!\n\x0csession_name\x18\x03 \x01(\tR\x0bsessionName\x12U\n\x13state_update_status\x18\x04 \x01(\x0e\x32%.interlock.state.v1.StateUpdateStatusR\x11stateUpdateStatus\x12#\n\rstate_version\x18\x05 \x01(\x03R\x0cstateVersion\x12\x14\n\x05\x65rror\x18\x06 \x01(\tR\x05\x65rror\x12.\n\x04time\x18\x07 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x04time\x12\x16\n\x06result\x18\x14 \x01(\tR\x06result\x12)\n\x10result_truncated\x18\x15 \x01(\x08R\x0fresultTruncated*\x82\x01\n\rSessionStatus\x12\x1e\n\x1aSESSION_STATUS_UNSPECIFIED\x10\x00\x12\x1a\n\x16SESSION_STATUS_RUNNING\x10\x01\x12\x1b\n\x17SESSION_STATUS_FINISHED\x10\x02\x12\x18\n\x14SESSION_STATUS_ENDED\x10\x03*\xdb\x01\n\x11StateUpdateStatus\x12#\n\x1fSTATE_UPDATE_STATUS_UNSPECIFIED\x10\x00\x12\x1c\n\x18STATE_UPDATE_STATUS_NONE\x10\x01\x12\x1f\n\x1bSTATE_UPDATE_STATUS_PENDING\x10\x02\x12!\n\x1dSTATE_UPDATE_STATUS_COMPLETED\x10\x03\x12\x1e\n\x1aSTATE_UPDATE_STATUS_FAILED\x10\x04\x12\x1f\n\x1bSTATE_UPDATE_STATUS_SKIPPED\x10\x05*]\n\x0bStateUpdate\x12\x1c\n\x18STATE_UPDATE_UNSPECIFIED\x10\x00\x12\x19\n\x15STATE_UPDATE_REQUIRED\x10\x01\x12\x15\n\x11STATE_UPDATE_SKIP\x10\x02\x42\x46ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.state.v1.session_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1'
  _globals['_SESSION_LABELSENTRY']._loaded_options = None
  _globals['_SESSION_LABELSENTRY']._serialized_options = b'8\001'
  _globals['_SESSIONSTATUS']._serialized_start=2481
  _globals['_SESSIONSTATUS']._serialized_end=2611
  _globals['_STATEUPDATESTATUS']._serialized_start=2614
  _globals['_STATEUPDATESTATUS']._serialized_end=2833
  _globals['_STATEUPDATE']._serialized_start=2835
  _globals['_STATEUPDATE']._serialized_end=2928
  _globals['_SESSION']._serialized_start=90
  _globals['_SESSION']._serialized_end=1346
  _globals['_SESSION_LABELSENTRY']._serialized_start=1289
  _globals['_SESSION_LABELSENTRY']._serialized_end=1346
  _globals['_SESSIONTOKEN']._serialized_start=1349
  _globals['_SESSIONTOKEN']._serialized_end=1804
  _globals['_SESSIONHUMAN']._serialized_start=1807
  _globals['_SESSIONHUMAN']._serialized_end=2105
  _globals['_CALLBACK']._serialized_start=2108
  _globals['_CALLBACK']._serialized_end=2478
# @@protoc_insertion_point(module_scope)
