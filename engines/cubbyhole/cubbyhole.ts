// What requests to cubbyhole/ see: the private space of the token that asks, in the namespace of the
// request. Where it lies, and that it goes with its token, is the server's affair: an engine cannot
// look beyond its own mount, and a token's end is known elsewhere.

import { invariant } from "@holdfast/shared/invariant";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { EngineRequest, Caller } from "@holdfast/shared/endpoint/request";

/** Whose, and where. */
export interface PrivateSpace {
  readonly owner: { readonly namespaceId: string; readonly accessor: string };
  readonly namespaceId: string;
}

/** It counts as the caller's. */
export interface Writing {
  readonly caller: Caller;
  /** Told, before anything is changed, whether there is something already. */
  readonly check: (exists: boolean) => void;
}

export interface PrivateSpaces {
  read(space: PrivateSpace, path: string): JsonObject | null;
  /** Names one level down; `folder` is empty, or ends with a slash. */
  list(space: PrivateSpace, folder: string): string[];
  replace(space: PrivateSpace, path: string, value: JsonObject, by: Writing): Promise<void>;
  delete(space: PrivateSpace, path: string): Promise<void>;
}

export class Cubbyhole {
  readonly #spaces: PrivateSpaces;

  constructor(spaces: PrivateSpaces) {
    this.#spaces = spaces;
  }

  read(request: EngineRequest, path: string): JsonObject | null {
    return this.#spaces.read(spaceOf(request), path);
  }

  /** `folder` is empty for all of it. */
  list(request: EngineRequest, folder: string): string[] {
    return this.#spaces.list(spaceOf(request), folder === "" ? "" : `${folder}/`);
  }

  replace(request: EngineRequest, path: string, value: JsonObject): Promise<void> {
    const check = (exists: boolean) => request.confirmExists(exists);
    return this.#spaces.replace(spaceOf(request), path, value, {
      caller: callerOf(request),
      check,
    });
  }

  delete(request: EngineRequest, path: string): Promise<void> {
    return this.#spaces.delete(spaceOf(request), path);
  }
}

function callerOf({ caller }: EngineRequest): Caller {
  invariant(caller !== null, "nobody gets here without a token");
  return caller;
}

function spaceOf(request: EngineRequest): PrivateSpace {
  const caller = callerOf(request);
  const { namespace } = request;
  const owner = { namespaceId: caller.namespace.id, accessor: caller.accessor };
  return { owner, namespaceId: namespace.id };
}
