// What engines of clouds count: calls to providers, what they hand out, rotations. By type of mount and
// by words of ours; a role or a user never becomes a label.

import type { Counter, Family, Histogram, Label, Registry } from "../base/metrics.ts";
import type { Clock } from "@holdfast/shared/world";

const TYPE = { name: "mount_type", values: ["clouda", "cloudb"] };
const IAM_AND_STS =
  "AddUserToGroup AssumeRole AssumeRoleWithWebIdentity AttachUserPolicy CreateAccessKey CreateUser " +
  "DeactivateMFADevice DeleteAccessKey DeleteLoginProfile DeleteSSHPublicKey " +
  "DeleteServiceSpecificCredential DeleteSigningCertificate DeleteUser DeleteUserPolicy " +
  "DeleteVirtualMFADevice DetachUserPolicy GetCallerIdentity GetFederationToken GetGroupPolicy " +
  "GetUser ListAccessKeys ListAttachedGroupPolicies ListAttachedUserPolicies ListGroupPolicies " +
  "ListGroupsForUser ListMFADevices ListSSHPublicKeys ListServiceSpecificCredentials " +
  "ListSigningCertificates ListUserPolicies PutUserPolicy RemoveUserFromGroup TagUser";
const GRAPH_AND_ARM =
  "addGroupMember addPassword createApplication createRoleAssignment createServicePrincipal " +
  "deleteApplication deleteDeletedItem deleteRoleAssignment deleteServicePrincipal getApplication " +
  "getGroup getRoleDefinition getServicePrincipal listApplications listGroups " +
  "listRoleDefinitions machineToken removeGroupMember removePassword token";
/** Calls by the provider's names of them. */
export const CLOUD_ACTIONS: readonly string[] = [IAM_AND_STS, GRAPH_AND_ARM].join(" ").split(" ");
const ACTION = { name: "action", values: CLOUD_ACTIONS };
const RESULT = { name: "result", values: ["ok", "refused", "throttled", "failed"] };
const CREDENTIAL = {
  name: "type",
  values: ["iam_user", "assumed_role", "federation_token", "principal", "password"],
};
const ROTATION = { name: "result", values: ["ok", "failed"] };
// A provider far away takes tens of milliseconds, a slow one many seconds.
const BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const MAX_MOUNTS = 1000;

export class CloudInstruments {
  readonly #calls: Family<readonly [Label, Label, Label], Histogram>;
  readonly #throttled: Family<readonly [Label], Counter>;
  readonly #issued: Family<readonly [Label, Label], Counter>;
  readonly #rotations: Family<readonly [Label, Label], Counter>;
  /** By accessor: seconds since 1970. Those of mounts that are gone are passed over. */
  readonly #rootRotations = new Map<string, number>();

  constructor(
    registry: Registry,
    clock: Pick<Clock, "now">,
    isMounted: (accessor: string) => boolean,
  ) {
    this.#calls = registry.histograms(
      { name: "holdfast_cloud_call_seconds", help: "Time of one call to a provider." },
      [TYPE, ACTION, RESULT],
      BUCKETS,
    );
    this.#throttled = registry.counters(
      { name: "holdfast_cloud_throttled_total", help: "Calls that a provider has put off." },
      [TYPE],
    );
    this.#issued = registry.counters(
      {
        name: "holdfast_creds_issued_total",
        help: "Credentials of providers that were handed out.",
      },
      [TYPE, CREDENTIAL],
    );
    this.#rotations = registry.counters(
      { name: "holdfast_static_role_rotations_total", help: "Rotations of static roles." },
      [TYPE, ROTATION],
    );
    registry.readsNamed(
      {
        name: "holdfast_root_rotation_age_seconds",
        help: "Time since the root credential of a mount was rotated.",
      },
      "mount",
      MAX_MOUNTS,
      () => {
        const now = Number(clock.now() / 1_000_000n) / 1000;
        return [...this.#rootRotations]
          .filter(([accessor]) => isMounted(accessor))
          .map(([at, seconds]) => ({ at, value: Math.max(0, now - seconds) }));
      },
    );
  }

  /** For the engine of one mount. */
  of({ type, accessor }: { readonly type: string; readonly accessor: string }) {
    return {
      called: (action: string, result: string, seconds: number) => {
        this.#calls.of(type, action, result).observe(seconds);
        if (result === "throttled") this.#throttled.of(type).add();
      },
      issued: (credential: string) => this.#issued.of(type, credential).add(),
      rotated: (result: string) => this.#rotations.of(type, result).add(),
      rootRotated: (at: number | null) => {
        if (at === null) this.#rootRotations.delete(accessor);
        else this.#rootRotations.set(accessor, at);
      },
    };
  }
}
