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
    'interlock/state/v1/schema.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\x1finterlock/state/v1/schema.proto\x12\x12interlock.state.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\xeb\x02\n\x06Schema\x12\x1b\n\tschema_id\x18\x01 \x01(\tR\x08schemaId\x12\x12\n\x04name\x18\x02 \x01(\tR\x04name\x12\x18\n\x07version\x18\x03 \x01(\x03R\x07version\x12\x1f\n\x0bjson_schema\x18\x04 \x01(\x0cR\njsonSchema\x12 \n\x0b\x64\x65scription\x18\x05 \x01(\tR\x0b\x64\x65scription\x12\x39\n\ncreated_at\x18\x06 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x1d\n\ncreated_by\x18\x07 \x01(\tR\tcreatedBy\x12\x16\n\x06\x64igest\x18\x08 \x01(\tR\x06\x64igest\x12!\n\x0clive_version\x18\t \x01(\x03R\x0bliveVersion\x12>\n\x07retired\x18\n \x01(\x0b\x32$.interlock.state.v1.SchemaRetirementR\x07retired\"f\n\x10SchemaRetirement\x12*\n\x02\x61t\x18\x01 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x02\x61t\x12\x0e\n\x02\x62y\x18\x02 \x01(\tR\x02\x62y\x12\x16\n\x06reason\x18\x03 \x01(\tR\x06reasonBFZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.state.v1.schema_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1'
  _globals['_SCHEMA']._serialized_start=89
  _globals['_SCHEMA']._serialized_end=452
  _globals['_SCHEMARETIREMENT']._serialized_start=454
  _globals['_SCHEMARETIREMENT']._serialized_end=556
# @@protoc_insertion_point(module_scope)
