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
    'interlock/approval/v1/approval_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.approval.v1 import approval_pb2 as interlock_dot_approval_dot_v1_dot_approval__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n,interlock/approval/v1/approval_service.proto\x12\x15interlock.approval.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a$interlock/approval/v1/approval.proto\"\xf8\x03\n\x15\x43reateApprovalRequest\x12!\n\x0b\x61pproval_id\x18\x01 \x01(\tB\x00R\napprovalId\x12\x39\n\x04kind\x18\x02 \x01(\x0e\x32#.interlock.approval.v1.ApprovalKindB\x00R\x04kind\x12\x1a\n\x07subject\x18\x03 \x01(\x0c\x42\x00R\x07subject\x12\x12\n\x04\x64\x61ta\x18\x04 \x01(\x0cR\x04\x64\x61ta\x12\x1a\n\x08\x65\x64itable\x18\x05 \x01(\x08R\x08\x65\x64itable\x12\x32\n\x05\x61sker\x18\x06 \x01(\x0b\x32\x1c.interlock.approval.v1.AskerR\x05\x61sker\x12\x1a\n\x07message\x18\x07 \x01(\tB\x00R\x07message\x12\x32\n\x05terms\x18\x08 \x01(\x0b\x32\x1c.interlock.approval.v1.TermsR\x05terms\x12\x17\n\x06run_id\x18\t \x01(\tB\x00R\x05runId\x12\x14\n\x05reuse\x18\n \x01(\x08R\x05reuse\x12\x19\n\x07used_by\x18\x0b \x01(\tB\x00R\x06usedBy\x12!\n\x0bsettled_use\x18\x0c \x01(\tB\x00R\nsettledUse\x12,\n\x03why\x18\r \x01(\x0b\x32\x1a.interlock.approval.v1.WhyR\x03why\x12\x16\n\x05\x66\x61\x63ts\x18\x0e \x01(\x0c\x42\x00R\x05\x66\x61\x63ts\"o\n\x16\x43reateApprovalResponse\x12;\n\x08\x61pproval\x18\x01 \x01(\x0b\x32\x1f.interlock.approval.v1.ApprovalR\x08\x61pproval\x12\x18\n\x07\x63reated\x18\x02 \x01(\x08R\x07\x63reated\"7\n\x12GetApprovalRequest\x12!\n\x0b\x61pproval_id\x18\x01 \x01(\tB\x00R\napprovalId\"R\n\x13GetApprovalResponse\x12;\n\x08\x61pproval\x18\x01 \x01(\x0b\x32\x1f.interlock.approval.v1.ApprovalR\x08\x61pproval\"p\n\x14ListApprovalsRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\x12\x18\n\x06\x66ilter\x18\x03 \x01(\tB\x00R\x06\x66ilter\"~\n\x15ListApprovalsResponse\x12=\n\tapprovals\x18\x01 \x03(\x0b\x32\x1f.interlock.approval.v1.ApprovalR\tapprovals\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"K\n\x17GetApprovalStatsRequest\x12\x30\n\x05since\x18\x01 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05since\"z\n\x18GetApprovalStatsResponse\x12\x42\n\tquestions\x18\x01 \x03(\x0b\x32$.interlock.approval.v1.QuestionCountR\tquestions\x12\x1a\n\x08\x63omplete\x18\x02 \x01(\x08R\x08\x63omplete\"\xce\x01\n\rQuestionCount\x12\x12\n\x04what\x18\x01 \x01(\tR\x04what\x12\x19\n\x08\x61sked_by\x18\x02 \x01(\tR\x07\x61skedBy\x12\x14\n\x05\x61sked\x18\x03 \x01(\x03R\x05\x61sked\x12\x18\n\x07granted\x18\x04 \x01(\x03R\x07granted\x12\x1a\n\x08rejected\x18\x05 \x01(\x03R\x08rejected\x12\x18\n\x07\x65xpired\x18\x06 \x01(\x03R\x07\x65xpired\x12\x14\n\x05quick\x18\x07 \x01(\x03R\x05quick\x12\x12\n\x04hint\x18\x08 \x01(\tR\x04hint\"\xf4\x02\n\x15\x44\x65\x63ideApprovalRequest\x12!\n\x0b\x61pproval_id\x18\x01 \x01(\tB\x00R\napprovalId\x12\x18\n\x07\x61pprove\x18\x02 \x01(\x08R\x07\x61pprove\x12\x14\n\x04note\x18\x03 \x01(\tB\x00R\x04note\x12\x1f\n\x0b\x65\x64ited_data\x18\x04 \x01(\x0cR\neditedData\x12\x18\n\x06\x64igest\x18\x05 \x01(\tB\x00R\x06\x64igest\x12)\n\x0fidempotency_key\x18\x06 \x01(\tB\x00R\x0eidempotencyKey\x12\x37\n\x05lease\x18\x07 \x01(\x0b\x32!.interlock.approval.v1.LeaseTermsR\x05lease\x12\x46\n\tsignature\x18\x08 \x01(\x0b\x32(.interlock.approval.v1.DecisionSignatureR\tsignature\x12!\n\x0b\x61s_identity\x18< \x01(\tB\x00R\nasIdentity\"U\n\x16\x44\x65\x63ideApprovalResponse\x12;\n\x08\x61pproval\x18\x01 \x01(\x0b\x32\x1f.interlock.approval.v1.ApprovalR\x08\x61pproval\"R\n\x13\x44\x65\x63ideApprovalsItem\x12!\n\x0b\x61pproval_id\x18\x01 \x01(\tB\x00R\napprovalId\x12\x18\n\x06\x64igest\x18\x02 \x01(\tB\x00R\x06\x64igest\"\xff\x01\n\x16\x44\x65\x63ideApprovalsRequest\x12\x18\n\x07\x61pprove\x18\x01 \x01(\x08R\x07\x61pprove\x12\x14\n\x04note\x18\x02 \x01(\tB\x00R\x04note\x12\x42\n\x05items\x18\x03 \x03(\x0b\x32*.interlock.approval.v1.DecideApprovalsItemB\x00R\x05items\x12)\n\x0fidempotency_key\x18\x04 \x01(\tB\x00R\x0eidempotencyKey\x12\x46\n\tsignature\x18\x05 \x01(\x0b\x32(.interlock.approval.v1.DecisionSignatureR\tsignature\"X\n\x17\x44\x65\x63ideApprovalsResponse\x12=\n\tapprovals\x18\x01 \x03(\x0b\x32\x1f.interlock.approval.v1.ApprovalR\tapprovals\"\xeb\x01\n\x1bGetApprovalStatementRequest\x12\x18\n\x07\x61pprove\x18\x01 \x01(\x08R\x07\x61pprove\x12\x14\n\x04note\x18\x02 \x01(\tB\x00R\x04note\x12\x42\n\x05items\x18\x03 \x03(\x0b\x32*.interlock.approval.v1.DecideApprovalsItemB\x00R\x05items\x12\x1f\n\x0b\x65\x64ited_data\x18\x04 \x01(\x0cR\neditedData\x12\x37\n\x05lease\x18\x05 \x01(\x0b\x32!.interlock.approval.v1.LeaseTermsR\x05lease\"\x8d\x02\n\x1cGetApprovalStatementResponse\x12\x1c\n\tstatement\x18\x01 \x01(\x0cR\tstatement\x12\x16\n\x06\x64igest\x18\x02 \x01(\x0cR\x06\x64igest\x12\x14\n\x05shown\x18\x03 \x01(\tR\x05shown\x12\x1a\n\x08presence\x18\x04 \x01(\x08R\x08presence\x12\x13\n\x05rp_id\x18\x05 \x01(\tR\x04rpId\x12\x35\n\x04keys\x18\x06 \x03(\x0b\x32!.interlock.approval.v1.SigningKeyR\x04keys\x12\x39\n\nexpires_at\x18\x07 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\"l\n\x11ListLeasesRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\x12\x17\n\x06run_id\x18\x03 \x01(\tB\x00R\x05runId\"r\n\x12ListLeasesResponse\x12\x34\n\x06leases\x18\x01 \x03(\x0b\x32\x1c.interlock.approval.v1.LeaseR\x06leases\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"1\n\x12RevokeLeaseRequest\x12\x1b\n\x08lease_id\x18\x01 \x01(\tB\x00R\x07leaseId\"I\n\x13RevokeLeaseResponse\x12\x32\n\x05lease\x18\x01 \x01(\x0b\x32\x1c.interlock.approval.v1.LeaseR\x05lease\"T\n\x15\x43\x61ncelApprovalRequest\x12!\n\x0b\x61pproval_id\x18\x01 \x01(\tB\x00R\napprovalId\x12\x18\n\x06reason\x18\x02 \x01(\tB\x00R\x06reason\"U\n\x16\x43\x61ncelApprovalResponse\x12;\n\x08\x61pproval\x18\x01 \x01(\x0b\x32\x1f.interlock.approval.v1.ApprovalR\x08\x61pproval\"9\n\x14WatchApprovalRequest\x12!\n\x0b\x61pproval_id\x18\x01 \x01(\tB\x00R\napprovalId\"T\n\x15WatchApprovalResponse\x12;\n\x08\x61pproval\x18\x01 \x01(\x0b\x32\x1f.interlock.approval.v1.ApprovalR\x08\x61pproval\"\x17\n\x15WatchApprovalsRequest\"U\n\x16WatchApprovalsResponse\x12;\n\x08\x61pproval\x18\x01 \x01(\x0b\x32\x1f.interlock.approval.v1.ApprovalR\x08\x61pproval2\xc0\n\n\x0f\x41pprovalService\x12m\n\x0e\x43reateApproval\x12,.interlock.approval.v1.CreateApprovalRequest\x1a-.interlock.approval.v1.CreateApprovalResponse\x12\x64\n\x0bGetApproval\x12).interlock.approval.v1.GetApprovalRequest\x1a*.interlock.approval.v1.GetApprovalResponse\x12j\n\rListApprovals\x12+.interlock.approval.v1.ListApprovalsRequest\x1a,.interlock.approval.v1.ListApprovalsResponse\x12s\n\x10GetApprovalStats\x12..interlock.approval.v1.GetApprovalStatsRequest\x1a/.interlock.approval.v1.GetApprovalStatsResponse\x12m\n\x0e\x44\x65\x63ideApproval\x12,.interlock.approval.v1.DecideApprovalRequest\x1a-.interlock.approval.v1.DecideApprovalResponse\x12p\n\x0f\x44\x65\x63ideApprovals\x12-.interlock.approval.v1.DecideApprovalsRequest\x1a..interlock.approval.v1.DecideApprovalsResponse\x12\x7f\n\x14GetApprovalStatement\x12\x32.interlock.approval.v1.GetApprovalStatementRequest\x1a\x33.interlock.approval.v1.GetApprovalStatementResponse\x12\x61\n\nListLeases\x12(.interlock.approval.v1.ListLeasesRequest\x1a).interlock.approval.v1.ListLeasesResponse\x12\x64\n\x0bRevokeLease\x12).interlock.approval.v1.RevokeLeaseRequest\x1a*.interlock.approval.v1.RevokeLeaseResponse\x12m\n\x0e\x43\x61ncelApproval\x12,.interlock.approval.v1.CancelApprovalRequest\x1a-.interlock.approval.v1.CancelApprovalResponse\x12l\n\rWatchApproval\x12+.interlock.approval.v1.WatchApprovalRequest\x1a,.interlock.approval.v1.WatchApprovalResponse0\x01\x12o\n\x0eWatchApprovals\x12,.interlock.approval.v1.WatchApprovalsRequest\x1a-.interlock.approval.v1.WatchApprovalsResponse0\x01\x42LZJgithub.com/interlock-run/interlock/gen/go/interlock/approval/v1;approvalv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.approval.v1.approval_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZJgithub.com/interlock-run/interlock/gen/go/interlock/approval/v1;approvalv1'
  _globals['_CREATEAPPROVALREQUEST']._serialized_start=143
  _globals['_CREATEAPPROVALREQUEST']._serialized_end=647
  _globals['_CREATEAPPROVALRESPONSE']._serialized_start=649
  _globals['_CREATEAPPROVALRESPONSE']._serialized_end=760
  _globals['_GETAPPROVALREQUEST']._serialized_start=762
  _globals['_GETAPPROVALREQUEST']._serialized_end=817
  _globals['_GETAPPROVALRESPONSE']._serialized_start=819
  _globals['_GETAPPROVALRESPONSE']._serialized_end=901
  _globals['_LISTAPPROVALSREQUEST']._serialized_start=903
  _globals['_LISTAPPROVALSREQUEST']._serialized_end=1015
  _globals['_LISTAPPROVALSRESPONSE']._serialized_start=1017
  _globals['_LISTAPPROVALSRESPONSE']._serialized_end=1143
  _globals['_GETAPPROVALSTATSREQUEST']._serialized_start=1145
  _globals['_GETAPPROVALSTATSREQUEST']._serialized_end=1220
  _globals['_GETAPPROVALSTATSRESPONSE']._serialized_start=1222
  _globals['_GETAPPROVALSTATSRESPONSE']._serialized_end=1344
  _globals['_QUESTIONCOUNT']._serialized_start=1347
  _globals['_QUESTIONCOUNT']._serialized_end=1553
  _globals['_DECIDEAPPROVALREQUEST']._serialized_start=1556
  _globals['_DECIDEAPPROVALREQUEST']._serialized_end=1928
  _globals['_DECIDEAPPROVALRESPONSE']._serialized_start=1930
  _globals['_DECIDEAPPROVALRESPONSE']._serialized_end=2015
  _globals['_DECIDEAPPROVALSITEM']._serialized_start=2017
  _globals['_DECIDEAPPROVALSITEM']._serialized_end=2099
  _globals['_DECIDEAPPROVALSREQUEST']._serialized_start=2102
  _globals['_DECIDEAPPROVALSREQUEST']._serialized_end=2357
  _globals['_DECIDEAPPROVALSRESPONSE']._serialized_start=2359
  _globals['_DECIDEAPPROVALSRESPONSE']._serialized_end=2447
  _globals['_GETAPPROVALSTATEMENTREQUEST']._serialized_start=2450
  _globals['_GETAPPROVALSTATEMENTREQUEST']._serialized_end=2685
  _globals['_GETAPPROVALSTATEMENTRESPONSE']._serialized_start=2688
  _globals['_GETAPPROVALSTATEMENTRESPONSE']._serialized_end=2957
  _globals['_LISTLEASESREQUEST']._serialized_start=2959
  _globals['_LISTLEASESREQUEST']._serialized_end=3067
  _globals['_LISTLEASESRESPONSE']._serialized_start=3069
  _globals['_LISTLEASESRESPONSE']._serialized_end=3183
  _globals['_REVOKELEASEREQUEST']._serialized_start=3185
  _globals['_REVOKELEASEREQUEST']._serialized_end=3234
  _globals['_REVOKELEASERESPONSE']._serialized_start=3236
  _globals['_REVOKELEASERESPONSE']._serialized_end=3309
  _globals['_CANCELAPPROVALREQUEST']._serialized_start=3311
  _globals['_CANCELAPPROVALREQUEST']._serialized_end=3395
  _globals['_CANCELAPPROVALRESPONSE']._serialized_start=3397
  _globals['_CANCELAPPROVALRESPONSE']._serialized_end=3482
  _globals['_WATCHAPPROVALREQUEST']._serialized_start=3484
  _globals['_WATCHAPPROVALREQUEST']._serialized_end=3541
  _globals['_WATCHAPPROVALRESPONSE']._serialized_start=3543
  _globals['_WATCHAPPROVALRESPONSE']._serialized_end=3627
  _globals['_WATCHAPPROVALSREQUEST']._serialized_start=3629
  _globals['_WATCHAPPROVALSREQUEST']._serialized_end=3652
  _globals['_WATCHAPPROVALSRESPONSE']._serialized_start=3654
  _globals['_WATCHAPPROVALSRESPONSE']._serialized_end=3739
  _globals['_APPROVALSERVICE']._serialized_start=3742
  _globals['_APPROVALSERVICE']._serialized_end=5086
# @@protoc_insertion_point(module_scope)
