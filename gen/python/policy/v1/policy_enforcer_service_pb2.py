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
    'interlock/policy/v1/policy_enforcer_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from google.rpc import status_pb2 as google_dot_rpc_dot_status__pb2
from interlock.gen.engine.v1 import run_pb2 as interlock_dot_engine_dot_v1_dot_run__pb2
from interlock.gen.policy.v1 import decision_pb2 as interlock_dot_policy_dot_v1_dot_decision__pb2
from interlock.gen.policy.v1 import explanation_pb2 as interlock_dot_policy_dot_v1_dot_explanation__pb2
from interlock.gen.policy.v1 import tool_call_pb2 as interlock_dot_policy_dot_v1_dot_tool__call__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n1interlock/policy/v1/policy_enforcer_service.proto\x12\x13interlock.policy.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\x17google/rpc/status.proto\x1a\x1dinterlock/engine/v1/run.proto\x1a\"interlock/policy/v1/decision.proto\x1a%interlock/policy/v1/explanation.proto\x1a#interlock/policy/v1/tool_call.proto\"\xd7\x02\n\x14\x43heckToolCallRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1f\n\nsession_id\x18\x02 \x01(\tB\x00R\tsessionId\x12\x18\n\x06\x62ranch\x18\x03 \x01(\tB\x00R\x06\x62ranch\x12\x14\n\x04tool\x18\x04 \x01(\tB\x00R\x04tool\x12\'\n\x0equalified_tool\x18\x05 \x01(\tB\x00R\rqualifiedTool\x12\x14\n\x05input\x18\x06 \x01(\x0cR\x05input\x12\x19\n\x07\x63\x61ll_id\x18\x07 \x01(\tB\x00R\x06\x63\x61llId\x12.\n\x12\x65stimated_cost_usd\x18\x08 \x01(\tB\x00R\x10\x65stimatedCostUsd\x12\x17\n\x07\x64ry_run\x18\t \x01(\x08R\x06\x64ryRun\x12\x18\n\x07\x65xplain\x18\n \x01(\x08R\x07\x65xplain\x12\x18\n\x06\x66older\x18\x0b \x01(\tB\x00R\x06\x66older\"\xe2\x04\n\x15\x43heckToolCallResponse\x12\x39\n\x08\x64\x65\x63ision\x18\x01 \x01(\x0e\x32\x1d.interlock.policy.v1.DecisionR\x08\x64\x65\x63ision\x12\x35\n\x04\x63ode\x18\x02 \x01(\x0e\x32!.interlock.policy.v1.DecisionCodeR\x04\x63ode\x12\x18\n\x07message\x18\x03 \x01(\tR\x07message\x12)\n\x10tools_restricted\x18\x04 \x01(\x08R\x0ftoolsRestricted\x12#\n\rallowed_tools\x18\x05 \x03(\tR\x0c\x61llowedTools\x12\x42\n\x0clegal_events\x18\x06 \x03(\x0b\x32\x1f.interlock.engine.v1.LegalEventR\x0blegalEvents\x12\x1f\n\x0b\x61pproval_id\x18\x07 \x01(\tR\napprovalId\x12\x17\n\x07\x63\x61ll_id\x18\x08 \x01(\tR\x06\x63\x61llId\x12\x15\n\x06run_id\x18\t \x01(\tR\x05runId\x12\x1f\n\x0brun_version\x18\n \x01(\x03R\nrunVersion\x12\x14\n\x05state\x18\x0b \x01(\tR\x05state\x12\x16\n\x06\x62ranch\x18\x0c \x01(\tR\x06\x62ranch\x12\x1e\n\niterations\x18\r \x01(\x03R\niterations\x12%\n\x0emax_iterations\x18\x0e \x01(\x03R\rmaxIterations\x12\x42\n\x0b\x65xplanation\x18\x0f \x01(\x0b\x32 .interlock.policy.v1.ExplanationR\x0b\x65xplanation\"\xa5\x03\n\x15ReportToolCallRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1f\n\nsession_id\x18\x02 \x01(\tB\x00R\tsessionId\x12\x18\n\x06\x62ranch\x18\x03 \x01(\tB\x00R\x06\x62ranch\x12\x19\n\x07\x63\x61ll_id\x18\x04 \x01(\tB\x00R\x06\x63\x61llId\x12\x14\n\x04tool\x18\x05 \x01(\tB\x00R\x04tool\x12\x0e\n\x02ok\x18\x06 \x01(\x08R\x02ok\x12%\n\rfiles_changed\x18\x07 \x03(\tB\x00R\x0c\x66ilesChanged\x12#\n\x0cresult_bytes\x18\x08 \x01(\x03\x42\x00R\x0bresultBytes\x12\x1b\n\x08\x63ost_usd\x18\t \x01(\tB\x00R\x07\x63ostUsd\x12\x16\n\x06output\x18\n \x01(\x0cR\x06output\x12\'\n\x0foutcome_unknown\x18\x0b \x01(\x08R\x0eoutcomeUnknown\x12 \n\nbackground\x18\x0c \x01(\tB\x00R\nbackground\x12+\n\x10\x62\x61\x63kground_ended\x18\r \x01(\tB\x00R\x0f\x62\x61\x63kgroundEnded\"\xd8\x01\n\x16ReportToolCallResponse\x12*\n\x03run\x18\x01 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\x12\x1c\n\taccounted\x18\x02 \x01(\x08R\taccounted\x12>\n\tinterrupt\x18\x03 \x01(\x0b\x32 .interlock.policy.v1.InterruptedR\tinterrupt\x12\x18\n\x07warning\x18\x04 \x01(\tR\x07warning\x12\x1a\n\x08\x65vidence\x18\x05 \x03(\tR\x08\x65vidence\"\x81\x01\n\x11ReportCostRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x18\n\x06source\x18\x02 \x01(\tB\x00R\x06source\x12\x31\n\x05\x63osts\x18\x03 \x03(\x0b\x32\x19.interlock.policy.v1.CostB\x00R\x05\x63osts\"\x81\x01\n\x04\x43ost\x12\x10\n\x02id\x18\x01 \x01(\tB\x00R\x02id\x12\x1b\n\x08\x63ost_usd\x18\x02 \x01(\tB\x00R\x07\x63ostUsd\x12\x14\n\x05total\x18\x03 \x01(\x08R\x05total\x12\x34\n\x05tools\x18\x04 \x03(\x0b\x32\x1c.interlock.policy.v1.ToolUseB\x00R\x05tools\"7\n\x07ToolUse\x12\x14\n\x04tool\x18\x01 \x01(\tB\x00R\x04tool\x12\x16\n\x05input\x18\x02 \x01(\x0c\x42\x00R\x05input\"K\n\x12ReportCostResponse\x12\x18\n\x07\x63ounted\x18\x01 \x01(\x05R\x07\x63ounted\x12\x1b\n\ttotal_usd\x18\x02 \x01(\tR\x08totalUsd\"\x81\x01\n\x15\x43heckToolCallsRequest\x12%\n\x0e\x63orrelation_id\x18\x01 \x01(\x04R\rcorrelationId\x12\x41\n\x05\x63\x61lls\x18\x02 \x03(\x0b\x32).interlock.policy.v1.CheckToolCallRequestB\x00R\x05\x63\x61lls\"\x84\x01\n\x16\x43heckToolCallsResponse\x12%\n\x0e\x63orrelation_id\x18\x01 \x01(\x04R\rcorrelationId\x12\x43\n\x07results\x18\x02 \x03(\x0b\x32).interlock.policy.v1.CheckToolCallsResultR\x07results\"\x96\x01\n\x14\x43heckToolCallsResult\x12H\n\x08\x64\x65\x63ision\x18\x01 \x01(\x0b\x32*.interlock.policy.v1.CheckToolCallResponseH\x00R\x08\x64\x65\x63ision\x12*\n\x05\x65rror\x18\x02 \x01(\x0b\x32\x12.google.rpc.StatusH\x00R\x05\x65rrorB\x08\n\x06result\"\x83\x02\n\x08OpenCall\x12\x17\n\x07\x63\x61ll_id\x18\x01 \x01(\tR\x06\x63\x61llId\x12\x15\n\x06run_id\x18\x02 \x01(\tR\x05runId\x12\x12\n\x04tool\x18\x03 \x01(\tR\x04tool\x12\x12\n\x04what\x18\x04 \x01(\tR\x04what\x12\x17\n\x07made_by\x18\x05 \x01(\tR\x06madeBy\x12\x39\n\nallowed_at\x18\x06 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tallowedAt\x12\x31\n\x06\x64ue_at\x18\x07 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05\x64ueAt\x12\x18\n\x07unknown\x18\x08 \x01(\x08R\x07unknown\"/\n\x14ListOpenCallsRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\"L\n\x15ListOpenCallsResponse\x12\x33\n\x05\x63\x61lls\x18\x01 \x03(\x0b\x32\x1d.interlock.policy.v1.OpenCallR\x05\x63\x61lls\"}\n\x15SettleToolCallRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x19\n\x07\x63\x61ll_id\x18\x02 \x01(\tB\x00R\x06\x63\x61llId\x12\x1a\n\x07outcome\x18\x03 \x01(\tB\x00R\x07outcome\x12\x14\n\x04note\x18\x04 \x01(\tB\x00R\x04note\"e\n\x16SettleToolCallResponse\x12\x31\n\x04\x63\x61ll\x18\x01 \x01(\x0b\x32\x1d.interlock.policy.v1.OpenCallR\x04\x63\x61ll\x12\x18\n\x07outcome\x18\x02 \x01(\tR\x07outcome2\x8b\x05\n\x15PolicyEnforcerService\x12\x66\n\rCheckToolCall\x12).interlock.policy.v1.CheckToolCallRequest\x1a*.interlock.policy.v1.CheckToolCallResponse\x12i\n\x0eReportToolCall\x12*.interlock.policy.v1.ReportToolCallRequest\x1a+.interlock.policy.v1.ReportToolCallResponse\x12]\n\nReportCost\x12&.interlock.policy.v1.ReportCostRequest\x1a\'.interlock.policy.v1.ReportCostResponse\x12\x66\n\rListOpenCalls\x12).interlock.policy.v1.ListOpenCallsRequest\x1a*.interlock.policy.v1.ListOpenCallsResponse\x12i\n\x0eSettleToolCall\x12*.interlock.policy.v1.SettleToolCallRequest\x1a+.interlock.policy.v1.SettleToolCallResponse\x12m\n\x0e\x43heckToolCalls\x12*.interlock.policy.v1.CheckToolCallsRequest\x1a+.interlock.policy.v1.CheckToolCallsResponse(\x01\x30\x01\x42HZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.policy_enforcer_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_CHECKTOOLCALLREQUEST']._serialized_start=276
  _globals['_CHECKTOOLCALLREQUEST']._serialized_end=619
  _globals['_CHECKTOOLCALLRESPONSE']._serialized_start=622
  _globals['_CHECKTOOLCALLRESPONSE']._serialized_end=1232
  _globals['_REPORTTOOLCALLREQUEST']._serialized_start=1235
  _globals['_REPORTTOOLCALLREQUEST']._serialized_end=1656
  _globals['_REPORTTOOLCALLRESPONSE']._serialized_start=1659
  _globals['_REPORTTOOLCALLRESPONSE']._serialized_end=1875
  _globals['_REPORTCOSTREQUEST']._serialized_start=1878
  _globals['_REPORTCOSTREQUEST']._serialized_end=2007
  _globals['_COST']._serialized_start=2010
  _globals['_COST']._serialized_end=2139
  _globals['_TOOLUSE']._serialized_start=2141
  _globals['_TOOLUSE']._serialized_end=2196
  _globals['_REPORTCOSTRESPONSE']._serialized_start=2198
  _globals['_REPORTCOSTRESPONSE']._serialized_end=2273
  _globals['_CHECKTOOLCALLSREQUEST']._serialized_start=2276
  _globals['_CHECKTOOLCALLSREQUEST']._serialized_end=2405
  _globals['_CHECKTOOLCALLSRESPONSE']._serialized_start=2408
  _globals['_CHECKTOOLCALLSRESPONSE']._serialized_end=2540
  _globals['_CHECKTOOLCALLSRESULT']._serialized_start=2543
  _globals['_CHECKTOOLCALLSRESULT']._serialized_end=2693
  _globals['_OPENCALL']._serialized_start=2696
  _globals['_OPENCALL']._serialized_end=2955
  _globals['_LISTOPENCALLSREQUEST']._serialized_start=2957
  _globals['_LISTOPENCALLSREQUEST']._serialized_end=3004
  _globals['_LISTOPENCALLSRESPONSE']._serialized_start=3006
  _globals['_LISTOPENCALLSRESPONSE']._serialized_end=3082
  _globals['_SETTLETOOLCALLREQUEST']._serialized_start=3084
  _globals['_SETTLETOOLCALLREQUEST']._serialized_end=3209
  _globals['_SETTLETOOLCALLRESPONSE']._serialized_start=3211
  _globals['_SETTLETOOLCALLRESPONSE']._serialized_end=3312
  _globals['_POLICYENFORCERSERVICE']._serialized_start=3315
  _globals['_POLICYENFORCERSERVICE']._serialized_end=3966
# @@protoc_insertion_point(module_scope)
