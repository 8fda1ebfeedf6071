// An engine that gives a secret only now and then, and says so when it does.

import { access } from "@holdfast/shared/endpoint/access";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { HOUR } from "@holdfast/shared/text/duration";
import { engineEndpoints, type EngineNeeds, type EngineType } from "@holdfast/plugin-sdk/engine";

const endpoint = engineEndpoints<EngineNeeds>();

export const oddEngine: EngineType<EngineNeeds> = {
  type: "odd",
  kind: "secret",
  summary: "Gives secrets now and then.",
  version: "v1.0.0",
  checkOptions: (options) => options,
  open: (needs) => needs,
  secrets: { odd: { renew: null, revoke: async () => {} } },
  paths: () => [
    endpoint({
      name: "readOdd",
      method: "GET",
      path: "/odd",
      summary: "Give a secret, or none.",
      access: access.capability,
      belongs: "local",
      input: {
        asks: wire.query("asks").boolean("Whether it says so.").default(false),
        gives: wire.query("gives").boolean("Whether it gives one.").default(false),
      },
      output: out.anyObject("What it is."),
      handler: async (_, { asks, gives }, request) => {
        if (asks) await request.issues();
        const data = { gives };
        const lease = { secretType: "odd", internal: {}, ttl: HOUR, renewable: false };
        return gives ? reply(data, { lease }) : reply(data);
      },
    }),
  ],
};
