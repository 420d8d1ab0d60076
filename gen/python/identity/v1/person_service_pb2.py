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
    'interlock/identity/v1/person_service.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.identity.v1 import login_service_pb2 as interlock_dot_identity_dot_v1_dot_login__service__pb2
from interlock.gen.identity.v1 import person_pb2 as interlock_dot_identity_dot_v1_dot_person__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n*interlock/identity/v1/person_service.proto\x12\x15interlock.identity.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a)interlock/identity/v1/login_service.proto\x1a\"interlock/identity/v1/person.proto\"N\n\x13\x43reatePersonRequest\x12\x37\n\x04spec\x18\x01 \x01(\x0b\x32!.interlock.identity.v1.PersonSpecB\x00R\x04spec\"M\n\x14\x43reatePersonResponse\x12\x35\n\x06person\x18\x01 \x01(\x0b\x32\x1d.interlock.identity.v1.PersonR\x06person\"(\n\x10GetPersonRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\"J\n\x11GetPersonResponse\x12\x35\n\x06person\x18\x01 \x01(\x0b\x32\x1d.interlock.identity.v1.PersonR\x06person\"S\n\x11ListPeopleRequest\x12\x1d\n\tpage_size\x18\x01 \x01(\x05\x42\x00R\x08pageSize\x12\x1f\n\npage_token\x18\x02 \x01(\tB\x00R\tpageToken\"s\n\x12ListPeopleResponse\x12\x35\n\x06people\x18\x01 \x03(\x0b\x32\x1d.interlock.identity.v1.PersonR\x06people\x12&\n\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"{\n\x13UpdatePersonRequest\x12\x37\n\x04spec\x18\x01 \x01(\x0b\x32!.interlock.identity.v1.PersonSpecB\x00R\x04spec\x12+\n\x10\x65xpected_version\x18\x02 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\"M\n\x14UpdatePersonResponse\x12\x35\n\x06person\x18\x01 \x01(\x0b\x32\x1d.interlock.identity.v1.PersonR\x06person\"X\n\x13\x44\x65letePersonRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12+\n\x10\x65xpected_version\x18\x02 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\"\x16\n\x14\x44\x65letePersonResponse\"+\n\x13InvitePersonRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\"\x9c\x01\n\x14InvitePersonResponse\x12\x12\n\x04\x63ode\x18\x01 \x01(\tR\x04\x63ode\x12\x39\n\nexpires_at\x18\x02 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\x12\x35\n\x06person\x18\x03 \x01(\x0b\x32\x1d.interlock.identity.v1.PersonR\x06person\"t\n\x14\x41\x64\x64\x43redentialRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12\x46\n\ncredential\x18\x02 \x01(\x0b\x32$.interlock.identity.v1.NewCredentialB\x00R\ncredential\"N\n\x15\x41\x64\x64\x43redentialResponse\x12\x35\n\x06person\x18\x01 \x01(\x0b\x32\x1d.interlock.identity.v1.PersonR\x06person\"V\n\x17RemoveCredentialRequest\x12\x14\n\x04name\x18\x01 \x01(\tB\x00R\x04name\x12%\n\rcredential_id\x18\x02 \x01(\tB\x00R\x0c\x63redentialId\"Q\n\x18RemoveCredentialResponse\x12\x35\n\x06person\x18\x01 \x01(\x0b\x32\x1d.interlock.identity.v1.PersonR\x06person2\xd7\x06\n\rPersonService\x12g\n\x0c\x43reatePerson\x12*.interlock.identity.v1.CreatePersonRequest\x1a+.interlock.identity.v1.CreatePersonResponse\x12^\n\tGetPerson\x12\'.interlock.identity.v1.GetPersonRequest\x1a(.interlock.identity.v1.GetPersonResponse\x12\x61\n\nListPeople\x12(.interlock.identity.v1.ListPeopleRequest\x1a).interlock.identity.v1.ListPeopleResponse\x12g\n\x0cUpdatePerson\x12*.interlock.identity.v1.UpdatePersonRequest\x1a+.interlock.identity.v1.UpdatePersonResponse\x12g\n\x0c\x44\x65letePerson\x12*.interlock.identity.v1.DeletePersonRequest\x1a+.interlock.identity.v1.DeletePersonResponse\x12g\n\x0cInvitePerson\x12*.interlock.identity.v1.InvitePersonRequest\x1a+.interlock.identity.v1.InvitePersonResponse\x12j\n\rAddCredential\x12+.interlock.identity.v1.AddCredentialRequest\x1a,.interlock.identity.v1.AddCredentialResponse\x12s\n\x10RemoveCredential\x12..interlock.identity.v1.RemoveCredentialRequest\x1a/.interlock.identity.v1.RemoveCredentialResponseBLZJgithub.com/interlock-run/interlock/gen/go/interlock/identity/v1;identityv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.identity.v1.person_service_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZJgithub.com/interlock-run/interlock/gen/go/interlock/identity/v1;identityv1'
  _globals['_CREATEPERSONREQUEST']._serialized_start=181
  _globals['_CREATEPERSONREQUEST']._serialized_end=259
  _globals['_CREATEPERSONRESPONSE']._serialized_start=261
  _globals['_CREATEPERSONRESPONSE']._serialized_end=338
  _globals['_GETPERSONREQUEST']._serialized_start=340
  _globals['_GETPERSONREQUEST']._serialized_end=380
  _globals['_GETPERSONRESPONSE']._serialized_start=382
  _globals['_GETPERSONRESPONSE']._serialized_end=456
  _globals['_LISTPEOPLEREQUEST']._serialized_start=458
  _globals['_LISTPEOPLEREQUEST']._serialized_end=541
  _globals['_LISTPEOPLERESPONSE']._serialized_start=543
  _globals['_LISTPEOPLERESPONSE']._serialized_end=658
  _globals['_UPDATEPERSONREQUEST']._serialized_start=660
  _globals['_UPDATEPERSONREQUEST']._serialized_end=783
  _globals['_UPDATEPERSONRESPONSE']._serialized_start=785
  _globals['_UPDATEPERSONRESPONSE']._serialized_end=862
  _globals['_DELETEPERSONREQUEST']._serialized_start=864
  _globals['_DELETEPERSONREQUEST']._serialized_end=952
  _globals['_DELETEPERSONRESPONSE']._serialized_start=954
  _globals['_DELETEPERSONRESPONSE']._serialized_end=976
  _globals['_INVITEPERSONREQUEST']._serialized_start=978
  _globals['_INVITEPERSONREQUEST']._serialized_end=1021
  _globals['_INVITEPERSONRESPONSE']._serialized_start=1024
  _globals['_INVITEPERSONRESPONSE']._serialized_end=1180
  _globals['_ADDCREDENTIALREQUEST']._serialized_start=1182
  _globals['_ADDCREDENTIALREQUEST']._serialized_end=1298
  _globals['_ADDCREDENTIALRESPONSE']._serialized_start=1300
  _globals['_ADDCREDENTIALRESPONSE']._serialized_end=1378
  _globals['_REMOVECREDENTIALREQUEST']._serialized_start=1380
  _globals['_REMOVECREDENTIALREQUEST']._serialized_end=1466
  _globals['_REMOVECREDENTIALRESPONSE']._serialized_start=1468
  _globals['_REMOVECREDENTIALRESPONSE']._serialized_end=1549
  _globals['_PERSONSERVICE']._serialized_start=1552
  _globals['_PERSONSERVICE']._serialized_end=2407
# @@protoc_insertion_point(module_scope)
