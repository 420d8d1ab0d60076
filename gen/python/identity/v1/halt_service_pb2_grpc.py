# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.identity.v1 import halt_service_pb2 as interlock_dot_identity_dot_v1_dot_halt__service__pb2

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
        + ' but the generated code in interlock/identity/v1/halt_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class HaltServiceStub:
    """HaltService stops work, and lets it go on (S23.40). It freezes transitions for a time (S25.12).
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.CreateHalt = channel.unary_unary(
                '/interlock.identity.v1.HaltService/CreateHalt',
                request_serializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.CreateHaltRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.CreateHaltResponse.FromString,
                _registered_method=True)
        self.LiftHalt = channel.unary_unary(
                '/interlock.identity.v1.HaltService/LiftHalt',
                request_serializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.LiftHaltRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.LiftHaltResponse.FromString,
                _registered_method=True)
        self.ListHalts = channel.unary_unary(
                '/interlock.identity.v1.HaltService/ListHalts',
                request_serializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.ListHaltsRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.ListHaltsResponse.FromString,
                _registered_method=True)
        self.CreateFreeze = channel.unary_unary(
                '/interlock.identity.v1.HaltService/CreateFreeze',
                request_serializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.CreateFreezeRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.CreateFreezeResponse.FromString,
                _registered_method=True)
        self.LiftFreeze = channel.unary_unary(
                '/interlock.identity.v1.HaltService/LiftFreeze',
                request_serializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.LiftFreezeRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.LiftFreezeResponse.FromString,
                _registered_method=True)
        self.ListFreezes = channel.unary_unary(
                '/interlock.identity.v1.HaltService/ListFreezes',
                request_serializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.ListFreezesRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.ListFreezesResponse.FromString,
                _registered_method=True)


class HaltServiceServicer:
    """HaltService stops work, and lets it go on (S23.40). It freezes transitions for a time (S25.12).
    """

    def CreateHalt(self, request, context):
        """CreateHalt stops all work in a scope of the namespace of the call. From its answer on, every
        replica denies tool calls, transitions, starts of runs and new sessions there. A halt of
        everything needs the role root. The same halt by the same caller is made once.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def LiftHalt(self, request, context):
        """LiftHalt ends a halt of the namespace of the call, or one of everything. NOT_FOUND when there
        is no such halt.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListHalts(self, request, context):
        """ListHalts returns the halts that are in force in the namespace of the call, those of
        everything first.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def CreateFreeze(self, request, context):
        """CreateFreeze freezes workflows of the namespace of the call until a time. From its answer on,
        every replica refuses the transitions that it stops. The same freeze by the same caller is made
        once.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def LiftFreeze(self, request, context):
        """LiftFreeze ends a freeze of the namespace of the call before its time. NOT_FOUND when it is not
        in force.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListFreezes(self, request, context):
        """ListFreezes returns the freezes that are in force in the namespace of the call.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_HaltServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'CreateHalt': grpc.unary_unary_rpc_method_handler(
                    servicer.CreateHalt,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.CreateHaltRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.CreateHaltResponse.SerializeToString,
            ),
            'LiftHalt': grpc.unary_unary_rpc_method_handler(
                    servicer.LiftHalt,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.LiftHaltRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.LiftHaltResponse.SerializeToString,
            ),
            'ListHalts': grpc.unary_unary_rpc_method_handler(
                    servicer.ListHalts,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.ListHaltsRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.ListHaltsResponse.SerializeToString,
            ),
            'CreateFreeze': grpc.unary_unary_rpc_method_handler(
                    servicer.CreateFreeze,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.CreateFreezeRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.CreateFreezeResponse.SerializeToString,
            ),
            'LiftFreeze': grpc.unary_unary_rpc_method_handler(
                    servicer.LiftFreeze,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.LiftFreezeRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.LiftFreezeResponse.SerializeToString,
            ),
            'ListFreezes': grpc.unary_unary_rpc_method_handler(
                    servicer.ListFreezes,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.ListFreezesRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_halt__service__pb2.ListFreezesResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.identity.v1.HaltService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.identity.v1.HaltService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class HaltService:
    """HaltService stops work, and lets it go on (S23.40). It freezes transitions for a time (S25.12).
    """

    @staticmethod
    def CreateHalt(request,
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
            '/interlock.identity.v1.HaltService/CreateHalt',
            interlock_dot_identity_dot_v1_dot_halt__service__pb2.CreateHaltRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_halt__service__pb2.CreateHaltResponse.FromString,
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
    def LiftHalt(request,
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
            '/interlock.identity.v1.HaltService/LiftHalt',
            interlock_dot_identity_dot_v1_dot_halt__service__pb2.LiftHaltRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_halt__service__pb2.LiftHaltResponse.FromString,
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
    def ListHalts(request,
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
            '/interlock.identity.v1.HaltService/ListHalts',
            interlock_dot_identity_dot_v1_dot_halt__service__pb2.ListHaltsRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_halt__service__pb2.ListHaltsResponse.FromString,
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
    def CreateFreeze(request,
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
            '/interlock.identity.v1.HaltService/CreateFreeze',
            interlock_dot_identity_dot_v1_dot_halt__service__pb2.CreateFreezeRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_halt__service__pb2.CreateFreezeResponse.FromString,
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
    def LiftFreeze(request,
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
            '/interlock.identity.v1.HaltService/LiftFreeze',
            interlock_dot_identity_dot_v1_dot_halt__service__pb2.LiftFreezeRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_halt__service__pb2.LiftFreezeResponse.FromString,
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
    def ListFreezes(request,
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
            '/interlock.identity.v1.HaltService/ListFreezes',
            interlock_dot_identity_dot_v1_dot_halt__service__pb2.ListFreezesRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_halt__service__pb2.ListFreezesResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
