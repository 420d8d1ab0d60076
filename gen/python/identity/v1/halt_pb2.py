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
    'interlock/identity/v1/halt.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n interlock/identity/v1/halt.proto\x12\x15interlock.identity.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\xf7\x01\n\x04Halt\x12\x0e\n\x02id\x18\x01 \x01(\tR\x02id\x12\x36\n\x05scope\x18\x02 \x01(\x0b\x32 .interlock.identity.v1.HaltScopeR\x05scope\x12\x1c\n\tnamespace\x18\x03 \x01(\tR\tnamespace\x12\x16\n\x06reason\x18\x04 \x01(\tR\x06reason\x12\x1d\n\ncreated_by\x18\x05 \x01(\tR\tcreatedBy\x12\x39\n\ncreated_at\x18\x06 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x17\n\x07\x62y_root\x18\x07 \x01(\x08R\x06\x62yRoot\"\x8f\x02\n\x06\x46reeze\x12\x0e\n\x02id\x18\x01 \x01(\tR\x02id\x12\x1a\n\x08workflow\x18\x02 \x01(\tR\x08workflow\x12\x1c\n\tnamespace\x18\x03 \x01(\tR\tnamespace\x12\x16\n\x06reason\x18\x04 \x01(\tR\x06reason\x12\x1d\n\ncreated_by\x18\x05 \x01(\tR\tcreatedBy\x12\x39\n\ncreated_at\x18\x06 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x30\n\x05until\x18\x07 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05until\x12\x17\n\x07\x62y_root\x18\x08 \x01(\x08R\x06\x62yRoot\"T\n\tHaltScope\x12\x33\n\x04kind\x18\x01 \x01(\x0e\x32\x1f.interlock.identity.v1.HaltKindR\x04kind\x12\x12\n\x04name\x18\x02 \x01(\tR\x04name*\xee\x01\n\x08HaltKind\x12\x19\n\x15HALT_KIND_UNSPECIFIED\x10\x00\x12\x15\n\x11HALT_KIND_SESSION\x10\x01\x12\x16\n\x12HALT_KIND_WORKFLOW\x10\x02\x12\x17\n\x13HALT_KIND_PRINCIPAL\x10\x03\x12\x14\n\x10HALT_KIND_PERSON\x10\x04\x12\x13\n\x0fHALT_KIND_HUMAN\x10\x05\x12\x13\n\x0fHALT_KIND_GROUP\x10\x06\x12\x13\n\x0fHALT_KIND_AGENT\x10\x07\x12\x17\n\x13HALT_KIND_NAMESPACE\x10\x08\x12\x11\n\rHALT_KIND_ALL\x10\tBLZJgithub.com/interlock-run/interlock/gen/go/interlock/identity/v1;identityv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.identity.v1.halt_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZJgithub.com/interlock-run/interlock/gen/go/interlock/identity/v1;identityv1'
  _globals['_HALTKIND']._serialized_start=703
  _globals['_HALTKIND']._serialized_end=941
  _globals['_HALT']._serialized_start=93
  _globals['_HALT']._serialized_end=340
  _globals['_FREEZE']._serialized_start=343
  _globals['_FREEZE']._serialized_end=614
  _globals['_HALTSCOPE']._serialized_start=616
  _globals['_HALTSCOPE']._serialized_end=700
# @@protoc_insertion_point(module_scope)
