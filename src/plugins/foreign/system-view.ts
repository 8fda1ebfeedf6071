// What a plugin may ask of the server around it. There are no entities, groups, password policies or jobs of rotation here: who asks
// for one is told so in the way that plugins look for.

import { Failure } from "@holdfast/shared/failure";
import { type Served, serveUnary } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { SECOND } from "@holdfast/shared/text/duration";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { NOTHING } from "@holdfast/plugin-sdk/wire/known-types";
import { events, observations, systemView } from "@holdfast/plugin-sdk/wire/system-view";
import type { ForeignHost } from "./host.ts";

const NO_ENTITIES = "there are no entities on this server";
const NO_WRAPPING = "answers are wrapped where the caller asks for it, and not by plugins";

export function systemViewService(needs: EngineNeeds, host: ForeignHost): readonly Served<null>[] {
  const { mount } = needs;
  const notHere = (what: string) => async () => {
    throw new StatusError(Status.unimplemented, `${what} is not served here`);
  };
  return [
    serveUnary(systemView.defaultLeaseTtl, async () => ({ ttl: mount.defaultTtl() })),
    serveUnary(systemView.maxLeaseTtl, async () => ({ ttl: mount.maxTtl() })),
    serveUnary(systemView.tainted, async () => ({
      tainted: host.mountState(mount.uuid).tainted,
    })),
    serveUnary(systemView.cachingDisabled, async () => ({ disabled: false })),
    serveUnary(systemView.mlockEnabled, async () => ({ enabled: false })),
    serveUnary(systemView.localMount, async () => ({ local: host.mountState(mount.uuid).local })),
    serveUnary(systemView.replicationState, async () => ({ state: host.replication() })),
    serveUnary(systemView.responseWrapData, async () => ({ wrapInfo: null, err: NO_WRAPPING })),
    serveUnary(systemView.entityInfo, async () => ({ entity: null, err: NO_ENTITIES })),
    serveUnary(systemView.groupsForEntity, async () => ({ groups: [], err: NO_ENTITIES })),
    serveUnary(systemView.pluginEnv, async () => ({
      environment: { version: host.server.version, prerelease: "", metadata: "", buildDate: null },
      err: "",
    })),
    serveUnary(systemView.clusterInfo, async () => {
      const { name, id } = host.cluster();
      return { clusterName: name, clusterId: id, err: "" };
    }),
    serveUnary(systemView.generatePasswordFromPolicy, async () => {
      throw new StatusError(Status.internal, "there are no password policies on this server");
    }),
    serveUnary(systemView.generateIdentityToken, async ({ audience, ttl }) => {
      try {
        const length = (ttl > 0n ? ttl : 3600n) * SECOND;
        const token = await needs.identity.token(audience, length);
        return { token, ttl: length / SECOND };
      } catch (error) {
        const words = error instanceof Failure ? error.message : "it could not be made";
        throw new StatusError(Status.internal, words);
      }
    }),
    serveUnary(systemView.getRotationInformation, notHere("rotation")),
    serveUnary(systemView.registerRotationJob, notHere("rotation")),
    serveUnary(systemView.registerRotationJobWithResponse, notHere("rotation")),
    serveUnary(systemView.deregisterRotationJob, notHere("rotation")),
    serveUnary(events.sendEvent, async () => NOTHING),
    serveUnary(observations.recordObservation, async () => NOTHING),
  ];
}
