// The room of quotas: how often requests may come, and how many leases there may be.

import type { Clock } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { leaseQuotasApi } from "./api-lease-count.ts";
import { quotasApi } from "./api.ts";
import { LeaseQuotas, type LeaseQuotasOptions } from "./lease-quotas.ts";
import { Quotas, type QuotasOptions } from "./quotas.ts";

export interface QuotasNeeds {
  /** Of everything below shared/. */
  readonly shared: View;
  readonly clock: Pick<Clock, "elapsed">;
  readonly classify: QuotasOptions["classify"];
  readonly spelling: (path: string) => string;
  readonly counted: LeaseQuotasOptions["counted"];
  /** Called for each request that is refused. */
  readonly onRefusal: () => void;
}

export interface QuotasParts {
  readonly quotas: Quotas;
  readonly leaseQuotas: LeaseQuotas;
}

export const quotasRoom: RoomPlan<QuotasNeeds, QuotasParts> = {
  name: "quotas",
  declares: [
    declares("src/quotas/api.ts", quotasApi, ({ quotas }: QuotasParts) => quotas),
    declares(
      "src/quotas/api-lease-count.ts",
      leaseQuotasApi,
      ({ leaseQuotas }: QuotasParts) => leaseQuotas,
    ),
  ],
  build: ({ shared, clock, classify, spelling, counted, onRefusal }) => {
    const view = shared.sub("quotas/");
    const quotas = new Quotas({ view, clock, classify, spelling, onRefusal });
    const leaseQuotas = new LeaseQuotas({
      view: view.sub("lease-count/"),
      classify,
      spelling,
      counted,
    });
    return {
      quotas,
      leaseQuotas,
      open: () => {
        quotas.open();
        leaseQuotas.open();
      },
      close: () => {
        leaseQuotas.close();
        quotas.close();
      },
    };
  },
};
