# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.state.v1 import agent_service_pb2 as interlock_dot_state_dot_v1_dot_agent__service__pb2

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
        + ' but the generated code in interlock/state/v1/agent_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class AgentServiceStub:
    """AgentService owns agents: what sessions start from (S15.10).
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.CreateAgent = channel.unary_unary(
                '/interlock.state.v1.AgentService/CreateAgent',
                request_serializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.CreateAgentRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.CreateAgentResponse.FromString,
                _registered_method=True)
        self.GetAgent = channel.unary_unary(
                '/interlock.state.v1.AgentService/GetAgent',
                request_serializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.GetAgentRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.GetAgentResponse.FromString,
                _registered_method=True)
        self.ListAgents = channel.unary_unary(
                '/interlock.state.v1.AgentService/ListAgents',
                request_serializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.ListAgentsRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.ListAgentsResponse.FromString,
                _registered_method=True)
        self.UpdateAgent = channel.unary_unary(
                '/interlock.state.v1.AgentService/UpdateAgent',
                request_serializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.UpdateAgentRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.UpdateAgentResponse.FromString,
                _registered_method=True)
        self.DeleteAgent = channel.unary_unary(
                '/interlock.state.v1.AgentService/DeleteAgent',
                request_serializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.DeleteAgentRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.DeleteAgentResponse.FromString,
                _registered_method=True)


class AgentServiceServicer:
    """AgentService owns agents: what sessions start from (S15.10).
    """

    def CreateAgent(self, request, context):
        """CreateAgent stores an agent under its name. NAME_TAKEN when there is another.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetAgent(self, request, context):
        """GetAgent returns an agent by its name. NOT_FOUND when there is none.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListAgents(self, request, context):
        """ListAgents returns agents. It is a registry: ordered by name.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def UpdateAgent(self, request, context):
        """UpdateAgent replaces what an agent is. Sessions that have started stay as they are.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def DeleteAgent(self, request, context):
        """DeleteAgent removes an agent. No session can start from it any more.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_AgentServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'CreateAgent': grpc.unary_unary_rpc_method_handler(
                    servicer.CreateAgent,
                    request_deserializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.CreateAgentRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.CreateAgentResponse.SerializeToString,
            ),
            'GetAgent': grpc.unary_unary_rpc_method_handler(
                    servicer.GetAgent,
                    request_deserializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.GetAgentRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.GetAgentResponse.SerializeToString,
            ),
            'ListAgents': grpc.unary_unary_rpc_method_handler(
                    servicer.ListAgents,
                    request_deserializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.ListAgentsRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.ListAgentsResponse.SerializeToString,
            ),
            'UpdateAgent': grpc.unary_unary_rpc_method_handler(
                    servicer.UpdateAgent,
                    request_deserializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.UpdateAgentRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.UpdateAgentResponse.SerializeToString,
            ),
            'DeleteAgent': grpc.unary_unary_rpc_method_handler(
                    servicer.DeleteAgent,
                    request_deserializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.DeleteAgentRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_agent__service__pb2.DeleteAgentResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.state.v1.AgentService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.state.v1.AgentService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class AgentService:
    """AgentService owns agents: what sessions start from (S15.10).
    """

    @staticmethod
    def CreateAgent(request,
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
            '/interlock.state.v1.AgentService/CreateAgent',
            interlock_dot_state_dot_v1_dot_agent__service__pb2.CreateAgentRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_agent__service__pb2.CreateAgentResponse.FromString,
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
    def GetAgent(request,
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
            '/interlock.state.v1.AgentService/GetAgent',
            interlock_dot_state_dot_v1_dot_agent__service__pb2.GetAgentRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_agent__service__pb2.GetAgentResponse.FromString,
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
    def ListAgents(request,
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
            '/interlock.state.v1.AgentService/ListAgents',
            interlock_dot_state_dot_v1_dot_agent__service__pb2.ListAgentsRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_agent__service__pb2.ListAgentsResponse.FromString,
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
    def UpdateAgent(request,
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
            '/interlock.state.v1.AgentService/UpdateAgent',
            interlock_dot_state_dot_v1_dot_agent__service__pb2.UpdateAgentRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_agent__service__pb2.UpdateAgentResponse.FromString,
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
    def DeleteAgent(request,
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
            '/interlock.state.v1.AgentService/DeleteAgent',
            interlock_dot_state_dot_v1_dot_agent__service__pb2.DeleteAgentRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_agent__service__pb2.DeleteAgentResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
