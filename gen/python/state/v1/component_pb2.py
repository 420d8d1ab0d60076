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
    'interlock/state/v1/component.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\"interlock/state/v1/component.proto\x12\x12interlock.state.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\x8a\x04\n\tComponent\x12\x12\n\x04slug\x18\x01 \x01(\tR\x04slug\x12\x12\n\x04name\x18\x02 \x01(\tR\x04name\x12 \n\x0b\x64\x65scription\x18\x03 \x01(\tR\x0b\x64\x65scription\x12\x12\n\x04tags\x18\x04 \x03(\tR\x04tags\x12+\n\x11schema_definition\x18\x05 \x01(\x0cR\x10schemaDefinition\x12\x41\n\x0bpersistence\x18\x06 \x01(\x0e\x32\x1f.interlock.state.v1.PersistenceR\x0bpersistence\x12%\n\x0einitial_values\x18\x07 \x01(\x0cR\rinitialValues\x12\x18\n\x07version\x18\x08 \x01(\x03R\x07version\x12\x39\n\ncreated_at\x18\t \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x39\n\nupdated_at\x18\n \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tupdatedAt\x12!\n\x0c\x63omponent_id\x18\x0b \x01(\tR\x0b\x63omponentId\x12\x1e\n\ndefinition\x18\x0c \x01(\x0cR\ndefinition\x12\x16\n\x06\x64igest\x18\r \x01(\tR\x06\x64igest\x12\x1d\n\nupdated_by\x18\x0e \x01(\tR\tupdatedBy\"\x86\x02\n\tExecution\x12!\n\x0c\x65xecution_id\x18\x01 \x01(\tR\x0b\x65xecutionId\x12\x12\n\x04slug\x18\x02 \x01(\tR\x04slug\x12\x16\n\x06values\x18\x03 \x01(\x0cR\x06values\x12\x18\n\x07version\x18\x04 \x01(\x03R\x07version\x12\x41\n\x0bpersistence\x18\x05 \x01(\x0e\x32\x1f.interlock.state.v1.PersistenceR\x0bpersistence\x12\x1d\n\nsession_id\x18\x06 \x01(\tR\tsessionId\x12\x18\n\x07subject\x18\x07 \x01(\tR\x07subject\x12\x14\n\x05unset\x18\x08 \x03(\tR\x05unset*t\n\x0bPersistence\x12\x1b\n\x17PERSISTENCE_UNSPECIFIED\x10\x00\x12\x14\n\x10PERSISTENCE_NONE\x10\x01\x12\x17\n\x13PERSISTENCE_SESSION\x10\x02\x12\x19\n\x15PERSISTENCE_LONG_TERM\x10\x03\x42\x46ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.state.v1.component_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1'
  _globals['_PERSISTENCE']._serialized_start=881
  _globals['_PERSISTENCE']._serialized_end=997
  _globals['_COMPONENT']._serialized_start=92
  _globals['_COMPONENT']._serialized_end=614
  _globals['_EXECUTION']._serialized_start=617
  _globals['_EXECUTION']._serialized_end=879
# @@protoc_insertion_point(module_scope)
