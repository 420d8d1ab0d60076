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
    'interlock/engine/v1/process_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from interlock.gen.engine.v1 import process_pb2 as interlock_dot_engine_dot_v1_dot_process__pb2
from interlock.gen.engine.v1 import run_pb2 as interlock_dot_engine_dot_v1_dot_run__pb2
from interlock.gen.engine.v1 import workflow_pb2 as interlock_dot_engine_dot_v1_dot_workflow__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n)interlock/engine/v1/process_service.proto\x12\x13interlock.engine.v1\x1a!interlock/engine/v1/process.proto\x1a\x1dinterlock/engine/v1/run.proto\x1a\"interlock/engine/v1/workflow.proto\"\xee\x01\n\x16RegisterProcessRequest\x12 \n\ndefinition\x18\x01 \x01(\x0c\x42\x00R\ndefinition\x12)\n\x0fidempotency_key\x18\x02 \x01(\tB\x00R\x0eidempotencyKey\x12\x16\n\x06staged\x18\x03 \x01(\x08R\x06staged\x12+\n\x10\x65xpected_version\x18\x04 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\x12)\n\x0f\x65xpected_digest\x18\x05 \x01(\tB\x00R\x0e\x65xpectedDigest\x12\x17\n\x07\x64ry_run\x18\x06 \x01(\x08R\x06\x64ryRun\"\xa5\x01\n\x17RegisterProcessResponse\x12\x36\n\x07process\x18\x01 \x01(\x0b\x32\x1c.interlock.engine.v1.ProcessR\x07process\x12\x18\n\x07\x63reated\x18\x02 \x01(\x08R\x07\x63reated\x12\x38\n\x08warnings\x18\x03 \x03(\x0b\x32\x1c.interlock.engine.v1.ProblemR\x08warnings\"E\n\x11GetProcessRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1a\n\x07version\x18\x02 \x01(\x03\x42\x00R\x07version\"L\n\x12GetProcessResponse\x12\x36\n\x07process\x18\x01 \x01(\x0b\x32\x1c.interlock.engine.v1.ProcessR\x07process\"V\n\x14ListProcessesRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\"{\n\x15ListProcessesResponse\x12:\n\tprocesses\x18\x01 \x03(\x0b\x32\x1c.interlock.engine.v1.ProcessR\tprocesses\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"\xb9\x01\n\x13StartProcessRequest\x12\x1a\n\x07process\x18\x01 \x01(\tB\x00R\x07process\x12\x1a\n\x07version\x18\x02 \x01(\x03\x42\x00R\x07version\x12\x1f\n\nsession_id\x18\x03 \x01(\tB\x00R\tsessionId\x12\x1e\n\tworkspace\x18\x04 \x01(\tB\x00R\tworkspace\x12)\n\x0fidempotency_key\x18\x05 \x01(\tB\x00R\x0eidempotencyKey\"q\n\x14StartProcessResponse\x12*\n\x03run\x18\x01 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\x12-\n\x04turn\x18\x02 \x01(\x0b\x32\x19.interlock.engine.v1.TurnR\x04turn\"\xd9\x01\n\x15\x41nswerQuestionRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1f\n\nsession_id\x18\x02 \x01(\tB\x00R\tsessionId\x12\x18\n\x06\x61nswer\x18\x03 \x01(\tB\x00R\x06\x61nswer\x12\x14\n\x04note\x18\x04 \x01(\tB\x00R\x04note\x12+\n\x10\x65xpected_version\x18\x05 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\x12)\n\x0fidempotency_key\x18\x06 \x01(\tB\x00R\x0eidempotencyKey\"\xee\x01\n\x16\x41nswerQuestionResponse\x12\x1a\n\x08\x61\x63\x63\x65pted\x18\x01 \x01(\x08R\x08\x61\x63\x63\x65pted\x12*\n\x03run\x18\x02 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\x12-\n\x04turn\x18\x03 \x01(\x0b\x32\x19.interlock.engine.v1.TurnR\x04turn\x12<\n\trejection\x18\x04 \x01(\x0b\x32\x1e.interlock.engine.v1.RejectionR\trejection\x12\x1f\n\x0b\x61pproval_id\x18\x05 \x01(\tR\napprovalId2\x95\x04\n\x0eProcessService\x12l\n\x0fRegisterProcess\x12+.interlock.engine.v1.RegisterProcessRequest\x1a,.interlock.engine.v1.RegisterProcessResponse\x12]\n\nGetProcess\x12&.interlock.engine.v1.GetProcessRequest\x1a\'.interlock.engine.v1.GetProcessResponse\x12\x66\n\rListProcesses\x12).interlock.engine.v1.ListProcessesRequest\x1a*.interlock.engine.v1.ListProcessesResponse\x12\x63\n\x0cStartProcess\x12(.interlock.engine.v1.StartProcessRequest\x1a).interlock.engine.v1.StartProcessResponse\x12i\n\x0e\x41nswerQuestion\x12*.interlock.engine.v1.AnswerQuestionRequest\x1a+.interlock.engine.v1.AnswerQuestionResponseBHZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.engine.v1.process_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1'
  _globals['_REGISTERPROCESSREQUEST']._serialized_start=169
  _globals['_REGISTERPROCESSREQUEST']._serialized_end=407
  _globals['_REGISTERPROCESSRESPONSE']._serialized_start=410
  _globals['_REGISTERPROCESSRESPONSE']._serialized_end=575
  _globals['_GETPROCESSREQUEST']._serialized_start=577
  _globals['_GETPROCESSREQUEST']._serialized_end=646
  _globals['_GETPROCESSRESPONSE']._serialized_start=648
  _globals['_GETPROCESSRESPONSE']._serialized_end=724
  _globals['_LISTPROCESSESREQUEST']._serialized_start=726
  _globals['_LISTPROCESSESREQUEST']._serialized_end=812
  _globals['_LISTPROCESSESRESPONSE']._serialized_start=814
  _globals['_LISTPROCESSESRESPONSE']._serialized_end=937
  _globals['_STARTPROCESSREQUEST']._serialized_start=940
  _globals['_STARTPROCESSREQUEST']._serialized_end=1125
  _globals['_STARTPROCESSRESPONSE']._serialized_start=1127
  _globals['_STARTPROCESSRESPONSE']._serialized_end=1240
  _globals['_ANSWERQUESTIONREQUEST']._serialized_start=1243
  _globals['_ANSWERQUESTIONREQUEST']._serialized_end=1460
  _globals['_ANSWERQUESTIONRESPONSE']._serialized_start=1463
  _globals['_ANSWERQUESTIONRESPONSE']._serialized_end=1701
  _globals['_PROCESSSERVICE']._serialized_start=1704
  _globals['_PROCESSSERVICE']._serialized_end=2237
# @@protoc_insertion_point(module_scope)
