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
    'interlock/state/v1/component_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from interlock.gen.state.v1 import component_pb2 as interlock_dot_state_dot_v1_dot_component__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n*interlock/state/v1/component_service.proto\x12\x12interlock.state.v1\x1a\"interlock/state/v1/component.proto\"{\n\x16\x43reateComponentRequest\x12\x1e\n\ndefinition\x18\x01 \x01(\x0cR\ndefinition\x12)\n\x0fidempotency_key\x18\x02 \x01(\tB\x00R\x0eidempotencyKey\x12\x16\n\x06staged\x18\x03 \x01(\x08R\x06staged\"V\n\x17\x43reateComponentResponse\x12;\n\tcomponent\x18\x01 \x01(\x0b\x32\x1d.interlock.state.v1.ComponentR\tcomponent\"+\n\x13GetComponentRequest\x12\x14\n\x04slug\x18\x01 \x01(\tB\x00R\x04slug\"S\n\x14GetComponentResponse\x12;\n\tcomponent\x18\x01 \x01(\x0b\x32\x1d.interlock.state.v1.ComponentR\tcomponent\"q\n\x15ListComponentsRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\x12\x18\n\x06\x66ilter\x18\x03 \x01(\tB\x00R\x06\x66ilter\"\x7f\n\x16ListComponentsResponse\x12=\n\ncomponents\x18\x01 \x03(\x0b\x32\x1d.interlock.state.v1.ComponentR\ncomponents\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"{\n\x16UpdateComponentRequest\x12\x14\n\x04slug\x18\x01 \x01(\tB\x00R\x04slug\x12\x1e\n\ndefinition\x18\x02 \x01(\x0cR\ndefinition\x12+\n\x10\x65xpected_version\x18\x03 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\"V\n\x17UpdateComponentResponse\x12;\n\tcomponent\x18\x01 \x01(\x0b\x32\x1d.interlock.state.v1.ComponentR\tcomponent\"[\n\x16\x44\x65leteComponentRequest\x12\x14\n\x04slug\x18\x01 \x01(\tB\x00R\x04slug\x12+\n\x10\x65xpected_version\x18\x02 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\"\x19\n\x17\x44\x65leteComponentResponse\"e\n\x15\x42\x65ginExecutionRequest\x12\x14\n\x04slug\x18\x01 \x01(\tB\x00R\x04slug\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12\x1a\n\x07subject\x18\x03 \x01(\tB\x00R\x07subject\"U\n\x16\x42\x65ginExecutionResponse\x12;\n\texecution\x18\x01 \x01(\x0b\x32\x1d.interlock.state.v1.ExecutionR\texecution\"\xb8\x01\n\x16\x43ommitExecutionRequest\x12#\n\x0c\x65xecution_id\x18\x01 \x01(\tB\x00R\x0b\x65xecutionId\x12\x18\n\x06values\x18\x02 \x01(\x0cH\x00R\x06values\x12\x16\n\x05patch\x18\x03 \x01(\x0cH\x00R\x05patch\x12!\n\x0bmerge_patch\x18\x04 \x01(\x0cH\x00R\nmergePatch\x12\x1a\n\x07session\x18\x05 \x01(\tB\x00R\x07sessionB\x08\n\x06\x63hange\"V\n\x17\x43ommitExecutionResponse\x12;\n\texecution\x18\x01 \x01(\x0b\x32\x1d.interlock.state.v1.ExecutionR\texecution\"i\n\x19GetComponentValuesRequest\x12\x14\n\x04slug\x18\x01 \x01(\tB\x00R\x04slug\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12\x1a\n\x07subject\x18\x03 \x01(\tB\x00R\x07subject\"Y\n\x1aGetComponentValuesResponse\x12;\n\texecution\x18\x01 \x01(\x0b\x32\x1d.interlock.state.v1.ExecutionR\texecution2\xec\x06\n\x10\x43omponentService\x12j\n\x0f\x43reateComponent\x12*.interlock.state.v1.CreateComponentRequest\x1a+.interlock.state.v1.CreateComponentResponse\x12\x61\n\x0cGetComponent\x12\'.interlock.state.v1.GetComponentRequest\x1a(.interlock.state.v1.GetComponentResponse\x12g\n\x0eListComponents\x12).interlock.state.v1.ListComponentsRequest\x1a*.interlock.state.v1.ListComponentsResponse\x12j\n\x0fUpdateComponent\x12*.interlock.state.v1.UpdateComponentRequest\x1a+.interlock.state.v1.UpdateComponentResponse\x12j\n\x0f\x44\x65leteComponent\x12*.interlock.state.v1.DeleteComponentRequest\x1a+.interlock.state.v1.DeleteComponentResponse\x12g\n\x0e\x42\x65ginExecution\x12).interlock.state.v1.BeginExecutionRequest\x1a*.interlock.state.v1.BeginExecutionResponse\x12j\n\x0f\x43ommitExecution\x12*.interlock.state.v1.CommitExecutionRequest\x1a+.interlock.state.v1.CommitExecutionResponse\x12s\n\x12GetComponentValues\x12-.interlock.state.v1.GetComponentValuesRequest\x1a..interlock.state.v1.GetComponentValuesResponseBFZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.state.v1.component_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1'
  _globals['_CREATECOMPONENTREQUEST']._serialized_start=102
  _globals['_CREATECOMPONENTREQUEST']._serialized_end=225
  _globals['_CREATECOMPONENTRESPONSE']._serialized_start=227
  _globals['_CREATECOMPONENTRESPONSE']._serialized_end=313
  _globals['_GETCOMPONENTREQUEST']._serialized_start=315
  _globals['_GETCOMPONENTREQUEST']._serialized_end=358
  _globals['_GETCOMPONENTRESPONSE']._serialized_start=360
  _globals['_GETCOMPONENTRESPONSE']._serialized_end=443
  _globals['_LISTCOMPONENTSREQUEST']._serialized_start=445
  _globals['_LISTCOMPONENTSREQUEST']._serialized_end=558
  _globals['_LISTCOMPONENTSRESPONSE']._serialized_start=560
  _globals['_LISTCOMPONENTSRESPONSE']._serialized_end=687
  _globals['_UPDATECOMPONENTREQUEST']._serialized_start=689
  _globals['_UPDATECOMPONENTREQUEST']._serialized_end=812
  _globals['_UPDATECOMPONENTRESPONSE']._serialized_start=814
  _globals['_UPDATECOMPONENTRESPONSE']._serialized_end=900
  _globals['_DELETECOMPONENTREQUEST']._serialized_start=902
  _globals['_DELETECOMPONENTREQUEST']._serialized_end=993
  _globals['_DELETECOMPONENTRESPONSE']._serialized_start=995
  _globals['_DELETECOMPONENTRESPONSE']._serialized_end=1020
  _globals['_BEGINEXECUTIONREQUEST']._serialized_start=1022
  _globals['_BEGINEXECUTIONREQUEST']._serialized_end=1123
  _globals['_BEGINEXECUTIONRESPONSE']._serialized_start=1125
  _globals['_BEGINEXECUTIONRESPONSE']._serialized_end=1210
  _globals['_COMMITEXECUTIONREQUEST']._serialized_start=1213
  _globals['_COMMITEXECUTIONREQUEST']._serialized_end=1397
  _globals['_COMMITEXECUTIONRESPONSE']._serialized_start=1399
  _globals['_COMMITEXECUTIONRESPONSE']._serialized_end=1485
  _globals['_GETCOMPONENTVALUESREQUEST']._serialized_start=1487
  _globals['_GETCOMPONENTVALUESREQUEST']._serialized_end=1592
  _globals['_GETCOMPONENTVALUESRESPONSE']._serialized_start=1594
  _globals['_GETCOMPONENTVALUESRESPONSE']._serialized_end=1683
  _globals['_COMPONENTSERVICE']._serialized_start=1686
  _globals['_COMPONENTSERVICE']._serialized_end=2562
# @@protoc_insertion_point(module_scope)
