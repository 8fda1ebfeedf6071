// The encryption key in use as people see it.

import type * as seal from "@holdfast/client/api/seal";
import type { View } from "./terminal/output.ts";

export function keyStatusView(data: seal.KeyStatusAnswer): View {
  return {
    pairs: [
      ["Key Term", data.term],
      ["Install Time", data.install_time],
      ["Encryption Count", data.encryptions],
    ],
  };
}
