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
    'interlock/identity/v1/halt_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.identity.v1 import halt_pb2 as interlock_dot_identity_dot_v1_dot_halt__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n(interlock/identity/v1/halt_service.proto\x12\x15interlock.identity.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a interlock/identity/v1/halt.proto\"\x81\x01\n\x13\x43reateFreezeRequest\x12\x1c\n\x08workflow\x18\x01 \x01(\tB\x00R\x08workflow\x12\x32\n\x05until\x18\x02 \x01(\x0b\x32\x1a.google.protobuf.TimestampB\x00R\x05until\x12\x18\n\x06reason\x18\x03 \x01(\tB\x00R\x06reason\"g\n\x14\x43reateFreezeResponse\x12\x35\n\x06\x66reeze\x18\x01 \x01(\x0b\x32\x1d.interlock.identity.v1.FreezeR\x06\x66reeze\x12\x18\n\x07\x63reated\x18\x02 \x01(\x08R\x07\x63reated\"?\n\x11LiftFreezeRequest\x12\x10\n\x02id\x18\x01 \x01(\tB\x00R\x02id\x12\x18\n\x06reason\x18\x02 \x01(\tB\x00R\x06reason\"K\n\x12LiftFreezeResponse\x12\x35\n\x06\x66reeze\x18\x01 \x01(\x0b\x32\x1d.interlock.identity.v1.FreezeR\x06\x66reeze\"\x14\n\x12ListFreezesRequest\"N\n\x13ListFreezesResponse\x12\x37\n\x07\x66reezes\x18\x01 \x03(\x0b\x32\x1d.interlock.identity.v1.FreezeR\x07\x66reezes\"g\n\x11\x43reateHaltRequest\x12\x38\n\x05scope\x18\x01 \x01(\x0b\x32 .interlock.identity.v1.HaltScopeB\x00R\x05scope\x12\x18\n\x06reason\x18\x02 \x01(\tB\x00R\x06reason\"_\n\x12\x43reateHaltResponse\x12/\n\x04halt\x18\x01 \x01(\x0b\x32\x1b.interlock.identity.v1.HaltR\x04halt\x12\x18\n\x07\x63reated\x18\x02 \x01(\x08R\x07\x63reated\"=\n\x0fLiftHaltRequest\x12\x10\n\x02id\x18\x01 \x01(\tB\x00R\x02id\x12\x18\n\x06reason\x18\x02 \x01(\tB\x00R\x06reason\"C\n\x10LiftHaltResponse\x12/\n\x04halt\x18\x01 \x01(\x0b\x32\x1b.interlock.identity.v1.HaltR\x04halt\"\x12\n\x10ListHaltsRequest\"F\n\x11ListHaltsResponse\x12\x31\n\x05halts\x18\x01 \x03(\x0b\x32\x1b.interlock.identity.v1.HaltR\x05halts2\xdf\x04\n\x0bHaltService\x12\x61\n\nCreateHalt\x12(.interlock.identity.v1.CreateHaltRequest\x1a).interlock.identity.v1.CreateHaltResponse\x12[\n\x08LiftHalt\x12&.interlock.identity.v1.LiftHaltRequest\x1a\'.interlock.identity.v1.LiftHaltResponse\x12^\n\tListHalts\x12\'.interlock.identity.v1.ListHaltsRequest\x1a(.interlock.identity.v1.ListHaltsResponse\x12g\n\x0c\x43reateFreeze\x12*.interlock.identity.v1.CreateFreezeRequest\x1a+.interlock.identity.v1.CreateFreezeResponse\x12\x61\n\nLiftFreeze\x12(.interlock.identity.v1.LiftFreezeRequest\x1a).interlock.identity.v1.LiftFreezeResponse\x12\x64\n\x0bListFreezes\x12).interlock.identity.v1.ListFreezesRequest\x1a*.interlock.identity.v1.ListFreezesResponseBLZJgithub.com/interlock-run/interlock/gen/go/interlock/identity/v1;identityv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.identity.v1.halt_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZJgithub.com/interlock-run/interlock/gen/go/interlock/identity/v1;identityv1'
  _globals['_CREATEFREEZEREQUEST']._serialized_start=135
  _globals['_CREATEFREEZEREQUEST']._serialized_end=264
  _globals['_CREATEFREEZERESPONSE']._serialized_start=266
  _globals['_CREATEFREEZERESPONSE']._serialized_end=369
  _globals['_LIFTFREEZEREQUEST']._serialized_start=371
  _globals['_LIFTFREEZEREQUEST']._serialized_end=434
  _globals['_LIFTFREEZERESPONSE']._serialized_start=436
  _globals['_LIFTFREEZERESPONSE']._serialized_end=511
  _globals['_LISTFREEZESREQUEST']._serialized_start=513
  _globals['_LISTFREEZESREQUEST']._serialized_end=533
  _globals['_LISTFREEZESRESPONSE']._serialized_start=535
  _globals['_LISTFREEZESRESPONSE']._serialized_end=613
  _globals['_CREATEHALTREQUEST']._serialized_start=615
  _globals['_CREATEHALTREQUEST']._serialized_end=718
  _globals['_CREATEHALTRESPONSE']._serialized_start=720
  _globals['_CREATEHALTRESPONSE']._serialized_end=815
  _globals['_LIFTHALTREQUEST']._serialized_start=817
  _globals['_LIFTHALTREQUEST']._serialized_end=878
  _globals['_LIFTHALTRESPONSE']._serialized_start=880
  _globals['_LIFTHALTRESPONSE']._serialized_end=947
  _globals['_LISTHALTSREQUEST']._serialized_start=949
  _globals['_LISTHALTSREQUEST']._serialized_end=967
  _globals['_LISTHALTSRESPONSE']._serialized_start=969
  _globals['_LISTHALTSRESPONSE']._serialized_end=1039
  _globals['_HALTSERVICE']._serialized_start=1042
  _globals['_HALTSERVICE']._serialized_end=1649
# @@protoc_insertion_point(module_scope)
