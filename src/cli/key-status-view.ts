// The encryption key in use as people see it.

import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import type { View } from "./terminal/output.ts";

export function keyStatusView(data: JsonValue | undefined): View {
  const told = isObject(data) ? data : {};
  return {
    pairs: [
      ["Key Term", told["term"]],
      ["Install Time", told["install_time"]],
      ["Encryption Count", told["encryptions"]],
    ],
  };
}
