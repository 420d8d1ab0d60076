import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { HaltService } from "./gen/interlock/identity/v1/halt_service_pb.js";
import { HaltKind } from "./gen/interlock/identity/v1/halt_pb.js";
import { DecisionService } from "./gen/interlock/policy/v1/decision_service_pb.js";
import { PolicyEnforcerService } from "./gen/interlock/policy/v1/policy_enforcer_service_pb.js";
import { PolicyService } from "./gen/interlock/policy/v1/policy_service_pb.js";
import { encode } from "./json.js";
import { Registry } from "./registry.js";
import type { CallOptions } from "./retry.js";
import { callerOf, exceptionOf, freezeOf, haltOf, refusalOf, type Caller, type ExceptionScope, type Freeze, type Halt, type HaltScope, type PolicyException, type Refusal } from "./who.js";

/** An exception to make. */
export interface NewException {
  policy: string;
  /** JSON Pointer of a rule with `"exceptable": true`, such as "/deny/0". */
  rule: string;
  scope: ExceptionScope;
  /** At most 7 days from now. */
  until: Date;
  reason: string;
}

/** A client's callers, exceptions, halts and freezes. */
export class Identities extends Registry {
  /** Returns who the caller is to the server, and on whose behalf it acts. */
  async whoAmI(options: CallOptions = {}): Promise<Caller> {
    return callerOf(await this.call(options, (call) => this.rpc(PolicyEnforcerService).whoAmI({ sessionId: this.session }, call)));
  }

  /** Lists the last callers that were refused before there was a decision, newest first: at most 100 in a namespace. */
  async listRefusals(options: CallOptions = {}): Promise<Refusal[]> {
    return (await this.call(options, (call) => this.rpc(DecisionService).listRefusals({}, call))).refusals.map(refusalOf);
  }

  // Exceptions

  /** Lets some calls pass a rule of a policy, for operators. It waits for a second operator where the policy says so (S22.13). */
  async addException(exception: NewException, options: CallOptions = {}): Promise<PolicyException> {
    const { policy, rule, reason, scope } = exception;
    const request = {
      policy, rule, reason, until: timestampFromDate(exception.until),
      scope: {
        principal: scope.principal ?? "", human: scope.human ?? "", group: scope.group ?? "", sessionId: scope.session ?? "",
        when: encode("condition", scope.when),
      },
    };
    return exceptionOf((await this.call(options, (call) => this.rpc(PolicyService).addException(request, call))).exception);
  }

  /** Lists the exceptions of a policy that have not ended; of all policies without one. */
  async listExceptions(policy = "", options: CallOptions = {}): Promise<PolicyException[]> {
    return (await this.call(options, (call) => this.rpc(PolicyService).listExceptions({ policy }, call))).exceptions.map(exceptionOf);
  }

  /** Confirms an exception that another operator has made. */
  async confirmException(exceptionId: string, options: CallOptions = {}): Promise<PolicyException> {
    return exceptionOf((await this.call(options, (call) => this.rpc(PolicyService).confirmException({ exceptionId }, call))).exception);
  }

  /** Ends an exception before its time, for operators. */
  async endException(exceptionId: string, options: CallOptions = {}): Promise<void> {
    await this.call(options, (call) => this.rpc(PolicyService).endException({ exceptionId }, call));
  }

  // Halts

  /** Stops all work in a scope, for operators: from the answer on no call, transition, start or new session passes there (S23.40). */
  async createHalt(scope: HaltScope, reason: string, options: CallOptions = {}): Promise<Halt> {
    const kind = HaltKind[scope.kind.toUpperCase() as keyof typeof HaltKind];
    const request = { scope: { kind, name: scope.name ?? "" }, reason };
    const { halt, created } = await this.call(options, (call) => this.rpc(HaltService).createHalt(request, call));
    return haltOf(halt, created);
  }

  /** Ends a halt, for operators. */
  async liftHalt(id: string, reason: string, options: CallOptions = {}): Promise<Halt> {
    return haltOf((await this.call(options, (call) => this.rpc(HaltService).liftHalt({ id, reason }, call))).halt);
  }

  /** Lists the halts that are in force in the namespace, those of everything first. */
  async listHalts(options: CallOptions = {}): Promise<Halt[]> {
    return (await this.call(options, (call) => this.rpc(HaltService).listHalts({}, call))).halts.map((halt) => haltOf(halt));
  }

  /** Freezes the workflows that a pattern names until a time, for operators: from the answer on the transitions that a freeze stops are refused (S25.12). */
  async createFreeze(workflow: string, until: Date, reason: string, options: CallOptions = {}): Promise<Freeze> {
    const request = { workflow, until: timestampFromDate(until), reason };
    const { freeze, created } = await this.call(options, (call) => this.rpc(HaltService).createFreeze(request, call));
    return freezeOf(freeze, created);
  }

  /** Ends a freeze before its time, for operators. */
  async liftFreeze(id: string, reason: string, options: CallOptions = {}): Promise<Freeze> {
    return freezeOf((await this.call(options, (call) => this.rpc(HaltService).liftFreeze({ id, reason }, call))).freeze);
  }

  /** Lists the freezes that are in force in the namespace. */
  async listFreezes(options: CallOptions = {}): Promise<Freeze[]> {
    return (await this.call(options, (call) => this.rpc(HaltService).listFreezes({}, call))).freezes.map((freeze) => freezeOf(freeze));
  }
}
