// Where the provider is called: the region, which is part of a host name, and so is read strictly
// (T-I01), and the order of places it comes from.

import type { EnvironmentVariables } from "@holdfast/plugin-sdk/engine-services";
import { invalid } from "../failures.ts";

// us-east-1, us-gov-west-1, eu-isoe-west-1: nothing that could end one host name and begin another.
const REGION = /^[a-z]{2,8}(?:-[a-z]{2,16}){1,3}-[0-9]{1,2}$/;
const USUAL = "us-east-1";

/** As it was given, or a refusal that begins with the field. Empty is "not set". */
export function checkRegion(field: string, text: string): string {
  if (text === "" || REGION.test(text)) return text;
  throw invalid("field-invalid", `${field} must be the name of a region such as us-east-1`);
}

/** The stored one, that of the environment, the usual one. */
export function effectiveRegion(stored: string, environment: EnvironmentVariables): string {
  if (stored !== "") return stored;
  for (const name of ["CLOUDA_REGION", "CLOUDA_DEFAULT_REGION"]) {
    const text = environment(name);
    if (text !== null) return checkRegion(name, text);
  }
  return USUAL;
}
