// Passwords of an application that bear a name of ours: what a crash or a lost answer leaves behind can
// be found again by it. The provider keeps all passwords of an application in one property, so
// whoever changes them holds the lock of the application.

import * as failures from "../failures.ts";
import type { Graph, NewPassword } from "../provider/graph.ts";
import type { Passing, Patience } from "../provider/patience.ts";
import { ProviderError } from "../../cloud/provider-error.ts";

export interface NamedPassword {
  /** The object id of the application. */
  readonly id: string;
  readonly displayName: string;
  /** RFC 3339. */
  readonly ends: string;
}

/** Whether an answer was lost: a password that nobody knows may be there, seen or not yet. */
export interface Doubt {
  uncertain: boolean;
}

export async function addNamedPassword(
  graph: Graph,
  patience: Patience,
  { id, displayName, ends }: NamedPassword,
  doubt: Doubt,
  passing?: Passing,
): Promise<NewPassword> {
  try {
    return await patience.step(async (signal) => {
      if (doubt.uncertain) await removeNamedPassword(graph, { id, displayName }, signal);
      try {
        return await graph.addPassword(
          "applications",
          id,
          { displayName, endDateTime: ends },
          signal,
        );
      } catch (error) {
        doubt.uncertain ||= error instanceof ProviderError && !error.harmless;
        throw error;
      }
    }, passing);
  } catch (error) {
    throw passwordFailure(error);
  }
}

/** All that bear the name, save those that are in use. An application that is gone has none. */
export async function removeNamedPassword(
  graph: Graph,
  named: {
    readonly id: string;
    readonly displayName: string;
    readonly kept?: readonly (string | null | undefined)[];
  },
  signal: AbortSignal,
): Promise<void> {
  const { id, displayName, kept = [] } = named;
  if (displayName === "") throw failures.noName(); // an operator's own often have none
  const application = await graph.application(id, signal);
  for (const { keyId, displayName: name } of application?.passwords ?? []) {
    if (name !== displayName || kept.includes(keyId)) continue;
    await graph.removePassword("applications", id, keyId, signal);
  }
}

/** With the remedy, where there is one. */
export function passwordFailure(error: unknown): unknown {
  if (!(error instanceof ProviderError)) return error;
  if (error.has("CredentialInvalidLifetimeAsPerAppPolicy")) {
    const text = `${error.message}; set a shorter explicit_max_ttl on the role`;
    return failures.passwordLifetime(text, { cause: error });
  }
  if (error.has("Directory_ResourceSizeExceeded")) {
    const text =
      "the application cannot hold more passwords: shorten the role's ttl or use another application";
    return failures.passwordsFull(text, { cause: error });
  }
  return error;
}
