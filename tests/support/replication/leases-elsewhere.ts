// Regions that share the mounts of a server: what they answer when it asks for their leases.

import type { TestContext } from "node:test";
import type { Server } from "../../../src/server/server.ts";
import type { LeasesOfMembers } from "../../../src/replication/sending/counting-leases.ts";

/** Gives the questions that come. */
export function regionsAnswer(
  t: TestContext,
  { performance }: Pick<Server, "performance">,
  answer: () => LeasesOfMembers,
): { readonly place: string; readonly revoke: boolean }[] {
  const questions: { readonly place: string; readonly revoke: boolean }[] = [];
  t.mock.method(performance, "leasesElsewhere", async (question: (typeof questions)[number]) => {
    questions.push({ place: question.place, revoke: question.revoke });
    return answer();
  });
  return questions;
}
