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
    'interlock/engine/v1/run_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import duration_pb2 as google_dot_protobuf_dot_duration__pb2
from interlock.gen.engine.v1 import run_pb2 as interlock_dot_engine_dot_v1_dot_run__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n%interlock/engine/v1/run_service.proto\x12\x13interlock.engine.v1\x1a\x1egoogle/protobuf/duration.proto\x1a\x1dinterlock/engine/v1/run.proto\"\xfa\x01\n\x0fStartRunRequest\x12\x1c\n\x08workflow\x18\x01 \x01(\tB\x00R\x08workflow\x12+\n\x10workflow_version\x18\x02 \x01(\x03\x42\x00R\x0fworkflowVersion\x12\x1f\n\nsession_id\x18\x03 \x01(\tB\x00R\tsessionId\x12\x18\n\x07\x63ontext\x18\x04 \x01(\x0cR\x07\x63ontext\x12\x1e\n\tworkspace\x18\x05 \x01(\tB\x00R\tworkspace\x12)\n\x0fidempotency_key\x18\x06 \x01(\tB\x00R\x0eidempotencyKey\x12\x16\n\x06resume\x18\x07 \x01(\x08R\x06resume\"X\n\x10StartRunResponse\x12*\n\x03run\x18\x01 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\x12\x18\n\x07resumed\x18\x02 \x01(\x08R\x07resumed\"\xaf\x01\n\rGetRunRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1f\n\nsession_id\x18\x02 \x01(\tB\x00R\tsessionId\x12\x18\n\x06\x62ranch\x18\x03 \x01(\tB\x00R\x06\x62ranch\x12\x16\n\x06\x61\x63tive\x18\x04 \x01(\x08R\x06\x61\x63tive\x12\x32\n\x04view\x18\x05 \x01(\x0e\x32\x1c.interlock.engine.v1.RunViewB\x00R\x04view\"^\n\x0eGetRunResponse\x12*\n\x03run\x18\x01 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\x12 \n\x0c\x61sked_run_id\x18\x02 \x01(\tR\naskedRunId\"K\n\x14GetRunVersionRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1a\n\x07version\x18\x02 \x01(\x03\x42\x00R\x07version\"y\n\x15GetRunVersionResponse\x12*\n\x03run\x18\x01 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\x12\x34\n\x08\x62ranches\x18\x02 \x03(\x0b\x32\x18.interlock.engine.v1.RunR\x08\x62ranches\"\xf4\x01\n\x0fListRunsRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\x12\x18\n\x06\x66ilter\x18\x03 \x01(\tB\x00R\x06\x66ilter\x12\x32\n\x04view\x18\x04 \x01(\x0e\x32\x1c.interlock.engine.v1.RunViewB\x00R\x04view\x12\x19\n\x07run_ids\x18\x05 \x03(\tB\x00R\x06runIds\x12\x38\n\tstale_for\x18\x64 \x01(\x0b\x32\x19.google.protobuf.DurationB\x00R\x08staleFor\"h\n\x10ListRunsResponse\x12,\n\x04runs\x18\x01 \x03(\x0b\x32\x18.interlock.engine.v1.RunR\x04runs\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"\x9d\x02\n\x14TransitionRunRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1f\n\nsession_id\x18\x02 \x01(\tB\x00R\tsessionId\x12\x18\n\x06\x62ranch\x18\x03 \x01(\tB\x00R\x06\x62ranch\x12\x16\n\x05\x65vent\x18\x04 \x01(\tB\x00R\x05\x65vent\x12\x12\n\x04\x64\x61ta\x18\x05 \x01(\x0cR\x04\x64\x61ta\x12+\n\x10\x65xpected_version\x18\x06 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\x12)\n\x0fidempotency_key\x18\x07 \x01(\tB\x00R\x0eidempotencyKey\x12\x17\n\x07\x64ry_run\x18\x08 \x01(\x08R\x06\x64ryRun\x12\x14\n\x04tree\x18\t \x01(\tB\x00R\x04tree\"\xd2\x01\n\x15TransitionRunResponse\x12\x1a\n\x08\x61\x63\x63\x65pted\x18\x01 \x01(\x08R\x08\x61\x63\x63\x65pted\x12*\n\x03run\x18\x02 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\x12<\n\trejection\x18\x03 \x01(\x0b\x32\x1e.interlock.engine.v1.RejectionR\trejection\x12\x1f\n\x0b\x61pproval_id\x18\x04 \x01(\tR\napprovalId\x12\x12\n\x04note\x18\x05 \x01(\tR\x04note\"\x85\x01\n\x11\x42indBranchRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1c\n\x08workflow\x18\x02 \x01(\tB\x00R\x08workflow\x12\x18\n\x06\x62ranch\x18\x03 \x01(\tB\x00R\x06\x62ranch\x12\x1f\n\nsession_id\x18\x04 \x01(\tB\x00R\tsessionId\"@\n\x12\x42indBranchResponse\x12*\n\x03run\x18\x01 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\"\xf1\x01\n\x11\x46orceStateRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1f\n\nsession_id\x18\x02 \x01(\tB\x00R\tsessionId\x12\x18\n\x06\x62ranch\x18\x03 \x01(\tB\x00R\x06\x62ranch\x12\x16\n\x05state\x18\x04 \x01(\tB\x00R\x05state\x12\x18\n\x07\x63ontext\x18\x05 \x01(\x0cR\x07\x63ontext\x12+\n\x10\x65xpected_version\x18\x06 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\x12)\n\x0fidempotency_key\x18\x07 \x01(\tB\x00R\x0eidempotencyKey\"\x9a\x01\n\x12\x46orceStateResponse\x12\x1a\n\x08\x61\x63\x63\x65pted\x18\x01 \x01(\x08R\x08\x61\x63\x63\x65pted\x12*\n\x03run\x18\x02 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\x12<\n\trejection\x18\x03 \x01(\x0b\x32\x1e.interlock.engine.v1.RejectionR\trejection\"\xe1\x02\n\x11MigrateRunRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1f\n\nto_version\x18\x02 \x01(\x03\x42\x00R\ttoVersion\x12L\n\x06states\x18\x03 \x03(\x0b\x32\x32.interlock.engine.v1.MigrateRunRequest.StatesEntryB\x00R\x06states\x12\x18\n\x06\x61\x63\x63\x65pt\x18\x04 \x01(\tB\x00R\x06\x61\x63\x63\x65pt\x12+\n\x10\x65xpected_version\x18\x05 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\x12)\n\x0fidempotency_key\x18\x06 \x01(\tB\x00R\x0eidempotencyKey\x12\x17\n\x07\x64ry_run\x18\x07 \x01(\x08R\x06\x64ryRun\x1a\x39\n\x0bStatesEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05value\x18\x02 \x01(\tR\x05value:\x02\x38\x01\"\xac\x01\n\x12MigrateRunResponse\x12\x18\n\x07\x63hanged\x18\x01 \x01(\x08R\x07\x63hanged\x12*\n\x03run\x18\x02 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\x12<\n\trejection\x18\x03 \x01(\x0b\x32\x1e.interlock.engine.v1.RejectionR\trejection\x12\x12\n\x04note\x18\x04 \x01(\tR\x04note\"o\n\x0fPauseRunRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x18\n\x06reason\x18\x02 \x01(\tB\x00R\x06reason\x12)\n\x0fidempotency_key\x18\x03 \x01(\tB\x00R\x0eidempotencyKey\">\n\x10PauseRunResponse\x12*\n\x03run\x18\x01 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\"V\n\x10ResumeRunRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12)\n\x0fidempotency_key\x18\x02 \x01(\tB\x00R\x0eidempotencyKey\"?\n\x11ResumeRunResponse\x12*\n\x03run\x18\x01 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\"p\n\x10\x43\x61ncelRunRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x18\n\x06reason\x18\x02 \x01(\tB\x00R\x06reason\x12)\n\x0fidempotency_key\x18\x03 \x01(\tB\x00R\x0eidempotencyKey\"?\n\x11\x43\x61ncelRunResponse\x12*\n\x03run\x18\x01 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\"\x9a\x01\n\x14GetRunHistoryRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12%\n\rafter_version\x18\x02 \x01(\x03\x42\x00R\x0c\x61\x66terVersion\x12#\n\x0c\x61\x66ter_result\x18\x03 \x01(\x03\x42\x00R\x0b\x61\x66terResult\x12\x1d\n\tpage_size\x18\x04 \x01(\x05\x42\x00R\x08pageSize\"\xae\x01\n\x15GetRunHistoryResponse\x12;\n\x07\x65ntries\x18\x01 \x03(\x0b\x32!.interlock.engine.v1.HistoryEntryR\x07\x65ntries\x12,\n\x12next_after_version\x18\x02 \x01(\x03R\x10nextAfterVersion\x12*\n\x11next_after_result\x18\x03 \x01(\x03R\x0fnextAfterResult\"^\n\x0fWatchRunRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x32\n\x04view\x18\x02 \x01(\x0e\x32\x1c.interlock.engine.v1.RunViewB\x00R\x04view\">\n\x10WatchRunResponse\x12*\n\x03run\x18\x01 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run2\xd2\t\n\nRunService\x12W\n\x08StartRun\x12$.interlock.engine.v1.StartRunRequest\x1a%.interlock.engine.v1.StartRunResponse\x12Q\n\x06GetRun\x12\".interlock.engine.v1.GetRunRequest\x1a#.interlock.engine.v1.GetRunResponse\x12W\n\x08ListRuns\x12$.interlock.engine.v1.ListRunsRequest\x1a%.interlock.engine.v1.ListRunsResponse\x12\x66\n\rTransitionRun\x12).interlock.engine.v1.TransitionRunRequest\x1a*.interlock.engine.v1.TransitionRunResponse\x12]\n\nBindBranch\x12&.interlock.engine.v1.BindBranchRequest\x1a\'.interlock.engine.v1.BindBranchResponse\x12]\n\nForceState\x12&.interlock.engine.v1.ForceStateRequest\x1a\'.interlock.engine.v1.ForceStateResponse\x12]\n\nMigrateRun\x12&.interlock.engine.v1.MigrateRunRequest\x1a\'.interlock.engine.v1.MigrateRunResponse\x12W\n\x08PauseRun\x12$.interlock.engine.v1.PauseRunRequest\x1a%.interlock.engine.v1.PauseRunResponse\x12Z\n\tResumeRun\x12%.interlock.engine.v1.ResumeRunRequest\x1a&.interlock.engine.v1.ResumeRunResponse\x12Z\n\tCancelRun\x12%.interlock.engine.v1.CancelRunRequest\x1a&.interlock.engine.v1.CancelRunResponse\x12\x66\n\rGetRunVersion\x12).interlock.engine.v1.GetRunVersionRequest\x1a*.interlock.engine.v1.GetRunVersionResponse\x12\x66\n\rGetRunHistory\x12).interlock.engine.v1.GetRunHistoryRequest\x1a*.interlock.engine.v1.GetRunHistoryResponse\x12Y\n\x08WatchRun\x12$.interlock.engine.v1.WatchRunRequest\x1a%.interlock.engine.v1.WatchRunResponse0\x01\x42HZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.engine.v1.run_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1'
  _globals['_MIGRATERUNREQUEST_STATESENTRY']._loaded_options = None
  _globals['_MIGRATERUNREQUEST_STATESENTRY']._serialized_options = b'8\001'
  _globals['_STARTRUNREQUEST']._serialized_start=126
  _globals['_STARTRUNREQUEST']._serialized_end=376
  _globals['_STARTRUNRESPONSE']._serialized_start=378
  _globals['_STARTRUNRESPONSE']._serialized_end=466
  _globals['_GETRUNREQUEST']._serialized_start=469
  _globals['_GETRUNREQUEST']._serialized_end=644
  _globals['_GETRUNRESPONSE']._serialized_start=646
  _globals['_GETRUNRESPONSE']._serialized_end=740
  _globals['_GETRUNVERSIONREQUEST']._serialized_start=742
  _globals['_GETRUNVERSIONREQUEST']._serialized_end=817
  _globals['_GETRUNVERSIONRESPONSE']._serialized_start=819
  _globals['_GETRUNVERSIONRESPONSE']._serialized_end=940
  _globals['_LISTRUNSREQUEST']._serialized_start=943
  _globals['_LISTRUNSREQUEST']._serialized_end=1187
  _globals['_LISTRUNSRESPONSE']._serialized_start=1189
  _globals['_LISTRUNSRESPONSE']._serialized_end=1293
  _globals['_TRANSITIONRUNREQUEST']._serialized_start=1296
  _globals['_TRANSITIONRUNREQUEST']._serialized_end=1581
  _globals['_TRANSITIONRUNRESPONSE']._serialized_start=1584
  _globals['_TRANSITIONRUNRESPONSE']._serialized_end=1794
  _globals['_BINDBRANCHREQUEST']._serialized_start=1797
  _globals['_BINDBRANCHREQUEST']._serialized_end=1930
  _globals['_BINDBRANCHRESPONSE']._serialized_start=1932
  _globals['_BINDBRANCHRESPONSE']._serialized_end=1996
  _globals['_FORCESTATEREQUEST']._serialized_start=1999
  _globals['_FORCESTATEREQUEST']._serialized_end=2240
  _globals['_FORCESTATERESPONSE']._serialized_start=2243
  _globals['_FORCESTATERESPONSE']._serialized_end=2397
  _globals['_MIGRATERUNREQUEST']._serialized_start=2400
  _globals['_MIGRATERUNREQUEST']._serialized_end=2753
  _globals['_MIGRATERUNREQUEST_STATESENTRY']._serialized_start=2696
  _globals['_MIGRATERUNREQUEST_STATESENTRY']._serialized_end=2753
  _globals['_MIGRATERUNRESPONSE']._serialized_start=2756
  _globals['_MIGRATERUNRESPONSE']._serialized_end=2928
  _globals['_PAUSERUNREQUEST']._serialized_start=2930
  _globals['_PAUSERUNREQUEST']._serialized_end=3041
  _globals['_PAUSERUNRESPONSE']._serialized_start=3043
  _globals['_PAUSERUNRESPONSE']._serialized_end=3105
  _globals['_RESUMERUNREQUEST']._serialized_start=3107
  _globals['_RESUMERUNREQUEST']._serialized_end=3193
  _globals['_RESUMERUNRESPONSE']._serialized_start=3195
  _globals['_RESUMERUNRESPONSE']._serialized_end=3258
  _globals['_CANCELRUNREQUEST']._serialized_start=3260
  _globals['_CANCELRUNREQUEST']._serialized_end=3372
  _globals['_CANCELRUNRESPONSE']._serialized_start=3374
  _globals['_CANCELRUNRESPONSE']._serialized_end=3437
  _globals['_GETRUNHISTORYREQUEST']._serialized_start=3440
  _globals['_GETRUNHISTORYREQUEST']._serialized_end=3594
  _globals['_GETRUNHISTORYRESPONSE']._serialized_start=3597
  _globals['_GETRUNHISTORYRESPONSE']._serialized_end=3771
  _globals['_WATCHRUNREQUEST']._serialized_start=3773
  _globals['_WATCHRUNREQUEST']._serialized_end=3867
  _globals['_WATCHRUNRESPONSE']._serialized_start=3869
  _globals['_WATCHRUNRESPONSE']._serialized_end=3931
  _globals['_RUNSERVICE']._serialized_start=3934
  _globals['_RUNSERVICE']._serialized_end=5168
# @@protoc_insertion_point(module_scope)
