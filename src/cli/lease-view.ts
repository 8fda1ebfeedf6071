// Leases as people see them.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";
import { longTime } from "./relative-time.ts";
import type { View } from "./terminal/output.ts";

export const LEASE_HELP = "Id of the lease, as the answer with the secret told it";

const TIMES = ["issue_time", "expire_time", "last_renewal"];

export function leaseView(data: JsonValue | undefined, now: Instant): View {
  const lease: JsonObject = isObject(data) ? data : {};
  return {
    pairs: Object.entries(lease).map(([name, value]) => [
      name,
      TIMES.includes(name) ? longTime(value, now) : value,
    ]),
  };
}
