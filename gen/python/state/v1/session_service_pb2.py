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
    'interlock/state/v1/session_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.state.v1 import session_pb2 as interlock_dot_state_dot_v1_dot_session__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n(interlock/state/v1/session_service.proto\x12\x12interlock.state.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a interlock/state/v1/session.proto\"\xd6\x04\n\x14\x43reateSessionRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x14\n\x04name\x18\x02 \x01(\tB\x00R\x04name\x12\x18\n\x06parent\x18\x03 \x01(\tB\x00R\x06parent\x12,\n\x11workflow_state_id\x18\x04 \x01(\tB\x00R\x0fworkflowStateId\x12\x44\n\x0cstate_update\x18\x05 \x01(\x0e\x32\x1f.interlock.state.v1.StateUpdateB\x00R\x0bstateUpdate\x12.\n\x13\x61\x63\x63\x65pt_early_update\x18\x06 \x01(\x08R\x11\x61\x63\x63\x65ptEarlyUpdate\x12N\n\x06labels\x18\x07 \x03(\x0b\x32\x34.interlock.state.v1.CreateSessionRequest.LabelsEntryB\x00R\x06labels\x12\x1d\n\tstate_ref\x18\x08 \x01(\tB\x00R\x08stateRef\x12\x1a\n\x07subject\x18\t \x01(\tB\x00R\x07subject\x12\x18\n\x06prompt\x18\n \x01(\tB\x00R\x06prompt\x12\x1a\n\x07session\x18\x0b \x01(\tB\x00R\x07session\x12\x1f\n\x0bno_callback\x18\x14 \x01(\x08R\nnoCallback\x12\x16\n\x05\x61gent\x18\x15 \x01(\tB\x00R\x05\x61gent\x12\x14\n\x04only\x18\x16 \x01(\x0c\x42\x00R\x04only\x1a\x39\n\x0bLabelsEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05value\x18\x02 \x01(\tR\x05value:\x02\x38\x01\"h\n\x15\x43reateSessionResponse\x12\x35\n\x07session\x18\x01 \x01(\x0b\x32\x1b.interlock.state.v1.SessionR\x07session\x12\x18\n\x07\x63reated\x18\x02 \x01(\x08R\x07\x63reated\"P\n\x11GetSessionRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\"K\n\x12GetSessionResponse\x12\x35\n\x07session\x18\x01 \x01(\x0b\x32\x1b.interlock.state.v1.SessionR\x07session\"\x8b\x01\n\x13ListSessionsRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\x12\x18\n\x06\x66ilter\x18\x03 \x01(\tB\x00R\x06\x66ilter\x12\x1a\n\x07session\x18\x04 \x01(\tB\x00R\x07session\"w\n\x14ListSessionsResponse\x12\x37\n\x08sessions\x18\x01 \x03(\x0b\x32\x1b.interlock.state.v1.SessionR\x08sessions\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"\xdb\x01\n\x12StopSessionRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12)\n\x0fidempotency_key\x18\x03 \x01(\tB\x00R\x0eidempotencyKey\x12\x19\n\x08in_place\x18\x04 \x01(\x08R\x07inPlace\x12\x10\n\x03\x65nd\x18\x05 \x01(\x08R\x03\x65nd\x12\x16\n\x05\x65rror\x18\x06 \x01(\tB\x00R\x05\x65rror\x12\x18\n\x06result\x18\x14 \x01(\x0c\x42\x00R\x06result\"Q\n\x14\x44\x65leteSessionRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x18\n\x07\x63\x61scade\x18\x02 \x01(\x08R\x07\x63\x61scade\"3\n\x15\x44\x65leteSessionResponse\x12\x1a\n\x08sessions\x18\x01 \x03(\tR\x08sessions\"V\n\x17GetSessionResultRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\"\xaf\x01\n\x18GetSessionResultResponse\x12\x35\n\x07session\x18\x01 \x01(\x0b\x32\x1b.interlock.state.v1.SessionR\x07session\x12\x16\n\x06result\x18\x02 \x01(\x0cR\x06result\x12\x14\n\x05given\x18\x03 \x01(\x08R\x05given\x12.\n\x04time\x18\x04 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x04time\"d\n\x13StopSessionResponse\x12\x35\n\x07session\x18\x01 \x01(\x0b\x32\x1b.interlock.state.v1.SessionR\x07session\x12\x16\n\x06prompt\x18\x02 \x01(\tR\x06prompt\"\x98\x01\n\x14ResumeSessionRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12)\n\x0fidempotency_key\x18\x03 \x01(\tB\x00R\x0eidempotencyKey\x12\x18\n\x06prompt\x18\x04 \x01(\tB\x00R\x06prompt\"N\n\x15ResumeSessionResponse\x12\x35\n\x07session\x18\x01 \x01(\x0b\x32\x1b.interlock.state.v1.SessionR\x07session\"o\n\x17GrantStateAccessRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x1b\n\x08state_id\x18\x02 \x01(\tB\x00R\x07stateId\x12\x16\n\x06revoke\x18\x03 \x01(\x08R\x06revoke\"Q\n\x18GrantStateAccessResponse\x12\x35\n\x07session\x18\x01 \x01(\x0b\x32\x1b.interlock.state.v1.SessionR\x07session\"\x83\x01\n\x14NarrowSessionRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12\x14\n\x04only\x18\x03 \x01(\x0c\x42\x00R\x04only\x12\x18\n\x07replace\x18\x04 \x01(\x08R\x07replace\"N\n\x15NarrowSessionResponse\x12\x35\n\x07session\x18\x01 \x01(\x0b\x32\x1b.interlock.state.v1.SessionR\x07session\"\xfa\x01\n\x17MintSessionTokenRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12!\n\x0b\x66or_session\x18\x03 \x01(\tB\x00R\nforSession\x12\x18\n\x06\x62ranch\x18\x04 \x01(\tB\x00R\x06\x62ranch\x12\x14\n\x04name\x18\x05 \x01(\tB\x00R\x04name\x12!\n\x0bttl_seconds\x18\x06 \x01(\x03\x42\x00R\nttlSeconds\x12\x14\n\x04only\x18\x07 \x01(\x0c\x42\x00R\x04only\x12\x16\n\x05human\x18P \x01(\tB\x00R\x05human\"j\n\x18MintSessionTokenResponse\x12\x36\n\x05token\x18\x01 \x01(\x0b\x32 .interlock.state.v1.SessionTokenR\x05token\x12\x16\n\x06secret\x18\x02 \x01(\tR\x06secret\"W\n\x18ListSessionTokensRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\"\x96\x01\n\x19ListSessionTokensResponse\x12\x38\n\x06tokens\x18\x01 \x03(\x0b\x32 .interlock.state.v1.SessionTokenR\x06tokens\x12?\n\rrevoked_until\x18\x02 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x0crevokedUntil\"v\n\x1aRevokeSessionTokensRequest\x12\x1f\n\nsession_id\x18\x01 \x01(\tB\x00R\tsessionId\x12\x1a\n\x07session\x18\x02 \x01(\tB\x00R\x07session\x12\x1b\n\x08token_id\x18\x03 \x01(\tB\x00R\x07tokenId\"W\n\x1bRevokeSessionTokensResponse\x12\x38\n\x06tokens\x18\x01 \x03(\x0b\x32 .interlock.state.v1.SessionTokenR\x06tokens2\xff\t\n\x0eSessionService\x12\x64\n\rCreateSession\x12(.interlock.state.v1.CreateSessionRequest\x1a).interlock.state.v1.CreateSessionResponse\x12[\n\nGetSession\x12%.interlock.state.v1.GetSessionRequest\x1a&.interlock.state.v1.GetSessionResponse\x12\x61\n\x0cListSessions\x12\'.interlock.state.v1.ListSessionsRequest\x1a(.interlock.state.v1.ListSessionsResponse\x12^\n\x0bStopSession\x12&.interlock.state.v1.StopSessionRequest\x1a\'.interlock.state.v1.StopSessionResponse\x12\x64\n\rResumeSession\x12(.interlock.state.v1.ResumeSessionRequest\x1a).interlock.state.v1.ResumeSessionResponse\x12m\n\x10GetSessionResult\x12+.interlock.state.v1.GetSessionResultRequest\x1a,.interlock.state.v1.GetSessionResultResponse\x12\x64\n\rDeleteSession\x12(.interlock.state.v1.DeleteSessionRequest\x1a).interlock.state.v1.DeleteSessionResponse\x12m\n\x10GrantStateAccess\x12+.interlock.state.v1.GrantStateAccessRequest\x1a,.interlock.state.v1.GrantStateAccessResponse\x12\x64\n\rNarrowSession\x12(.interlock.state.v1.NarrowSessionRequest\x1a).interlock.state.v1.NarrowSessionResponse\x12m\n\x10MintSessionToken\x12+.interlock.state.v1.MintSessionTokenRequest\x1a,.interlock.state.v1.MintSessionTokenResponse\x12p\n\x11ListSessionTokens\x12,.interlock.state.v1.ListSessionTokensRequest\x1a-.interlock.state.v1.ListSessionTokensResponse\x12v\n\x13RevokeSessionTokens\x12..interlock.state.v1.RevokeSessionTokensRequest\x1a/.interlock.state.v1.RevokeSessionTokensResponseBFZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.state.v1.session_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/state/v1;statev1'
  _globals['_CREATESESSIONREQUEST_LABELSENTRY']._loaded_options = None
  _globals['_CREATESESSIONREQUEST_LABELSENTRY']._serialized_options = b'8\001'
  _globals['_CREATESESSIONREQUEST']._serialized_start=132
  _globals['_CREATESESSIONREQUEST']._serialized_end=730
  _globals['_CREATESESSIONREQUEST_LABELSENTRY']._serialized_start=673
  _globals['_CREATESESSIONREQUEST_LABELSENTRY']._serialized_end=730
  _globals['_CREATESESSIONRESPONSE']._serialized_start=732
  _globals['_CREATESESSIONRESPONSE']._serialized_end=836
  _globals['_GETSESSIONREQUEST']._serialized_start=838
  _globals['_GETSESSIONREQUEST']._serialized_end=918
  _globals['_GETSESSIONRESPONSE']._serialized_start=920
  _globals['_GETSESSIONRESPONSE']._serialized_end=995
  _globals['_LISTSESSIONSREQUEST']._serialized_start=998
  _globals['_LISTSESSIONSREQUEST']._serialized_end=1137
  _globals['_LISTSESSIONSRESPONSE']._serialized_start=1139
  _globals['_LISTSESSIONSRESPONSE']._serialized_end=1258
  _globals['_STOPSESSIONREQUEST']._serialized_start=1261
  _globals['_STOPSESSIONREQUEST']._serialized_end=1480
  _globals['_DELETESESSIONREQUEST']._serialized_start=1482
  _globals['_DELETESESSIONREQUEST']._serialized_end=1563
  _globals['_DELETESESSIONRESPONSE']._serialized_start=1565
  _globals['_DELETESESSIONRESPONSE']._serialized_end=1616
  _globals['_GETSESSIONRESULTREQUEST']._serialized_start=1618
  _globals['_GETSESSIONRESULTREQUEST']._serialized_end=1704
  _globals['_GETSESSIONRESULTRESPONSE']._serialized_start=1707
  _globals['_GETSESSIONRESULTRESPONSE']._serialized_end=1882
  _globals['_STOPSESSIONRESPONSE']._serialized_start=1884
  _globals['_STOPSESSIONRESPONSE']._serialized_end=1984
  _globals['_RESUMESESSIONREQUEST']._serialized_start=1987
  _globals['_RESUMESESSIONREQUEST']._serialized_end=2139
  _globals['_RESUMESESSIONRESPONSE']._serialized_start=2141
  _globals['_RESUMESESSIONRESPONSE']._serialized_end=2219
  _globals['_GRANTSTATEACCESSREQUEST']._serialized_start=2221
  _globals['_GRANTSTATEACCESSREQUEST']._serialized_end=2332
  _globals['_GRANTSTATEACCESSRESPONSE']._serialized_start=2334
  _globals['_GRANTSTATEACCESSRESPONSE']._serialized_end=2415
  _globals['_NARROWSESSIONREQUEST']._serialized_start=2418
  _globals['_NARROWSESSIONREQUEST']._serialized_end=2549
  _globals['_NARROWSESSIONRESPONSE']._serialized_start=2551
  _globals['_NARROWSESSIONRESPONSE']._serialized_end=2629
  _globals['_MINTSESSIONTOKENREQUEST']._serialized_start=2632
  _globals['_MINTSESSIONTOKENREQUEST']._serialized_end=2882
  _globals['_MINTSESSIONTOKENRESPONSE']._serialized_start=2884
  _globals['_MINTSESSIONTOKENRESPONSE']._serialized_end=2990
  _globals['_LISTSESSIONTOKENSREQUEST']._serialized_start=2992
  _globals['_LISTSESSIONTOKENSREQUEST']._serialized_end=3079
  _globals['_LISTSESSIONTOKENSRESPONSE']._serialized_start=3082
  _globals['_LISTSESSIONTOKENSRESPONSE']._serialized_end=3232
  _globals['_REVOKESESSIONTOKENSREQUEST']._serialized_start=3234
  _globals['_REVOKESESSIONTOKENSREQUEST']._serialized_end=3352
  _globals['_REVOKESESSIONTOKENSRESPONSE']._serialized_start=3354
  _globals['_REVOKESESSIONTOKENSRESPONSE']._serialized_end=3441
  _globals['_SESSIONSERVICE']._serialized_start=3444
  _globals['_SESSIONSERVICE']._serialized_end=4723
# @@protoc_insertion_point(module_scope)
