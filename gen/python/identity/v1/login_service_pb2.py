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
    'interlock/identity/v1/login_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import duration_pb2 as google_dot_protobuf_dot_duration__pb2
from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n)interlock/identity/v1/login_service.proto\x12\x15interlock.identity.v1\x1a\x1egoogle/protobuf/duration.proto\x1a\x1fgoogle/protobuf/timestamp.proto\"\x13\n\x11\x42\x65ginLoginRequest\"\xbf\x01\n\x12\x42\x65ginLoginResponse\x12!\n\x0c\x63hallenge_id\x18\x01 \x01(\tR\x0b\x63hallengeId\x12\x1c\n\tchallenge\x18\x02 \x01(\x0cR\tchallenge\x12\x13\n\x05rp_id\x18\x03 \x01(\tR\x04rpId\x12\x18\n\x07origins\x18\x04 \x03(\tR\x07origins\x12\x39\n\nexpires_at\x18\x05 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\"\xb6\x01\n\x10PasskeyAssertion\x12%\n\rcredential_id\x18\x01 \x01(\x0c\x42\x00R\x0c\x63redentialId\x12/\n\x12\x61uthenticator_data\x18\x02 \x01(\x0c\x42\x00R\x11\x61uthenticatorData\x12*\n\x10\x63lient_data_json\x18\x03 \x01(\x0c\x42\x00R\x0e\x63lientDataJson\x12\x1e\n\tsignature\x18\x04 \x01(\x0c\x42\x00R\tsignature\"q\n\x12PasskeyAttestation\x12*\n\x10\x63lient_data_json\x18\x01 \x01(\x0c\x42\x00R\x0e\x63lientDataJson\x12/\n\x12\x61ttestation_object\x18\x02 \x01(\x0c\x42\x00R\x11\x61ttestationObject\"O\n\x0cSSHSignature\x12\x1f\n\npublic_key\x18\x01 \x01(\tB\x00R\tpublicKey\x12\x1e\n\tsignature\x18\x02 \x01(\tB\x00R\tsignature\"M\n\x0fPassphraseProof\x12\x18\n\x06person\x18\x01 \x01(\tB\x00R\x06person\x12 \n\npassphrase\x18\x02 \x01(\tB\x00R\npassphrase\"\x8a\x02\n\x12\x46inishLoginRequest\x12#\n\x0c\x63hallenge_id\x18\x01 \x01(\tB\x00R\x0b\x63hallengeId\x12\x43\n\x07passkey\x18\x02 \x01(\x0b\x32\'.interlock.identity.v1.PasskeyAssertionH\x00R\x07passkey\x12\x37\n\x03ssh\x18\x03 \x01(\x0b\x32#.interlock.identity.v1.SSHSignatureH\x00R\x03ssh\x12H\n\npassphrase\x18\x04 \x01(\x0b\x32&.interlock.identity.v1.PassphraseProofH\x00R\npassphraseB\x07\n\x05proof\"I\n\x13\x46inishLoginResponse\x12\x32\n\x05login\x18\x01 \x01(\x0b\x32\x1c.interlock.identity.v1.LoginR\x05login\"\xe5\x01\n\x05Login\x12\x16\n\x06person\x18\x01 \x01(\tR\x06person\x12\x38\n\x06tokens\x18\x02 \x03(\x0b\x32 .interlock.identity.v1.RoleTokenR\x06tokens\x12\x39\n\nexpires_at\x18\x03 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\x12\x33\n\x07\x65nds_at\x18\x04 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x06\x65ndsAt\x12\x1a\n\x08presence\x18\x05 \x01(\tR\x08presence\"5\n\tRoleToken\x12\x12\n\x04role\x18\x01 \x01(\tR\x04role\x12\x14\n\x05token\x18\x02 \x01(\tR\x05token\"\xe8\x01\n\rNewCredential\x12#\n\x0c\x63hallenge_id\x18\x01 \x01(\tB\x00R\x0b\x63hallengeId\x12\x16\n\x05label\x18\x02 \x01(\tB\x00R\x05label\x12\x45\n\x07passkey\x18\x03 \x01(\x0b\x32).interlock.identity.v1.PasskeyAttestationH\x00R\x07passkey\x12(\n\x0essh_public_key\x18\x04 \x01(\tB\x00H\x00R\x0csshPublicKey\x12\"\n\npassphrase\x18\x05 \x01(\tB\x00H\x00R\npassphraseB\x05\n\x03key\",\n\x14GetInvitationRequest\x12\x14\n\x04\x63ode\x18\x01 \x01(\tB\x00R\x04\x63ode\"j\n\x15GetInvitationResponse\x12\x16\n\x06person\x18\x01 \x01(\tR\x06person\x12\x39\n\nexpires_at\x18\x02 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\"\x89\x01\n\x0fRegisterRequest\x12\x14\n\x04\x63ode\x18\x01 \x01(\tB\x00R\x04\x63ode\x12\x18\n\x06person\x18\x02 \x01(\tB\x00R\x06person\x12\x46\n\ncredential\x18\x03 \x01(\x0b\x32$.interlock.identity.v1.NewCredentialB\x00R\ncredential\"F\n\x10RegisterResponse\x12\x32\n\x05login\x18\x01 \x01(\x0b\x32\x1c.interlock.identity.v1.LoginR\x05login\"s\n\x11RenewLoginRequest\x12\x14\n\x04role\x18\x01 \x01(\tB\x00R\x04role\x12+\n\x03ttl\x18\x02 \x01(\x0b\x32\x19.google.protobuf.DurationR\x03ttl\x12\x1b\n\tread_only\x18\x03 \x01(\x08R\x08readOnly\"H\n\x12RenewLoginResponse\x12\x32\n\x05login\x18\x01 \x01(\x0b\x32\x1c.interlock.identity.v1.LoginR\x05login2\x83\x04\n\x0cLoginService\x12\x61\n\nBeginLogin\x12(.interlock.identity.v1.BeginLoginRequest\x1a).interlock.identity.v1.BeginLoginResponse\x12\x64\n\x0b\x46inishLogin\x12).interlock.identity.v1.FinishLoginRequest\x1a*.interlock.identity.v1.FinishLoginResponse\x12j\n\rGetInvitation\x12+.interlock.identity.v1.GetInvitationRequest\x1a,.interlock.identity.v1.GetInvitationResponse\x12[\n\x08Register\x12&.interlock.identity.v1.RegisterRequest\x1a\'.interlock.identity.v1.RegisterResponse\x12\x61\n\nRenewLogin\x12(.interlock.identity.v1.RenewLoginRequest\x1a).interlock.identity.v1.RenewLoginResponseBLZJgithub.com/interlock-run/interlock/gen/go/interlock/identity/v1;identityv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.identity.v1.login_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZJgithub.com/interlock-run/interlock/gen/go/interlock/identity/v1;identityv1'
  _globals['_BEGINLOGINREQUEST']._serialized_start=133
  _globals['_BEGINLOGINREQUEST']._serialized_end=152
  _globals['_BEGINLOGINRESPONSE']._serialized_start=155
  _globals['_BEGINLOGINRESPONSE']._serialized_end=346
  _globals['_PASSKEYASSERTION']._serialized_start=349
  _globals['_PASSKEYASSERTION']._serialized_end=531
  _globals['_PASSKEYATTESTATION']._serialized_start=533
  _globals['_PASSKEYATTESTATION']._serialized_end=646
  _globals['_SSHSIGNATURE']._serialized_start=648
  _globals['_SSHSIGNATURE']._serialized_end=727
  _globals['_PASSPHRASEPROOF']._serialized_start=729
  _globals['_PASSPHRASEPROOF']._serialized_end=806
  _globals['_FINISHLOGINREQUEST']._serialized_start=809
  _globals['_FINISHLOGINREQUEST']._serialized_end=1075
  _globals['_FINISHLOGINRESPONSE']._serialized_start=1077
  _globals['_FINISHLOGINRESPONSE']._serialized_end=1150
  _globals['_LOGIN']._serialized_start=1153
  _globals['_LOGIN']._serialized_end=1382
  _globals['_ROLETOKEN']._serialized_start=1384
  _globals['_ROLETOKEN']._serialized_end=1437
  _globals['_NEWCREDENTIAL']._serialized_start=1440
  _globals['_NEWCREDENTIAL']._serialized_end=1672
  _globals['_GETINVITATIONREQUEST']._serialized_start=1674
  _globals['_GETINVITATIONREQUEST']._serialized_end=1718
  _globals['_GETINVITATIONRESPONSE']._serialized_start=1720
  _globals['_GETINVITATIONRESPONSE']._serialized_end=1826
  _globals['_REGISTERREQUEST']._serialized_start=1829
  _globals['_REGISTERREQUEST']._serialized_end=1966
  _globals['_REGISTERRESPONSE']._serialized_start=1968
  _globals['_REGISTERRESPONSE']._serialized_end=2038
  _globals['_RENEWLOGINREQUEST']._serialized_start=2040
  _globals['_RENEWLOGINREQUEST']._serialized_end=2155
  _globals['_RENEWLOGINRESPONSE']._serialized_start=2157
  _globals['_RENEWLOGINRESPONSE']._serialized_end=2229
  _globals['_LOGINSERVICE']._serialized_start=2232
  _globals['_LOGINSERVICE']._serialized_end=2747
# @@protoc_insertion_point(module_scope)
