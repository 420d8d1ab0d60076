# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.identity.v1 import login_service_pb2 as interlock_dot_identity_dot_v1_dot_login__service__pb2

GRPC_GENERATED_VERSION = '1.85.1'
GRPC_VERSION = grpc.__version__
_version_not_supported = False

try:
    from grpc._utilities import first_version_is_lower
    _version_not_supported = first_version_is_lower(GRPC_VERSION, GRPC_GENERATED_VERSION)
except ImportError:
    _version_not_supported = True

if _version_not_supported:
    raise RuntimeError(
        f'The grpc package installed is at version {GRPC_VERSION},'
        + ' but the generated code in interlock/identity/v1/login_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class LoginServiceStub:
    """LoginService lets people in: a proof of a key for a short-lived token (S23.11). It needs no
    credentials. All log-ins that are refused have the same error, which does not tell who
    there is or which keys they have.
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.BeginLogin = channel.unary_unary(
                '/interlock.identity.v1.LoginService/BeginLogin',
                request_serializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.BeginLoginRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.BeginLoginResponse.FromString,
                _registered_method=True)
        self.FinishLogin = channel.unary_unary(
                '/interlock.identity.v1.LoginService/FinishLogin',
                request_serializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.FinishLoginRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.FinishLoginResponse.FromString,
                _registered_method=True)
        self.GetInvitation = channel.unary_unary(
                '/interlock.identity.v1.LoginService/GetInvitation',
                request_serializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.GetInvitationRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.GetInvitationResponse.FromString,
                _registered_method=True)
        self.Register = channel.unary_unary(
                '/interlock.identity.v1.LoginService/Register',
                request_serializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.RegisterRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.RegisterResponse.FromString,
                _registered_method=True)
        self.RenewLogin = channel.unary_unary(
                '/interlock.identity.v1.LoginService/RenewLogin',
                request_serializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.RenewLoginRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.RenewLoginResponse.FromString,
                _registered_method=True)


class LoginServiceServicer:
    """LoginService lets people in: a proof of a key for a short-lived token (S23.11). It needs no
    credentials. All log-ins that are refused have the same error, which does not tell who
    there is or which keys they have.
    """

    def BeginLogin(self, request, context):
        """BeginLogin returns a challenge, which counts once and for two minutes.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def FinishLogin(self, request, context):
        """FinishLogin returns tokens for a proof. UNAUTHENTICATED when it is refused, QUOTA_EXCEEDED when
        too many were wrong.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetInvitation(self, request, context):
        """GetInvitation returns whom a code is for, and does not use it up. UNAUTHENTICATED for a code that is
        not known, or has ended.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def Register(self, request, context):
        """Register takes a person's key for a code: that of the first person, whom it adds, or of an
        invitation. It logs them in. The code counts once.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def RenewLogin(self, request, context):
        """RenewLogin returns tokens for one that still counts, at most eight hours after the log-in, and
        as long as the person and the key are there. It is for people only.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_LoginServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'BeginLogin': grpc.unary_unary_rpc_method_handler(
                    servicer.BeginLogin,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.BeginLoginRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.BeginLoginResponse.SerializeToString,
            ),
            'FinishLogin': grpc.unary_unary_rpc_method_handler(
                    servicer.FinishLogin,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.FinishLoginRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.FinishLoginResponse.SerializeToString,
            ),
            'GetInvitation': grpc.unary_unary_rpc_method_handler(
                    servicer.GetInvitation,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.GetInvitationRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.GetInvitationResponse.SerializeToString,
            ),
            'Register': grpc.unary_unary_rpc_method_handler(
                    servicer.Register,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.RegisterRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.RegisterResponse.SerializeToString,
            ),
            'RenewLogin': grpc.unary_unary_rpc_method_handler(
                    servicer.RenewLogin,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.RenewLoginRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_login__service__pb2.RenewLoginResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.identity.v1.LoginService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.identity.v1.LoginService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class LoginService:
    """LoginService lets people in: a proof of a key for a short-lived token (S23.11). It needs no
    credentials. All log-ins that are refused have the same error, which does not tell who
    there is or which keys they have.
    """

    @staticmethod
    def BeginLogin(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/interlock.identity.v1.LoginService/BeginLogin',
            interlock_dot_identity_dot_v1_dot_login__service__pb2.BeginLoginRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_login__service__pb2.BeginLoginResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)

    @staticmethod
    def FinishLogin(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/interlock.identity.v1.LoginService/FinishLogin',
            interlock_dot_identity_dot_v1_dot_login__service__pb2.FinishLoginRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_login__service__pb2.FinishLoginResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)

    @staticmethod
    def GetInvitation(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/interlock.identity.v1.LoginService/GetInvitation',
            interlock_dot_identity_dot_v1_dot_login__service__pb2.GetInvitationRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_login__service__pb2.GetInvitationResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)

    @staticmethod
    def Register(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/interlock.identity.v1.LoginService/Register',
            interlock_dot_identity_dot_v1_dot_login__service__pb2.RegisterRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_login__service__pb2.RegisterResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)

    @staticmethod
    def RenewLogin(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/interlock.identity.v1.LoginService/RenewLogin',
            interlock_dot_identity_dot_v1_dot_login__service__pb2.RenewLoginRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_login__service__pb2.RenewLoginResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
