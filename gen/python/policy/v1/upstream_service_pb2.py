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
    'interlock/policy/v1/upstream_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from interlock.gen.policy.v1 import upstream_pb2 as interlock_dot_policy_dot_v1_dot_upstream__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n*interlock/policy/v1/upstream_service.proto\x12\x13interlock.policy.v1\x1a\"interlock/policy/v1/upstream.proto\"\x1a\n\x18ListUpstreamToolsRequest\"T\n\x19ListUpstreamToolsResponse\x12\x37\n\x05tools\x18\x01 \x03(\x0b\x32!.interlock.policy.v1.UpstreamToolR\x05tools\"f\n\x1a\x41\x63\x63\x65ptUpstreamToolsRequest\x12\x18\n\x06server\x18\x01 \x01(\tB\x00R\x06server\x12\x14\n\x04tool\x18\x02 \x01(\tB\x00R\x04tool\x12\x18\n\x06\x64igest\x18\x03 \x01(\tB\x00R\x06\x64igest\"V\n\x1b\x41\x63\x63\x65ptUpstreamToolsResponse\x12\x37\n\x05tools\x18\x01 \x03(\x0b\x32!.interlock.policy.v1.UpstreamToolR\x05tools\"L\n\x1a\x46orgetUpstreamToolsRequest\x12\x18\n\x06server\x18\x01 \x01(\tB\x00R\x06server\x12\x14\n\x04tool\x18\x02 \x01(\tB\x00R\x04tool\"V\n\x1b\x46orgetUpstreamToolsResponse\x12\x37\n\x05tools\x18\x01 \x03(\x0b\x32!.interlock.policy.v1.UpstreamToolR\x05tools\"^\n\x1c\x44\x65scribeUpstreamToolsRequest\x12\x18\n\x06server\x18\x01 \x01(\tB\x00R\x06server\x12$\n\x0c\x64\x65scriptions\x18\x02 \x01(\tB\x00R\x0c\x64\x65scriptions\"\xfb\x02\n\x1d\x44\x65scribeUpstreamToolsResponse\x12\"\n\x0c\x64\x65scriptions\x18\x01 \x01(\tR\x0c\x64\x65scriptions\x12\x16\n\x06\x64igest\x18\x02 \x01(\tR\x06\x64igest\x12 \n\x0bundescribed\x18\x03 \x03(\tR\x0bundescribed\x12\x1a\n\x08\x61\x63\x63\x65pted\x18\x04 \x03(\tR\x08\x61\x63\x63\x65pted\x12,\n\x12reported_by_agents\x18\x05 \x03(\tR\x10reportedByAgents\x12o\n\x0fother_arguments\x18\x06 \x03(\x0b\x32\x46.interlock.policy.v1.DescribeUpstreamToolsResponse.OtherArgumentsEntryR\x0eotherArguments\x1a\x41\n\x13OtherArgumentsEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05value\x18\x02 \x01(\tR\x05value:\x02\x38\x01\"}\n!AcceptUpstreamDescriptionsRequest\x12\x18\n\x06server\x18\x01 \x01(\tB\x00R\x06server\x12$\n\x0c\x64\x65scriptions\x18\x02 \x01(\tB\x00R\x0c\x64\x65scriptions\x12\x18\n\x06\x64igest\x18\x03 \x01(\tB\x00R\x06\x64igest\":\n\"AcceptUpstreamDescriptionsResponse\x12\x14\n\x05tools\x18\x01 \x03(\tR\x05tools2\x89\x05\n\x0fUpstreamService\x12r\n\x11ListUpstreamTools\x12-.interlock.policy.v1.ListUpstreamToolsRequest\x1a..interlock.policy.v1.ListUpstreamToolsResponse\x12x\n\x13\x41\x63\x63\x65ptUpstreamTools\x12/.interlock.policy.v1.AcceptUpstreamToolsRequest\x1a\x30.interlock.policy.v1.AcceptUpstreamToolsResponse\x12x\n\x13\x46orgetUpstreamTools\x12/.interlock.policy.v1.ForgetUpstreamToolsRequest\x1a\x30.interlock.policy.v1.ForgetUpstreamToolsResponse\x12~\n\x15\x44\x65scribeUpstreamTools\x12\x31.interlock.policy.v1.DescribeUpstreamToolsRequest\x1a\x32.interlock.policy.v1.DescribeUpstreamToolsResponse\x12\x8d\x01\n\x1a\x41\x63\x63\x65ptUpstreamDescriptions\x12\x36.interlock.policy.v1.AcceptUpstreamDescriptionsRequest\x1a\x37.interlock.policy.v1.AcceptUpstreamDescriptionsResponseBHZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.upstream_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_DESCRIBEUPSTREAMTOOLSRESPONSE_OTHERARGUMENTSENTRY']._loaded_options = None
  _globals['_DESCRIBEUPSTREAMTOOLSRESPONSE_OTHERARGUMENTSENTRY']._serialized_options = b'8\001'
  _globals['_LISTUPSTREAMTOOLSREQUEST']._serialized_start=103
  _globals['_LISTUPSTREAMTOOLSREQUEST']._serialized_end=129
  _globals['_LISTUPSTREAMTOOLSRESPONSE']._serialized_start=131
  _globals['_LISTUPSTREAMTOOLSRESPONSE']._serialized_end=215
  _globals['_ACCEPTUPSTREAMTOOLSREQUEST']._serialized_start=217
  _globals['_ACCEPTUPSTREAMTOOLSREQUEST']._serialized_end=319
  _globals['_ACCEPTUPSTREAMTOOLSRESPONSE']._serialized_start=321
  _globals['_ACCEPTUPSTREAMTOOLSRESPONSE']._serialized_end=407
  _globals['_FORGETUPSTREAMTOOLSREQUEST']._serialized_start=409
  _globals['_FORGETUPSTREAMTOOLSREQUEST']._serialized_end=485
  _globals['_FORGETUPSTREAMTOOLSRESPONSE']._serialized_start=487
  _globals['_FORGETUPSTREAMTOOLSRESPONSE']._serialized_end=573
  _globals['_DESCRIBEUPSTREAMTOOLSREQUEST']._serialized_start=575
  _globals['_DESCRIBEUPSTREAMTOOLSREQUEST']._serialized_end=669
  _globals['_DESCRIBEUPSTREAMTOOLSRESPONSE']._serialized_start=672
  _globals['_DESCRIBEUPSTREAMTOOLSRESPONSE']._serialized_end=1051
  _globals['_DESCRIBEUPSTREAMTOOLSRESPONSE_OTHERARGUMENTSENTRY']._serialized_start=986
  _globals['_DESCRIBEUPSTREAMTOOLSRESPONSE_OTHERARGUMENTSENTRY']._serialized_end=1051
  _globals['_ACCEPTUPSTREAMDESCRIPTIONSREQUEST']._serialized_start=1053
  _globals['_ACCEPTUPSTREAMDESCRIPTIONSREQUEST']._serialized_end=1178
  _globals['_ACCEPTUPSTREAMDESCRIPTIONSRESPONSE']._serialized_start=1180
  _globals['_ACCEPTUPSTREAMDESCRIPTIONSRESPONSE']._serialized_end=1238
  _globals['_UPSTREAMSERVICE']._serialized_start=1241
  _globals['_UPSTREAMSERVICE']._serialized_end=1890
# @@protoc_insertion_point(module_scope)
