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
    'interlock/policy/v1/breakglass.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n$interlock/policy/v1/breakglass.proto\x12\x13interlock.policy.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\x9c\x04\n\x0f\x42reakGlassGrant\x12\x19\n\x08grant_id\x18\x01 \x01(\tR\x07grantId\x12\x1c\n\tprincipal\x18\x02 \x01(\tR\tprincipal\x12\x14\n\x05tools\x18\x03 \x03(\tR\x05tools\x12\x1a\n\x08\x63ommands\x18\x04 \x03(\tR\x08\x63ommands\x12\x39\n\ncreated_at\x18\x05 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x30\n\x05until\x18\x06 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05until\x12\x16\n\x06reason\x18\x07 \x01(\tR\x06reason\x12\x1d\n\ncreated_by\x18\x08 \x01(\tR\tcreatedBy\x12\x18\n\x07pending\x18\t \x01(\x08R\x07pending\x12!\n\x0c\x63onfirmed_by\x18\n \x01(\tR\x0b\x63onfirmedBy\x12\x39\n\nrevoked_at\x18\x0b \x01(\x0b\x32\x1a.google.protobuf.TimestampR\trevokedAt\x12\x1d\n\nrevoked_by\x18\x0c \x01(\tR\trevokedBy\x12\x14\n\x05\x63\x61lls\x18\r \x01(\x03R\x05\x63\x61lls\x12\x18\n\x07\x61ltered\x18\x0e \x01(\x08R\x07\x61ltered\x12\x14\n\x05token\x18\x0f \x01(\tR\x05token\x12\x1d\n\npublic_key\x18\x10 \x01(\tR\tpublicKey\"\xc2\x01\n\x1c\x43reateBreakGlassGrantRequest\x12\x1e\n\tprincipal\x18\x01 \x01(\tB\x00R\tprincipal\x12\x16\n\x05tools\x18\x02 \x03(\tB\x00R\x05tools\x12\x1c\n\x08\x63ommands\x18\x03 \x03(\tB\x00R\x08\x63ommands\x12\x32\n\x05until\x18\x04 \x01(\x0b\x32\x1a.google.protobuf.TimestampB\x00R\x05until\x12\x18\n\x06reason\x18\x05 \x01(\tB\x00R\x06reason\"[\n\x1d\x43reateBreakGlassGrantResponse\x12:\n\x05grant\x18\x01 \x01(\x0b\x32$.interlock.policy.v1.BreakGlassGrantR\x05grant\"\x1d\n\x1bListBreakGlassGrantsRequest\"\\\n\x1cListBreakGlassGrantsResponse\x12<\n\x06grants\x18\x01 \x03(\x0b\x32$.interlock.policy.v1.BreakGlassGrantR\x06grants\"8\n\x19GetBreakGlassGrantRequest\x12\x1b\n\x08grant_id\x18\x01 \x01(\tB\x00R\x07grantId\"X\n\x1aGetBreakGlassGrantResponse\x12:\n\x05grant\x18\x01 \x01(\x0b\x32$.interlock.policy.v1.BreakGlassGrantR\x05grant\"<\n\x1d\x43onfirmBreakGlassGrantRequest\x12\x1b\n\x08grant_id\x18\x01 \x01(\tB\x00R\x07grantId\"\\\n\x1e\x43onfirmBreakGlassGrantResponse\x12:\n\x05grant\x18\x01 \x01(\x0b\x32$.interlock.policy.v1.BreakGlassGrantR\x05grant\";\n\x1cRevokeBreakGlassGrantRequest\x12\x1b\n\x08grant_id\x18\x01 \x01(\tB\x00R\x07grantId\"[\n\x1dRevokeBreakGlassGrantResponse\x12:\n\x05grant\x18\x01 \x01(\x0b\x32$.interlock.policy.v1.BreakGlassGrantR\x05grant\"N\n\x17HandInBreakGlassRequest\x12\x1b\n\x08grant_id\x18\x01 \x01(\tB\x00R\x07grantId\x12\x16\n\x05lines\x18\x02 \x03(\tB\x00R\x05lines\"f\n\x18HandInBreakGlassResponse\x12\x1a\n\x08recorded\x18\x01 \x01(\x05R\x08recorded\x12\x14\n\x05known\x18\x02 \x01(\x05R\x05known\x12\x18\n\x07\x61ltered\x18\x03 \x01(\tR\x07\x61ltered2\xfc\x05\n\x11\x42reakGlassService\x12~\n\x15\x43reateBreakGlassGrant\x12\x31.interlock.policy.v1.CreateBreakGlassGrantRequest\x1a\x32.interlock.policy.v1.CreateBreakGlassGrantResponse\x12{\n\x14ListBreakGlassGrants\x12\x30.interlock.policy.v1.ListBreakGlassGrantsRequest\x1a\x31.interlock.policy.v1.ListBreakGlassGrantsResponse\x12u\n\x12GetBreakGlassGrant\x12..interlock.policy.v1.GetBreakGlassGrantRequest\x1a/.interlock.policy.v1.GetBreakGlassGrantResponse\x12\x81\x01\n\x16\x43onfirmBreakGlassGrant\x12\x32.interlock.policy.v1.ConfirmBreakGlassGrantRequest\x1a\x33.interlock.policy.v1.ConfirmBreakGlassGrantResponse\x12~\n\x15RevokeBreakGlassGrant\x12\x31.interlock.policy.v1.RevokeBreakGlassGrantRequest\x1a\x32.interlock.policy.v1.RevokeBreakGlassGrantResponse\x12o\n\x10HandInBreakGlass\x12,.interlock.policy.v1.HandInBreakGlassRequest\x1a-.interlock.policy.v1.HandInBreakGlassResponseBHZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.breakglass_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_BREAKGLASSGRANT']._serialized_start=95
  _globals['_BREAKGLASSGRANT']._serialized_end=635
  _globals['_CREATEBREAKGLASSGRANTREQUEST']._serialized_start=638
  _globals['_CREATEBREAKGLASSGRANTREQUEST']._serialized_end=832
  _globals['_CREATEBREAKGLASSGRANTRESPONSE']._serialized_start=834
  _globals['_CREATEBREAKGLASSGRANTRESPONSE']._serialized_end=925
  _globals['_LISTBREAKGLASSGRANTSREQUEST']._serialized_start=927
  _globals['_LISTBREAKGLASSGRANTSREQUEST']._serialized_end=956
  _globals['_LISTBREAKGLASSGRANTSRESPONSE']._serialized_start=958
  _globals['_LISTBREAKGLASSGRANTSRESPONSE']._serialized_end=1050
  _globals['_GETBREAKGLASSGRANTREQUEST']._serialized_start=1052
  _globals['_GETBREAKGLASSGRANTREQUEST']._serialized_end=1108
  _globals['_GETBREAKGLASSGRANTRESPONSE']._serialized_start=1110
  _globals['_GETBREAKGLASSGRANTRESPONSE']._serialized_end=1198
  _globals['_CONFIRMBREAKGLASSGRANTREQUEST']._serialized_start=1200
  _globals['_CONFIRMBREAKGLASSGRANTREQUEST']._serialized_end=1260
  _globals['_CONFIRMBREAKGLASSGRANTRESPONSE']._serialized_start=1262
  _globals['_CONFIRMBREAKGLASSGRANTRESPONSE']._serialized_end=1354
  _globals['_REVOKEBREAKGLASSGRANTREQUEST']._serialized_start=1356
  _globals['_REVOKEBREAKGLASSGRANTREQUEST']._serialized_end=1415
  _globals['_REVOKEBREAKGLASSGRANTRESPONSE']._serialized_start=1417
  _globals['_REVOKEBREAKGLASSGRANTRESPONSE']._serialized_end=1508
  _globals['_HANDINBREAKGLASSREQUEST']._serialized_start=1510
  _globals['_HANDINBREAKGLASSREQUEST']._serialized_end=1588
  _globals['_HANDINBREAKGLASSRESPONSE']._serialized_start=1590
  _globals['_HANDINBREAKGLASSRESPONSE']._serialized_end=1692
  _globals['_BREAKGLASSSERVICE']._serialized_start=1695
  _globals['_BREAKGLASSSERVICE']._serialized_end=2459
# @@protoc_insertion_point(module_scope)
