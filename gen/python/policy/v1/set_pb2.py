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
    'interlock/policy/v1/set.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.policy.v1 import policy_pb2 as interlock_dot_policy_dot_v1_dot_policy__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\x1dinterlock/policy/v1/set.proto\x12\x13interlock.policy.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a interlock/policy/v1/policy.proto\"\xf2\x02\n\rDefinitionSet\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x18\n\x07version\x18\x02 \x01(\x03R\x07version\x12\x38\n\x07objects\x18\x03 \x03(\x0b\x32\x1e.interlock.policy.v1.SetObjectR\x07objects\x12\x12\n\x04repo\x18\x04 \x01(\tR\x04repo\x12\x16\n\x06\x63ommit\x18\x05 \x01(\tR\x06\x63ommit\x12\x39\n\napplied_at\x18\x06 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tappliedAt\x12\x1d\n\napplied_by\x18\x07 \x01(\tR\tappliedBy\x12\x16\n\x06serial\x18\x08 \x01(\x03R\x06serial\x12#\n\rbundle_digest\x18\t \x01(\tR\x0c\x62undleDigest\x12\x36\n\x06shadow\x18\n \x01(\x0b\x32\x1e.interlock.policy.v1.SetShadowR\x06shadow\"\x82\x02\n\tSetShadow\x12\x39\n\nstarted_at\x18\x01 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tstartedAt\x12\x30\n\x05until\x18\x02 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05until\x12\x1d\n\nstarted_by\x18\x03 \x01(\tR\tstartedBy\x12\x12\n\x04repo\x18\x04 \x01(\tR\x04repo\x12\x16\n\x06\x63ommit\x18\x05 \x01(\tR\x06\x63ommit\x12=\n\x07objects\x18\x06 \x03(\x0b\x32#.interlock.policy.v1.ShadowedObjectR\x07objects\"\xb8\x02\n\x0eShadowedObject\x12\x37\n\x04kind\x18\x01 \x01(\x0e\x32#.interlock.policy.v1.DefinitionKindR\x04kind\x12\x12\n\x04name\x18\x02 \x01(\tR\x04name\x12\x18\n\x07version\x18\x03 \x01(\x03R\x07version\x12\x16\n\x06\x64igest\x18\x04 \x01(\tR\x06\x64igest\x12!\n\x0clive_version\x18\x05 \x01(\x03R\x0bliveVersion\x12)\n\x10owns_attachments\x18\x06 \x01(\x08R\x0fownsAttachments\x12\x41\n\x0b\x61ttachments\x18\x07 \x03(\x0b\x32\x1f.interlock.policy.v1.AttachmentR\x0b\x61ttachments\x12\x16\n\x06judged\x18\x08 \x01(\x08R\x06judged\"\xb5\x01\n\tSetObject\x12\x37\n\x04kind\x18\x01 \x01(\x0e\x32#.interlock.policy.v1.DefinitionKindR\x04kind\x12\x12\n\x04name\x18\x02 \x01(\tR\x04name\x12\x18\n\x07version\x18\x03 \x01(\x03R\x07version\x12\x16\n\x06\x64igest\x18\x04 \x01(\tR\x06\x64igest\x12)\n\x10owns_attachments\x18\x05 \x01(\x08R\x0fownsAttachments\"\xff\x02\n\tSetChange\x12\x39\n\x04kind\x18\x01 \x01(\x0e\x32#.interlock.policy.v1.DefinitionKindB\x00R\x04kind\x12\x14\n\x04name\x18\x02 \x01(\tB\x00R\x04name\x12+\n\x10\x65xpected_version\x18\x03 \x01(\x03\x42\x00R\x0f\x65xpectedVersion\x12\x1a\n\x07version\x18\x04 \x01(\x03\x42\x00R\x07version\x12\x12\n\x04take\x18\x05 \x01(\x08R\x04take\x12)\n\x10owns_attachments\x18\x06 \x01(\x08R\x0fownsAttachments\x12T\n\x14\x65xpected_attachments\x18\x07 \x03(\x0b\x32\x1f.interlock.policy.v1.AttachmentB\x00R\x13\x65xpectedAttachments\x12\x43\n\x0b\x61ttachments\x18\x08 \x03(\x0b\x32\x1f.interlock.policy.v1.AttachmentB\x00R\x0b\x61ttachments*\xc3\x01\n\x0e\x44\x65\x66initionKind\x12\x1f\n\x1b\x44\x45\x46INITION_KIND_UNSPECIFIED\x10\x00\x12\x1c\n\x18\x44\x45\x46INITION_KIND_WORKFLOW\x10\x01\x12\x1b\n\x17\x44\x45\x46INITION_KIND_PROCESS\x10\x02\x12\x1a\n\x16\x44\x45\x46INITION_KIND_POLICY\x10\x03\x12\x1a\n\x16\x44\x45\x46INITION_KIND_SCHEMA\x10\x04\x12\x1d\n\x19\x44\x45\x46INITION_KIND_COMPONENT\x10\x05\x42HZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.set_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_DEFINITIONKIND']._serialized_start=1641
  _globals['_DEFINITIONKIND']._serialized_end=1836
  _globals['_DEFINITIONSET']._serialized_start=122
  _globals['_DEFINITIONSET']._serialized_end=492
  _globals['_SETSHADOW']._serialized_start=495
  _globals['_SETSHADOW']._serialized_end=753
  _globals['_SHADOWEDOBJECT']._serialized_start=756
  _globals['_SHADOWEDOBJECT']._serialized_end=1068
  _globals['_SETOBJECT']._serialized_start=1071
  _globals['_SETOBJECT']._serialized_end=1252
  _globals['_SETCHANGE']._serialized_start=1255
  _globals['_SETCHANGE']._serialized_end=1638
# @@protoc_insertion_point(module_scope)
