// The type of the mount that every namespace has at cubbyhole/: fixed, in the cluster's own space.

import type { EngineType } from "@holdfast/plugin-sdk/engine";
import { cubbyholeApi } from "./api.ts";
import { Cubbyhole, type PrivateSpaces } from "./cubbyhole.ts";
import { noOptions } from "./failures.ts";

export function cubbyholeEngine(spaces: PrivateSpaces): EngineType<Cubbyhole> {
  return {
    type: "cubbyhole",
    kind: "secret",
    summary: "A private space for each token, which goes with it.",
    version: "v1.0.0+builtin",
    paths: () => cubbyholeApi,
    checkOptions: (options) => {
      if (Object.keys(options).length > 0) throw noOptions();
      return {};
    },
    open: () => new Cubbyhole(spaces),
  };
}
