# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.state.v1 import component_service_pb2 as interlock_dot_state_dot_v1_dot_component__service__pb2

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
        + ' but the generated code in interlock/state/v1/component_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class ComponentServiceStub:
    """ComponentService owns state components: typed values that agents keep for one
    execution, one session, or across sessions (S12).
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.CreateComponent = channel.unary_unary(
                '/interlock.state.v1.ComponentService/CreateComponent',
                request_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.CreateComponentRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.CreateComponentResponse.FromString,
                _registered_method=True)
        self.GetComponent = channel.unary_unary(
                '/interlock.state.v1.ComponentService/GetComponent',
                request_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.GetComponentRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.GetComponentResponse.FromString,
                _registered_method=True)
        self.ListComponents = channel.unary_unary(
                '/interlock.state.v1.ComponentService/ListComponents',
                request_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.ListComponentsRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.ListComponentsResponse.FromString,
                _registered_method=True)
        self.UpdateComponent = channel.unary_unary(
                '/interlock.state.v1.ComponentService/UpdateComponent',
                request_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.UpdateComponentRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.UpdateComponentResponse.FromString,
                _registered_method=True)
        self.DeleteComponent = channel.unary_unary(
                '/interlock.state.v1.ComponentService/DeleteComponent',
                request_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.DeleteComponentRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.DeleteComponentResponse.FromString,
                _registered_method=True)
        self.BeginExecution = channel.unary_unary(
                '/interlock.state.v1.ComponentService/BeginExecution',
                request_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.BeginExecutionRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.BeginExecutionResponse.FromString,
                _registered_method=True)
        self.CommitExecution = channel.unary_unary(
                '/interlock.state.v1.ComponentService/CommitExecution',
                request_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.CommitExecutionRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.CommitExecutionResponse.FromString,
                _registered_method=True)
        self.GetComponentValues = channel.unary_unary(
                '/interlock.state.v1.ComponentService/GetComponentValues',
                request_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.GetComponentValuesRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.GetComponentValuesResponse.FromString,
                _registered_method=True)


class ComponentServiceServicer:
    """ComponentService owns state components: typed values that agents keep for one
    execution, one session, or across sessions (S12).
    """

    def CreateComponent(self, request, context):
        """CreateComponent stores a component under its slug.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetComponent(self, request, context):
        """GetComponent returns a component by its slug or id. NOT_FOUND when there is none.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListComponents(self, request, context):
        """ListComponents returns components. It is a registry: ordered by slug.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def UpdateComponent(self, request, context):
        """UpdateComponent replaces a component's definition. Kept values must fit the new one
        when they are next used.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def DeleteComponent(self, request, context):
        """DeleteComponent removes a component. Its kept values cannot be reached any more.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def BeginExecution(self, request, context):
        """BeginExecution starts an execution and returns the values that it begins with
        (S12.3).
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def CommitExecution(self, request, context):
        """CommitExecution ends an execution and keeps its values for as long as the component
        says. ABORTED when another execution has committed since it began.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetComponentValues(self, request, context):
        """GetComponentValues returns the values that the next execution would begin with.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_ComponentServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'CreateComponent': grpc.unary_unary_rpc_method_handler(
                    servicer.CreateComponent,
                    request_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.CreateComponentRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.CreateComponentResponse.SerializeToString,
            ),
            'GetComponent': grpc.unary_unary_rpc_method_handler(
                    servicer.GetComponent,
                    request_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.GetComponentRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.GetComponentResponse.SerializeToString,
            ),
            'ListComponents': grpc.unary_unary_rpc_method_handler(
                    servicer.ListComponents,
                    request_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.ListComponentsRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.ListComponentsResponse.SerializeToString,
            ),
            'UpdateComponent': grpc.unary_unary_rpc_method_handler(
                    servicer.UpdateComponent,
                    request_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.UpdateComponentRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.UpdateComponentResponse.SerializeToString,
            ),
            'DeleteComponent': grpc.unary_unary_rpc_method_handler(
                    servicer.DeleteComponent,
                    request_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.DeleteComponentRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.DeleteComponentResponse.SerializeToString,
            ),
            'BeginExecution': grpc.unary_unary_rpc_method_handler(
                    servicer.BeginExecution,
                    request_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.BeginExecutionRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.BeginExecutionResponse.SerializeToString,
            ),
            'CommitExecution': grpc.unary_unary_rpc_method_handler(
                    servicer.CommitExecution,
                    request_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.CommitExecutionRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.CommitExecutionResponse.SerializeToString,
            ),
            'GetComponentValues': grpc.unary_unary_rpc_method_handler(
                    servicer.GetComponentValues,
                    request_deserializer=interlock_dot_state_dot_v1_dot_component__service__pb2.GetComponentValuesRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_component__service__pb2.GetComponentValuesResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.state.v1.ComponentService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.state.v1.ComponentService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class ComponentService:
    """ComponentService owns state components: typed values that agents keep for one
    execution, one session, or across sessions (S12).
    """

    @staticmethod
    def CreateComponent(request,
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
            '/interlock.state.v1.ComponentService/CreateComponent',
            interlock_dot_state_dot_v1_dot_component__service__pb2.CreateComponentRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_component__service__pb2.CreateComponentResponse.FromString,
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
    def GetComponent(request,
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
            '/interlock.state.v1.ComponentService/GetComponent',
            interlock_dot_state_dot_v1_dot_component__service__pb2.GetComponentRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_component__service__pb2.GetComponentResponse.FromString,
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
    def ListComponents(request,
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
            '/interlock.state.v1.ComponentService/ListComponents',
            interlock_dot_state_dot_v1_dot_component__service__pb2.ListComponentsRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_component__service__pb2.ListComponentsResponse.FromString,
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
    def UpdateComponent(request,
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
            '/interlock.state.v1.ComponentService/UpdateComponent',
            interlock_dot_state_dot_v1_dot_component__service__pb2.UpdateComponentRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_component__service__pb2.UpdateComponentResponse.FromString,
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
    def DeleteComponent(request,
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
            '/interlock.state.v1.ComponentService/DeleteComponent',
            interlock_dot_state_dot_v1_dot_component__service__pb2.DeleteComponentRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_component__service__pb2.DeleteComponentResponse.FromString,
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
    def BeginExecution(request,
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
            '/interlock.state.v1.ComponentService/BeginExecution',
            interlock_dot_state_dot_v1_dot_component__service__pb2.BeginExecutionRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_component__service__pb2.BeginExecutionResponse.FromString,
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
    def CommitExecution(request,
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
            '/interlock.state.v1.ComponentService/CommitExecution',
            interlock_dot_state_dot_v1_dot_component__service__pb2.CommitExecutionRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_component__service__pb2.CommitExecutionResponse.FromString,
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
    def GetComponentValues(request,
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
            '/interlock.state.v1.ComponentService/GetComponentValues',
            interlock_dot_state_dot_v1_dot_component__service__pb2.GetComponentValuesRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_component__service__pb2.GetComponentValuesResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
