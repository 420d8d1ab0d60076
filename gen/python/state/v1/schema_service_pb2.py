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
    'interlock/state/v1/schema_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from interlock.gen.state.v1 import schema_pb2 as interlock_dot_state_dot_v1_dot_schema__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\'interlock/state/v1/schema_service.proto\x12\x12interlock.state.v1\x1a\x1finterlock/state/v1/schema.proto\"\xb5\x01\n\x15RegisterSchemaRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1f\n\x0bjson_schema\x18\x02 \x01(\x0cR\njsonSchema\x12\"\n\x0b\x64\x65scription\x18\x03 \x01(\tB\x00R\x0b\x64\x65scription\x12)\n\x0fidempotency_key\x18\x04 \x01(\tB\x00R\x0eidempotencyKey\x12\x16\n\x06staged\x18\x05 \x01(\x08R\x06staged\"f\n\x16RegisterSchemaResponse\x12\x32\n\x06schema\x18\x01 \x01(\x0b\x32\x1a.interlock.state.v1.SchemaR\x06schema\x12\x18\n\x07\x63reated\x18\x02 \x01(\x08R\x07\x63reated\"D\n\x10GetSchemaRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1a\n\x07version\x18\x02 \x01(\x03\x42\x00R\x07version\"G\n\x11GetSchemaResponse\x12\x32\n\x06schema\x18\x01 \x01(\x0b\x32\x1a.interlock.state.v1.SchemaR\x06schema\"T\n\x12ListSchemasRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\"s\n\x13ListSchemasResponse\x12\x34\n\x07schemas\x18\x01 \x03(\x0b\x32\x1a.interlock.state.v1.SchemaR\x07schemas\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"q\n\x19ListSchemaVersionsRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1d\n\tpage_size\x18\x02 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x03 \x01(\tB\x00R\tpageToken\"z\n\x1aListSchemaVersionsResponse\x12\x34\n\x07schemas\x18\x01 \x03(\x0b\x32\x1a.interlock.state.v1.SchemaR\x07schemas\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken2\xa7\x03\n\rSchemaService\x12g\n\x0eRegisterSchema\x12).interlock.state.v1.RegisterSchemaRequest\x1a*.interlock.state.v1.RegisterSchemaResponse\x12X\n\tGetSchema\x12$.interlock.state.v1.GetSchemaRequest\x1a%.interlock.state.v1.GetSchemaResponse\x12^\n\x0bListSchemas\x12&.interlock.state.v1.ListSchemasRequest\x1a\'.interlock.state.v1.ListSchemasResponse\x12s\n\x12ListSchemaVersions\x12-.interlock.state.v1.ListSchemaVersionsRequest\x1a..interlock.state.v1.ListSchemaVersionsResponseBFZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.state.v1.schema_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1'
  _globals['_REGISTERSCHEMAREQUEST']._serialized_start=97
  _globals['_REGISTERSCHEMAREQUEST']._serialized_end=278
  _globals['_REGISTERSCHEMARESPONSE']._serialized_start=280
  _globals['_REGISTERSCHEMARESPONSE']._serialized_end=382
  _globals['_GETSCHEMAREQUEST']._serialized_start=384
  _globals['_GETSCHEMAREQUEST']._serialized_end=452
  _globals['_GETSCHEMARESPONSE']._serialized_start=454
  _globals['_GETSCHEMARESPONSE']._serialized_end=525
  _globals['_LISTSCHEMASREQUEST']._serialized_start=527
  _globals['_LISTSCHEMASREQUEST']._serialized_end=611
  _globals['_LISTSCHEMASRESPONSE']._serialized_start=613
  _globals['_LISTSCHEMASRESPONSE']._serialized_end=728
  _globals['_LISTSCHEMAVERSIONSREQUEST']._serialized_start=730
  _globals['_LISTSCHEMAVERSIONSREQUEST']._serialized_end=843
  _globals['_LISTSCHEMAVERSIONSRESPONSE']._serialized_start=845
  _globals['_LISTSCHEMAVERSIONSRESPONSE']._serialized_end=967
  _globals['_SCHEMASERVICE']._serialized_start=970
  _globals['_SCHEMASERVICE']._serialized_end=1393
# @@protoc_insertion_point(module_scope)
