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
    'interlock/policy/v1/policy_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.policy.v1 import exception_pb2 as interlock_dot_policy_dot_v1_dot_exception__pb2
from interlock.gen.policy.v1 import policy_pb2 as interlock_dot_policy_dot_v1_dot_policy__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n(interlock/policy/v1/policy_service.proto\x12\x13interlock.policy.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a#interlock/policy/v1/exception.proto\x1a interlock/policy/v1/policy.proto\"\x9b\x02\n\x15RegisterPolicyRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12 \n\ndefinition\x18\x02 \x01(\x0c\x42\x00R\ndefinition\x12\x16\n\x06shadow\x18\x03 \x01(\x08R\x06shadow\x12)\n\x0fidempotency_key\x18\x04 \x01(\tB\x00R\x0eidempotencyKey\x12\x16\n\x06staged\x18\x05 \x01(\x08R\x06staged\x12+\n\x10\x65xpected_version\x18\x06 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\x12)\n\x0f\x65xpected_digest\x18\x07 \x01(\tB\x00R\x0e\x65xpectedDigest\x12\x17\n\x07\x64ry_run\x18\x08 \x01(\x08R\x06\x64ryRun\"\xa7\x01\n\x16RegisterPolicyResponse\x12\x33\n\x06policy\x18\x01 \x01(\x0b\x32\x1b.interlock.policy.v1.PolicyR\x06policy\x12\x18\n\x07\x63reated\x18\x02 \x01(\x08R\x07\x63reated\x12>\n\x08warnings\x18\x03 \x03(\x0b\x32\".interlock.policy.v1.PolicyProblemR\x08warnings\"D\n\x10GetPolicyRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1a\n\x07version\x18\x02 \x01(\x03\x42\x00R\x07version\"H\n\x11GetPolicyResponse\x12\x33\n\x06policy\x18\x01 \x01(\x0b\x32\x1b.interlock.policy.v1.PolicyR\x06policy\"U\n\x13ListPoliciesRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\"w\n\x14ListPoliciesResponse\x12\x37\n\x08policies\x18\x01 \x03(\x0b\x32\x1b.interlock.policy.v1.PolicyR\x08policies\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"u\n\x14PromotePolicyRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1a\n\x07version\x18\x02 \x01(\x03\x42\x00R\x07version\x12+\n\x10\x65xpected_version\x18\x03 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\"L\n\x15PromotePolicyResponse\x12\x33\n\x06policy\x18\x01 \x01(\x0b\x32\x1b.interlock.policy.v1.PolicyR\x06policy\"+\n\x13\x44\x65letePolicyRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\"\x16\n\x14\x44\x65letePolicyResponse\"^\n\x13\x41ttachPolicyRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x31\n\x02to\x18\x02 \x03(\x0b\x32\x1f.interlock.policy.v1.AttachmentB\x00R\x02to\"K\n\x14\x41ttachPolicyResponse\x12\x33\n\x06policy\x18\x01 \x01(\x0b\x32\x1b.interlock.policy.v1.PolicyR\x06policy\"b\n\x13\x44\x65tachPolicyRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x35\n\x04\x66rom\x18\x02 \x03(\x0b\x32\x1f.interlock.policy.v1.AttachmentB\x00R\x04\x66rom\"K\n\x14\x44\x65tachPolicyResponse\x12\x33\n\x06policy\x18\x01 \x01(\x0b\x32\x1b.interlock.policy.v1.PolicyR\x06policy\"U\n\x15ShadowWorkflowRequest\x12\x1c\n\x08workflow\x18\x01 \x01(\tB\x00R\x08workflow\x12\x1e\n\ndefinition\x18\x02 \x01(\x0cR\ndefinition\"0\n\x16ShadowWorkflowResponse\x12\x16\n\x06\x64igest\x18\x01 \x01(\tR\x06\x64igest\"\x86\x01\n\x15GetPolicyUsageRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1e\n\tprincipal\x18\x02 \x01(\tB\x00R\tprincipal\x12\x1f\n\nsession_id\x18\x03 \x01(\tB\x00R\tsessionId\x12\x16\n\x05human\x18P \x01(\tB\x00R\x05human\"\x8c\x01\n\x16GetPolicyUsageResponse\x12\x32\n\x06usages\x18\x01 \x03(\x0b\x32\x1a.interlock.policy.v1.UsageR\x06usages\x12>\n\nexceptions\x18\x02 \x03(\x0b\x32\x1e.interlock.policy.v1.ExceptionR\nexceptions\"\x84\x01\n\x15SimulatePolicyRequest\x12 \n\ndefinition\x18\x01 \x01(\x0c\x42\x00R\ndefinition\x12\x30\n\x05since\x18\x02 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05since\x12\x17\n\x06run_id\x18\x03 \x01(\tB\x00R\x05runId\"\xb0\x01\n\x16SimulatePolicyResponse\x12\x1a\n\x08replayed\x18\x01 \x01(\x03R\x08replayed\x12>\n\x07\x63hanges\x18\x02 \x03(\x0b\x32$.interlock.policy.v1.SimulatedChangeR\x07\x63hanges\x12\x1c\n\ttruncated\x18\x03 \x01(\x08R\ttruncated\x12\x1c\n\tundecided\x18\x04 \x01(\x03R\tundecided2\xb9\x0b\n\rPolicyService\x12i\n\x0eRegisterPolicy\x12*.interlock.policy.v1.RegisterPolicyRequest\x1a+.interlock.policy.v1.RegisterPolicyResponse\x12Z\n\tGetPolicy\x12%.interlock.policy.v1.GetPolicyRequest\x1a&.interlock.policy.v1.GetPolicyResponse\x12\x63\n\x0cListPolicies\x12(.interlock.policy.v1.ListPoliciesRequest\x1a).interlock.policy.v1.ListPoliciesResponse\x12\x66\n\rPromotePolicy\x12).interlock.policy.v1.PromotePolicyRequest\x1a*.interlock.policy.v1.PromotePolicyResponse\x12\x63\n\x0c\x44\x65letePolicy\x12(.interlock.policy.v1.DeletePolicyRequest\x1a).interlock.policy.v1.DeletePolicyResponse\x12\x63\n\x0c\x41ttachPolicy\x12(.interlock.policy.v1.AttachPolicyRequest\x1a).interlock.policy.v1.AttachPolicyResponse\x12\x63\n\x0c\x44\x65tachPolicy\x12(.interlock.policy.v1.DetachPolicyRequest\x1a).interlock.policy.v1.DetachPolicyResponse\x12i\n\x0eShadowWorkflow\x12*.interlock.policy.v1.ShadowWorkflowRequest\x1a+.interlock.policy.v1.ShadowWorkflowResponse\x12i\n\x0eGetPolicyUsage\x12*.interlock.policy.v1.GetPolicyUsageRequest\x1a+.interlock.policy.v1.GetPolicyUsageResponse\x12i\n\x0eSimulatePolicy\x12*.interlock.policy.v1.SimulatePolicyRequest\x1a+.interlock.policy.v1.SimulatePolicyResponse\x12\x63\n\x0c\x41\x64\x64\x45xception\x12(.interlock.policy.v1.AddExceptionRequest\x1a).interlock.policy.v1.AddExceptionResponse\x12i\n\x0eListExceptions\x12*.interlock.policy.v1.ListExceptionsRequest\x1a+.interlock.policy.v1.ListExceptionsResponse\x12o\n\x10\x43onfirmException\x12,.interlock.policy.v1.ConfirmExceptionRequest\x1a-.interlock.policy.v1.ConfirmExceptionResponse\x12\x63\n\x0c\x45ndException\x12(.interlock.policy.v1.EndExceptionRequest\x1a).interlock.policy.v1.EndExceptionResponseBHZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.policy_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_REGISTERPOLICYREQUEST']._serialized_start=170
  _globals['_REGISTERPOLICYREQUEST']._serialized_end=453
  _globals['_REGISTERPOLICYRESPONSE']._serialized_start=456
  _globals['_REGISTERPOLICYRESPONSE']._serialized_end=623
  _globals['_GETPOLICYREQUEST']._serialized_start=625
  _globals['_GETPOLICYREQUEST']._serialized_end=693
  _globals['_GETPOLICYRESPONSE']._serialized_start=695
  _globals['_GETPOLICYRESPONSE']._serialized_end=767
  _globals['_LISTPOLICIESREQUEST']._serialized_start=769
  _globals['_LISTPOLICIESREQUEST']._serialized_end=854
  _globals['_LISTPOLICIESRESPONSE']._serialized_start=856
  _globals['_LISTPOLICIESRESPONSE']._serialized_end=975
  _globals['_PROMOTEPOLICYREQUEST']._serialized_start=977
  _globals['_PROMOTEPOLICYREQUEST']._serialized_end=1094
  _globals['_PROMOTEPOLICYRESPONSE']._serialized_start=1096
  _globals['_PROMOTEPOLICYRESPONSE']._serialized_end=1172
  _globals['_DELETEPOLICYREQUEST']._serialized_start=1174
  _globals['_DELETEPOLICYREQUEST']._serialized_end=1217
  _globals['_DELETEPOLICYRESPONSE']._serialized_start=1219
  _globals['_DELETEPOLICYRESPONSE']._serialized_end=1241
  _globals['_ATTACHPOLICYREQUEST']._serialized_start=1243
  _globals['_ATTACHPOLICYREQUEST']._serialized_end=1337
  _globals['_ATTACHPOLICYRESPONSE']._serialized_start=1339
  _globals['_ATTACHPOLICYRESPONSE']._serialized_end=1414
  _globals['_DETACHPOLICYREQUEST']._serialized_start=1416
  _globals['_DETACHPOLICYREQUEST']._serialized_end=1514
  _globals['_DETACHPOLICYRESPONSE']._serialized_start=1516
  _globals['_DETACHPOLICYRESPONSE']._serialized_end=1591
  _globals['_SHADOWWORKFLOWREQUEST']._serialized_start=1593
  _globals['_SHADOWWORKFLOWREQUEST']._serialized_end=1678
  _globals['_SHADOWWORKFLOWRESPONSE']._serialized_start=1680
  _globals['_SHADOWWORKFLOWRESPONSE']._serialized_end=1728
  _globals['_GETPOLICYUSAGEREQUEST']._serialized_start=1731
  _globals['_GETPOLICYUSAGEREQUEST']._serialized_end=1865
  _globals['_GETPOLICYUSAGERESPONSE']._serialized_start=1868
  _globals['_GETPOLICYUSAGERESPONSE']._serialized_end=2008
  _globals['_SIMULATEPOLICYREQUEST']._serialized_start=2011
  _globals['_SIMULATEPOLICYREQUEST']._serialized_end=2143
  _globals['_SIMULATEPOLICYRESPONSE']._serialized_start=2146
  _globals['_SIMULATEPOLICYRESPONSE']._serialized_end=2322
  _globals['_POLICYSERVICE']._serialized_start=2325
  _globals['_POLICYSERVICE']._serialized_end=3790
# @@protoc_insertion_point(module_scope)
