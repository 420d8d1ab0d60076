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
    'interlock/state/v1/agent.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\x1einterlock/state/v1/agent.proto\x12\x12interlock.state.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\xe5\x01\n\x05\x41gent\x12\x19\n\x08\x61gent_id\x18\x01 \x01(\tR\x07\x61gentId\x12\x31\n\x04spec\x18\x02 \x01(\x0b\x32\x1d.interlock.state.v1.AgentSpecR\x04spec\x12\x18\n\x07version\x18\x03 \x01(\x03R\x07version\x12\x39\n\ncreated_at\x18\x04 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x39\n\nupdated_at\x18\x05 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tupdatedAt\"\x91\x02\n\tAgentSpec\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1d\n\tmodel_ref\x18\x02 \x01(\tB\x00R\x08modelRef\x12$\n\x0cinstructions\x18\x03 \x01(\tB\x00R\x0cinstructions\x12\x1d\n\ttool_refs\x18\x04 \x03(\tB\x00R\x08toolRefs\x12\x1f\n\nstate_refs\x18\x05 \x03(\tB\x00R\tstateRefs\x12\x1c\n\x08workflow\x18\x06 \x01(\tB\x00R\x08workflow\x12\x18\n\x06policy\x18\x07 \x01(\tB\x00R\x06policy\x12\x31\n\x14\x65nable_conversations\x18\x08 \x01(\x08R\x13\x65nableConversationsBFZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.state.v1.agent_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1'
  _globals['_AGENT']._serialized_start=88
  _globals['_AGENT']._serialized_end=317
  _globals['_AGENTSPEC']._serialized_start=320
  _globals['_AGENTSPEC']._serialized_end=593
# @@protoc_insertion_point(module_scope)
