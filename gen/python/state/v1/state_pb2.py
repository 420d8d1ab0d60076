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
    'interlock/state/v1/state.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\x1einterlock/state/v1/state.proto\x12\x12interlock.state.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\xe6\x03\n\x05State\x12\x19\n\x08state_id\x18\x01 \x01(\tR\x07stateId\x12\x1b\n\tschema_id\x18\x02 \x01(\tR\x08schemaId\x12\x1f\n\x0bschema_name\x18\x03 \x01(\tR\nschemaName\x12%\n\x0eschema_version\x18\x04 \x01(\x03R\rschemaVersion\x12&\n\x0froot_session_id\x18\x05 \x01(\tR\rrootSessionId\x12*\n\x11root_session_name\x18\x06 \x01(\tR\x0frootSessionName\x12\x18\n\x07version\x18\x07 \x01(\x03R\x07version\x12\x12\n\x04\x64\x61ta\x18\x08 \x01(\x0cR\x04\x64\x61ta\x12\x39\n\ncreated_at\x18\t \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x39\n\nupdated_at\x18\n \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tupdatedAt\x12\x1d\n\nupdated_by\x18\x0b \x01(\tR\tupdatedBy\x12,\n\x04lock\x18\x0c \x01(\x0b\x32\x18.interlock.state.v1.LockR\x04lock\x12\x18\n\x07warning\x18\x1e \x01(\tR\x07warning\"Y\n\x04Lock\x12\x16\n\x06holder\x18\x01 \x01(\tR\x06holder\x12\x39\n\nexpires_at\x18\x02 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\"L\n\x04Part\x12\x18\n\x07pointer\x18\x01 \x01(\tR\x07pointer\x12\x14\n\x05\x66ound\x18\x02 \x01(\x08R\x05\x66ound\x12\x14\n\x05value\x18\x03 \x01(\x0cR\x05value\"\xa6\x02\n\x0cStateVersion\x12\x18\n\x07version\x18\x01 \x01(\x03R\x07version\x12.\n\x04time\x18\x02 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x04time\x12\x1d\n\nsession_id\x18\x03 \x01(\tR\tsessionId\x12!\n\x0csession_name\x18\x04 \x01(\tR\x0bsessionName\x12\x14\n\x05\x61\x63tor\x18\x05 \x01(\tR\x05\x61\x63tor\x12\x14\n\x05patch\x18\x06 \x01(\x0cR\x05patch\x12\x37\n\x04type\x18\x07 \x01(\x0e\x32#.interlock.state.v1.StateChangeTypeR\x04type\x12%\n\x0eschema_version\x18\x08 \x01(\x03R\rschemaVersion*\x92\x01\n\x0fStateChangeType\x12!\n\x1dSTATE_CHANGE_TYPE_UNSPECIFIED\x10\x00\x12\x1d\n\x19STATE_CHANGE_TYPE_CREATED\x10\x01\x12\x1d\n\x19STATE_CHANGE_TYPE_UPDATED\x10\x02\x12\x1e\n\x1aSTATE_CHANGE_TYPE_MIGRATED\x10\x03\x42\x46ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.state.v1.state_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1'
  _globals['_STATECHANGETYPE']._serialized_start=1043
  _globals['_STATECHANGETYPE']._serialized_end=1189
  _globals['_STATE']._serialized_start=88
  _globals['_STATE']._serialized_end=574
  _globals['_LOCK']._serialized_start=576
  _globals['_LOCK']._serialized_end=665
  _globals['_PART']._serialized_start=667
  _globals['_PART']._serialized_end=743
  _globals['_STATEVERSION']._serialized_start=746
  _globals['_STATEVERSION']._serialized_end=1040
# @@protoc_insertion_point(module_scope)
