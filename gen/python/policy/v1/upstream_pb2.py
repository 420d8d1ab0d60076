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
    'interlock/policy/v1/upstream.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()




DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\"interlock/policy/v1/upstream.proto\x12\x13interlock.policy.v1\"\xce\x01\n\x0cUpstreamTool\x12\x16\n\x06server\x18\x01 \x01(\tR\x06server\x12\x12\n\x04tool\x18\x02 \x01(\tR\x04tool\x12\x1a\n\x08\x61\x63\x63\x65pted\x18\x03 \x01(\tR\x08\x61\x63\x63\x65pted\x12\x18\n\x07\x63hanged\x18\x04 \x01(\tR\x07\x63hanged\x12 \n\x0b\x64\x65scription\x18\x05 \x01(\tR\x0b\x64\x65scription\x12\x1f\n\x0breported_by\x18\x06 \x01(\tR\nreportedBy\x12\x19\n\x08left_out\x18\x07 \x01(\tR\x07leftOutBHZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.upstream_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_UPSTREAMTOOL']._serialized_start=60
  _globals['_UPSTREAMTOOL']._serialized_end=266
# @@protoc_insertion_point(module_scope)
