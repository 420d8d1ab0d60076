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
    'interlock/identity/v1/person.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\"interlock/identity/v1/person.proto\x12\x15interlock.identity.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\xd5\x02\n\x06Person\x12\x35\n\x04spec\x18\x01 \x01(\x0b\x32!.interlock.identity.v1.PersonSpecR\x04spec\x12\x43\n\x0b\x63redentials\x18\x02 \x03(\x0b\x32!.interlock.identity.v1.CredentialR\x0b\x63redentials\x12?\n\rinvited_until\x18\x03 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x0cinvitedUntil\x12\x18\n\x07version\x18\x04 \x01(\x03R\x07version\x12\x39\n\ncreated_at\x18\x05 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x39\n\nupdated_at\x18\x06 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tupdatedAt\"\xac\x02\n\nPersonSpec\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x16\n\x05roles\x18\x02 \x03(\tB\x00R\x05roles\x12 \n\nnamespaces\x18\x03 \x03(\tB\x00R\nnamespaces\x12\x18\n\x06groups\x18\x04 \x03(\tB\x00R\x06groups\x12S\n\nattributes\x18\x05 \x03(\x0b\x32\x31.interlock.identity.v1.PersonSpec.AttributesEntryB\x00R\nattributes\x12 \n\nidentities\x18\x06 \x03(\tB\x00R\nidentities\x1a=\n\x0f\x41ttributesEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05value\x18\x02 \x01(\tR\x05value:\x02\x38\x01\"\xd5\x02\n\nCredential\x12#\n\rcredential_id\x18\x01 \x01(\tR\x0c\x63redentialId\x12\x39\n\x04kind\x18\x02 \x01(\x0e\x32%.interlock.identity.v1.CredentialKindR\x04kind\x12\x1d\n\npublic_key\x18\x03 \x01(\x0cR\tpublicKey\x12\x1d\n\nsign_count\x18\x04 \x01(\x03R\tsignCount\x12\x1a\n\x08presence\x18\x05 \x01(\x08R\x08presence\x12\x14\n\x05label\x18\x06 \x01(\tR\x05label\x12\x39\n\ncreated_at\x18\x07 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12<\n\x0clast_used_at\x18\x08 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\nlastUsedAt*\x8b\x01\n\x0e\x43redentialKind\x12\x1f\n\x1b\x43REDENTIAL_KIND_UNSPECIFIED\x10\x00\x12\x1b\n\x17\x43REDENTIAL_KIND_PASSKEY\x10\x01\x12\x1b\n\x17\x43REDENTIAL_KIND_SSH_KEY\x10\x02\x12\x1e\n\x1a\x43REDENTIAL_KIND_PASSPHRASE\x10\x03\x42LZJgithub.com/interlock-run/interlock/gen/go/interlock/identity/v1;identityv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.identity.v1.person_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZJgithub.com/interlock-run/interlock/gen/go/interlock/identity/v1;identityv1'
  _globals['_PERSONSPEC_ATTRIBUTESENTRY']._loaded_options = None
  _globals['_PERSONSPEC_ATTRIBUTESENTRY']._serialized_options = b'8\001'
  _globals['_CREDENTIALKIND']._serialized_start=1086
  _globals['_CREDENTIALKIND']._serialized_end=1225
  _globals['_PERSON']._serialized_start=95
  _globals['_PERSON']._serialized_end=436
  _globals['_PERSONSPEC']._serialized_start=439
  _globals['_PERSONSPEC']._serialized_end=739
  _globals['_PERSONSPEC_ATTRIBUTESENTRY']._serialized_start=678
  _globals['_PERSONSPEC_ATTRIBUTESENTRY']._serialized_end=739
  _globals['_CREDENTIAL']._serialized_start=742
  _globals['_CREDENTIAL']._serialized_end=1083
# @@protoc_insertion_point(module_scope)
