# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.engine.v1 import workflow_service_pb2 as interlock_dot_engine_dot_v1_dot_workflow__service__pb2

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
        + ' but the generated code in interlock/engine/v1/workflow_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class WorkflowServiceStub:
    """WorkflowService owns workflow definitions. Definitions are registered by content,
    and versions are immutable (S1.6).
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.RegisterWorkflow = channel.unary_unary(
                '/interlock.engine.v1.WorkflowService/RegisterWorkflow',
                request_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RegisterWorkflowRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RegisterWorkflowResponse.FromString,
                _registered_method=True)
        self.GetWorkflow = channel.unary_unary(
                '/interlock.engine.v1.WorkflowService/GetWorkflow',
                request_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.GetWorkflowRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.GetWorkflowResponse.FromString,
                _registered_method=True)
        self.ListWorkflows = channel.unary_unary(
                '/interlock.engine.v1.WorkflowService/ListWorkflows',
                request_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.ListWorkflowsRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.ListWorkflowsResponse.FromString,
                _registered_method=True)
        self.ValidateWorkflow = channel.unary_unary(
                '/interlock.engine.v1.WorkflowService/ValidateWorkflow',
                request_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.ValidateWorkflowRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.ValidateWorkflowResponse.FromString,
                _registered_method=True)
        self.PlanMigration = channel.unary_unary(
                '/interlock.engine.v1.WorkflowService/PlanMigration',
                request_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.PlanMigrationRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.PlanMigrationResponse.FromString,
                _registered_method=True)
        self.PromoteWorkflow = channel.unary_unary(
                '/interlock.engine.v1.WorkflowService/PromoteWorkflow',
                request_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.PromoteWorkflowRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.PromoteWorkflowResponse.FromString,
                _registered_method=True)
        self.RetireWorkflow = channel.unary_unary(
                '/interlock.engine.v1.WorkflowService/RetireWorkflow',
                request_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RetireWorkflowRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RetireWorkflowResponse.FromString,
                _registered_method=True)
        self.RestoreWorkflow = channel.unary_unary(
                '/interlock.engine.v1.WorkflowService/RestoreWorkflow',
                request_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RestoreWorkflowRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RestoreWorkflowResponse.FromString,
                _registered_method=True)


class WorkflowServiceServicer:
    """WorkflowService owns workflow definitions. Definitions are registered by content,
    and versions are immutable (S1.6).
    """

    def RegisterWorkflow(self, request, context):
        """RegisterWorkflow validates and stores a definition. The content of the latest
        version returns that version with created = false. An invalid definition is
        INVALID_ARGUMENT with one BadRequest violation per problem.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetWorkflow(self, request, context):
        """GetWorkflow returns one version, by default the live one. NOT_FOUND when there is
        none.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListWorkflows(self, request, context):
        """ListWorkflows returns the live version of every workflow, or else the latest. It is a
        registry: ordered by name, without a filter.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ValidateWorkflow(self, request, context):
        """ValidateWorkflow returns every problem of a definition and stores nothing.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def PlanMigration(self, request, context):
        """PlanMigration says what moving running runs to another version would newly allow, or
        that it allows nothing new (S17.3). It moves none.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def PromoteWorkflow(self, request, context):
        """PromoteWorkflow makes a version of a workflow or process live: new runs get it. It may be
        an older version again.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def RetireWorkflow(self, request, context):
        """RetireWorkflow ends the new runs of a workflow or process. Those that run go on.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def RestoreWorkflow(self, request, context):
        """RestoreWorkflow undoes RetireWorkflow.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_WorkflowServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'RegisterWorkflow': grpc.unary_unary_rpc_method_handler(
                    servicer.RegisterWorkflow,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RegisterWorkflowRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RegisterWorkflowResponse.SerializeToString,
            ),
            'GetWorkflow': grpc.unary_unary_rpc_method_handler(
                    servicer.GetWorkflow,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.GetWorkflowRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.GetWorkflowResponse.SerializeToString,
            ),
            'ListWorkflows': grpc.unary_unary_rpc_method_handler(
                    servicer.ListWorkflows,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.ListWorkflowsRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.ListWorkflowsResponse.SerializeToString,
            ),
            'ValidateWorkflow': grpc.unary_unary_rpc_method_handler(
                    servicer.ValidateWorkflow,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.ValidateWorkflowRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.ValidateWorkflowResponse.SerializeToString,
            ),
            'PlanMigration': grpc.unary_unary_rpc_method_handler(
                    servicer.PlanMigration,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.PlanMigrationRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.PlanMigrationResponse.SerializeToString,
            ),
            'PromoteWorkflow': grpc.unary_unary_rpc_method_handler(
                    servicer.PromoteWorkflow,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.PromoteWorkflowRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.PromoteWorkflowResponse.SerializeToString,
            ),
            'RetireWorkflow': grpc.unary_unary_rpc_method_handler(
                    servicer.RetireWorkflow,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RetireWorkflowRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RetireWorkflowResponse.SerializeToString,
            ),
            'RestoreWorkflow': grpc.unary_unary_rpc_method_handler(
                    servicer.RestoreWorkflow,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RestoreWorkflowRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RestoreWorkflowResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.engine.v1.WorkflowService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.engine.v1.WorkflowService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class WorkflowService:
    """WorkflowService owns workflow definitions. Definitions are registered by content,
    and versions are immutable (S1.6).
    """

    @staticmethod
    def RegisterWorkflow(request,
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
            '/interlock.engine.v1.WorkflowService/RegisterWorkflow',
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RegisterWorkflowRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RegisterWorkflowResponse.FromString,
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
    def GetWorkflow(request,
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
            '/interlock.engine.v1.WorkflowService/GetWorkflow',
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.GetWorkflowRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.GetWorkflowResponse.FromString,
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
    def ListWorkflows(request,
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
            '/interlock.engine.v1.WorkflowService/ListWorkflows',
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.ListWorkflowsRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.ListWorkflowsResponse.FromString,
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
    def ValidateWorkflow(request,
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
            '/interlock.engine.v1.WorkflowService/ValidateWorkflow',
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.ValidateWorkflowRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.ValidateWorkflowResponse.FromString,
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
    def PlanMigration(request,
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
            '/interlock.engine.v1.WorkflowService/PlanMigration',
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.PlanMigrationRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.PlanMigrationResponse.FromString,
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
    def PromoteWorkflow(request,
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
            '/interlock.engine.v1.WorkflowService/PromoteWorkflow',
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.PromoteWorkflowRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.PromoteWorkflowResponse.FromString,
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
    def RetireWorkflow(request,
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
            '/interlock.engine.v1.WorkflowService/RetireWorkflow',
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RetireWorkflowRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RetireWorkflowResponse.FromString,
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
    def RestoreWorkflow(request,
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
            '/interlock.engine.v1.WorkflowService/RestoreWorkflow',
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RestoreWorkflowRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_workflow__service__pb2.RestoreWorkflowResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
