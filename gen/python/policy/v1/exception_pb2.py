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
    'interlock/policy/v1/exception.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n#interlock/policy/v1/exception.proto\x12\x13interlock.policy.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\xf6\x02\n\tException\x12!\n\x0c\x65xception_id\x18\x01 \x01(\tR\x0b\x65xceptionId\x12\x16\n\x06policy\x18\x02 \x01(\tR\x06policy\x12\x12\n\x04rule\x18\x03 \x01(\tR\x04rule\x12\x39\n\x05scope\x18\x04 \x01(\x0b\x32#.interlock.policy.v1.ExceptionScopeR\x05scope\x12\x30\n\x05until\x18\x05 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05until\x12\x16\n\x06reason\x18\x06 \x01(\tR\x06reason\x12\x1d\n\ncreated_by\x18\x07 \x01(\tR\tcreatedBy\x12\x39\n\ncreated_at\x18\x08 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x18\n\x07pending\x18\t \x01(\x08R\x07pending\x12!\n\x0c\x63onfirmed_by\x18\n \x01(\tR\x0b\x63onfirmedBy\"\x97\x01\n\x0e\x45xceptionScope\x12\x1e\n\tprincipal\x18\x01 \x01(\tB\x00R\tprincipal\x12\x16\n\x05human\x18\x02 \x01(\tB\x00R\x05human\x12\x16\n\x05group\x18\x03 \x01(\tB\x00R\x05group\x12\x1f\n\nsession_id\x18\x04 \x01(\tB\x00R\tsessionId\x12\x14\n\x04when\x18\x05 \x01(\x0c\x42\x00R\x04when\"\xd0\x01\n\x13\x41\x64\x64\x45xceptionRequest\x12\x18\n\x06policy\x18\x01 \x01(\tB\x00R\x06policy\x12\x14\n\x04rule\x18\x02 \x01(\tB\x00R\x04rule\x12;\n\x05scope\x18\x03 \x01(\x0b\x32#.interlock.policy.v1.ExceptionScopeB\x00R\x05scope\x12\x32\n\x05until\x18\x04 \x01(\x0b\x32\x1a.google.protobuf.TimestampB\x00R\x05until\x12\x18\n\x06reason\x18\x05 \x01(\tB\x00R\x06reason\"T\n\x14\x41\x64\x64\x45xceptionResponse\x12<\n\texception\x18\x01 \x01(\x0b\x32\x1e.interlock.policy.v1.ExceptionR\texception\"1\n\x15ListExceptionsRequest\x12\x18\n\x06policy\x18\x01 \x01(\tB\x00R\x06policy\"X\n\x16ListExceptionsResponse\x12>\n\nexceptions\x18\x01 \x03(\x0b\x32\x1e.interlock.policy.v1.ExceptionR\nexceptions\">\n\x17\x43onfirmExceptionRequest\x12#\n\x0c\x65xception_id\x18\x01 \x01(\tB\x00R\x0b\x65xceptionId\"X\n\x18\x43onfirmExceptionResponse\x12<\n\texception\x18\x01 \x01(\x0b\x32\x1e.interlock.policy.v1.ExceptionR\texception\":\n\x13\x45ndExceptionRequest\x12#\n\x0c\x65xception_id\x18\x01 \x01(\tB\x00R\x0b\x65xceptionId\"\x16\n\x14\x45ndExceptionResponseBHZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.exception_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_EXCEPTION']._serialized_start=94
  _globals['_EXCEPTION']._serialized_end=468
  _globals['_EXCEPTIONSCOPE']._serialized_start=471
  _globals['_EXCEPTIONSCOPE']._serialized_end=622
  _globals['_ADDEXCEPTIONREQUEST']._serialized_start=625
  _globals['_ADDEXCEPTIONREQUEST']._serialized_end=833
  _globals['_ADDEXCEPTIONRESPONSE']._serialized_start=835
  _globals['_ADDEXCEPTIONRESPONSE']._serialized_end=919
  _globals['_LISTEXCEPTIONSREQUEST']._serialized_start=921
  _globals['_LISTEXCEPTIONSREQUEST']._serialized_end=970
  _globals['_LISTEXCEPTIONSRESPONSE']._serialized_start=972
  _globals['_LISTEXCEPTIONSRESPONSE']._serialized_end=1060
  _globals['_CONFIRMEXCEPTIONREQUEST']._serialized_start=1062
  _globals['_CONFIRMEXCEPTIONREQUEST']._serialized_end=1124
  _globals['_CONFIRMEXCEPTIONRESPONSE']._serialized_start=1126
  _globals['_CONFIRMEXCEPTIONRESPONSE']._serialized_end=1214
  _globals['_ENDEXCEPTIONREQUEST']._serialized_start=1216
  _globals['_ENDEXCEPTIONREQUEST']._serialized_end=1274
  _globals['_ENDEXCEPTIONRESPONSE']._serialized_start=1276
  _globals['_ENDEXCEPTIONRESPONSE']._serialized_end=1298
# @@protoc_insertion_point(module_scope)
