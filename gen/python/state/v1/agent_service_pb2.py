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
    'interlock/state/v1/agent_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from interlock.gen.state.v1 import agent_pb2 as interlock_dot_state_dot_v1_dot_agent__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n&interlock/state/v1/agent_service.proto\x12\x12interlock.state.v1\x1a\x1einterlock/state/v1/agent.proto\"I\n\x12\x43reateAgentRequest\x12\x33\n\x04spec\x18\x01 \x01(\x0b\x32\x1d.interlock.state.v1.AgentSpecB\x00R\x04spec\"F\n\x13\x43reateAgentResponse\x12/\n\x05\x61gent\x18\x01 \x01(\x0b\x32\x19.interlock.state.v1.AgentR\x05\x61gent\"\'\n\x0fGetAgentRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\"C\n\x10GetAgentResponse\x12/\n\x05\x61gent\x18\x01 \x01(\x0b\x32\x19.interlock.state.v1.AgentR\x05\x61gent\"S\n\x11ListAgentsRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\"o\n\x12ListAgentsResponse\x12\x31\n\x06\x61gents\x18\x01 \x03(\x0b\x32\x19.interlock.state.v1.AgentR\x06\x61gents\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"v\n\x12UpdateAgentRequest\x12\x33\n\x04spec\x18\x01 \x01(\x0b\x32\x1d.interlock.state.v1.AgentSpecB\x00R\x04spec\x12+\n\x10\x65xpected_version\x18\x02 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\"F\n\x13UpdateAgentResponse\x12/\n\x05\x61gent\x18\x01 \x01(\x0b\x32\x19.interlock.state.v1.AgentR\x05\x61gent\"W\n\x12\x44\x65leteAgentRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12+\n\x10\x65xpected_version\x18\x02 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\"\x15\n\x13\x44\x65leteAgentResponse2\xe2\x03\n\x0c\x41gentService\x12^\n\x0b\x43reateAgent\x12&.interlock.state.v1.CreateAgentRequest\x1a\'.interlock.state.v1.CreateAgentResponse\x12U\n\x08GetAgent\x12#.interlock.state.v1.GetAgentRequest\x1a$.interlock.state.v1.GetAgentResponse\x12[\n\nListAgents\x12%.interlock.state.v1.ListAgentsRequest\x1a&.interlock.state.v1.ListAgentsResponse\x12^\n\x0bUpdateAgent\x12&.interlock.state.v1.UpdateAgentRequest\x1a\'.interlock.state.v1.UpdateAgentResponse\x12^\n\x0b\x44\x65leteAgent\x12&.interlock.state.v1.DeleteAgentRequest\x1a\'.interlock.state.v1.DeleteAgentResponseBFZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.state.v1.agent_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1'
  _globals['_CREATEAGENTREQUEST']._serialized_start=94
  _globals['_CREATEAGENTREQUEST']._serialized_end=167
  _globals['_CREATEAGENTRESPONSE']._serialized_start=169
  _globals['_CREATEAGENTRESPONSE']._serialized_end=239
  _globals['_GETAGENTREQUEST']._serialized_start=241
  _globals['_GETAGENTREQUEST']._serialized_end=280
  _globals['_GETAGENTRESPONSE']._serialized_start=282
  _globals['_GETAGENTRESPONSE']._serialized_end=349
  _globals['_LISTAGENTSREQUEST']._serialized_start=351
  _globals['_LISTAGENTSREQUEST']._serialized_end=434
  _globals['_LISTAGENTSRESPONSE']._serialized_start=436
  _globals['_LISTAGENTSRESPONSE']._serialized_end=547
  _globals['_UPDATEAGENTREQUEST']._serialized_start=549
  _globals['_UPDATEAGENTREQUEST']._serialized_end=667
  _globals['_UPDATEAGENTRESPONSE']._serialized_start=669
  _globals['_UPDATEAGENTRESPONSE']._serialized_end=739
  _globals['_DELETEAGENTREQUEST']._serialized_start=741
  _globals['_DELETEAGENTREQUEST']._serialized_end=828
  _globals['_DELETEAGENTRESPONSE']._serialized_start=830
  _globals['_DELETEAGENTRESPONSE']._serialized_end=851
  _globals['_AGENTSERVICE']._serialized_start=854
  _globals['_AGENTSERVICE']._serialized_end=1336
# @@protoc_insertion_point(module_scope)
