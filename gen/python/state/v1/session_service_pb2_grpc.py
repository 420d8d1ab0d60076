# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.state.v1 import session_service_pb2 as interlock_dot_state_dot_v1_dot_session__service__pb2

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
        + ' but the generated code in interlock/state/v1/session_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class SessionServiceStub:
    """SessionService owns the trees of sessions and makes children report before they are
    done (S11).
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.CreateSession = channel.unary_unary(
                '/interlock.state.v1.SessionService/CreateSession',
                request_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.CreateSessionRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.CreateSessionResponse.FromString,
                _registered_method=True)
        self.GetSession = channel.unary_unary(
                '/interlock.state.v1.SessionService/GetSession',
                request_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.GetSessionRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.GetSessionResponse.FromString,
                _registered_method=True)
        self.ListSessions = channel.unary_unary(
                '/interlock.state.v1.SessionService/ListSessions',
                request_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.ListSessionsRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.ListSessionsResponse.FromString,
                _registered_method=True)
        self.StopSession = channel.unary_unary(
                '/interlock.state.v1.SessionService/StopSession',
                request_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.StopSessionRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.StopSessionResponse.FromString,
                _registered_method=True)
        self.ResumeSession = channel.unary_unary(
                '/interlock.state.v1.SessionService/ResumeSession',
                request_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.ResumeSessionRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.ResumeSessionResponse.FromString,
                _registered_method=True)
        self.GetSessionResult = channel.unary_unary(
                '/interlock.state.v1.SessionService/GetSessionResult',
                request_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.GetSessionResultRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.GetSessionResultResponse.FromString,
                _registered_method=True)
        self.DeleteSession = channel.unary_unary(
                '/interlock.state.v1.SessionService/DeleteSession',
                request_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.DeleteSessionRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.DeleteSessionResponse.FromString,
                _registered_method=True)
        self.GrantStateAccess = channel.unary_unary(
                '/interlock.state.v1.SessionService/GrantStateAccess',
                request_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.GrantStateAccessRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.GrantStateAccessResponse.FromString,
                _registered_method=True)
        self.NarrowSession = channel.unary_unary(
                '/interlock.state.v1.SessionService/NarrowSession',
                request_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.NarrowSessionRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.NarrowSessionResponse.FromString,
                _registered_method=True)
        self.MintSessionToken = channel.unary_unary(
                '/interlock.state.v1.SessionService/MintSessionToken',
                request_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.MintSessionTokenRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.MintSessionTokenResponse.FromString,
                _registered_method=True)
        self.ListSessionTokens = channel.unary_unary(
                '/interlock.state.v1.SessionService/ListSessionTokens',
                request_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.ListSessionTokensRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.ListSessionTokensResponse.FromString,
                _registered_method=True)
        self.RevokeSessionTokens = channel.unary_unary(
                '/interlock.state.v1.SessionService/RevokeSessionTokens',
                request_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.RevokeSessionTokensRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.RevokeSessionTokensResponse.FromString,
                _registered_method=True)


class SessionServiceServicer:
    """SessionService owns the trees of sessions and makes children report before they are
    done (S11).
    """

    def CreateSession(self, request, context):
        """CreateSession makes a session, at the root or under a parent whose state it shares.
        A repeated request returns the same session with created = false.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetSession(self, request, context):
        """GetSession returns a session by id or name. NOT_FOUND when there is none.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListSessions(self, request, context):
        """ListSessions returns sessions, newest first.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def StopSession(self, request, context):
        """StopSession says that the session's agent has stopped. A child that has not updated
        the state it shares is asked to; then its parent is called back (S11.2).
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ResumeSession(self, request, context):
        """ResumeSession says that the session's agent works again.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetSessionResult(self, request, context):
        """GetSessionResult returns what a session has left as the result of its work (S15.3).
        NOT_FOUND when there is none.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def DeleteSession(self, request, context):
        """DeleteSession removes a session that has ended, and with cascade all below it and the
        state of a root. Its names are not given again. Operators only.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GrantStateAccess(self, request, context):
        """GrantStateAccess lets a session of another tree read a state, or takes that back
        (S10.9). Operators only.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def NarrowSession(self, request, context):
        """NarrowSession adds entries that all calls of a session and of those below it must meet
        (S22.24). Only an operator replaces or removes entries.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def MintSessionToken(self, request, context):
        """MintSessionToken makes a token for a session or one below it, with no more rights than
        the caller's own (S22.20).
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListSessionTokens(self, request, context):
        """ListSessionTokens returns the tokens that were minted at a session and have not expired.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def RevokeSessionTokens(self, request, context):
        """RevokeSessionTokens ends one token, or all tokens of a session and of those below it
        (S22.21).
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_SessionServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'CreateSession': grpc.unary_unary_rpc_method_handler(
                    servicer.CreateSession,
                    request_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.CreateSessionRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.CreateSessionResponse.SerializeToString,
            ),
            'GetSession': grpc.unary_unary_rpc_method_handler(
                    servicer.GetSession,
                    request_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.GetSessionRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.GetSessionResponse.SerializeToString,
            ),
            'ListSessions': grpc.unary_unary_rpc_method_handler(
                    servicer.ListSessions,
                    request_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.ListSessionsRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.ListSessionsResponse.SerializeToString,
            ),
            'StopSession': grpc.unary_unary_rpc_method_handler(
                    servicer.StopSession,
                    request_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.StopSessionRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.StopSessionResponse.SerializeToString,
            ),
            'ResumeSession': grpc.unary_unary_rpc_method_handler(
                    servicer.ResumeSession,
                    request_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.ResumeSessionRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.ResumeSessionResponse.SerializeToString,
            ),
            'GetSessionResult': grpc.unary_unary_rpc_method_handler(
                    servicer.GetSessionResult,
                    request_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.GetSessionResultRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.GetSessionResultResponse.SerializeToString,
            ),
            'DeleteSession': grpc.unary_unary_rpc_method_handler(
                    servicer.DeleteSession,
                    request_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.DeleteSessionRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.DeleteSessionResponse.SerializeToString,
            ),
            'GrantStateAccess': grpc.unary_unary_rpc_method_handler(
                    servicer.GrantStateAccess,
                    request_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.GrantStateAccessRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.GrantStateAccessResponse.SerializeToString,
            ),
            'NarrowSession': grpc.unary_unary_rpc_method_handler(
                    servicer.NarrowSession,
                    request_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.NarrowSessionRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.NarrowSessionResponse.SerializeToString,
            ),
            'MintSessionToken': grpc.unary_unary_rpc_method_handler(
                    servicer.MintSessionToken,
                    request_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.MintSessionTokenRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.MintSessionTokenResponse.SerializeToString,
            ),
            'ListSessionTokens': grpc.unary_unary_rpc_method_handler(
                    servicer.ListSessionTokens,
                    request_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.ListSessionTokensRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.ListSessionTokensResponse.SerializeToString,
            ),
            'RevokeSessionTokens': grpc.unary_unary_rpc_method_handler(
                    servicer.RevokeSessionTokens,
                    request_deserializer=interlock_dot_state_dot_v1_dot_session__service__pb2.RevokeSessionTokensRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_session__service__pb2.RevokeSessionTokensResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.state.v1.SessionService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.state.v1.SessionService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class SessionService:
    """SessionService owns the trees of sessions and makes children report before they are
    done (S11).
    """

    @staticmethod
    def CreateSession(request,
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
            '/interlock.state.v1.SessionService/CreateSession',
            interlock_dot_state_dot_v1_dot_session__service__pb2.CreateSessionRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_session__service__pb2.CreateSessionResponse.FromString,
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
    def GetSession(request,
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
            '/interlock.state.v1.SessionService/GetSession',
            interlock_dot_state_dot_v1_dot_session__service__pb2.GetSessionRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_session__service__pb2.GetSessionResponse.FromString,
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
    def ListSessions(request,
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
            '/interlock.state.v1.SessionService/ListSessions',
            interlock_dot_state_dot_v1_dot_session__service__pb2.ListSessionsRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_session__service__pb2.ListSessionsResponse.FromString,
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
    def StopSession(request,
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
            '/interlock.state.v1.SessionService/StopSession',
            interlock_dot_state_dot_v1_dot_session__service__pb2.StopSessionRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_session__service__pb2.StopSessionResponse.FromString,
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
    def ResumeSession(request,
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
            '/interlock.state.v1.SessionService/ResumeSession',
            interlock_dot_state_dot_v1_dot_session__service__pb2.ResumeSessionRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_session__service__pb2.ResumeSessionResponse.FromString,
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
    def GetSessionResult(request,
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
            '/interlock.state.v1.SessionService/GetSessionResult',
            interlock_dot_state_dot_v1_dot_session__service__pb2.GetSessionResultRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_session__service__pb2.GetSessionResultResponse.FromString,
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
    def DeleteSession(request,
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
            '/interlock.state.v1.SessionService/DeleteSession',
            interlock_dot_state_dot_v1_dot_session__service__pb2.DeleteSessionRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_session__service__pb2.DeleteSessionResponse.FromString,
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
    def GrantStateAccess(request,
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
            '/interlock.state.v1.SessionService/GrantStateAccess',
            interlock_dot_state_dot_v1_dot_session__service__pb2.GrantStateAccessRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_session__service__pb2.GrantStateAccessResponse.FromString,
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
    def NarrowSession(request,
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
            '/interlock.state.v1.SessionService/NarrowSession',
            interlock_dot_state_dot_v1_dot_session__service__pb2.NarrowSessionRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_session__service__pb2.NarrowSessionResponse.FromString,
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
    def MintSessionToken(request,
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
            '/interlock.state.v1.SessionService/MintSessionToken',
            interlock_dot_state_dot_v1_dot_session__service__pb2.MintSessionTokenRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_session__service__pb2.MintSessionTokenResponse.FromString,
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
    def ListSessionTokens(request,
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
            '/interlock.state.v1.SessionService/ListSessionTokens',
            interlock_dot_state_dot_v1_dot_session__service__pb2.ListSessionTokensRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_session__service__pb2.ListSessionTokensResponse.FromString,
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
    def RevokeSessionTokens(request,
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
            '/interlock.state.v1.SessionService/RevokeSessionTokens',
            interlock_dot_state_dot_v1_dot_session__service__pb2.RevokeSessionTokensRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_session__service__pb2.RevokeSessionTokensResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
