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
from interlock.gen.event.v1 import event_pb2 as interlock_dot_event_dot_v1_dot_event__pb2
from interlock.gen.policy.v1 import decision_pb2 as interlock_dot_policy_dot_v1_dot_decision__pb2
from interlock.gen.policy.v1 import explanation_pb2 as interlock_dot_policy_dot_v1_dot_explanation__pb2
from interlock.gen.policy.v1 import tool_call_pb2 as interlock_dot_policy_dot_v1_dot_tool__call__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n1interlock/policy/v1/policy_enforcer_service.proto\x12\x13interlock.policy.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\x17google/rpc/status.proto\x1a\x1dinterlock/engine/v1/run.proto\x1a\x1einterlock/event/v1/event.proto\x1a\"interlock/policy/v1/decision.proto\x1a%interlock/policy/v1/explanation.proto\x1a#interlock/policy/v1/tool_call.proto\"\x92\x05\n\x14\x43heckToolCallRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1f\n\nsession_id\x18\x02 \x01(\tB\x00R\tsessionId\x12\x18\n\x06\x62ranch\x18\x03 \x01(\tB\x00R\x06\x62ranch\x12\x14\n\x04tool\x18\x04 \x01(\tB\x00R\x04tool\x12\'\n\x0equalified_tool\x18\x05 \x01(\tB\x00R\rqualifiedTool\x12\x14\n\x05input\x18\x06 \x01(\x0cR\x05input\x12\x19\n\x07\x63\x61ll_id\x18\x07 \x01(\tB\x00R\x06\x63\x61llId\x12.\n\x12\x65stimated_cost_usd\x18\x08 \x01(\tB\x00R\x10\x65stimatedCostUsd\x12\x17\n\x07\x64ry_run\x18\t \x01(\x08R\x06\x64ryRun\x12\x18\n\x07\x65xplain\x18\n \x01(\x08R\x07\x65xplain\x12\x18\n\x06\x66older\x18\x0b \x01(\tB\x00R\x06\x66older\x12\'\n\x0e\x64\x65nied_because\x18\x0c \x01(\tB\x00R\rdeniedBecause\x12\x1f\n\njail_level\x18\r \x01(\x05\x42\x00R\tjailLevel\x12>\n\nreal_names\x18\x0e \x03(\x0b\x32\x1d.interlock.policy.v1.RealNameB\x00R\trealNames\x12\x18\n\x07observe\x18\x0f \x01(\x08R\x07observe\x12\x36\n\x06if_run\x18\x10 \x01(\x0b\x32\x1f.interlock.policy.v1.RunVersionR\x05ifRun\x12\x30\n\x05human\x18P \x01(\x0b\x32\x1a.interlock.policy.v1.HumanR\x05human\x12+\n\x02\x61s\x18Q \x01(\x0b\x32\x1b.interlock.policy.v1.CallAsR\x02\x61s\"r\n\x06\x43\x61llAs\x12\x1e\n\tprincipal\x18\x01 \x01(\tB\x00R\tprincipal\x12\x30\n\x05human\x18\x02 \x01(\x0b\x32\x1a.interlock.policy.v1.HumanR\x05human\x12\x16\n\x05\x61gent\x18\x03 \x01(\tB\x00R\x05\x61gent\"0\n\rWhoAmIRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\"\xee\x03\n\x0eWhoAmIResponse\x12\x1c\n\tprincipal\x18\x01 \x01(\tR\tprincipal\x12\x12\n\x04role\x18\x02 \x01(\tR\x04role\x12\x14\n\x05token\x18\x03 \x01(\tR\x05token\x12\x19\n\x08token_id\x18\x04 \x01(\tR\x07tokenId\x12\x1c\n\tnamespace\x18\x05 \x01(\tR\tnamespace\x12\x1e\n\nnamespaces\x18\x06 \x03(\tR\nnamespaces\x12\x1d\n\nsession_id\x18\x07 \x01(\tR\tsessionId\x12\x16\n\x06\x62ranch\x18\x08 \x01(\tR\x06\x62ranch\x12\x16\n\x06person\x18\t \x01(\tR\x06person\x12\x1a\n\x08presence\x18\n \x01(\tR\x08presence\x12\x14\n\x05relay\x18\x0b \x01(\tR\x05relay\x12\x10\n\x03via\x18\x0c \x01(\tR\x03via\x12\x34\n\x07\x65xpires\x18\r \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x07\x65xpires\x12\x30\n\x05human\x18\x0e \x01(\x0b\x32\x1a.interlock.policy.v1.HumanR\x05human\x12\x14\n\x05\x61gent\x18\x0f \x01(\tR\x05\x61gent\x12\x18\n\x07lineage\x18\x10 \x03(\tR\x07lineage\x12\x10\n\x03may\x18\x11 \x01(\tR\x03may\"6\n\x08RealName\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x14\n\x04real\x18\x02 \x01(\tB\x00R\x04real\"N\n\x04Jail\x12\x14\n\x05level\x18\x01 \x01(\x05R\x05level\x12\x16\n\x06\x64igest\x18\x02 \x01(\tR\x06\x64igest\x12\x18\n\x07profile\x18\x03 \x01(\x0cR\x07profile\"\x91\x05\n\x15\x43heckToolCallResponse\x12\x39\n\x08\x64\x65\x63ision\x18\x01 \x01(\x0e\x32\x1d.interlock.policy.v1.DecisionR\x08\x64\x65\x63ision\x12\x35\n\x04\x63ode\x18\x02 \x01(\x0e\x32!.interlock.policy.v1.DecisionCodeR\x04\x63ode\x12\x18\n\x07message\x18\x03 \x01(\tR\x07message\x12)\n\x10tools_restricted\x18\x04 \x01(\x08R\x0ftoolsRestricted\x12#\n\rallowed_tools\x18\x05 \x03(\tR\x0c\x61llowedTools\x12\x42\n\x0clegal_events\x18\x06 \x03(\x0b\x32\x1f.interlock.engine.v1.LegalEventR\x0blegalEvents\x12\x1f\n\x0b\x61pproval_id\x18\x07 \x01(\tR\napprovalId\x12\x17\n\x07\x63\x61ll_id\x18\x08 \x01(\tR\x06\x63\x61llId\x12\x15\n\x06run_id\x18\t \x01(\tR\x05runId\x12\x1f\n\x0brun_version\x18\n \x01(\x03R\nrunVersion\x12\x14\n\x05state\x18\x0b \x01(\tR\x05state\x12\x16\n\x06\x62ranch\x18\x0c \x01(\tR\x06\x62ranch\x12\x1e\n\niterations\x18\r \x01(\x03R\niterations\x12%\n\x0emax_iterations\x18\x0e \x01(\x03R\rmaxIterations\x12\x42\n\x0b\x65xplanation\x18\x0f \x01(\x0b\x32 .interlock.policy.v1.ExplanationR\x0b\x65xplanation\x12-\n\x04jail\x18\x10 \x01(\x0b\x32\x19.interlock.policy.v1.JailR\x04jail\"A\n\nRunVersion\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1a\n\x07version\x18\x02 \x01(\x03\x42\x00R\x07version\"\xf6\x03\n\x15ReportToolCallRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1f\n\nsession_id\x18\x02 \x01(\tB\x00R\tsessionId\x12\x18\n\x06\x62ranch\x18\x03 \x01(\tB\x00R\x06\x62ranch\x12\x19\n\x07\x63\x61ll_id\x18\x04 \x01(\tB\x00R\x06\x63\x61llId\x12\x14\n\x04tool\x18\x05 \x01(\tB\x00R\x04tool\x12\x0e\n\x02ok\x18\x06 \x01(\x08R\x02ok\x12%\n\rfiles_changed\x18\x07 \x03(\tB\x00R\x0c\x66ilesChanged\x12#\n\x0cresult_bytes\x18\x08 \x01(\x03\x42\x00R\x0bresultBytes\x12\x1b\n\x08\x63ost_usd\x18\t \x01(\tB\x00R\x07\x63ostUsd\x12\x16\n\x06output\x18\n \x01(\x0cR\x06output\x12\'\n\x0foutcome_unknown\x18\x0b \x01(\x08R\x0eoutcomeUnknown\x12 \n\nbackground\x18\x0c \x01(\tB\x00R\nbackground\x12+\n\x10\x62\x61\x63kground_ended\x18\r \x01(\tB\x00R\x0f\x62\x61\x63kgroundEnded\x12!\n\x0cnot_executed\x18\x0e \x01(\x08R\x0bnotExecuted\x12,\n\x11known_run_version\x18\x0f \x01(\x03\x42\x00R\x0fknownRunVersion\"\xd8\x01\n\x16ReportToolCallResponse\x12*\n\x03run\x18\x01 \x01(\x0b\x32\x18.interlock.engine.v1.RunR\x03run\x12\x1c\n\taccounted\x18\x02 \x01(\x08R\taccounted\x12>\n\tinterrupt\x18\x03 \x01(\x0b\x32 .interlock.policy.v1.InterruptedR\tinterrupt\x12\x18\n\x07warning\x18\x04 \x01(\tR\x07warning\x12\x1a\n\x08\x65vidence\x18\x05 \x03(\tR\x08\x65vidence\"\x9e\x01\n\x13StartCommandRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x1f\n\nsession_id\x18\x02 \x01(\tB\x00R\tsessionId\x12\x19\n\x07\x63\x61ll_id\x18\x03 \x01(\tB\x00R\x06\x63\x61llId\x12\x1a\n\x07\x63ommand\x18\x04 \x01(\x0c\x42\x00R\x07\x63ommand\x12\x16\n\x05level\x18\x05 \x01(\x05\x42\x00R\x05level\"n\n\x14StartCommandResponse\x12\x15\n\x06run_id\x18\x01 \x01(\tR\x05runId\x12-\n\x04jail\x18\x02 \x01(\x0b\x32\x19.interlock.policy.v1.JailR\x04jail\x12\x10\n\x03key\x18\x03 \x01(\x0cR\x03key\"\x86\x01\n\x14\x46inishCommandRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x19\n\x07\x63\x61ll_id\x18\x02 \x01(\tB\x00R\x06\x63\x61llId\x12\x1a\n\x07witness\x18\x03 \x01(\x0c\x42\x00R\x07witness\x12\x1e\n\tsignature\x18\x04 \x01(\x0c\x42\x00R\tsignature\"K\n\x15\x46inishCommandResponse\x12\x1a\n\x08\x65vidence\x18\x01 \x03(\tR\x08\x65vidence\x12\x16\n\x06notice\x18\x02 \x01(\tR\x06notice\"\x81\x01\n\x11ReportCostRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x18\n\x06source\x18\x02 \x01(\tB\x00R\x06source\x12\x31\n\x05\x63osts\x18\x03 \x03(\x0b\x32\x19.interlock.policy.v1.CostB\x00R\x05\x63osts\"\x81\x01\n\x04\x43ost\x12\x10\n\x02id\x18\x01 \x01(\tB\x00R\x02id\x12\x1b\n\x08\x63ost_usd\x18\x02 \x01(\tB\x00R\x07\x63ostUsd\x12\x14\n\x05total\x18\x03 \x01(\x08R\x05total\x12\x34\n\x05tools\x18\x04 \x03(\x0b\x32\x1c.interlock.policy.v1.ToolUseB\x00R\x05tools\"7\n\x07ToolUse\x12\x14\n\x04tool\x18\x01 \x01(\tB\x00R\x04tool\x12\x16\n\x05input\x18\x02 \x01(\x0c\x42\x00R\x05input\"K\n\x12ReportCostResponse\x12\x18\n\x07\x63ounted\x18\x01 \x01(\x05R\x07\x63ounted\x12\x1b\n\ttotal_usd\x18\x02 \x01(\tR\x08totalUsd\"\x81\x01\n\x15\x43heckToolCallsRequest\x12%\n\x0e\x63orrelation_id\x18\x01 \x01(\x04R\rcorrelationId\x12\x41\n\x05\x63\x61lls\x18\x02 \x03(\x0b\x32).interlock.policy.v1.CheckToolCallRequestB\x00R\x05\x63\x61lls\"\x84\x01\n\x16\x43heckToolCallsResponse\x12%\n\x0e\x63orrelation_id\x18\x01 \x01(\x04R\rcorrelationId\x12\x43\n\x07results\x18\x02 \x03(\x0b\x32).interlock.policy.v1.CheckToolCallsResultR\x07results\"\x96\x01\n\x14\x43heckToolCallsResult\x12H\n\x08\x64\x65\x63ision\x18\x01 \x01(\x0b\x32*.interlock.policy.v1.CheckToolCallResponseH\x00R\x08\x64\x65\x63ision\x12*\n\x05\x65rror\x18\x02 \x01(\x0b\x32\x12.google.rpc.StatusH\x00R\x05\x65rrorB\x08\n\x06result\"\x83\x02\n\x08OpenCall\x12\x17\n\x07\x63\x61ll_id\x18\x01 \x01(\tR\x06\x63\x61llId\x12\x15\n\x06run_id\x18\x02 \x01(\tR\x05runId\x12\x12\n\x04tool\x18\x03 \x01(\tR\x04tool\x12\x12\n\x04what\x18\x04 \x01(\tR\x04what\x12\x17\n\x07made_by\x18\x05 \x01(\tR\x06madeBy\x12\x39\n\nallowed_at\x18\x06 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tallowedAt\x12\x31\n\x06\x64ue_at\x18\x07 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05\x64ueAt\x12\x18\n\x07unknown\x18\x08 \x01(\x08R\x07unknown\"/\n\x14ListOpenCallsRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\"L\n\x15ListOpenCallsResponse\x12\x33\n\x05\x63\x61lls\x18\x01 \x03(\x0b\x32\x1d.interlock.policy.v1.OpenCallR\x05\x63\x61lls\"}\n\x15SettleToolCallRequest\x12\x17\n\x06run_id\x18\x01 \x01(\tB\x00R\x05runId\x12\x19\n\x07\x63\x61ll_id\x18\x02 \x01(\tB\x00R\x06\x63\x61llId\x12\x1a\n\x07outcome\x18\x03 \x01(\tB\x00R\x07outcome\x12\x14\n\x04note\x18\x04 \x01(\tB\x00R\x04note\"e\n\x16SettleToolCallResponse\x12\x31\n\x04\x63\x61ll\x18\x01 \x01(\x0b\x32\x1d.interlock.policy.v1.OpenCallR\x04\x63\x61ll\x12\x18\n\x07outcome\x18\x02 \x01(\tR\x07outcome\"\x93\x01\n\x14ReportRefusalRequest\x12\x1e\n\tnamespace\x18\x01 \x01(\tB\x00R\tnamespace\x12\x1e\n\tprincipal\x18\x02 \x01(\tB\x00R\tprincipal\x12;\n\x07refused\x18\x03 \x01(\x0b\x32\x1f.interlock.event.v1.CallRefusedB\x00R\x07refused\"\x17\n\x15ReportRefusalResponse2\x93\x08\n\x15PolicyEnforcerService\x12\x66\n\rCheckToolCall\x12).interlock.policy.v1.CheckToolCallRequest\x1a*.interlock.policy.v1.CheckToolCallResponse\x12i\n\x0eReportToolCall\x12*.interlock.policy.v1.ReportToolCallRequest\x1a+.interlock.policy.v1.ReportToolCallResponse\x12\x63\n\x0cStartCommand\x12(.interlock.policy.v1.StartCommandRequest\x1a).interlock.policy.v1.StartCommandResponse\x12\x66\n\rFinishCommand\x12).interlock.policy.v1.FinishCommandRequest\x1a*.interlock.policy.v1.FinishCommandResponse\x12]\n\nReportCost\x12&.interlock.policy.v1.ReportCostRequest\x1a\'.interlock.policy.v1.ReportCostResponse\x12\x66\n\rListOpenCalls\x12).interlock.policy.v1.ListOpenCallsRequest\x1a*.interlock.policy.v1.ListOpenCallsResponse\x12i\n\x0eSettleToolCall\x12*.interlock.policy.v1.SettleToolCallRequest\x1a+.interlock.policy.v1.SettleToolCallResponse\x12\x66\n\rReportRefusal\x12).interlock.policy.v1.ReportRefusalRequest\x1a*.interlock.policy.v1.ReportRefusalResponse\x12Q\n\x06WhoAmI\x12\".interlock.policy.v1.WhoAmIRequest\x1a#.interlock.policy.v1.WhoAmIResponse\x12m\n\x0e\x43heckToolCalls\x12*.interlock.policy.v1.CheckToolCallsRequest\x1a+.interlock.policy.v1.CheckToolCallsResponse(\x01\x30\x01\x42HZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.policy_enforcer_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_CHECKTOOLCALLREQUEST']._serialized_start=308
  _globals['_CHECKTOOLCALLREQUEST']._serialized_end=966
  _globals['_CALLAS']._serialized_start=968
  _globals['_CALLAS']._serialized_end=1082
  _globals['_WHOAMIREQUEST']._serialized_start=1084
  _globals['_WHOAMIREQUEST']._serialized_end=1132
  _globals['_WHOAMIRESPONSE']._serialized_start=1135
  _globals['_WHOAMIRESPONSE']._serialized_end=1629
  _globals['_REALNAME']._serialized_start=1631
  _globals['_REALNAME']._serialized_end=1685
  _globals['_JAIL']._serialized_start=1687
  _globals['_JAIL']._serialized_end=1765
  _globals['_CHECKTOOLCALLRESPONSE']._serialized_start=1768
  _globals['_CHECKTOOLCALLRESPONSE']._serialized_end=2425
  _globals['_RUNVERSION']._serialized_start=2427
  _globals['_RUNVERSION']._serialized_end=2492
  _globals['_REPORTTOOLCALLREQUEST']._serialized_start=2495
  _globals['_REPORTTOOLCALLREQUEST']._serialized_end=2997
  _globals['_REPORTTOOLCALLRESPONSE']._serialized_start=3000
  _globals['_REPORTTOOLCALLRESPONSE']._serialized_end=3216
  _globals['_STARTCOMMANDREQUEST']._serialized_start=3219
  _globals['_STARTCOMMANDREQUEST']._serialized_end=3377
  _globals['_STARTCOMMANDRESPONSE']._serialized_start=3379
  _globals['_STARTCOMMANDRESPONSE']._serialized_end=3489
  _globals['_FINISHCOMMANDREQUEST']._serialized_start=3492
  _globals['_FINISHCOMMANDREQUEST']._serialized_end=3626
  _globals['_FINISHCOMMANDRESPONSE']._serialized_start=3628
  _globals['_FINISHCOMMANDRESPONSE']._serialized_end=3703
  _globals['_REPORTCOSTREQUEST']._serialized_start=3706
  _globals['_REPORTCOSTREQUEST']._serialized_end=3835
  _globals['_COST']._serialized_start=3838
  _globals['_COST']._serialized_end=3967
  _globals['_TOOLUSE']._serialized_start=3969
  _globals['_TOOLUSE']._serialized_end=4024
  _globals['_REPORTCOSTRESPONSE']._serialized_start=4026
  _globals['_REPORTCOSTRESPONSE']._serialized_end=4101
  _globals['_CHECKTOOLCALLSREQUEST']._serialized_start=4104
  _globals['_CHECKTOOLCALLSREQUEST']._serialized_end=4233
  _globals['_CHECKTOOLCALLSRESPONSE']._serialized_start=4236
  _globals['_CHECKTOOLCALLSRESPONSE']._serialized_end=4368
  _globals['_CHECKTOOLCALLSRESULT']._serialized_start=4371
  _globals['_CHECKTOOLCALLSRESULT']._serialized_end=4521
  _globals['_OPENCALL']._serialized_start=4524
  _globals['_OPENCALL']._serialized_end=4783
  _globals['_LISTOPENCALLSREQUEST']._serialized_start=4785
  _globals['_LISTOPENCALLSREQUEST']._serialized_end=4832
  _globals['_LISTOPENCALLSRESPONSE']._serialized_start=4834
  _globals['_LISTOPENCALLSRESPONSE']._serialized_end=4910
  _globals['_SETTLETOOLCALLREQUEST']._serialized_start=4912
  _globals['_SETTLETOOLCALLREQUEST']._serialized_end=5037
  _globals['_SETTLETOOLCALLRESPONSE']._serialized_start=5039
  _globals['_SETTLETOOLCALLRESPONSE']._serialized_end=5140
  _globals['_REPORTREFUSALREQUEST']._serialized_start=5143
  _globals['_REPORTREFUSALREQUEST']._serialized_end=5290
  _globals['_REPORTREFUSALRESPONSE']._serialized_start=5292
  _globals['_REPORTREFUSALRESPONSE']._serialized_end=5315
  _globals['_POLICYENFORCERSERVICE']._serialized_start=5318
  _globals['_POLICYENFORCERSERVICE']._serialized_end=6361
# @@protoc_insertion_point(module_scope)
