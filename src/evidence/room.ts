// The room of evidence: reports that can be checked by people who have nothing but a file and a fingerprint.

import { DAY, HOUR } from "@holdfast/shared/text/duration";
import type { Log } from "@holdfast/shared/log";
import type { Timers } from "@holdfast/shared/world";
import { Recurring } from "../base/recurring.ts";
import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { evidenceApi } from "./api.ts";
import { receiptsApi } from "./api-receipts.ts";
import { Carrying, type CarryingOptions, type HeldKey } from "./carrying.ts";
import { Evidence, type EvidenceOptions } from "./evidence.ts";
import { Receipts } from "./receipts.ts";

export interface EvidenceNeeds extends Omit<EvidenceOptions, "view"> {
  /** Of everything below core/. */
  readonly node: View;
  /** What was carried here in clear. */
  readonly carried: View;
  readonly heldKey: HeldKey;
  /** Where chains of audit files have ended, as rows, and where those go that were carried here. */
  readonly chains: CarryingOptions["chains"];
  readonly chainsTo: View;
  readonly timers: Timers;
  readonly log: Log;
}

export interface EvidenceParts {
  readonly evidence: Evidence;
  readonly receipts: Receipts;
  readonly carrying: Carrying;
}

export const evidenceRoom: RoomPlan<EvidenceNeeds, EvidenceParts> = {
  name: "evidence",
  declares: [
    declares("src/evidence/api.ts", evidenceApi, ({ evidence }: EvidenceParts) => evidence),
    declares(
      "src/evidence/api-receipts.ts",
      receiptsApi,
      ({ receipts }: EvidenceParts) => receipts,
    ),
  ],
  build: (needs) => {
    const { node, timers, log } = needs;
    const evidence = new Evidence({ ...needs, view: node.sub("evidence/") });
    const tidying = new Recurring({
      trouble: "could not tidy up evidence and its keys",
      run: (isOpen) => evidence.tidy(isOpen),
      period: DAY,
      atOnce: false, // `lead` has just done it
      timers,
      log: log.child("evidence"),
    });
    const view = node.sub("evidence/receipts/");
    const receipts = new Receipts({ view, evidence, clock: needs.clock, timers });
    const carrying = new Carrying({
      view: node.sub("evidence/"),
      clear: needs.carried,
      evidence,
      receipts,
      chains: needs.chains,
      chainsTo: needs.chainsTo,
      held: needs.heldKey,
      timers,
      log: log.child("evidence"),
    });
    const reporting = new Recurring({
      trouble: "could not sign for leases that have ended",
      run: (isOpen) => receipts.report(isOpen),
      period: HOUR,
      atOnce: false,
      timers,
      log: log.child("evidence"),
    });
    return {
      evidence,
      receipts,
      carrying,
      created: (tx) => evidence.created(tx),
      open: () => evidence.open(),
      lead: async () => {
        await carrying.takeIn(); // before anybody signs
        await evidence.tidy(); // a store of an older version has no key yet
      },
      close: () => evidence.close(),
      jobs: [
        { name: "tidy up evidence", when: "while-active", work: tidying },
        { name: "sign for leases that have ended", when: "while-active", work: reporting },
      ],
    };
  },
};
