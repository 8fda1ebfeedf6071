// The calls about groups of the provider's directory: who they are, and memberships. Each is one request;
// what is tried again is decided by whoever asks.

import type { JsonObject } from "@holdfast/shared/json/json";
import { ProviderError } from "../../cloud/provider-error.ts";
import { neededText, textIn } from "./provider-answer.ts";
import type { Service } from "./bearer-calls.ts";
import { path, quoted } from "./url-path.ts";

export interface Group {
  readonly id: string;
  readonly name: string;
}

const NEXT = "@odata.nextLink";

export class Groups {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Null where there is none. */
  async group(id: string, signal: AbortSignal): Promise<Group | null> {
    const step = "reading a group";
    const where = `${path`/v1.0/groups/${id}`}?$select=id,displayName`;
    const found = await this.#service.find({ step, action: "getGroup", path: where }, signal);
    return found === null ? null : groupIn(step, found);
  }

  /** At most two pages' worth: more than one is ambiguous. */
  async named(name: string, signal: AbortSignal): Promise<Group[]> {
    const step = "looking for a group";
    const filter = encodeURIComponent(`displayName eq ${quoted(name.toWellFormed())}`);
    const where = `/v1.0/groups?$filter=${filter}&$select=id,displayName`;
    const found = await this.#service.list(
      { step, action: "listGroups", path: where },
      NEXT,
      signal,
      2,
    );
    return found.map((one) => groupIn(step, one));
  }

  /** One that is in it already stays. */
  async addMember(groupId: string, principalId: string, signal: AbortSignal): Promise<void> {
    const step = `adding the principal to group ${groupId}`;
    // By the address of this very cloud: another's is refused.
    const reference = `${this.#service.base}${path`/v1.0/directoryObjects/${principalId}`}`;
    const where = `${path`/v1.0/groups/${groupId}/members`}/$ref`;
    const request = {
      step,
      action: "addGroupMember",
      method: "POST",
      path: where,
      body: { "@odata.id": reference },
    } as const;
    try {
      await this.#service.call(request, signal);
    } catch (error) {
      const there = error instanceof ProviderError && error.status === 400;
      if (!there || !error.says(/already exist/i)) throw error;
    }
  }

  /** The membership, never the member: the path ends in $ref. */
  removeMember(groupId: string, principalId: string, signal: AbortSignal): Promise<boolean> {
    const step = `removing the principal from group ${groupId}`;
    const where = `${path`/v1.0/groups/${groupId}/members/${principalId}`}/$ref`;
    return this.#service.remove(
      { step, action: "removeGroupMember", method: "DELETE", path: where },
      signal,
    );
  }
}

function groupIn(step: string, body: JsonObject): Group {
  return { id: neededText(step, body, "id"), name: textIn(body, "displayName") };
}
