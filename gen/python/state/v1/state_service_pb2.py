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
    'interlock/state/v1/state_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import duration_pb2 as google_dot_protobuf_dot_duration__pb2
from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.state.v1 import state_pb2 as interlock_dot_state_dot_v1_dot_state__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n&interlock/state/v1/state_service.proto\x12\x12interlock.state.v1\x1a\x1egoogle/protobuf/duration.proto\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\x1einterlock/state/v1/state.proto\"\xe6\x01\n\x12\x43reateStateRequest\x12!\n\x0bschema_name\x18\x01 \x01(\tB\x00R\nschemaName\x12\'\n\x0eschema_version\x18\x02 \x01(\x03\x42\x00R\rschemaVersion\x12\x12\n\x04\x64\x61ta\x18\x03 \x01(\x0cR\x04\x64\x61ta\x12\x1a\n\x07session\x18\x04 \x01(\tB\x00R\x07session\x12)\n\x0fidempotency_key\x18\x05 \x01(\tB\x00R\x0eidempotencyKey\x12)\n\x10\x65xisting_session\x18\x06 \x01(\x08R\x0f\x65xistingSession\"F\n\x13\x43reateStateResponse\x12/\n\x05state\x18\x01 \x01(\x0b\x32\x19.interlock.state.v1.StateR\x05state\"\x84\x01\n\x0fGetStateRequest\x12\x1b\n\x08state_id\x18\x01 \x01(\tB\x00R\x07stateId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12\x1c\n\x08pointers\x18\x03 \x03(\tB\x00R\x08pointers\x12\x1a\n\x07version\x18\x04 \x01(\x03\x42\x00R\x07version\"s\n\x10GetStateResponse\x12/\n\x05state\x18\x01 \x01(\x0b\x32\x19.interlock.state.v1.StateR\x05state\x12.\n\x05parts\x18\x02 \x03(\x0b\x32\x18.interlock.state.v1.PartR\x05parts\"\x89\x01\n\x11ListStatesRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\x12\x18\n\x06\x66ilter\x18\x03 \x01(\tB\x00R\x06\x66ilter\x12\x1a\n\x07session\x18\x04 \x01(\tB\x00R\x07session\"o\n\x12ListStatesResponse\x12\x31\n\x06states\x18\x01 \x03(\x0b\x32\x19.interlock.state.v1.StateR\x06states\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"\xc6\x02\n\x12UpdateStateRequest\x12\x1b\n\x08state_id\x18\x01 \x01(\tB\x00R\x07stateId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12\x14\n\x04\x64\x61ta\x18\x03 \x01(\x0cH\x00R\x04\x64\x61ta\x12\x16\n\x05patch\x18\x04 \x01(\x0cH\x00R\x05patch\x12!\n\x0bmerge_patch\x18\x05 \x01(\x0cH\x00R\nmergePatch\x12+\n\x10\x65xpected_version\x18\x06 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\x12%\n\rfencing_token\x18\x07 \x01(\x03\x42\x00R\x0c\x66\x65ncingToken\x12)\n\x0fidempotency_key\x18\x08 \x01(\tB\x00R\x0eidempotencyKey\x12\x1b\n\twith_data\x18\t \x01(\x08R\x08withDataB\n\n\x06\x63hange\x12\x00\"F\n\x13UpdateStateResponse\x12/\n\x05state\x18\x01 \x01(\x0b\x32\x19.interlock.state.v1.StateR\x05state\"\x8c\x02\n\x13MigrateStateRequest\x12\x1b\n\x08state_id\x18\x01 \x01(\tB\x00R\x07stateId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12\'\n\x0eschema_version\x18\x03 \x01(\x03\x42\x00R\rschemaVersion\x12\x14\n\x05patch\x18\x04 \x01(\x0cR\x05patch\x12+\n\x10\x65xpected_version\x18\x05 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\x12%\n\rfencing_token\x18\x06 \x01(\x03\x42\x00R\x0c\x66\x65ncingToken\x12)\n\x0fidempotency_key\x18\x07 \x01(\tB\x00R\x0eidempotencyKey\"G\n\x14MigrateStateResponse\x12/\n\x05state\x18\x01 \x01(\x0b\x32\x19.interlock.state.v1.StateR\x05state\"\x90\x01\n\x12\x44\x65leteStateRequest\x12\x1b\n\x08state_id\x18\x01 \x01(\tB\x00R\x07stateId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12\x14\n\x05\x66orce\x18\x03 \x01(\x08R\x05\x66orce\x12+\n\x10\x65xpected_version\x18\x04 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\"\x15\n\x13\x44\x65leteStateResponse\"\x97\x01\n\x16GetStateHistoryRequest\x12\x1b\n\x08state_id\x18\x01 \x01(\tB\x00R\x07stateId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12%\n\rafter_version\x18\x03 \x01(\x03\x42\x00R\x0c\x61\x66terVersion\x12\x1d\n\tpage_size\x18\x04 \x01(\x05\x42\x00R\x08pageSize\"\x85\x01\n\x17GetStateHistoryResponse\x12<\n\x08versions\x18\x01 \x03(\x0b\x32 .interlock.state.v1.StateVersionR\x08versions\x12,\n\x12next_after_version\x18\x02 \x01(\x03R\x10nextAfterVersion\"\x8b\x01\n\x16GetStateWritersRequest\x12\x1b\n\x08state_id\x18\x01 \x01(\tB\x00R\x07stateId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12\x1c\n\x08pointers\x18\x03 \x03(\tB\x00R\x08pointers\x12\x1a\n\x07version\x18\x04 \x01(\x03\x42\x00R\x07version\"\x83\x01\n\x17GetStateWritersResponse\x12\x18\n\x07version\x18\x01 \x01(\x03R\x07version\x12\x34\n\x07writers\x18\x02 \x03(\x0b\x32\x1a.interlock.state.v1.WriterR\x07writers\x12\x18\n\x07partial\x18\x03 \x01(\x08R\x07partial\"\xc4\x01\n\x06Writer\x12\x18\n\x07pointer\x18\x01 \x01(\tR\x07pointer\x12\x18\n\x07version\x18\x02 \x01(\x03R\x07version\x12\x14\n\x05\x61\x63tor\x18\x03 \x01(\tR\x05\x61\x63tor\x12\x1d\n\nsession_id\x18\x04 \x01(\tR\tsessionId\x12!\n\x0csession_name\x18\x05 \x01(\tR\x0bsessionName\x12.\n\x04time\x18\x06 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x04time\"\xe6\x01\n\x10LockStateRequest\x12\x1b\n\x08state_id\x18\x01 \x01(\tB\x00R\x07stateId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12\x18\n\x06holder\x18\x03 \x01(\tB\x00R\x06holder\x12-\n\x03ttl\x18\x04 \x01(\x0b\x32\x19.google.protobuf.DurationB\x00R\x03ttl\x12%\n\rfencing_token\x18\x05 \x01(\x03\x42\x00R\x0c\x66\x65ncingToken\x12)\n\x0fidempotency_key\x18\x06 \x01(\tB\x00R\x0eidempotencyKey\"s\n\x11LockStateResponse\x12#\n\rfencing_token\x18\x01 \x01(\x03R\x0c\x66\x65ncingToken\x12\x39\n\nexpires_at\x18\x02 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\"t\n\x12UnlockStateRequest\x12\x1b\n\x08state_id\x18\x01 \x01(\tB\x00R\x07stateId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12%\n\rfencing_token\x18\x03 \x01(\x03\x42\x00R\x0c\x66\x65ncingToken\"\x15\n\x13UnlockStateResponse\"s\n\x11WatchStateRequest\x12\x1b\n\x08state_id\x18\x01 \x01(\tB\x00R\x07stateId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12%\n\rafter_version\x18\x03 \x01(\x03\x42\x00R\x0c\x61\x66terVersion\"\x83\x01\n\x12WatchStateResponse\x12\x19\n\x08state_id\x18\x01 \x01(\tR\x07stateId\x12\x38\n\x06\x63hange\x18\x02 \x01(\x0b\x32 .interlock.state.v1.StateVersionR\x06\x63hange\x12\x18\n\x07\x64\x65leted\x18\x03 \x01(\x08R\x07\x64\x65leted2\xb6\x08\n\x0cStateService\x12^\n\x0b\x43reateState\x12&.interlock.state.v1.CreateStateRequest\x1a\'.interlock.state.v1.CreateStateResponse\x12U\n\x08GetState\x12#.interlock.state.v1.GetStateRequest\x1a$.interlock.state.v1.GetStateResponse\x12[\n\nListStates\x12%.interlock.state.v1.ListStatesRequest\x1a&.interlock.state.v1.ListStatesResponse\x12^\n\x0bUpdateState\x12&.interlock.state.v1.UpdateStateRequest\x1a\'.interlock.state.v1.UpdateStateResponse\x12\x61\n\x0cMigrateState\x12\'.interlock.state.v1.MigrateStateRequest\x1a(.interlock.state.v1.MigrateStateResponse\x12^\n\x0b\x44\x65leteState\x12&.interlock.state.v1.DeleteStateRequest\x1a\'.interlock.state.v1.DeleteStateResponse\x12j\n\x0fGetStateHistory\x12*.interlock.state.v1.GetStateHistoryRequest\x1a+.interlock.state.v1.GetStateHistoryResponse\x12j\n\x0fGetStateWriters\x12*.interlock.state.v1.GetStateWritersRequest\x1a+.interlock.state.v1.GetStateWritersResponse\x12X\n\tLockState\x12$.interlock.state.v1.LockStateRequest\x1a%.interlock.state.v1.LockStateResponse\x12^\n\x0bUnlockState\x12&.interlock.state.v1.UnlockStateRequest\x1a\'.interlock.state.v1.UnlockStateResponse\x12]\n\nWatchState\x12%.interlock.state.v1.WatchStateRequest\x1a&.interlock.state.v1.WatchStateResponse0\x01\x42\x46ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.state.v1.state_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1'
  _globals['_CREATESTATEREQUEST']._serialized_start=160
  _globals['_CREATESTATEREQUEST']._serialized_end=390
  _globals['_CREATESTATERESPONSE']._serialized_start=392
  _globals['_CREATESTATERESPONSE']._serialized_end=462
  _globals['_GETSTATEREQUEST']._serialized_start=465
  _globals['_GETSTATEREQUEST']._serialized_end=597
  _globals['_GETSTATERESPONSE']._serialized_start=599
  _globals['_GETSTATERESPONSE']._serialized_end=714
  _globals['_LISTSTATESREQUEST']._serialized_start=717
  _globals['_LISTSTATESREQUEST']._serialized_end=854
  _globals['_LISTSTATESRESPONSE']._serialized_start=856
  _globals['_LISTSTATESRESPONSE']._serialized_end=967
  _globals['_UPDATESTATEREQUEST']._serialized_start=970
  _globals['_UPDATESTATEREQUEST']._serialized_end=1296
  _globals['_UPDATESTATERESPONSE']._serialized_start=1298
  _globals['_UPDATESTATERESPONSE']._serialized_end=1368
  _globals['_MIGRATESTATEREQUEST']._serialized_start=1371
  _globals['_MIGRATESTATEREQUEST']._serialized_end=1639
  _globals['_MIGRATESTATERESPONSE']._serialized_start=1641
  _globals['_MIGRATESTATERESPONSE']._serialized_end=1712
  _globals['_DELETESTATEREQUEST']._serialized_start=1715
  _globals['_DELETESTATEREQUEST']._serialized_end=1859
  _globals['_DELETESTATERESPONSE']._serialized_start=1861
  _globals['_DELETESTATERESPONSE']._serialized_end=1882
  _globals['_GETSTATEHISTORYREQUEST']._serialized_start=1885
  _globals['_GETSTATEHISTORYREQUEST']._serialized_end=2036
  _globals['_GETSTATEHISTORYRESPONSE']._serialized_start=2039
  _globals['_GETSTATEHISTORYRESPONSE']._serialized_end=2172
  _globals['_GETSTATEWRITERSREQUEST']._serialized_start=2175
  _globals['_GETSTATEWRITERSREQUEST']._serialized_end=2314
  _globals['_GETSTATEWRITERSRESPONSE']._serialized_start=2317
  _globals['_GETSTATEWRITERSRESPONSE']._serialized_end=2448
  _globals['_WRITER']._serialized_start=2451
  _globals['_WRITER']._serialized_end=2647
  _globals['_LOCKSTATEREQUEST']._serialized_start=2650
  _globals['_LOCKSTATEREQUEST']._serialized_end=2880
  _globals['_LOCKSTATERESPONSE']._serialized_start=2882
  _globals['_LOCKSTATERESPONSE']._serialized_end=2997
  _globals['_UNLOCKSTATEREQUEST']._serialized_start=2999
  _globals['_UNLOCKSTATEREQUEST']._serialized_end=3115
  _globals['_UNLOCKSTATERESPONSE']._serialized_start=3117
  _globals['_UNLOCKSTATERESPONSE']._serialized_end=3138
  _globals['_WATCHSTATEREQUEST']._serialized_start=3140
  _globals['_WATCHSTATEREQUEST']._serialized_end=3255
  _globals['_WATCHSTATERESPONSE']._serialized_start=3258
  _globals['_WATCHSTATERESPONSE']._serialized_end=3389
  _globals['_STATESERVICE']._serialized_start=3392
  _globals['_STATESERVICE']._serialized_end=4470
# @@protoc_insertion_point(module_scope)
