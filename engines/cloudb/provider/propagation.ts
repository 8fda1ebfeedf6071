// What may stand in the way of a step only because the provider does not see yet, in one place, what was
// just made in another. Decided by codes, and by texts where there are none.

import type { ProviderError } from "../../cloud/provider-error.ts";

/** The application is not yet seen where its principal is made. A plain refusal of rights is no such
 *  thing: it has the same code, and only the text tells them apart. */
export function principalPasses(error: ProviderError): boolean {
  if (error.has("NoBackingApplicationObject", "Request_MultipleObjectsWithSameKeyValue"))
    return true;
  if (error.has("Authorization_RequestDenied")) return error.says(/local tenant/i);
  return error.gone;
}

export function memberPasses(error: ProviderError): boolean {
  if (error.gone) return true;
  return error.status === 400 && error.says(/does not exist/i);
}
