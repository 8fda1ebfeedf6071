// What every plugin answers to whoever has started it: that it is well, that it serves several users at once, and when it ends.

import {
  type Served,
  serveBidirectional,
  serveStream,
  serveUnary,
} from "@holdfast/shared/grpc/method";
import { broker, controller, health, multiplexing, SERVING, stdio } from "../wire/processes.ts";

export interface ProcessParts {
  /** The host has let it go. */
  readonly leave: () => void;
  /** Where a numbered service of the host is. Default: it needs none. */
  readonly announced?: (id: number, address: string) => void;
}

export function processServices({ leave, announced = () => {} }: ProcessParts): Served<null>[] {
  return [
    serveUnary(health.check, async () => ({ status: SERVING })),
    serveUnary(multiplexing.support, async () => ({ supported: true })),
    serveUnary(controller.shutdown, async () => {
      leave();
      return {};
    }),
    serveBidirectional(broker.startStream, async function* (said) {
      try {
        for await (const { serviceId, address } of said) announced(serviceId, address);
      } finally {
        leave();
      }
      yield* [];
    }),
    // Everything that is printed goes to standard error: nothing comes here, and it lasts as long as the caller likes.
    serveStream(stdio.streamStdio, async function* (_, { signal }) {
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      });
      yield* [];
    }),
  ];
}
