// The room of browsers: which pages may call the API, and what the console is served with.

import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { browserApi } from "./api.ts";
import { Browser } from "./browser.ts";

export interface BrowserNeeds {
  /** Of everything below shared/. */
  readonly shared: View;
  /** Spellings of request headers that other products' clients send. */
  readonly aliases: readonly string[];
}

export interface BrowserParts {
  readonly browser: Browser;
}

export const browserRoom: RoomPlan<BrowserNeeds, BrowserParts> = {
  name: "browser",
  declares: [declares("src/browser/api.ts", browserApi, ({ browser }: BrowserParts) => browser)],
  build: ({ shared, aliases }) => {
    const browser = new Browser({ view: shared.sub("browser/"), aliases });
    return { browser, open: () => browser.open(), close: () => browser.close() };
  },
};
