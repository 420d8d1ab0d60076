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
    'interlock/engine/v1/schedule.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\"interlock/engine/v1/schedule.proto\x12\x13interlock.engine.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\xb2\x04\n\x08Schedule\x12\x35\n\x04spec\x18\x01 \x01(\x0b\x32!.interlock.engine.v1.ScheduleSpecR\x04spec\x12\x18\n\x07version\x18\x02 \x01(\x03R\x07version\x12;\n\x06status\x18\x03 \x01(\x0e\x32#.interlock.engine.v1.ScheduleStatusR\x06status\x12\x1d\n\ncreated_by\x18\x04 \x01(\tR\tcreatedBy\x12\x39\n\ncreated_at\x18\x05 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x39\n\nupdated_at\x18\x06 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tupdatedAt\x12\x33\n\x07next_at\x18\x07 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x06nextAt\x12\x37\n\tqueued_at\x18\x08 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x08queuedAt\x12\x38\n\x04last\x18\t \x01(\x0b\x32$.interlock.engine.v1.ScheduleOutcomeR\x04last\x12\x1e\n\x0blast_run_id\x18\n \x01(\tR\tlastRunId\x12;\n\x06\x63ounts\x18\x0b \x01(\x0b\x32#.interlock.engine.v1.ScheduleCountsR\x06\x63ounts\"v\n\x0eScheduleCounts\x12\x18\n\x07started\x18\x01 \x01(\x03R\x07started\x12\x16\n\x06missed\x18\x02 \x01(\x03R\x06missed\x12\x18\n\x07skipped\x18\x03 \x01(\x03R\x07skipped\x12\x18\n\x07refused\x18\x04 \x01(\x03R\x07refused\"\xe5\x03\n\x0cScheduleSpec\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1c\n\x08workflow\x18\x02 \x01(\tB\x00R\x08workflow\x12+\n\x10workflow_version\x18\x03 \x01(\x03\x42\x00R\x0fworkflowVersion\x12\x14\n\x04\x63ron\x18\x04 \x01(\tB\x00R\x04\x63ron\x12\x14\n\x04zone\x18\x05 \x01(\tB\x00R\x04zone\x12:\n\x06missed\x18\x06 \x01(\x0e\x32 .interlock.engine.v1.MissedTimesB\x00R\x06missed\x12@\n\x07overlap\x18\x07 \x01(\x0e\x32$.interlock.engine.v1.ScheduleOverlapB\x00R\x07overlap\x12\x1f\n\nsession_id\x18\x08 \x01(\tB\x00R\tsessionId\x12\'\n\x0esession_prefix\x18\t \x01(\tB\x00R\rsessionPrefix\x12\x18\n\x07\x63ontext\x18\n \x01(\x0cR\x07\x63ontext\x12\x1e\n\tworkspace\x18\x0b \x01(\tB\x00R\tworkspace\x12\x30\n\x05until\x18\x0c \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05until\x12\x14\n\x04only\x18\r \x01(\x0c\x42\x00R\x04only\"\xad\x02\n\x0fScheduleOutcome\x12\x39\n\nnominal_at\x18\x01 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tnominalAt\x12*\n\x02\x61t\x18\x02 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x02\x61t\x12;\n\x06result\x18\x03 \x01(\x0e\x32#.interlock.engine.v1.ScheduleResultR\x06result\x12\x14\n\x05\x63ount\x18\x04 \x01(\x03R\x05\x63ount\x12\x15\n\x06run_id\x18\x05 \x01(\tR\x05runId\x12\x1d\n\nsession_id\x18\x06 \x01(\tR\tsessionId\x12\x12\n\x04\x63ode\x18\x07 \x01(\tR\x04\x63ode\x12\x16\n\x06reason\x18\x08 \x01(\tR\x06reason*\x84\x01\n\x0eScheduleStatus\x12\x1f\n\x1bSCHEDULE_STATUS_UNSPECIFIED\x10\x00\x12\x1a\n\x16SCHEDULE_STATUS_ACTIVE\x10\x01\x12\x1a\n\x16SCHEDULE_STATUS_PAUSED\x10\x02\x12\x19\n\x15SCHEDULE_STATUS_ENDED\x10\x03*o\n\x0bMissedTimes\x12\x1c\n\x18MISSED_TIMES_UNSPECIFIED\x10\x00\x12\x15\n\x11MISSED_TIMES_SKIP\x10\x01\x12\x15\n\x11MISSED_TIMES_ONCE\x10\x02\x12\x14\n\x10MISSED_TIMES_ALL\x10\x03*\x86\x01\n\x0fScheduleOverlap\x12 \n\x1cSCHEDULE_OVERLAP_UNSPECIFIED\x10\x00\x12\x19\n\x15SCHEDULE_OVERLAP_SKIP\x10\x01\x12\x1a\n\x16SCHEDULE_OVERLAP_QUEUE\x10\x02\x12\x1a\n\x16SCHEDULE_OVERLAP_ALLOW\x10\x03*\xc0\x01\n\x0eScheduleResult\x12\x1f\n\x1bSCHEDULE_RESULT_UNSPECIFIED\x10\x00\x12\x1b\n\x17SCHEDULE_RESULT_STARTED\x10\x01\x12\x1a\n\x16SCHEDULE_RESULT_MISSED\x10\x02\x12\x1b\n\x17SCHEDULE_RESULT_SKIPPED\x10\x03\x12\x1a\n\x16SCHEDULE_RESULT_QUEUED\x10\x04\x12\x1b\n\x17SCHEDULE_RESULT_REFUSED\x10\x05\x42HZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.engine.v1.schedule_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1'
  _globals['_SCHEDULESTATUS']._serialized_start=1570
  _globals['_SCHEDULESTATUS']._serialized_end=1702
  _globals['_MISSEDTIMES']._serialized_start=1704
  _globals['_MISSEDTIMES']._serialized_end=1815
  _globals['_SCHEDULEOVERLAP']._serialized_start=1818
  _globals['_SCHEDULEOVERLAP']._serialized_end=1952
  _globals['_SCHEDULERESULT']._serialized_start=1955
  _globals['_SCHEDULERESULT']._serialized_end=2147
  _globals['_SCHEDULE']._serialized_start=93
  _globals['_SCHEDULE']._serialized_end=655
  _globals['_SCHEDULECOUNTS']._serialized_start=657
  _globals['_SCHEDULECOUNTS']._serialized_end=775
  _globals['_SCHEDULESPEC']._serialized_start=778
  _globals['_SCHEDULESPEC']._serialized_end=1263
  _globals['_SCHEDULEOUTCOME']._serialized_start=1266
  _globals['_SCHEDULEOUTCOME']._serialized_end=1567
# @@protoc_insertion_point(module_scope)
