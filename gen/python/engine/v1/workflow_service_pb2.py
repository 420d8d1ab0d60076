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
    'interlock/engine/v1/workflow_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from interlock.gen.engine.v1 import workflow_pb2 as interlock_dot_engine_dot_v1_dot_workflow__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n*interlock/engine/v1/workflow_service.proto\x12\x13interlock.engine.v1\x1a\"interlock/engine/v1/workflow.proto\"f\n\x17RegisterWorkflowRequest\x12 \n\ndefinition\x18\x01 \x01(\x0c\x42\x00R\ndefinition\x12)\n\x0fidempotency_key\x18\x02 \x01(\tB\x00R\x0eidempotencyKey\"\xa9\x01\n\x18RegisterWorkflowResponse\x12\x39\n\x08workflow\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.WorkflowR\x08workflow\x12\x18\n\x07\x63reated\x18\x02 \x01(\x08R\x07\x63reated\x12\x38\n\x08warnings\x18\x03 \x03(\x0b\x32\x1c.interlock.engine.v1.ProblemR\x08warnings\"F\n\x12GetWorkflowRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1a\n\x07version\x18\x02 \x01(\x03\x42\x00R\x07version\"P\n\x13GetWorkflowResponse\x12\x39\n\x08workflow\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.WorkflowR\x08workflow\"V\n\x14ListWorkflowsRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\"|\n\x15ListWorkflowsResponse\x12;\n\tworkflows\x18\x01 \x03(\x0b\x32\x1d.interlock.engine.v1.WorkflowR\tworkflows\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"Q\n\x17ValidateWorkflowRequest\x12\x1e\n\ndefinition\x18\x01 \x01(\x0cR\ndefinition\x12\x16\n\x06strict\x18\x02 \x01(\x08R\x06strict\"d\n\x18ValidateWorkflowResponse\x12\x0e\n\x02ok\x18\x01 \x01(\x08R\x02ok\x12\x38\n\x08problems\x18\x02 \x03(\x0b\x32\x1c.interlock.engine.v1.ProblemR\x08problems2\xbd\x03\n\x0fWorkflowService\x12o\n\x10RegisterWorkflow\x12,.interlock.engine.v1.RegisterWorkflowRequest\x1a-.interlock.engine.v1.RegisterWorkflowResponse\x12`\n\x0bGetWorkflow\x12\'.interlock.engine.v1.GetWorkflowRequest\x1a(.interlock.engine.v1.GetWorkflowResponse\x12\x66\n\rListWorkflows\x12).interlock.engine.v1.ListWorkflowsRequest\x1a*.interlock.engine.v1.ListWorkflowsResponse\x12o\n\x10ValidateWorkflow\x12,.interlock.engine.v1.ValidateWorkflowRequest\x1a-.interlock.engine.v1.ValidateWorkflowResponseBHZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.engine.v1.workflow_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1'
  _globals['_REGISTERWORKFLOWREQUEST']._serialized_start=103
  _globals['_REGISTERWORKFLOWREQUEST']._serialized_end=205
  _globals['_REGISTERWORKFLOWRESPONSE']._serialized_start=208
  _globals['_REGISTERWORKFLOWRESPONSE']._serialized_end=377
  _globals['_GETWORKFLOWREQUEST']._serialized_start=379
  _globals['_GETWORKFLOWREQUEST']._serialized_end=449
  _globals['_GETWORKFLOWRESPONSE']._serialized_start=451
  _globals['_GETWORKFLOWRESPONSE']._serialized_end=531
  _globals['_LISTWORKFLOWSREQUEST']._serialized_start=533
  _globals['_LISTWORKFLOWSREQUEST']._serialized_end=619
  _globals['_LISTWORKFLOWSRESPONSE']._serialized_start=621
  _globals['_LISTWORKFLOWSRESPONSE']._serialized_end=745
  _globals['_VALIDATEWORKFLOWREQUEST']._serialized_start=747
  _globals['_VALIDATEWORKFLOWREQUEST']._serialized_end=828
  _globals['_VALIDATEWORKFLOWRESPONSE']._serialized_start=830
  _globals['_VALIDATEWORKFLOWRESPONSE']._serialized_end=930
  _globals['_WORKFLOWSERVICE']._serialized_start=933
  _globals['_WORKFLOWSERVICE']._serialized_end=1378
# @@protoc_insertion_point(module_scope)
