// The room of attention: what somebody should look at, before it looks at them.

import { MINUTE } from "@holdfast/shared/text/duration";
import type { Timers } from "@holdfast/shared/world";
import { Recurring } from "../base/recurring.ts";
import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { attentionApi } from "./api.ts";
import { Attention, type AttentionOptions } from "./attention.ts";

export interface AttentionNeeds extends Omit<AttentionOptions, "view" | "checks"> {
  /** Of everything below core/. */
  readonly node: View;
  readonly timers: Timers;
}

export interface AttentionParts {
  readonly attention: Attention;
}

export const attentionRoom: RoomPlan<AttentionNeeds, AttentionParts> = {
  name: "attention",
  declares: [
    declares("src/attention/api.ts", attentionApi, ({ attention }: AttentionParts) => attention),
  ],
  build: (needs) => {
    const { node, timers } = needs;
    const log = needs.log.child("attention");
    const attention = new Attention({ ...needs, log, view: node.sub("attention/") });
    const recording = new Recurring({
      trouble: "could not write down what needs attention",
      run: () => attention.record(),
      period: MINUTE,
      timers,
      log,
    });
    return {
      attention,
      whileFollowing: "leads",
      open: () => attention.open(),
      close: () => attention.close(),
      metrics: { attention: () => attention.counts() },
      jobs: [{ name: "write down what needs attention", when: "while-active", work: recording }],
    };
  },
};
