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
    'interlock/engine/v1/schedule_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.engine.v1 import schedule_pb2 as interlock_dot_engine_dot_v1_dot_schedule__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n*interlock/engine/v1/schedule_service.proto\x12\x13interlock.engine.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\"interlock/engine/v1/schedule.proto\"h\n\x15\x43reateScheduleRequest\x12\x37\n\x04spec\x18\x01 \x01(\x0b\x32!.interlock.engine.v1.ScheduleSpecB\x00R\x04spec\x12\x16\n\x06paused\x18\x02 \x01(\x08R\x06paused\"S\n\x16\x43reateScheduleResponse\x12\x39\n\x08schedule\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.ScheduleR\x08schedule\"F\n\x12GetScheduleRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x1a\n\x07version\x18\x02 \x01(\x03\x42\x00R\x07version\"P\n\x13GetScheduleResponse\x12\x39\n\x08schedule\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.ScheduleR\x08schedule\"V\n\x14ListSchedulesRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\"|\n\x15ListSchedulesResponse\x12;\n\tschedules\x18\x01 \x03(\x0b\x32\x1d.interlock.engine.v1.ScheduleR\tschedules\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"}\n\x15UpdateScheduleRequest\x12\x37\n\x04spec\x18\x01 \x01(\x0b\x32!.interlock.engine.v1.ScheduleSpecB\x00R\x04spec\x12+\n\x10\x65xpected_version\x18\x02 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\"S\n\x16UpdateScheduleResponse\x12\x39\n\x08schedule\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.ScheduleR\x08schedule\",\n\x14PauseScheduleRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\"R\n\x15PauseScheduleResponse\x12\x39\n\x08schedule\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.ScheduleR\x08schedule\"-\n\x15ResumeScheduleRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\"S\n\x16ResumeScheduleResponse\x12\x39\n\x08schedule\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.ScheduleR\x08schedule\"Z\n\x15\x44\x65leteScheduleRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12+\n\x10\x65xpected_version\x18\x02 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\"\x18\n\x16\x44\x65leteScheduleResponse\"Y\n\x16TriggerScheduleRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12)\n\x0fidempotency_key\x18\x02 \x01(\tB\x00R\x0eidempotencyKey\"\x8a\x01\n\x17TriggerScheduleResponse\x12\x39\n\x08schedule\x18\x01 \x01(\x0b\x32\x1d.interlock.engine.v1.ScheduleR\x08schedule\x12\x15\n\x06run_id\x18\x02 \x01(\tR\x05runId\x12\x1d\n\nsession_id\x18\x03 \x01(\tR\tsessionId\"H\n\x18ListScheduleTimesRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x16\n\x05\x63ount\x18\x02 \x01(\x05\x42\x00R\x05\x63ount\"a\n\x19ListScheduleTimesResponse\x12\x30\n\x05times\x18\x01 \x03(\x0b\x32\x1a.google.protobuf.TimestampR\x05times\x12\x12\n\x04zone\x18\x02 \x01(\tR\x04zone2\xd1\x07\n\x0fScheduleService\x12i\n\x0e\x43reateSchedule\x12*.interlock.engine.v1.CreateScheduleRequest\x1a+.interlock.engine.v1.CreateScheduleResponse\x12`\n\x0bGetSchedule\x12\'.interlock.engine.v1.GetScheduleRequest\x1a(.interlock.engine.v1.GetScheduleResponse\x12\x66\n\rListSchedules\x12).interlock.engine.v1.ListSchedulesRequest\x1a*.interlock.engine.v1.ListSchedulesResponse\x12i\n\x0eUpdateSchedule\x12*.interlock.engine.v1.UpdateScheduleRequest\x1a+.interlock.engine.v1.UpdateScheduleResponse\x12\x66\n\rPauseSchedule\x12).interlock.engine.v1.PauseScheduleRequest\x1a*.interlock.engine.v1.PauseScheduleResponse\x12i\n\x0eResumeSchedule\x12*.interlock.engine.v1.ResumeScheduleRequest\x1a+.interlock.engine.v1.ResumeScheduleResponse\x12i\n\x0e\x44\x65leteSchedule\x12*.interlock.engine.v1.DeleteScheduleRequest\x1a+.interlock.engine.v1.DeleteScheduleResponse\x12l\n\x0fTriggerSchedule\x12+.interlock.engine.v1.TriggerScheduleRequest\x1a,.interlock.engine.v1.TriggerScheduleResponse\x12r\n\x11ListScheduleTimes\x12-.interlock.engine.v1.ListScheduleTimesRequest\x1a..interlock.engine.v1.ListScheduleTimesResponseBHZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.engine.v1.schedule_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1'
  _globals['_CREATESCHEDULEREQUEST']._serialized_start=136
  _globals['_CREATESCHEDULEREQUEST']._serialized_end=240
  _globals['_CREATESCHEDULERESPONSE']._serialized_start=242
  _globals['_CREATESCHEDULERESPONSE']._serialized_end=325
  _globals['_GETSCHEDULEREQUEST']._serialized_start=327
  _globals['_GETSCHEDULEREQUEST']._serialized_end=397
  _globals['_GETSCHEDULERESPONSE']._serialized_start=399
  _globals['_GETSCHEDULERESPONSE']._serialized_end=479
  _globals['_LISTSCHEDULESREQUEST']._serialized_start=481
  _globals['_LISTSCHEDULESREQUEST']._serialized_end=567
  _globals['_LISTSCHEDULESRESPONSE']._serialized_start=569
  _globals['_LISTSCHEDULESRESPONSE']._serialized_end=693
  _globals['_UPDATESCHEDULEREQUEST']._serialized_start=695
  _globals['_UPDATESCHEDULEREQUEST']._serialized_end=820
  _globals['_UPDATESCHEDULERESPONSE']._serialized_start=822
  _globals['_UPDATESCHEDULERESPONSE']._serialized_end=905
  _globals['_PAUSESCHEDULEREQUEST']._serialized_start=907
  _globals['_PAUSESCHEDULEREQUEST']._serialized_end=951
  _globals['_PAUSESCHEDULERESPONSE']._serialized_start=953
  _globals['_PAUSESCHEDULERESPONSE']._serialized_end=1035
  _globals['_RESUMESCHEDULEREQUEST']._serialized_start=1037
  _globals['_RESUMESCHEDULEREQUEST']._serialized_end=1082
  _globals['_RESUMESCHEDULERESPONSE']._serialized_start=1084
  _globals['_RESUMESCHEDULERESPONSE']._serialized_end=1167
  _globals['_DELETESCHEDULEREQUEST']._serialized_start=1169
  _globals['_DELETESCHEDULEREQUEST']._serialized_end=1259
  _globals['_DELETESCHEDULERESPONSE']._serialized_start=1261
  _globals['_DELETESCHEDULERESPONSE']._serialized_end=1285
  _globals['_TRIGGERSCHEDULEREQUEST']._serialized_start=1287
  _globals['_TRIGGERSCHEDULEREQUEST']._serialized_end=1376
  _globals['_TRIGGERSCHEDULERESPONSE']._serialized_start=1379
  _globals['_TRIGGERSCHEDULERESPONSE']._serialized_end=1517
  _globals['_LISTSCHEDULETIMESREQUEST']._serialized_start=1519
  _globals['_LISTSCHEDULETIMESREQUEST']._serialized_end=1591
  _globals['_LISTSCHEDULETIMESRESPONSE']._serialized_start=1593
  _globals['_LISTSCHEDULETIMESRESPONSE']._serialized_end=1690
  _globals['_SCHEDULESERVICE']._serialized_start=1693
  _globals['_SCHEDULESERVICE']._serialized_end=2670
# @@protoc_insertion_point(module_scope)
