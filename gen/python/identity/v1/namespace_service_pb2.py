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
    'interlock/identity/v1/namespace_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()




DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n-interlock/identity/v1/namespace_service.proto\x12\x15interlock.identity.v1\"\x17\n\x15ListNamespacesRequest\"l\n\x16ListNamespacesResponse\x12@\n\nnamespaces\x18\x01 \x03(\x0b\x32 .interlock.identity.v1.NamespaceR\nnamespaces\x12\x10\n\x03\x61ll\x18\x02 \x01(\x08R\x03\x61ll\"\x1f\n\tNamespace\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name2\x81\x01\n\x10NamespaceService\x12m\n\x0eListNamespaces\x12,.interlock.identity.v1.ListNamespacesRequest\x1a-.interlock.identity.v1.ListNamespacesResponseBLZJgithub.com/interlock-run/interlock/gen/go/interlock/identity/v1;identityv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.identity.v1.namespace_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZJgithub.com/interlock-run/interlock/gen/go/interlock/identity/v1;identityv1'
  _globals['_LISTNAMESPACESREQUEST']._serialized_start=72
  _globals['_LISTNAMESPACESREQUEST']._serialized_end=95
  _globals['_LISTNAMESPACESRESPONSE']._serialized_start=97
  _globals['_LISTNAMESPACESRESPONSE']._serialized_end=205
  _globals['_NAMESPACE']._serialized_start=207
  _globals['_NAMESPACE']._serialized_end=238
  _globals['_NAMESPACESERVICE']._serialized_start=241
  _globals['_NAMESPACESERVICE']._serialized_end=370
# @@protoc_insertion_point(module_scope)
