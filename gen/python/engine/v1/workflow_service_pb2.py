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


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n*interlock/engine/v1/workflow_service.proto\x12\x13interlock.engine.v1\x1a\"interlock/engine/v1/workflow.proto\"\xef\x01\n\x17RegisterWorkflowRequest\x12 \n\ndefinition\x18\x01 \x01(\x0c\x42\x00R\ndefinition\x12)\n\x0fidempotency_key\x18\x02 \x01(\tB\x00R\x0eidempotencyKey\x12\x16\n\x06staged\x18\x03 \x01(\x08R\x06staged\x12+\n\x10\x65xpected_version\x18\x04 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\x12)\n\x0f\x65xpected_digest\x18\x05 \x01(\tB\x00R\x0e\x65xpectedDigest\x12\x17\n\x07\x64ry_run\x18\x06 \x01(\x08R\x06\x64ryRun\"\xa9\x01\n\x18RegisterWorkflowResponse\x12\x39\n\x08workflow\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.WorkflowR\x08workflow\x12\x18\n\x07\x63reated\x18\x02 \x01(\x08R\x07\x63reated\x12\x38\n\x08warnings\x18\x03 \x03(\x0b\x32\x1c.interlock.engine.v1.ProblemR\x08warnings\"F\n\x12GetWorkflowRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1a\n\x07version\x18\x02 \x01(\x03\x42\x00R\x07version\"P\n\x13GetWorkflowResponse\x12\x39\n\x08workflow\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.WorkflowR\x08workflow\"V\n\x14ListWorkflowsRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\"|\n\x15ListWorkflowsResponse\x12;\n\tworkflows\x18\x01 \x03(\x0b\x32\x1d.interlock.engine.v1.WorkflowR\tworkflows\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"Q\n\x17ValidateWorkflowRequest\x12\x1e\n\ndefinition\x18\x01 \x01(\x0cR\ndefinition\x12\x16\n\x06strict\x18\x02 \x01(\x08R\x06strict\"d\n\x18ValidateWorkflowResponse\x12\x0e\n\x02ok\x18\x01 \x01(\x08R\x02ok\x12\x38\n\x08problems\x18\x02 \x03(\x0b\x32\x1c.interlock.engine.v1.ProblemR\x08problems\"\xa7\x02\n\x14PlanMigrationRequest\x12\x1c\n\x08workflow\x18\x01 \x01(\tB\x00R\x08workflow\x12#\n\x0c\x66rom_version\x18\x02 \x01(\x03\x42\x00R\x0b\x66romVersion\x12\x1f\n\nto_version\x18\x03 \x01(\x03\x42\x00R\ttoVersion\x12O\n\x06states\x18\x04 \x03(\x0b\x32\x35.interlock.engine.v1.PlanMigrationRequest.StatesEntryB\x00R\x06states\x12\x1f\n\nmax_states\x18\x05 \x01(\x03\x42\x00R\tmaxStates\x1a\x39\n\x0bStatesEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05value\x18\x02 \x01(\tR\x05value:\x02\x38\x01\"\xca\x02\n\x15PlanMigrationResponse\x12\x1d\n\nto_version\x18\x01 \x01(\x03R\ttoVersion\x12?\n\x07verdict\x18\x02 \x01(\x0e\x32%.interlock.engine.v1.MigrationVerdictR\x07verdict\x12\x16\n\x06reason\x18\x03 \x01(\tR\x06reason\x12/\n\x05gains\x18\x04 \x03(\x0b\x32\x19.interlock.engine.v1.GainR\x05gains\x12/\n\x05stays\x18\x05 \x03(\x0b\x32\x19.interlock.engine.v1.StayR\x05stays\x12)\n\x10\x64ropped_evidence\x18\x06 \x03(\tR\x0f\x64roppedEvidence\x12\x14\n\x05pairs\x18\x07 \x01(\x03R\x05pairs\x12\x16\n\x06\x64igest\x18\x08 \x01(\tR\x06\x64igest\"d\n\x04Gain\x12\x12\n\x04kind\x18\x01 \x01(\tR\x04kind\x12\x10\n\x03was\x18\x02 \x01(\tR\x03was\x12\x0e\n\x02is\x18\x03 \x01(\tR\x02is\x12\x12\n\x04what\x18\x04 \x01(\tR\x04what\x12\x12\n\x04path\x18\x05 \x03(\tR\x04path\"4\n\x04Stay\x12\x14\n\x05state\x18\x01 \x01(\tR\x05state\x12\x16\n\x06reason\x18\x02 \x01(\tR\x06reason\"w\n\x16PromoteWorkflowRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1a\n\x07version\x18\x02 \x01(\x03\x42\x00R\x07version\x12+\n\x10\x65xpected_version\x18\x03 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\"T\n\x17PromoteWorkflowResponse\x12\x39\n\x08workflow\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.WorkflowR\x08workflow\"G\n\x15RetireWorkflowRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x18\n\x06reason\x18\x02 \x01(\tB\x00R\x06reason\"S\n\x16RetireWorkflowResponse\x12\x39\n\x08workflow\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.WorkflowR\x08workflow\".\n\x16RestoreWorkflowRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\"T\n\x17RestoreWorkflowResponse\x12\x39\n\x08workflow\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.WorkflowR\x08workflow*\x95\x01\n\x10MigrationVerdict\x12!\n\x1dMIGRATION_VERDICT_UNSPECIFIED\x10\x00\x12\x1c\n\x18MIGRATION_VERDICT_PROVED\x10\x01\x12\x1e\n\x1aMIGRATION_VERDICT_LOOSENED\x10\x02\x12 \n\x1cMIGRATION_VERDICT_NOT_PROVED\x10\x03\x32\xec\x06\n\x0fWorkflowService\x12o\n\x10RegisterWorkflow\x12,.interlock.engine.v1.RegisterWorkflowRequest\x1a-.interlock.engine.v1.RegisterWorkflowResponse\x12`\n\x0bGetWorkflow\x12\'.interlock.engine.v1.GetWorkflowRequest\x1a(.interlock.engine.v1.GetWorkflowResponse\x12\x66\n\rListWorkflows\x12).interlock.engine.v1.ListWorkflowsRequest\x1a*.interlock.engine.v1.ListWorkflowsResponse\x12o\n\x10ValidateWorkflow\x12,.interlock.engine.v1.ValidateWorkflowRequest\x1a-.interlock.engine.v1.ValidateWorkflowResponse\x12\x66\n\rPlanMigration\x12).interlock.engine.v1.PlanMigrationRequest\x1a*.interlock.engine.v1.PlanMigrationResponse\x12l\n\x0fPromoteWorkflow\x12+.interlock.engine.v1.PromoteWorkflowRequest\x1a,.interlock.engine.v1.PromoteWorkflowResponse\x12i\n\x0eRetireWorkflow\x12*.interlock.engine.v1.RetireWorkflowRequest\x1a+.interlock.engine.v1.RetireWorkflowResponse\x12l\n\x0fRestoreWorkflow\x12+.interlock.engine.v1.RestoreWorkflowRequest\x1a,.interlock.engine.v1.RestoreWorkflowResponseBHZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.engine.v1.workflow_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1'
  _globals['_PLANMIGRATIONREQUEST_STATESENTRY']._loaded_options = None
  _globals['_PLANMIGRATIONREQUEST_STATESENTRY']._serialized_options = b'8\001'
  _globals['_MIGRATIONVERDICT']._serialized_start=2357
  _globals['_MIGRATIONVERDICT']._serialized_end=2506
  _globals['_REGISTERWORKFLOWREQUEST']._serialized_start=104
  _globals['_REGISTERWORKFLOWREQUEST']._serialized_end=343
  _globals['_REGISTERWORKFLOWRESPONSE']._serialized_start=346
  _globals['_REGISTERWORKFLOWRESPONSE']._serialized_end=515
  _globals['_GETWORKFLOWREQUEST']._serialized_start=517
  _globals['_GETWORKFLOWREQUEST']._serialized_end=587
  _globals['_GETWORKFLOWRESPONSE']._serialized_start=589
  _globals['_GETWORKFLOWRESPONSE']._serialized_end=669
  _globals['_LISTWORKFLOWSREQUEST']._serialized_start=671
  _globals['_LISTWORKFLOWSREQUEST']._serialized_end=757
  _globals['_LISTWORKFLOWSRESPONSE']._serialized_start=759
  _globals['_LISTWORKFLOWSRESPONSE']._serialized_end=883
  _globals['_VALIDATEWORKFLOWREQUEST']._serialized_start=885
  _globals['_VALIDATEWORKFLOWREQUEST']._serialized_end=966
  _globals['_VALIDATEWORKFLOWRESPONSE']._serialized_start=968
  _globals['_VALIDATEWORKFLOWRESPONSE']._serialized_end=1068
  _globals['_PLANMIGRATIONREQUEST']._serialized_start=1071
  _globals['_PLANMIGRATIONREQUEST']._serialized_end=1366
  _globals['_PLANMIGRATIONREQUEST_STATESENTRY']._serialized_start=1309
  _globals['_PLANMIGRATIONREQUEST_STATESENTRY']._serialized_end=1366
  _globals['_PLANMIGRATIONRESPONSE']._serialized_start=1369
  _globals['_PLANMIGRATIONRESPONSE']._serialized_end=1699
  _globals['_GAIN']._serialized_start=1701
  _globals['_GAIN']._serialized_end=1801
  _globals['_STAY']._serialized_start=1803
  _globals['_STAY']._serialized_end=1855
  _globals['_PROMOTEWORKFLOWREQUEST']._serialized_start=1857
  _globals['_PROMOTEWORKFLOWREQUEST']._serialized_end=1976
  _globals['_PROMOTEWORKFLOWRESPONSE']._serialized_start=1978
  _globals['_PROMOTEWORKFLOWRESPONSE']._serialized_end=2062
  _globals['_RETIREWORKFLOWREQUEST']._serialized_start=2064
  _globals['_RETIREWORKFLOWREQUEST']._serialized_end=2135
  _globals['_RETIREWORKFLOWRESPONSE']._serialized_start=2137
  _globals['_RETIREWORKFLOWRESPONSE']._serialized_end=2220
  _globals['_RESTOREWORKFLOWREQUEST']._serialized_start=2222
  _globals['_RESTOREWORKFLOWREQUEST']._serialized_end=2268
  _globals['_RESTOREWORKFLOWRESPONSE']._serialized_start=2270
  _globals['_RESTOREWORKFLOWRESPONSE']._serialized_end=2354
  _globals['_WORKFLOWSERVICE']._serialized_start=2509
  _globals['_WORKFLOWSERVICE']._serialized_end=3385
# @@protoc_insertion_point(module_scope)
