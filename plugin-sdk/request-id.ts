// The ids by which a provider knows the calls that ended a secret, as receipts keep them.

/** The last ones count: what was looked up before says less than what was done. */
export const MAX_REQUEST_IDS = 16;

/** As providers make them: an answer cannot have us keep anything else, least of all a secret. */
export function isRequestId(id: unknown): id is string {
  return typeof id === "string" && /^[0-9a-f-]{8,64}$/i.test(id);
}
